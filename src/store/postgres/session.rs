//! Statements on a connection. Their errors name the server.
//!
//! Only COPY prepares a statement under a name; no other statement depends on an earlier one.

use super::error::{of_new_facts, of_statement};
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use crate::store::key::random;
use std::pin::pin;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, GenericClient, Row};

/// A connection, or a transaction on it.
pub(super) struct PgSession<'c, C> {
    client: &'c C,
    at: &'c str,
}

impl<C> Clone for PgSession<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

/// The mark of a session: a setting that shows whether its statements still run on one connection. A pooler
/// in transaction mode lends another one, which lacks the settings that questions rely on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionMark(String);

impl SessionMark {
    /// The value of the mark.
    pub(super) const VALUE: &str = "current_setting('portcullis.session', true)";

    /// A mark that no other session has.
    pub(super) fn new() -> Result<Self, StoreError> {
        Ok(Self(format!("{:032x}", u128::from_le_bytes(random()?))))
    }

    /// The statement that marks a connection.
    pub(super) fn set(&self) -> String {
        format!("SET portcullis.session = '{}'", self.0)
    }

    /// Checks the value that a statement on the server at this place had for the mark.
    pub(super) fn check(&self, value: Option<&str>, at: &impl ToString) -> Result<(), StoreError> {
        if value == Some(&self.0) { Ok(()) } else { Err(DatabaseError::Pooler(at.to_string()).into()) }
    }
}

impl<C> Copy for PgSession<'_, C> {}

impl<'c, C: GenericClient> PgSession<'c, C> {
    /// A connection to the server at this place.
    pub(super) fn new(client: &'c C, at: &'c str) -> Self {
        Self { client, at }
    }

    /// The place of the server.
    pub(super) fn at(&self) -> &'c str {
        self.at
    }

    /// Runs statements without parameters.
    pub(super) async fn run(&self, statements: &str) -> Result<(), StoreError> {
        self.client.batch_execute(statements).await.map_err(|error| of_statement(self.at, &error))
    }

    /// The rows of a statement.
    pub(super) async fn rows(
        &self,
        statement: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, StoreError> {
        let rows = self.client.query_typed(statement, params).await;
        rows.map_err(|error| of_statement(self.at, &error))
    }

    /// Runs a statement; returns how many rows it changed.
    pub(super) async fn execute(
        &self,
        statement: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<u64, StoreError> {
        let executed = self.client.execute_typed(statement, params).await;
        executed.map_err(|error| of_statement(self.at, &error))
    }

    /// The same for a statement that adds facts.
    pub(super) async fn add_facts(
        &self,
        statement: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<u64, StoreError> {
        let executed = self.client.execute_typed(statement, params).await;
        executed.map_err(|error| of_new_facts(self.at, &error))
    }

    /// The first row of a statement that has one.
    pub(super) async fn row(
        &self,
        statement: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Row, StoreError> {
        let first = self.rows(statement, params).await?.into_iter().next();
        first.ok_or_else(|| StoreError::Bug("a statement of the store has no row".to_owned()))
    }
}

impl PgSession<'_, Client> {
    /// Sends facts to a statement that copies them into a table; returns how many there were. `None` if one
    /// of them is already in a unique index: the transaction then accepts nothing but a rollback.
    pub(super) async fn copy_facts<'v>(
        &self,
        statement: &str,
        types: &[Type],
        rows: impl Iterator<Item = impl ExactSizeIterator<Item = &'v [u8]>>,
    ) -> Result<Option<u64>, StoreError> {
        let copied = async {
            let mut writer = pin!(BinaryCopyInWriter::new(self.client.copy_in(statement).await?, types));
            for row in rows {
                writer.as_mut().write_raw(row).await?;
            }
            writer.finish().await
        };
        match copied.await {
            Ok(n_rows) => Ok(Some(n_rows)),
            Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => Ok(None),
            Err(error) => Err(of_new_facts(self.at, &error)),
        }
    }
}

/// The value in a column.
pub(super) fn value<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| StoreError::Bug(format!("column {column}: {error}")))
}
