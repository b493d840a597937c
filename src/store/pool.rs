//! Lends readers to questions, off the async workers.
//!
//! ```text
//! question ─▶ permit (waits its turn) ─▶ the reader used last ─▶ run, blocking ─▶ reader and permit back
//! ```
//!
//! On a multi-threaded runtime the question runs on the very thread that asked: `block_in_place` hands that
//! worker's other tasks to another thread first. Waking a thread of our own and being woken by it was measured at 20 to
//! 90 µs a question, more than most questions take; this costs 2. Elsewhere it runs on the runtime's blocking threads.
//!
//! Even so the worker's tasks go to ever other threads, each with memory of its own. A single check is nearly always over
//! before that pays: it is tried in place first, for [`BRIEF`] steps, and only a longer one is begun anew as above.
//!
//! The reader used last is lent first, as its statements and pages are warm. A question whose asker has gone is not
//! asked, and the time limit counts from the moment of asking: a store that is overloaded answers late questions with
//! a timeout at once instead of working for nobody.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::{OwnedSemaphorePermit, Semaphore},
    task,
};

use super::{error::StoreError, reader::Reader};

/// How many steps of SQLite's machine a question may keep a worker from its other tasks: less than a millisecond; pages that
/// must come from the disk, and a statement's preparation, come on top. Not a time, or a worker that lost its processor to
/// others would begin anew just then: beside batches of facts that made the slowest hundredth of checks a sixth slower.
const BRIEF: u64 = 16_000;

/// How long it may take all the same: where each page comes from a slow disk, few steps take long.
const PATIENCE: Duration = Duration::from_millis(20);

/// The readers that nobody uses.
#[derive(Debug)]
pub(super) struct Pool {
    free: Arc<Mutex<Vec<Reader>>>,
    /// As many permits as there are free readers.
    turns: Arc<Semaphore>,
    limit: Duration,
    /// Whether a reader never waits for the writer, who may take its time.
    waits_for_none: bool,
}

impl Pool {
    /// Takes the readers.
    pub(super) fn new(readers: Vec<Reader>, limit: Duration, waits_for_none: bool) -> Self {
        let turns = Arc::new(Semaphore::new(readers.len()));
        Self { free: Arc::new(Mutex::new(readers)), turns, limit, waits_for_none }
    }

    /// How long a question may take.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// When a question that is asked now must have ended.
    pub(super) fn deadline(&self) -> Option<Instant> {
        Instant::now().checked_add(self.limit)
    }

    /// [`Pool::run`] for what is nearly always brief; it may begin twice.
    pub(super) async fn run_brief<T, F>(&self, deadline: Option<Instant>, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        if self.waits_for_none {
            let loan = self.lend().await?;
            let soon = Instant::now().checked_add(PATIENCE);
            match loan.run(soon.min(deadline), Some(BRIEF), &read) {
                Err(StoreError::Timeout(_)) => {}
                outcome => return outcome,
            }
        }
        self.run(deadline, read).await
    }

    /// Runs `read` with one of the readers.
    pub(super) async fn run<T, F>(&self, deadline: Option<Instant>, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        let loan = self.lend().await?;
        let Ok(runtime) = Handle::try_current() else {
            return loan.run(deadline, None, read);
        };
        if runtime.runtime_flavor() == RuntimeFlavor::MultiThread {
            task::block_in_place(|| loan.run(deadline, None, read))
        } else {
            let running = task::spawn_blocking(move || loan.run(deadline, None, read));
            running.await.map_err(|_| StoreError::Closed)?
        }
    }

    /// Closes the readers that are not lent.
    pub(super) fn close(&self) {
        self.turns.close();
        self.free.lock().clear();
    }

    async fn lend(&self) -> Result<Loan, StoreError> {
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let reader = self.free.lock().pop();
        if reader.is_none() {
            return Err(StoreError::Closed);
        }
        Ok(Loan { reader, home: Arc::clone(&self.free), _turn: turn })
    }
}

/// A reader that returns to the pool when it is dropped, and then its permit.
struct Loan {
    reader: Option<Reader>,
    home: Arc<Mutex<Vec<Reader>>>,
    _turn: OwnedSemaphorePermit,
}

impl Loan {
    fn run<T>(
        self,
        deadline: Option<Instant>,
        n_steps: Option<u64>,
        read: impl FnOnce(&Reader) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let reader = self.reader.as_ref().ok_or(StoreError::Closed)?;
        reader.allow(deadline, n_steps);
        let outcome = catch_unwind(AssertUnwindSafe(|| read(reader)));
        // A panic can leave a snapshot open, which the next question must not see.
        reader.end_snapshot();
        outcome.unwrap_or_else(|_| Err(StoreError::Bug("a question panicked".into())))
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.home.lock().extend(self.reader.take());
    }
}
