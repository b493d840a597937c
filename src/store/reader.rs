//! Reads from a store, whichever engine keeps it.

use super::embedded::{self, SqliteReader};
use super::error::StoreError;
use super::fact::{FactPage, FactPattern, Stats};
use super::policy::{PolicyVersion, StoredPolicy};
use super::postgres::PgReader;
use super::query::{Lookup, Param, RowQuery, Work};
use super::signature::Relations;
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::time::Duration;

/// What is called with each row. The code for a server is not monomorphised per caller: there, a row costs
/// more than an indirect call.
type EachRow<'f> = &'f mut dyn FnMut(&mut [Option<Cow<'_, str>>]) -> Result<ControlFlow<()>, StoreError>;

/// A connection for reading, lent to one closure.
#[derive(Clone, Copy, Debug)]
pub enum Reader<'r> {
    /// To the file of the embedded store.
    Embedded(&'r SqliteReader),
    /// To a PostgreSQL server.
    Postgres(&'r PgReader),
}

impl Reader<'_> {
    /// Runs a statement that returns one row with one truth value.
    pub fn decision(&self, sql: &str, params: &[Param]) -> Result<bool, StoreError> {
        match self {
            Self::Embedded(reader) => reader.decision(sql, params),
            Self::Postgres(reader) => reader.decision(sql, params),
        }
    }

    /// Runs a statement and calls `each` with the values of each row, which it may take, until it breaks or
    /// fails. NULL is `None`.
    pub fn rows_until(
        &self,
        query: RowQuery<'_>,
        params: &[Param],
        mut each: impl FnMut(&mut [Option<Cow<'_, str>>]) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        match self {
            Self::Embedded(reader) => reader.rows_until(query.sql, params, each),
            Self::Postgres(reader) => reader.rows_until(query, params, &mut each as EachRow<'_>),
        }
    }

    /// Like [`rows_until`](Self::rows_until), with all rows.
    pub fn rows(
        &self,
        query: RowQuery<'_>,
        params: &[Param],
        mut each: impl FnMut(&mut [Option<Cow<'_, str>>]),
    ) -> Result<(), StoreError> {
        self.rows_until(query, params, |row| {
            each(row);
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Runs a statement and calls `each` with the values of its first `most` rows; returns whether there are
    /// more.
    pub fn first_rows(
        &self,
        query: RowQuery<'_>,
        params: &[Param],
        most: usize,
        mut each: impl FnMut(&mut [Option<Cow<'_, str>>]),
    ) -> Result<bool, StoreError> {
        match self {
            Self::Embedded(reader) => reader.first_rows(query.sql, params, most, each),
            Self::Postgres(reader) => reader.first_rows(
                query,
                params,
                most,
                &mut each as &mut dyn FnMut(&mut [Option<Cow<'_, str>>]),
            ),
        }
    }

    /// Runs `body` in a snapshot: all its statements see the same facts.
    ///
    /// The relations that its statements name must have been taken before. Inside another snapshot it just
    /// runs `body`.
    pub fn snapshot<T, E: From<StoreError>>(
        &self,
        body: impl FnOnce(&Reader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        match self {
            Self::Embedded(reader) => reader.snapshot(|reader| body(&Reader::Embedded(reader))),
            Self::Postgres(reader) => reader.snapshot(|reader| body(&Reader::Postgres(reader))),
        }
    }

    /// Fails if the closure must end: it is out of time or was cancelled.
    pub fn check(&self) -> Result<(), StoreError> {
        match self {
            Self::Embedded(reader) => reader.check(),
            Self::Postgres(reader) => reader.check(),
        }
    }

    /// Counts work outside of statements towards the limits of the closure, and fails if it must end.
    pub fn count(&self, work: Work) -> Result<(), StoreError> {
        match self {
            Self::Embedded(reader) => reader.count(work),
            Self::Postgres(reader) => reader.count(work),
        }
    }

    /// How the database would run a statement, a step a line.
    pub fn database_plan(&self, sql: &str, params: &[Param]) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Embedded(reader) => reader.database_plan(sql, params),
            Self::Postgres(reader) => reader.database_plan(sql, params),
        }
    }

    /// The rows of a table that a look-up finds.
    pub fn look_up(&self, lookup: &Lookup<'_>) -> Result<Vec<Vec<String>>, StoreError> {
        match self {
            Self::Embedded(reader) => reader.look_up(lookup),
            Self::Postgres(reader) => reader.look_up(lookup),
        }
    }

    /// The stored facts that match, at most `limit` of them.
    pub(super) fn facts(
        &self,
        relations: &Relations,
        pattern: &FactPattern,
        limit: usize,
    ) -> Result<FactPage, StoreError> {
        match self {
            Self::Embedded(reader) => reader.facts(relations, pattern, limit),
            Self::Postgres(reader) => reader.facts(relations, pattern, limit),
        }
    }

    /// How many facts are stored; reads counters, not facts.
    pub(super) fn stats(&self) -> Result<Stats, StoreError> {
        match self {
            Self::Embedded(reader) => reader.stats(),
            Self::Postgres(reader) => reader.stats(),
        }
    }

    /// The policy with this id, or the active one.
    pub(super) fn policy(&self, id: Option<u64>) -> Result<Option<StoredPolicy>, StoreError> {
        match self {
            Self::Embedded(reader) => reader.policy(id),
            Self::Postgres(reader) => reader.policy(id),
        }
    }

    /// All versions, oldest first.
    pub(super) fn policy_versions(&self) -> Result<Vec<PolicyVersion>, StoreError> {
        match self {
            Self::Embedded(reader) => reader.policy_versions(),
            Self::Postgres(reader) => reader.policy_versions(),
        }
    }
}

/// Runs a closure with a reader of an empty embedded store, on a low-priority thread.
///
/// The closure has `limit` in total, which the reader's [`check`](Reader::check) enforces. Dropping the
/// future cancels it.
pub async fn aside<T, F>(limit: Duration, work: F) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: FnOnce(&Reader<'_>) -> Result<T, StoreError> + Send + 'static,
{
    embedded::aside(limit, move |reader| work(&Reader::Embedded(reader))).await
}
