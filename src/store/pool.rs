//! Lends readers to questions: brief ones first, off the async workers what is not.
//!
//! ```text
//! question ─▶ a brief reader, in place, for BRIEF steps ─▶ answer
//!                 ├▶ over its time: once more, off the workers, for BRIEF steps ─▶ answer
//!                 └▶ over its steps: begun anew as a long one ─▶ turns ─▶ a long reader, on a thread of its own
//! ```
//!
//! A single check is nearly always brief, and its reader is lent to nothing else: however many long questions wait for
//! each other, a brief one waits for a few steps of its like. Tried in place it is over before another thread would have
//! been woken, which was measured at 20 to 90 µs a question; tried here it costs 2.
//!
//! The reader used last is lent first, as its statements and pages are warm. A question whose asker has gone is not
//! asked, and ends if it runs. The time limit of a question counts while it runs. What it may wait before has a limit of
//! its own, beyond which the store is overloaded and says so.

use super::connect::StoreOptions;
use super::error::StoreError;
use super::long_queue::LongQueue;
use super::reader::{Reader, Running};
use crate::share::Asker;
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task;
use tokio::time::timeout;

/// How many steps of SQLite's machine a question may keep a worker from its other tasks: less than a millisecond; pages that
/// must come from the disk, and a statement's preparation, come on top. Not a time, or a worker that lost its processor to
/// others would begin anew just then: beside batches of facts that made the slowest hundredth of checks a sixth slower.
const BRIEF: u64 = 16_000;

/// How long it may take all the same: where each page comes from a slow disk, few steps take long.
const PATIENCE: Duration = Duration::from_millis(20);

/// How long it may take off the workers before it counts as long.
const MUCH_PATIENCE: Duration = Duration::from_secs(1);

/// The readers.
#[derive(Debug)]
pub(super) struct Pool {
    brief: Lane,
    long: LongQueue,
    /// How long a question may run.
    limit: Duration,
    /// How long it may wait before.
    wait: Duration,
    /// Whether a reader never waits for the writer, who may take its time.
    readers_never_block: bool,
    /// Ends what runs.
    all: Mutex<Vec<Running>>,
}

/// How many questions there are at this moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Brief questions that run.
    pub brief_running: usize,
    /// Long questions that run.
    pub long_running: usize,
    /// Long questions that wait for their turn.
    pub long_waiting: usize,
}

impl Pool {
    /// Takes the readers of brief and of long questions.
    pub(super) fn new(
        brief: Vec<Reader>,
        long: Vec<Reader>,
        options: &StoreOptions,
        readers_never_block: bool,
    ) -> Self {
        let all = brief.iter().chain(&long).map(Reader::end).collect();
        Self {
            brief: Lane::new(brief),
            // Where all questions are long ones, none has to give way.
            long: LongQueue::new(long, readers_never_block),
            limit: options.query_time,
            wait: options.query_wait,
            readers_never_block,
            all: Mutex::new(all),
        }
    }

    /// How long a question may take.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// When a question that is asked now must have ended.
    pub(super) fn deadline(&self) -> Option<Instant> {
        Instant::now().checked_add(self.limit)
    }

    /// How many questions run and wait.
    pub(super) fn usage(&self) -> Usage {
        let (long_running, long_waiting) = self.long.usage();
        Usage { brief_running: self.brief.n_lent(), long_running, long_waiting }
    }

    /// [`Pool::run`] for what may be brief; it may begin three times.
    pub(super) async fn run_brief<T, F>(
        &self,
        asker: Asker,
        until: Option<Instant>,
        read: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        if !self.readers_never_block {
            return self.run(asker, until, read).await;
        }
        let loan = self.brief.lend().await?;
        let within = |patience: Duration| {
            let soon = Instant::now().checked_add(patience);
            soon.min(until.or(self.deadline()))
        };
        match loan.run(within(PATIENCE), Some(BRIEF), &read) {
            Err(StoreError::Timeout(_)) if loan.is_spent() => {
                drop(loan);
                return self.run(asker, until, read).await;
            }
            Err(StoreError::Timeout(_)) => {}
            outcome => return outcome,
        }
        let deadline = within(MUCH_PATIENCE);
        let tried = task::spawn_blocking(move || (loan.run(deadline, Some(BRIEF), &read), read));
        match tried.await.map_err(|_| StoreError::Closed)? {
            (Err(StoreError::Timeout(_)), read) => self.run(asker, until, read).await,
            (outcome, _) => outcome,
        }
    }

    /// Runs `read` with a reader of long questions; it has the time of a question, or until then, not counting what it
    /// waits for its turn.
    pub(super) async fn run<T, F>(
        &self,
        asker: Asker,
        until: Option<Instant>,
        read: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        let (begins, begun) = oneshot::channel();
        let (answers, answer) = oneshot::channel();
        let (limit, asked) = (self.limit, Instant::now());
        let job = move |reader: &Reader| {
            let now = Instant::now();
            let deadline = match until {
                Some(until) => until.checked_add(now.saturating_duration_since(asked)),
                None => now.checked_add(limit),
            };
            if begins.send(reader.allow(deadline, None)).is_ok() {
                // Whoever does not wait any more needs no answer.
                let _ = answers.send(guarded(reader, read));
            }
        };
        let _place = self.long.queue(asker, Box::new(job))?;
        let overloaded = || StoreError::Overloaded(self.wait);
        // Dropped with this future, which ends the question.
        let running = timeout(self.wait, begun).await.map_err(|_| overloaded())?;
        let _running: Running = running.map_err(|_| overloaded())?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Ends what runs, and lets nothing run any more.
    pub(super) fn end(&self) {
        self.all.lock().clear();
    }

    /// Closes the readers, except those that brief questions have at this moment.
    pub(super) fn close(&self) {
        self.end();
        self.brief.close();
        self.long.close();
    }
}

/// Readers that are lent in the order of asking.
#[derive(Debug)]
struct Lane {
    free: Arc<Mutex<Vec<Reader>>>,
    n_readers: usize,
    /// As many permits as there are free readers.
    permits: Arc<Semaphore>,
}

impl Lane {
    fn new(readers: Vec<Reader>) -> Self {
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

/// A reader that returns to its lane when it is dropped, and then its permit.
struct Loan {
    reader: Option<Reader>,
    home: Arc<Mutex<Vec<Reader>>>,
    _permit: OwnedSemaphorePermit,
}

impl Loan {
    fn run<T>(
        &self,
        deadline: Option<Instant>,
        n_steps: Option<u64>,
        read: impl FnOnce(&Reader) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let reader = self.reader.as_ref().ok_or(StoreError::Closed)?;
        let _running = reader.allow(deadline, n_steps);
        guarded(reader, read)
    }

    /// Whether what was run had no step left.
    fn is_spent(&self) -> bool {
        self.reader.as_ref().is_some_and(Reader::is_spent)
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.home.lock().extend(self.reader.take());
    }
}

/// Runs what may panic, and leaves the reader as it was.
pub(super) fn guarded<T>(
    reader: &Reader,
    read: impl FnOnce(&Reader) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let outcome = catch_unwind(AssertUnwindSafe(|| read(reader)));
    // A panic can leave a snapshot open, which the next question must not see.
    reader.end_snapshot();
    outcome.unwrap_or_else(|_| Err(StoreError::Bug("a question panicked".into())))
}
