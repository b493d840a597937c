//! Runs read-only statements, each within its time limit.
//!
//! A [`SqliteReader`] owns one read-only connection with its prepared statements. It is lent to one
//! closure at a time. What the closure may still use is counted in [`Left`], which is shared: any thread
//! that holds its [`Running`] can cancel the closure.

use super::value;
use crate::store::error::StoreError;
use crate::store::query::{Param, Work};
use rusqlite::Connection;
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Steps of SQLite's virtual machine between two checks of the limits: about ten microseconds if its pages
/// are cached.
const STEPS_PER_LOOK: i32 = 2_000;

/// Steps that take as long as making an answer from a row.
const STEPS_PER_ANSWER: usize = 20;

/// Steps that take as long as what follows from a row in an explanation.
const STEPS_PER_ROW: usize = 20;

/// Rows with up to this many columns are passed on without an allocation.
const SMALL_ROW: usize = 8;

/// A read-only connection.
#[derive(Debug)]
pub struct SqliteReader {
    conn: Connection,
    left: Arc<Left>,
    limit: Duration,
}

impl SqliteReader {
    /// A reader over a connection.
    pub(super) fn new(mut conn: Connection, limit: Duration) -> Result<Self, StoreError> {
        let left = Arc::new(Left::new());
        let watched = Arc::clone(&left);
        conn.progress_handler(STEPS_PER_LOOK, Some(move || watched.look()))?;
        Ok(Self { conn, left, limit })
    }

    /// Runs one statement and calls `each` with the values of each row, which it may take. NULL is `None`.
    pub fn rows(
        &self,
        sql: &str,
        params: &[Param],
        mut each: impl FnMut(&mut [Option<Cow<'_, str>>]),
    ) -> Result<(), StoreError> {
        self.rows_until(sql, params, |row| {
            each(row);
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Like [`rows`](Self::rows), until `each` breaks or fails.
    pub fn rows_until(
        &self,
        sql: &str,
        params: &[Param],
        mut each: impl FnMut(&mut [Option<Cow<'_, str>>]) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        self.run(sql, params, |row, n_columns| {
            let mut small = [const { None }; SMALL_ROW];
            if let Some(columns) = small.get_mut(..n_columns) {
                for (idx, column) in columns.iter_mut().enumerate() {
                    *column = value::read(row, idx)?;
                }
                each(columns)
            } else {
                let columns = (0..n_columns).map(|idx| value::read(row, idx));
                each(&mut columns.collect::<Result<Vec<_>, _>>()?)
            }
        })
    }

    /// Runs one statement and calls `each` with the values of its first `most` rows; returns whether there
    /// are more.
    pub fn first_rows(
        &self,
        sql: &str,
        params: &[Param],
        most: usize,
        mut each: impl FnMut(&mut [Option<Cow<'_, str>>]),
    ) -> Result<bool, StoreError> {
        let mut n_rows = 0;
        self.run(sql, params, |row, n_columns| {
            n_rows += 1;
            if n_rows > most {
                return Ok(ControlFlow::Break(()));
            }
            let columns = (0..n_columns).map(|idx| value::read(row, idx));
            each(&mut columns.collect::<Result<Vec<_>, _>>()?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(n_rows > most)
    }

    /// Runs a statement that returns one row with one truth value.
    pub fn decision(&self, sql: &str, params: &[Param]) -> Result<bool, StoreError> {
        let mut answer = None;
        self.run(sql, params, |row, _| {
            answer = Some(row.get::<_, i64>(0)? != 0);
            Ok(ControlFlow::Continue(()))
        })?;
        answer.ok_or_else(|| StoreError::Bug("a decision has no row".into()))
    }

    /// How SQLite would run a statement: one line per step, indented below its parent.
    pub fn database_plan(&self, sql: &str, params: &[Param]) -> Result<Vec<String>, StoreError> {
        let mut depths: Vec<(i64, usize)> = Vec::new();
        let mut steps = Vec::new();
        self.run(&format!("EXPLAIN QUERY PLAN {sql}"), params, |row, _| {
            let (id, parent, step) =
                (row.get("id")?, row.get::<_, i64>("parent")?, row.get::<_, String>("detail")?);
            let depth = depths.iter().find(|(above, _)| *above == parent).map_or(0, |(_, depth)| depth + 1);
            depths.push((id, depth));
            steps.push(format!("{}{step}", "  ".repeat(depth)));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(steps)
    }

    /// Runs `body` in one read transaction: all its statements see the same facts.
    ///
    /// The relations that its statements name must have been taken before. Inside another snapshot it just
    /// runs `body`.
    pub fn snapshot<T, E: From<StoreError>>(&self, body: impl FnOnce(&Self) -> Result<T, E>) -> Result<T, E> {
        if !self.conn.is_autocommit() {
            return body(self);
        }
        let begun = self.conn.prepare_cached("BEGIN").and_then(|mut begin| begin.execute([]));
        begun.map_err(StoreError::from)?;
        let outcome = body(self);
        self.end_snapshot();
        outcome
    }

    /// Runs one of the store's own statements.
    pub(super) fn with<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        read(&self.conn).map_err(|error| self.failure(error))
    }

    /// Ends the read transaction, if one is open. It has nothing to commit.
    pub(super) fn end_snapshot(&self) {
        if !self.conn.is_autocommit() {
            // This must succeed however late it is: the next question must not see the old snapshot.
            self.left.exempt.store(true, Ordering::Relaxed);
            let ended = self.conn.prepare_cached("ROLLBACK").and_then(|mut end| end.execute([]));
            self.left.exempt.store(false, Ordering::Relaxed);
            if let Err(error) = ended {
                tracing::error!(%error, "a reader could not end its transaction");
            }
        }
    }

    /// Fails if the closure must end: it is out of time or was cancelled.
    pub fn check(&self) -> Result<(), StoreError> {
        if self.left.is_ended() {
            Err(StoreError::Closed)
        } else if self.left.is_late() {
            Err(StoreError::Timeout(self.limit))
        } else {
            Ok(())
        }
    }

    /// Counts work outside of statements, and fails like [`check`](Self::check). A brief question must not
    /// do more of it than of statements.
    pub fn count(&self, work: Work) -> Result<(), StoreError> {
        let n_steps = match work {
            Work::Answers(n_answers) => n_answers.saturating_mul(STEPS_PER_ANSWER),
            Work::Rows(n_rows) => n_rows.saturating_mul(STEPS_PER_ROW),
        };
        self.left.take(n_steps as u64);
        if self.is_spent() { Err(StoreError::Timeout(self.limit)) } else { self.check() }
    }

    /// Sets the limits until the next call: statements fail after `deadline`, after about `n_steps` steps, or
    /// when the returned value is dropped.
    pub(super) fn allow(&self, deadline: Option<Instant>, n_steps: Option<u64>) -> Running {
        let question = self.left.set(deadline, n_steps);
        Running { left: Arc::clone(&self.left), question }
    }

    /// Whether the last closure ran out of steps.
    pub(super) fn is_spent(&self) -> bool {
        self.left.looks.load(Ordering::Relaxed) == 0
    }

    /// Cancels every closure of this reader, now and later, when dropped.
    pub(super) fn end(&self) -> Running {
        Running { left: Arc::clone(&self.left), question: u64::MAX }
    }

    fn run(
        &self,
        sql: &str,
        params: &[Param],
        mut each: impl FnMut(&rusqlite::Row<'_>, usize) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        self.check()?;
        let mut statement = self.conn.prepare_cached(sql).map_err(|error| self.failure(error))?;
        let n_columns = statement.column_count();
        let mut rows = statement.query(rusqlite::params_from_iter(params))?;
        loop {
            match rows.next() {
                Ok(Some(row)) => {
                    if each(row, n_columns)?.is_break() {
                        return Ok(());
                    }
                }
                Ok(None) => return Ok(()),
                Err(error) => return Err(self.failure(error)),
            }
        }
    }

    /// An interrupted statement exceeded a limit; the reader knows which one.
    fn failure(&self, error: rusqlite::Error) -> StoreError {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) if self.left.is_ended() => StoreError::Closed,
            Some(rusqlite::ErrorCode::OperationInterrupted) => StoreError::Timeout(self.limit),
            _ => error.into(),
        }
    }
}

/// A running closure; dropping this cancels it, if it still runs.
#[derive(Debug)]
pub(super) struct Running {
    left: Arc<Left>,
    question: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        // A late drop must not undo the cancellation of a later closure.
        self.left.ended.fetch_max(self.question, Ordering::Relaxed);
    }
}

/// What the running statements may still use; shared with SQLite's progress handler.
///
/// Time measures how long the asker waits, and steps measure work: a descheduled thread uses time without
/// doing work.
#[derive(Debug)]
struct Left {
    start: Instant,
    /// The deadline in nanoseconds since the start.
    nanos: AtomicU64,
    /// How many more times SQLite may check.
    looks: AtomicU64,
    /// The number of the running closure, counted from 1.
    question: AtomicU64,
    /// The last cancelled closure; all before it are cancelled too.
    ended: AtomicU64,
    /// Whether what runs now cannot be cancelled.
    exempt: AtomicBool,
}

impl Left {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            nanos: AtomicU64::new(u64::MAX),
            looks: AtomicU64::new(u64::MAX),
            question: AtomicU64::new(1),
            ended: AtomicU64::new(0),
            exempt: AtomicBool::new(false),
        }
    }

    /// Starts a new closure, and returns its number.
    fn set(&self, deadline: Option<Instant>, n_steps: Option<u64>) -> u64 {
        let nanos = deadline.map_or(u64::MAX, |at| nanos(at.saturating_duration_since(self.start)));
        self.nanos.store(nanos, Ordering::Relaxed);
        self.looks.store(n_steps.map_or(u64::MAX, looks), Ordering::Relaxed);
        // Only the thread that has the reader starts closures.
        self.question.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Uses up steps outside of SQLite.
    fn take(&self, n_steps: u64) {
        let left = self.looks.load(Ordering::Relaxed);
        self.looks.store(left.saturating_sub(looks(n_steps)), Ordering::Relaxed);
    }

    /// Whether a limit is reached; called after each [`STEPS_PER_LOOK`] steps.
    fn look(&self) -> bool {
        if self.exempt.load(Ordering::Relaxed) {
            return false;
        }
        let looks = self.looks.load(Ordering::Relaxed);
        // Only the thread that has the reader counts.
        self.looks.store(looks.saturating_sub(1), Ordering::Relaxed);
        looks == 0 || self.is_late() || self.is_ended()
    }

    fn is_late(&self) -> bool {
        nanos(self.start.elapsed()) > self.nanos.load(Ordering::Relaxed)
    }

    fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed) >= self.question.load(Ordering::Relaxed)
    }
}

/// How many checks this many steps are.
fn looks(n_steps: u64) -> u64 {
    n_steps / u64::from(STEPS_PER_LOOK.unsigned_abs())
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SQLite counts the steps of a cached statement over all its runs, so sooner or later a check falls into
    /// a short one.
    #[test]
    fn a_snapshot_ends_however_late_it_is() {
        let reader = SqliteReader::new(Connection::open_in_memory().unwrap(), Duration::ZERO).unwrap();
        for round in 0..5_000 {
            reader.conn.execute_batch("BEGIN").unwrap();
            let _running = reader.allow(Some(Instant::now()), Some(0));
            reader.end_snapshot();
            assert!(reader.conn.is_autocommit(), "round {round}");
            reader.allow(None, None);
        }
    }
}
