//! Finds and counts facts.
//!
//! Values are always parameters; the text of a statement contains only the names of the environment's schema,
//! and of tables and columns, which are made from numbers.

use super::clock::N_COLUMNS;
use super::reader::PgReader;
use super::session::value;
use crate::store::error::StoreError;
use crate::store::fact::{ArgPattern, FactPage, FactPattern, Stats};
use crate::store::query::{self, Lookup, Param, RowQuery};
use crate::store::signature::{Relations, StoredRelation};
use std::borrow::Cow;
use std::fmt::Display;
use std::ops::ControlFlow;

/// The `WHERE` of a pattern within a relation that it covers, and the texts of its parameters.
pub(super) fn matching<'p>(relation: &StoredRelation, pattern: &'p FactPattern) -> (String, Vec<&'p str>) {
    condition(relation.columns().map(|(idx, column)| match pattern.args.get(idx) {
        Some(ArgPattern::Exact(value)) => (column, Some(value.id.as_str())),
        Some(ArgPattern::Any | ArgPattern::Typed(_)) | None => (column, None),
    }))
}

/// The `WHERE` of columns, each with its value if that is known, and the texts of its parameters.
fn condition<'v>(
    columns: impl IntoIterator<Item = (impl Display, Option<&'v str>)>,
) -> (String, Vec<&'v str>) {
    let (mut tests, mut values) = (Vec::new(), Vec::new());
    for (column, value) in columns {
        if let Some(value) = value {
            values.push(value);
            tests.push(format!("{column} = ${}", values.len()));
        }
    }
    let lead = if tests.is_empty() { "" } else { " WHERE " };
    (format!("{lead}{}", tests.join(" AND ")), values)
}

/// Selects the ids of what matches in a relation, in their order; with the texts of the parameters.
pub(super) fn selection<'p>(
    schema: &str,
    relation: &StoredRelation,
    pattern: &'p FactPattern,
) -> (String, Vec<&'p str>) {
    let (columns, (condition, values)) = (relation.key(), matching(relation, pattern));
    let table = &relation.table;
    (format!("SELECT {columns} FROM {schema}.{table}{condition} ORDER BY {columns}"), values)
}

impl PgReader {
    /// The stored facts that match, at most `limit` of them, in the order of [`FactPage`].
    ///
    /// In a [`snapshot`](Self::snapshot), they are all of one moment.
    pub fn facts(
        &self,
        relations: &Relations,
        pattern: &FactPattern,
        limit: usize,
    ) -> Result<FactPage, StoreError> {
        let mut page = FactPage::default();
        let mut is_read = false;
        for relation in relations.relations.iter().filter(|relation| pattern.covers(relation)) {
            let (sql, values) = selection(self.schema(), relation, pattern);
            let params: Vec<Param> = values.into_iter().map(|id| Param::Value(id.to_owned())).collect();
            let room = limit.saturating_sub(page.facts.len());
            let selected = RowQuery { sql: &sql, n_columns: relation.columns().count() };
            let mut is_whole = true;
            page.more = self.first_rows(selected, &params, room, |ids| match query::values(ids) {
                Some(ids) => page.facts.push(relation.fact(ids)),
                None => is_whole = false,
            })?;
            if !is_whole {
                return Err(query::lacks_value(&relation.table));
            }
            is_read = true;
            if page.more {
                break;
            }
        }
        if !is_read {
            // An empty answer is of one moment, too.
            self.confirm()?;
        }
        Ok(page)
    }

    /// Runs a statement and calls `each` with the values of its first `most` rows; returns whether there are
    /// more. The server computes no more than that.
    pub fn first_rows(
        &self,
        query: RowQuery<'_>,
        params: &[Param],
        most: usize,
        mut each: impl FnMut(&mut [Option<Cow<'_, str>>]),
    ) -> Result<bool, StoreError> {
        let RowQuery { sql, n_columns } = query;
        let limited = format!("SELECT f.* FROM ({sql}) f LIMIT ${}", params.len() + 1);
        let params = [params, &[Param::Limit(most.saturating_add(1))]].concat();
        let mut n_rows = 0;
        self.rows_until(RowQuery { sql: &limited, n_columns }, &params, |row| {
            n_rows += 1;
            if n_rows > most {
                return Ok(ControlFlow::Break(()));
            }
            each(row);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(n_rows > most)
    }

    /// The values in the columns of the rows that a look-up finds in a table of the environment, by an index
    /// of the columns whose values are known, as far as there is one.
    pub fn look_up(&self, lookup: &Lookup<'_>) -> Result<Vec<Vec<String>>, StoreError> {
        let (sql, params) = statement(self.schema(), lookup);
        let mut found = Vec::new();
        self.rows_until(RowQuery { sql: &sql, n_columns: lookup.columns.len() }, &params, |row| {
            found.push(query::values(row));
            Ok(ControlFlow::Continue(()))
        })?;
        found.into_iter().collect::<Option<_>>().ok_or_else(|| query::lacks_value(lookup.table))
    }

    /// Counts facts from the relations' own counters.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        let count = format!(
            "SELECT predicate, sum(facts)::bigint FROM {}.relation GROUP BY predicate HAVING sum(facts) > 0
             ORDER BY predicate",
            self.schema()
        );
        let mut stats = Stats::default();
        self.records(&count, &["text", "bigint"], Vec::new(), &mut |row| {
            let n_facts: i64 = value(row, N_COLUMNS + 1)?;
            let n_facts = n_facts.unsigned_abs();
            stats.total += n_facts;
            stats.predicates.push((value(row, N_COLUMNS)?, n_facts));
            Ok(())
        })?;
        Ok(stats)
    }

    /// The size of the environment's tables and their indexes in bytes.
    pub fn bytes(&self) -> Result<u64, StoreError> {
        // A table that is dropped at this moment has no size.
        let sum = format!(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = '{}' AND c.relkind = 'r'",
            self.schema()
        );
        let mut n_bytes = 0;
        self.records(&sum, &["bigint"], Vec::new(), &mut |row| {
            n_bytes = value::<i64>(row, N_COLUMNS)?.unsigned_abs();
            Ok(())
        })?;
        Ok(n_bytes)
    }
}

/// The statement of a look-up, and its parameters.
fn statement(schema: &str, Lookup { table, columns, most }: &Lookup<'_>) -> (String, Vec<Param>) {
    let (condition, values) = condition(columns.iter().copied());
    let mut params: Vec<Param> = values.into_iter().map(|id| Param::Value(id.to_owned())).collect();
    params.push(Param::Limit(*most));
    let names: Vec<&str> = columns.iter().map(|(column, _)| *column).collect();
    let selected = names.join(", ");
    (format!("SELECT {selected} FROM {schema}.{table}{condition} LIMIT ${}", params.len()), params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_up_binds_what_is_known() {
        let lookup = Lookup { table: "f3", columns: vec![("a0", None), ("a2", Some("x"))], most: 8 };
        let (sql, params) = statement("e", &lookup);
        assert_eq!(sql, "SELECT a0, a2 FROM e.f3 WHERE a2 = $1 LIMIT $2");
        assert_eq!(params, [Param::Value("x".into()), Param::Limit(8)]);
        let all = Lookup { columns: vec![("a0", None), ("a2", None)], ..lookup };
        assert_eq!(statement("e", &all).0, "SELECT a0, a2 FROM e.f3 LIMIT $1");
    }
}
