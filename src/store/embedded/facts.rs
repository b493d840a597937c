//! Inserts, deletes and finds facts.
//!
//! In: plain facts and patterns. Values are always parameters; the text of a statement contains only the
//! table and column names of a [`StoredRelation`], which are made from numbers.

use super::directory::Directory;
use super::reader::SqliteReader;
use super::transaction::Transaction;
use super::value::CompactValue;
use crate::store::error::StoreError;
use crate::store::fact::{Applied, ArgPattern, Change, Fact, FactPage, FactPattern, Stats};
use crate::store::query::{Lookup, Param, lacks_value, values};
use crate::store::signature::{self, Relations, StoredRelation};
use rusqlite::{Connection, params_from_iter};
use std::fmt::Display;

/// Applies a batch: all of it in order, or nothing. Fails if a pattern of a deletion matches more facts than
/// `delete_reach`.
pub(super) fn apply(
    transaction: &mut Transaction<'_>,
    changes: &[Change],
    delete_reach: Option<u64>,
) -> Result<Applied, StoreError> {
    let mut applied = Applied { offset: *transaction.offset, nonce: None, inserted: 0, deleted: 0 };
    for change in changes {
        match change {
            Change::Insert(new) => {
                applied.inserted += insert(transaction.conn, transaction.directory, new)?;
            }
            Change::Delete(patterns) => {
                for pattern in patterns {
                    let gone = delete(transaction.conn, transaction.directory, pattern)?;
                    if let Some(allowed) = delete_reach.filter(|allowed| gone > *allowed) {
                        return Err(StoreError::Reach { matched: gone, allowed });
                    }
                    applied.deleted += gone;
                }
            }
        }
    }
    if applied.inserted + applied.deleted > 0 {
        applied.offset = transaction.advance();
    }
    Ok(applied)
}

/// Inserts facts; returns how many were new.
///
/// They are sorted by the tables' keys first. Writing neighbours in a tree together saves a third of the time
/// of a large batch.
pub(super) fn insert(
    conn: &Connection,
    directory: &mut Directory,
    facts: &[Fact],
) -> Result<u64, StoreError> {
    let mut ordered: Vec<&Fact> = facts.iter().collect();
    ordered.sort_by(|a, b| signature::order(a, b));
    let mut inserted = 0_u64;
    for run in ordered.chunk_by(|a, b| signature::order(a, b).is_eq()) {
        let Some(first) = run.first() else { continue };
        let entry = directory.place_of(conn, first)?;
        let columns: Vec<usize> = entry.relation.columns().map(|(idx, _)| idx).collect();
        let mut rows: Vec<Vec<CompactValue<'_>>> = run.iter().map(|fact| row(fact, &columns)).collect();
        rows.sort_unstable();
        let mut statement = conn.prepare_cached(&entry.insert_sql)?;
        let mut new = 0_u64;
        for row in &rows {
            for (idx, value) in (1..).zip(row) {
                statement.raw_bind_parameter(idx, value)?;
            }
            new += statement.raw_execute()? as u64;
        }
        entry.count(new, 0);
        inserted += new;
    }
    Ok(inserted)
}

/// The values of a fact in these columns.
fn row<'f>(fact: &'f Fact, columns: &[usize]) -> Vec<CompactValue<'f>> {
    columns.iter().filter_map(|idx| fact.args.get(*idx)).map(|arg| CompactValue::of(&arg.id)).collect()
}

/// Deletes every fact that matches the pattern; returns how many there were.
fn delete(conn: &Connection, directory: &mut Directory, pattern: &FactPattern) -> Result<u64, StoreError> {
    let mut deleted = 0_u64;
    for idx in directory.covered_by(pattern) {
        let entry = directory.entry(idx)?;
        let (condition, values) = condition(&entry.relation, pattern);
        let sql = format!("DELETE FROM {}{condition}", entry.relation.table);
        let gone = conn.prepare_cached(&sql)?.execute(params_from_iter(values))? as u64;
        entry.count(0, gone);
        deleted += gone;
    }
    Ok(deleted)
}

/// The `WHERE` of a pattern within a relation that it covers, and its parameters.
pub(super) fn condition(relation: &StoredRelation, pattern: &FactPattern) -> (String, Vec<Param>) {
    condition_on(relation.columns().map(|(idx, column)| match pattern.args.get(idx) {
        Some(ArgPattern::Exact(value)) => (column, Some(value.id.as_str())),
        Some(ArgPattern::Any | ArgPattern::Typed(_)) | None => (column, None),
    }))
}

/// The `WHERE` of columns, each with its value if that is known, and its parameters.
fn condition_on<'v>(
    columns: impl IntoIterator<Item = (impl Display, Option<&'v str>)>,
) -> (String, Vec<Param>) {
    let mut tests = Vec::new();
    let mut values = Vec::new();
    for (column, value) in columns {
        if let Some(value) = value {
            values.push(Param::Value(value.to_owned()));
            tests.push(format!("{column} = ?{}", values.len()));
        }
    }
    let lead = if tests.is_empty() { "" } else { " WHERE " };
    (format!("{lead}{}", tests.join(" AND ")), values)
}

impl SqliteReader {
    /// The stored facts that match, at most `limit` of them, in the order of [`FactPage`].
    pub(in crate::store) fn facts(
        &self,
        relations: &Relations,
        pattern: &FactPattern,
        limit: usize,
    ) -> Result<FactPage, StoreError> {
        let mut page = FactPage::default();
        for relation in relations.relations.iter().filter(|relation| pattern.covers(relation)) {
            // One row more than wanted shows whether there are more.
            let room = limit.saturating_sub(page.facts.len()).saturating_add(1);
            let columns = relation.key();
            let (condition, mut params) = condition(relation, pattern);
            let sql = format!(
                "SELECT {columns} FROM {}{condition} ORDER BY {columns} LIMIT ?{}",
                relation.table,
                params.len() + 1
            );
            params.push(Param::Limit(room));
            let mut is_whole = true;
            self.rows(&sql, &params, |ids| match values(ids) {
                Some(ids) => page.facts.push(relation.fact(ids)),
                None => is_whole = false,
            })?;
            if !is_whole {
                return Err(lacks_value(&relation.table));
            }
            if page.facts.len() > limit {
                page.facts.truncate(limit);
                page.more = true;
                break;
            }
        }
        Ok(page)
    }

    /// The values in the columns of the rows that a look-up finds, by an index of the columns whose values
    /// are known, as far as there is one.
    pub fn look_up(&self, lookup: &Lookup<'_>) -> Result<Vec<Vec<String>>, StoreError> {
        let (sql, params) = statement(lookup);
        let mut found = Vec::new();
        self.rows(&sql, &params, |row| found.push(values(row)))?;
        found.into_iter().collect::<Option<_>>().ok_or_else(|| lacks_value(lookup.table))
    }

    /// Counts facts from the relations' own counters.
    pub(in crate::store) fn stats(&self) -> Result<Stats, StoreError> {
        self.with(stats)
    }
}

fn stats(conn: &Connection) -> rusqlite::Result<Stats> {
    let mut statement = conn.prepare_cached(
        "SELECT predicate, sum(facts) FROM relation GROUP BY predicate HAVING sum(facts) > 0 ORDER BY predicate",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let predicates: Vec<(String, u64)> = rows.collect::<Result<_, _>>()?;
    Ok(Stats { total: predicates.iter().map(|(_, n)| n).sum(), predicates })
}

/// The statement of a look-up, and its parameters.
fn statement(Lookup { table, columns, most }: &Lookup<'_>) -> (String, Vec<Param>) {
    let (condition, mut params) = condition_on(columns.iter().copied());
    params.push(Param::Limit(*most));
    let names: Vec<&str> = columns.iter().map(|(column, _)| *column).collect();
    let selected = if names.is_empty() { "1".to_owned() } else { names.join(", ") };
    (format!("SELECT {selected} FROM {table}{condition} LIMIT ?{}", params.len()), params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_up_binds_what_is_known() {
        let lookup = Lookup { table: "f3", columns: vec![("a0", None), ("a2", Some("x"))], most: 8 };
        let (sql, params) = statement(&lookup);
        assert_eq!(sql, "SELECT a0, a2 FROM f3 WHERE a2 = ?1 LIMIT ?2");
        assert_eq!(params, [Param::Value("x".into()), Param::Limit(8)]);
        let all = Lookup { columns: vec![("a0", None), ("a2", None)], ..lookup };
        assert_eq!(statement(&all).0, "SELECT a0, a2 FROM f3 LIMIT ?1");
    }
}
