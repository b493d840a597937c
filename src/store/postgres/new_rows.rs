//! Adds the facts of one relation to its table.
//!
//! COPY adds many facts in half the time of INSERT, because it looks nothing up before it adds a row. But it
//! fails if one of the facts is already stored. So a few of them are looked up first: if any of these is
//! stored, the batch is probably a repetition, and INSERT is used, as for small batches. If COPY fails
//! anyway, it is rolled back to a savepoint, and INSERT is used as well.
//!
//! Values are always parameters, or rows of COPY; the text of a statement contains only the names of tables
//! and columns, which are made from numbers.

use super::session::PgSession;
use super::sorted_rows::SortedRows;
use crate::store::error::StoreError;
use crate::store::signature::StoredRelation;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

/// How many facts are copied, at least: COPY needs five exchanges with the server, and INSERT one.
pub(super) const COPIED: usize = 1_000;

/// How many are looked up before.
const LOOKED_UP: usize = 16;

/// Rows of a table that may not be in it yet.
pub(super) struct NewRows<'r> {
    table: &'r str,
    /// The arguments that have columns.
    args: Vec<usize>,
    columns: Vec<String>,
    rows: &'r SortedRows,
}

impl<'r> NewRows<'r> {
    /// The rows of facts of a relation, given with all their arguments.
    pub(super) fn of(relation: &'r StoredRelation, rows: &'r SortedRows) -> Self {
        let (args, columns) = relation.columns().unzip();
        Self { table: &relation.table, args, columns, rows }
    }

    /// Adds the rows that are missing; returns how many it added.
    pub(super) async fn insert(
        self,
        session: PgSession<'_, Client>,
        schema: &str,
    ) -> Result<u64, StoreError> {
        if self.rows.len() >= COPIED
            && !self.is_repetition(session, schema).await?
            && let Some(n_copied) = self.copy(session, schema).await?
        {
            return Ok(n_copied);
        }
        let (table, names) = (self.table, self.columns.join(", "));
        let insert = format!(
            "INSERT INTO {schema}.{table} ({names}) SELECT * FROM unnest({}) ON CONFLICT DO NOTHING",
            self.arrays()
        );
        let columns = self.rows.transposed(&self.args, 1);
        session.add_facts(&insert, &params(&columns)).await
    }

    /// Whether one of a few rows is there already.
    async fn is_repetition(&self, session: PgSession<'_, Client>, schema: &str) -> Result<bool, StoreError> {
        let (table, names) = (self.table, self.columns.join(", "));
        let find = format!(
            "SELECT FROM {schema}.{table} JOIN unnest({}) AS new ({names}) USING ({names}) LIMIT 1",
            self.arrays()
        );
        let columns = self.rows.transposed(&self.args, self.rows.len().div_ceil(LOOKED_UP));
        Ok(!session.rows(&find, &params(&columns)).await?.is_empty())
    }

    /// Copies all of them; `None`, and nothing is changed, if one is there already.
    async fn copy(&self, session: PgSession<'_, Client>, schema: &str) -> Result<Option<u64>, StoreError> {
        let copy =
            format!("COPY {schema}.{} ({}) FROM STDIN (FORMAT binary)", self.table, self.columns.join(", "));
        session.run("SAVEPOINT copy").await?;
        let copied = session
            .copy_facts(&copy, &vec![Type::BYTEA; self.columns.len()], self.rows.iter(&self.args))
            .await?;
        if copied.is_none() {
            session.run("ROLLBACK TO copy").await?;
        }
        session.run("RELEASE copy").await?;
        Ok(copied)
    }

    /// The arrays of the columns as parameters of a statement.
    fn arrays(&self) -> String {
        let arrays: Vec<String> = (1..=self.columns.len()).map(|n| format!("${n}::bytea[]")).collect();
        arrays.join(", ")
    }
}

fn params<'c>(columns: &'c [Vec<&'c [u8]>]) -> Vec<(&'c (dyn ToSql + Sync), Type)> {
    columns.iter().map(|column| (column as _, Type::BYTEA_ARRAY)).collect()
}
