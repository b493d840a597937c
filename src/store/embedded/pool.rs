//! Lends readers to questions: brief questions run in place, all others off the async workers.
//!
//! ```text
//! question ─▶ brief reader, in place, for BRIEF steps ─▶ answer
//!                 ├▶ out of time: again, off the workers, for BRIEF steps ─▶ answer
//!                 └▶ out of steps: again, as a long question ─▶ queue ─▶ long reader, on its own thread
//! ```
//!
//! A single check is nearly always brief, and brief readers serve nothing else: however many long questions
//! are queued, a brief one waits only for a few steps of other brief ones. Running in place finishes before
//! another thread would have woken up, which was measured at 20 to 90 µs per question; in place it costs 2
//! µs.
//!
//! The reader used last is lent first, because its statements and pages are in the cache. A question whose
//! asker has gone does not start, and is cancelled if it runs. The time limit of a question counts only while
//! it runs. Waiting has a limit of its own; beyond it the store reports that it is overloaded.

use super::published::Published;
use super::reader::{Running, SqliteReader};
use crate::share::Asker;
use crate::store::error::StoreError;
use crate::store::long_queue::{LongQueue, QueueUsage, Usage};
use crate::store::options::StoreOptions;
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task;

/// How many steps of SQLite's virtual machine a question may run on an async worker: less than a millisecond.
/// Reading pages from the disk and preparing statements come on top. A limit in time would be wrong: a worker
/// that was descheduled would start its question again just then, which next to batches of facts made the
/// slowest percent of checks a sixth slower.
const BRIEF: u64 = 16_000;

/// The time limit that applies as well: if each page comes from a slow disk, a few steps take long.
const TIME_IN_PLACE: Duration = Duration::from_millis(20);

/// How long it may run off the workers before it counts as long.
const TIME_OFF_WORKERS: Duration = Duration::from_secs(1);

/// The readers.
#[derive(Debug)]
pub(super) struct Pool {
    brief: Lane,
    long: LongQueue<SqliteReader>,
    /// How long a question may run.
    limit: Duration,
    /// How long it may wait before it runs.
    wait: Duration,
    /// Whether readers never block on the writer, which can be slow.
    readers_never_block: bool,
    published: Arc<Published>,
    /// Cancels running questions when dropped.
    all: Mutex<Vec<Running>>,
}

impl Pool {
    /// A pool of these readers.
    pub(super) fn new(
        brief: Vec<SqliteReader>,
        long: Vec<SqliteReader>,
        options: &StoreOptions,
        readers_never_block: bool,
        published: Arc<Published>,
    ) -> Self {
        let all = brief.iter().chain(&long).map(SqliteReader::end).collect();
        Self {
            brief: Lane::new(brief),
            // If all questions are long, none lowers its priority.
            long: LongQueue::new(long, readers_never_block),
            limit: options.query_time,
            wait: options.query_wait,
            readers_never_block,
            published,
            all: Mutex::new(all),
        }
    }

    /// How long a question may run.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// The deadline of a question that starts now.
    pub(super) fn deadline(&self) -> Option<Instant> {
        Instant::now().checked_add(self.limit)
    }

    /// How many questions are running and waiting.
    pub(super) fn usage(&self) -> Usage {
        let QueueUsage { running: long_running, waiting: long_waiting, .. } = self.long.usage();
        Usage { brief_running: self.brief.n_lent(), long_running, long_waiting }
    }

    /// Like [`Pool::run`], for a question that may be brief; it may start up to three times.
    pub(super) async fn run_brief<T, F>(
        &self,
        asker: Asker,
        until: Option<Instant>,
        read: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&SqliteReader) -> Result<T, StoreError> + Send + 'static,
    {
        if !self.readers_never_block {
            return self.run(asker, until, read).await;
        }
        let loan = self.brief.lend().await?;
        let within = |time: Duration| {
            let soon = Instant::now().checked_add(time);
            soon.min(until.or(self.deadline()))
        };
        match loan.run(within(TIME_IN_PLACE), Some(BRIEF), &read) {
            Err(StoreError::Timeout(_)) if loan.is_spent() => {
                drop(loan);
                return self.run(asker, until, read).await;
            }
            Err(StoreError::Timeout(_)) => {}
            outcome => return self.published.after(outcome),
        }
        let deadline = within(TIME_OFF_WORKERS);
        let tried = task::spawn_blocking(move || (loan.run(deadline, Some(BRIEF), &read), read));
        match tried.await.map_err(|_| StoreError::Closed)? {
            (Err(StoreError::Timeout(_)), read) => self.run(asker, until, read).await,
            (outcome, _) => self.published.after(outcome),
        }
    }

    /// Runs `read` with a reader for long questions until the deadline, or for the time of one question.
    /// Waiting for its turn does not count.
    pub(super) async fn run<T, F>(
        &self,
        asker: Asker,
        until: Option<Instant>,
        read: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&SqliteReader) -> Result<T, StoreError> + Send + 'static,
    {
        let (limit, asked) = (self.limit, Instant::now());
        let begin = move |reader: &SqliteReader| {
            let now = Instant::now();
            let deadline = match until {
                Some(until) => until.checked_add(now.saturating_duration_since(asked)),
                None => now.checked_add(limit),
            };
            reader.allow(deadline, None)
        };
        let read = |reader: &SqliteReader| guarded(reader, read);
        let outcome = self.long.ask(asker, self.wait, begin, read).await;
        self.published.after(outcome)
    }

    /// Cancels what runs, and lets nothing start.
    pub(super) fn end(&self) {
        self.all.lock().clear();
    }

    /// Closes the readers, except those lent to brief questions at this moment.
    pub(super) fn close(&self) {
        self.end();
        self.brief.close();
        self.long.close();
    }
}

/// Readers that are lent first come, first served.
#[derive(Debug)]
struct Lane {
    free: Arc<Mutex<Vec<SqliteReader>>>,
    n_readers: usize,
    /// One permit for each free reader.
    permits: Arc<Semaphore>,
}

impl Lane {
    fn new(readers: Vec<SqliteReader>) -> Self {
        let n_readers = readers.len();
        let permits = Arc::new(Semaphore::new(n_readers));
        Self { free: Arc::new(Mutex::new(readers)), n_readers, permits }
    }

    fn n_lent(&self) -> usize {
        self.n_readers.saturating_sub(self.permits.available_permits())
    }

    async fn lend(&self) -> Result<Loan, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let reader = self.free.lock().pop();
        if reader.is_none() {
            return Err(StoreError::Closed);
        }
        Ok(Loan { reader, home: Arc::clone(&self.free), _permit: permit })
    }

    fn close(&self) {
        self.permits.close();
        self.free.lock().clear();
    }
}

/// A borrowed reader. Dropping it returns the reader, then the permit.
struct Loan {
    reader: Option<SqliteReader>,
    home: Arc<Mutex<Vec<SqliteReader>>>,
    _permit: OwnedSemaphorePermit,
}

impl Loan {
    fn run<T>(
        &self,
        deadline: Option<Instant>,
        n_steps: Option<u64>,
        read: impl FnOnce(&SqliteReader) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let reader = self.reader.as_ref().ok_or(StoreError::Closed)?;
        let _running = reader.allow(deadline, n_steps);
        guarded(reader, read)
    }

    /// Whether the last closure ran out of steps.
    fn is_spent(&self) -> bool {
        self.reader.as_ref().is_some_and(SqliteReader::is_spent)
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.home.lock().extend(self.reader.take());
    }
}

/// Runs a closure that may panic, and leaves the reader as it was.
pub(super) fn guarded<T>(
    reader: &SqliteReader,
    read: impl FnOnce(&SqliteReader) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let outcome = catch_unwind(AssertUnwindSafe(|| read(reader)));
    // A panic can leave a snapshot open, which the next question must not see.
    reader.end_snapshot();
    outcome.unwrap_or_else(|_| Err(StoreError::Bug("a question panicked".into())))
}
