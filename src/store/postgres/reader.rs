//! Runs read-only statements on a connection, each within its time limit.
//!
//! A [`PgReader`] has a runtime for its connection alone. The thread that waits for an answer drives both:
//! waiting for another thread to read the socket would cost more time than most statements take.
//!
//! The connection is made at the first statement, and again after one that was broken: a statement that has
//! returned nothing yet is then tried once more. A statement that exceeds its time, or whose asker has gone,
//! is cancelled on the server, and its connection is given up.

use super::clock::{self, Clock, ClockRow, N_COLUMNS, WantedWrites};
use super::pinned::{PinnedConnection, ReaderSource};
use super::runtime::OwnRuntime;
use super::session::{SessionMark, value};
use super::value::{self, SentParam};
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use crate::store::query::{Param, RowQuery, Work};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::{sleep_until, timeout};
use tokio_postgres::Row;

/// How long the end of a snapshot, or a cancellation, may take until the connection is given up.
const END_TIME: Duration = Duration::from_secs(1);

/// Rows with up to this many columns are passed on without an allocation.
const SMALL_ROW: usize = 8;

/// A connection for reading.
pub struct PgReader {
    source: Arc<ReaderSource>,
    mark: SessionMark,
    connection: RefCell<Option<PinnedConnection>>,
    snapshot: Cell<SnapshotState>,
    question: RefCell<Question>,
    /// The clock of the first statement of the question.
    seen: Cell<Option<Clock>>,
    /// The end of all questions.
    closing: Arc<QuestionEnd>,
    // Dropped last: the connection runs on it.
    runtime: OwnRuntime,
}

/// Whether all statements see the same facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SnapshotState {
    /// Each sees those of its moment.
    Closed,
    /// The next statement begins a snapshot.
    Wanted,
    /// They see those of the first.
    Open,
}

/// What limits the statements of a closure.
#[derive(Clone, Debug, Default)]
struct Question {
    wanted: WantedWrites,
    deadline: Option<Instant>,
    end: Arc<QuestionEnd>,
}

/// The end of a question whose asker has gone, or of all questions.
#[derive(Debug, Default)]
struct QuestionEnd {
    is_ended: AtomicBool,
    notify: Notify,
}

/// Cancels a question when dropped.
#[derive(Debug)]
pub(super) struct RunningQuestion(Arc<QuestionEnd>);

impl QuestionEnd {
    fn is_reached(&self) -> bool {
        self.is_ended.load(Ordering::SeqCst)
    }
}

impl Drop for RunningQuestion {
    fn drop(&mut self) {
        self.0.is_ended.store(true, Ordering::SeqCst);
        self.0.notify.notify_one();
    }
}

impl std::fmt::Debug for PgReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PgReader({})", self.source.schema)
    }
}

impl PgReader {
    /// A reader that will connect when it is used.
    pub(super) fn new(source: Arc<ReaderSource>) -> Result<Self, StoreError> {
        Ok(Self {
            source,
            mark: SessionMark::new()?,
            connection: RefCell::default(),
            snapshot: Cell::new(SnapshotState::Closed),
            question: RefCell::default(),
            seen: Cell::default(),
            closing: Arc::default(),
            runtime: OwnRuntime::new()?,
        })
    }

    /// Runs a statement that returns one row with one truth value.
    pub fn decision(&self, sql: &str, params: &[Param]) -> Result<bool, StoreError> {
        let text = clock::decision(&self.source.schema, sql, params.len());
        let mut answer = None;
        self.run(&text, sent(params)?, &mut |row| {
            self.note(row)?;
            answer = value::<Option<bool>>(row, N_COLUMNS)?;
            Ok(ControlFlow::Continue(()))
        })?;
        answer.ok_or_else(|| StoreError::Bug("a decision has no answer".to_owned()))
    }

    /// Runs a statement and calls `each` with the values of each row, which it may take, until it breaks or
    /// fails. NULL is `None`.
    pub fn rows_until(
        &self,
        query: RowQuery<'_>,
        params: &[Param],
        mut each: impl FnMut(&mut [Option<Cow<'_, str>>]) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let RowQuery { sql, n_columns } = query;
        let text = clock::rows(&self.source.schema, sql, params.len(), n_columns);
        self.below_clock(&text, sent(params)?, &mut |row| {
            let read = |column| value::read(row, N_COLUMNS + column);
            let mut small = [const { None }; SMALL_ROW];
            if let Some(columns) = small.get_mut(..n_columns) {
                for (column, value) in columns.iter_mut().enumerate() {
                    *value = read(column)?;
                }
                each(columns)
            } else {
                each(&mut (0..n_columns).map(read).collect::<Result<Vec<_>, _>>()?)
            }
        })
    }

    /// How the server would run a statement that returns rows of values: one line per step.
    pub fn database_plan(&self, sql: &str, params: &[Param]) -> Result<Vec<String>, StoreError> {
        let text = clock::alone_below(&self.source.schema, sql, params.len());
        let mut steps = Vec::new();
        self.run(&format!("EXPLAIN {text}"), sent(params)?, &mut |row| {
            steps.push(value::<String>(row, 0)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(steps)
    }

    /// Runs one of the store's own statements, whose columns have these types, and calls `each` with each
    /// row. They come after the columns of the clock.
    pub(super) fn records(
        &self,
        statement: &str,
        types: &[&str],
        params: Vec<SentParam>,
        each: &mut dyn FnMut(&Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let text = clock::records(self.schema(), statement, params.len(), types);
        self.below_clock(&text, params, &mut |row| each(row).map(ControlFlow::Continue))
    }

    /// Reads the clock alone.
    pub fn confirm(&self) -> Result<Clock, StoreError> {
        let text = clock::alone(&self.source.schema);
        self.run(&text, Vec::new(), &mut |row| {
            self.note(row)?;
            Ok(ControlFlow::Continue(()))
        })?;
        self.seen.get().ok_or_else(|| StoreError::Bug("the environment has no clock".to_owned()))
    }

    /// Runs `body` in one snapshot: all its statements see the same facts. Inside another snapshot it just
    /// runs `body`.
    pub fn snapshot<T, E>(&self, body: impl FnOnce(&Self) -> Result<T, E>) -> Result<T, E> {
        if self.snapshot.get() != SnapshotState::Closed {
            return body(self);
        }
        self.snapshot.set(SnapshotState::Wanted);
        let outcome = body(self);
        self.end_snapshot();
        outcome
    }

    /// The clock of the first statement since the closure began.
    pub fn seen(&self) -> Option<Clock> {
        self.seen.get()
    }

    /// Whether it has a connection.
    pub(super) fn is_connected(&self) -> bool {
        self.connection.borrow().as_ref().is_some_and(|connection| self.source.may_use(connection))
    }

    /// Fails if the closure must end: it is out of time, or its asker has gone.
    pub fn check(&self) -> Result<(), StoreError> {
        let question = self.question.borrow();
        if question.end.is_reached() || self.closing.is_reached() {
            Err(StoreError::Closed)
        } else if question.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Err(StoreError::Timeout(self.source.limit))
        } else {
            Ok(())
        }
    }

    /// Counts work outside of statements, and fails like [`check`](Self::check). Only time is limited here.
    pub fn count(&self, _: Work) -> Result<(), StoreError> {
        self.check()
    }

    /// Sets the limits until the next call: statements must see the `wanted` writes, and fail after
    /// `deadline` or when the returned value is dropped.
    pub(super) fn allow(&self, wanted: WantedWrites, deadline: Option<Instant>) -> RunningQuestion {
        let end = Arc::<QuestionEnd>::default();
        self.seen.set(None);
        *self.question.borrow_mut() = Question { wanted, deadline, end: Arc::clone(&end) };
        RunningQuestion(end)
    }

    /// Cancels every question of this reader, now and later, when dropped.
    pub(super) fn end(&self) -> RunningQuestion {
        RunningQuestion(Arc::clone(&self.closing))
    }

    /// The schema of the environment.
    pub(super) fn schema(&self) -> &str {
        &self.source.schema
    }

    /// Runs a closure that may panic, and leaves the reader as it was.
    pub(super) fn guarded<T>(
        &self,
        read: impl FnOnce(&Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let outcome = catch_unwind(AssertUnwindSafe(|| read(self)));
        self.end_snapshot();
        outcome.unwrap_or_else(|_| Err(StoreError::Bug("a question panicked".into())))
    }

    /// Notes the clock in a row, and checks it.
    fn note(&self, row: &Row) -> Result<(), StoreError> {
        self.mark.check(clock::mark(row)?, &self.source.address)?;
        let clock = ClockRow::read(row)?.checked(&self.question.borrow().wanted)?;
        self.seen.set(self.seen.get().or(Some(clock)));
        Ok(())
    }

    /// Runs a statement whose first row is the clock, and calls `each` with the others.
    fn below_clock(
        &self,
        text: &str,
        params: Vec<SentParam>,
        each: &mut dyn FnMut(&Row) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let mut has_clock = false;
        self.run(text, params, &mut |row| {
            if std::mem::replace(&mut has_clock, true) {
                return each(row);
            }
            self.note(row).map(ControlFlow::Continue)
        })?;
        if has_clock { Ok(()) } else { Err(StoreError::Bug("a statement has no clock".to_owned())) }
    }

    /// Runs a statement that begins with the clock.
    fn run(
        &self,
        text: &str,
        mut bound: Vec<SentParam>,
        each: &mut dyn FnMut(&Row) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        bound.extend(self.question.borrow().wanted.params());
        loop {
            let mut slot = self.connection.try_borrow_mut().map_err(|_| {
                StoreError::Bug("a statement begins while another one of the same reader runs".to_owned())
            })?;
            if self.snapshot.get() != SnapshotState::Open {
                slot.take_if(|connection| !self.source.may_use(connection));
            }
            let (is_new, mut n_rows) = (slot.is_none(), 0_usize);
            if is_new && self.snapshot.get() == SnapshotState::Open {
                return Err(StoreError::Bug("the connection of a snapshot is gone".to_owned()));
            }
            let begins = self.snapshot.get() == SnapshotState::Wanted;
            let outcome = self.limited(async {
                let connection = match slot.take() {
                    Some(connection) => connection,
                    None => self.source.connect(&self.mark).await?,
                };
                if begins {
                    connection.begin().await?;
                    self.snapshot.set(SnapshotState::Open);
                }
                let connection = slot.insert(connection);
                connection
                    .stream(text, &bound, &mut |row| {
                        n_rows += 1;
                        each(row)
                    })
                    .await
            });
            match outcome {
                Err(StoreError::Database(DatabaseError::Unreachable { .. })) => {
                    *slot = None;
                    if is_new || n_rows > 0 || self.snapshot.get() == SnapshotState::Open && !begins {
                        return outcome;
                    }
                    if begins {
                        self.snapshot.set(SnapshotState::Wanted);
                    }
                }
                Err(StoreError::Database(DatabaseError::Pooler(_))) => {
                    *slot = None;
                    return outcome;
                }
                Err(StoreError::Timeout(_) | StoreError::Closed) => {
                    self.give_up(slot.take());
                    return outcome;
                }
                outcome => return outcome,
            }
        }
    }

    /// Runs something on the reader's own runtime, until the question must end.
    fn limited<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        self.check()?;
        let Question { deadline, end, .. } = self.question.borrow().clone();
        let late = async {
            match deadline {
                Some(deadline) => sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        self.runtime.block_on(async {
            tokio::select! {
                outcome = work => outcome,
                () = end.notify.notified() => Err(StoreError::Closed),
                () = self.closing.notify.notified() => Err(StoreError::Closed),
                () = late => Err(StoreError::Timeout(self.source.limit)),
            }
        })
    }

    /// Runs something that must end soon.
    fn brief<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let late = |_| StoreError::Timeout(END_TIME);
        self.runtime.block_on(async { timeout(END_TIME, work).await.map_err(late)? })
    }

    /// Cancels the server's work for an abandoned connection.
    fn give_up(&self, connection: Option<PinnedConnection>) {
        if let Some(connection) = connection {
            // A server that does not answer stops at the statement's own time limit.
            let _ = self.brief(connection.cancel());
        }
    }

    /// Ends the snapshot, if one is open.
    fn end_snapshot(&self) {
        if self.snapshot.replace(SnapshotState::Closed) != SnapshotState::Open {
            return;
        }
        let mut slot = self.connection.borrow_mut();
        if let Some(connection) = slot.as_ref()
            && self.brief(connection.roll_back()).is_err()
        {
            *slot = None;
        }
    }
}

/// The parameters of a statement as they are sent.
fn sent(params: &[Param]) -> Result<Vec<SentParam>, StoreError> {
    params.iter().map(SentParam::of).collect()
}
