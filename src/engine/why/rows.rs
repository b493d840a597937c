//! The rows that an explanation reads: the store's tables, and the request's context facts.
//!
//! Each read is a prepared statement over one table, which finds its rows by an index of the columns whose
//! values are known, as far as there is one.

use crate::engine::answers::no_room;
use crate::share::{Account, Meter};
use crate::store::{Fact, Param, Reader, StoreError};
use portcullis_compiler::catalog::{Relation, RelationSource, SourceId};
use portcullis_compiler::why::Rows;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an explanation may take.
const TIME: Duration = Duration::from_secs(1);

/// How many steps of SQLite's virtual machine take as long as what follows from a row.
const STEPS_PER_ROW: usize = 20;

/// About how many bytes follow from a read, and from each row of it.
const READ_BYTES: usize = 128;
const ROW_BYTES: usize = 512;

/// The facts of one moment.
pub(super) struct StoredRows<'r> {
    reader: &'r Reader,
    context: &'r [Fact],
    meter: Meter,
    until: Option<Instant>,
}

impl<'r> StoredRows<'r> {
    /// The facts that a reader sees, and those of the request.
    pub(super) fn new(reader: &'r Reader, context: &'r [Fact], account: Option<&Arc<Account>>) -> Self {
        Self { reader, context, meter: Meter::new(account), until: Instant::now().checked_add(TIME) }
    }

    fn stored(
        &self,
        table: &str,
        of: &Relation,
        bound: &[Option<&str>],
        most: usize,
    ) -> Result<Vec<Vec<String>>, StoreError> {
        let (sql, params) = statement(table, of, bound, most);
        let mut found = Vec::new();
        self.reader.rows_until(&sql, &params, |row| {
            let values = row.iter_mut().map(|value| value.take().unwrap_or_default().into_owned());
            found.push(values.collect());
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// The context facts of a relation's kind.
    fn sent(&self, of: &Relation, bound: &[Option<&str>], most: usize) -> Vec<Vec<String>> {
        let is_of = |fact: &&Fact| {
            let types = of.columns().map(|(ty, _)| ty);
            fact.predicate == of.predicate && fact.types().eq(types)
        };
        let ids = |fact: &Fact| fact.args.iter().map(|arg| arg.id.clone()).collect::<Vec<String>>();
        let is_asked = |row: &Vec<String>| {
            row.iter().zip(bound).all(|(id, bound)| bound.is_none_or(|bound| bound == id))
        };
        let mut found: Vec<Vec<String>> =
            self.context.iter().filter(is_of).map(ids).filter(is_asked).collect();
        found.sort_unstable();
        found.dedup();
        found.truncate(most);
        found
    }
}

impl Rows for StoredRows<'_> {
    type Error = StoreError;

    fn rows(
        &mut self,
        _relation: SourceId,
        of: &Relation,
        bound: &[Option<&str>],
        most: usize,
    ) -> Result<Vec<Vec<String>>, StoreError> {
        let found = match &of.source {
            RelationSource::Table { name } => self.stored(name, of, bound, most)?,
            RelationSource::Context { .. } => self.sent(of, bound, most),
            RelationSource::Bound { .. } => {
                return Err(StoreError::Bug("an explanation reads a bound query".to_owned()));
            }
        };
        self.reader.count((1 + found.len()).saturating_mul(STEPS_PER_ROW))?;
        self.meter.grow(READ_BYTES + ROW_BYTES.saturating_mul(found.len())).map_err(no_room)?;
        Ok(found)
    }

    fn is_late(&mut self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// The statement that reads rows of a table, and the values of its parameters. Its names come from the store.
fn statement(table: &str, of: &Relation, bound: &[Option<&str>], most: usize) -> (String, Vec<Param>) {
    let columns: Vec<&str> = of.columns().map(|(_, column)| column).collect();
    let mut params = Vec::new();
    let mut conditions = Vec::new();
    for (column, value) in columns.iter().zip(bound) {
        if let Some(value) = value {
            params.push(Param::Value((*value).to_owned()));
            conditions.push(format!("{column} = ?{}", params.len()));
        }
    }
    params.push(Param::Integer(i64::try_from(most).unwrap_or(i64::MAX)));
    let condition =
        if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
    let selected = if columns.is_empty() { "1".to_owned() } else { columns.join(", ") };
    (format!("SELECT {selected} FROM {table}{condition} LIMIT ?{}", params.len()), params)
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_compiler::catalog::RelationArg;

    #[test]
    fn a_statement_binds_what_is_known() {
        let column = |name: &str| RelationArg::Column { ty: "T".into(), column: name.into() };
        let fixed = RelationArg::Constant { ty: "String".into(), text: "parent".into() };
        let relation = Relation {
            predicate: "has_relation".into(),
            args: vec![column("a0"), fixed, column("a2")],
            source: RelationSource::Table { name: "f3".into() },
        };
        let (sql, params) = statement("f3", &relation, &[None, Some("x")], 8);
        assert_eq!(sql, "SELECT a0, a2 FROM f3 WHERE a2 = ?1 LIMIT ?2");
        assert_eq!(params, [Param::Value("x".into()), Param::Integer(8)]);
        assert_eq!(statement("f3", &relation, &[None, None], 8).0, "SELECT a0, a2 FROM f3 LIMIT ?1");
    }
}
