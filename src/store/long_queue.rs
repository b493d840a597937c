//! The queue of long questions, fair between askers.
//!
//! ```text
//! question ─▶ its asker's line ─▶ the lines in turn, one question each ─▶ free reader ─▶ low-priority thread
//! ```
//!
//! Asking more does not get an asker more: each asker has its own line, and a free reader takes the first
//! question of the asker who has waited longest since its last turn. No asker gets all readers, so a second
//! one finds a reader free however slow the questions of the first are. If too many questions wait, the
//! longest line loses its last one.
//!
//! Each question that finds a free reader gets a thread, which continues with the waiting questions. The
//! thread then waits for more questions for a while, because starting one takes as long as a brief question.

use super::error::StoreError;
use super::progress::progress;
use super::rotation::{Lent, Rotation, Task, WaitingTask};
use crate::share::{Asker, give_way};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The name of the threads.
const THREAD: &str = "store-question";

/// How long a thread waits for another question before it ends.
const IDLE: Duration = Duration::from_secs(2);

/// How long closing waits for cancelled questions: many times what one needs to stop.
const CLOSE_TIME: Duration = Duration::from_secs(1);

/// How many questions are running and waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Brief questions that are running.
    pub brief_running: usize,
    /// Long questions that are running.
    pub long_running: usize,
    /// Long questions that are waiting for their turn.
    pub long_waiting: usize,
}

/// How the readers of a queue are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueUsage {
    /// How many there are.
    pub readers: usize,
    /// How many have a question.
    pub running: usize,
    /// How many questions are waiting.
    pub waiting: usize,
    /// How many questions found no free reader.
    pub waits: u64,
    /// How long questions that are no longer waiting have waited in all.
    pub waited: Duration,
}

/// The readers for long questions, and the questions that wait for them.
#[derive(Debug)]
pub(super) struct LongQueue<R> {
    shared: Arc<QueueState<R>>,
}

#[derive(Debug)]
struct QueueState<R> {
    state: Mutex<Rotation<R>>,
    /// Notified when a reader is returned.
    back: Condvar,
    /// Notified when a question is handed to an idle thread.
    handed: Condvar,
    /// Whether the threads have a low priority.
    gives_way: bool,
}

/// A place in a line; dropping it leaves the line.
#[derive(Debug)]
pub(super) struct QueuePlace<R> {
    turns: LongQueue<R>,
    number: u64,
}

/// A running question with its reader.
struct Lease<R> {
    turns: LongQueue<R>,
    asker: Asker,
    /// `None` once it is returned.
    reader: Option<R>,
}

impl<R> Clone for LongQueue<R> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<R: Send + 'static> LongQueue<R> {
    /// A queue for these readers.
    pub(super) fn new(free: Vec<R>, gives_way: bool) -> Self {
        let n_readers = free.len();
        let state = Rotation {
            free,
            n_readers,
            lines: VecDeque::new(),
            handed: VecDeque::new(),
            n_idle: 0,
            n_asked: 0,
            n_waits: 0,
            waited: Duration::ZERO,
            is_closed: false,
        };
        let (state, back, handed) = (Mutex::new(state), Condvar::new(), Condvar::new());
        Self { shared: Arc::new(QueueState { state, back, handed, gives_way }) }
    }

    /// Queues a task. A task that is dropped without running was shed for another asker's, or the store is
    /// closing.
    pub(super) fn queue(&self, asker: Asker, job: Task<R>) -> Result<QueuePlace<R>, StoreError> {
        let (number, lost, next) = {
            let mut state = self.shared.state.lock();
            if state.is_closed {
                return Err(StoreError::Closed);
            }
            state.n_asked += 1;
            let number = state.n_asked;
            state.wait(asker, WaitingTask { number, since: Instant::now(), job });
            let next = state.next();
            state.n_waits += u64::from(next.is_none());
            let next = next.and_then(|lent| state.hand(lent));
            if !state.handed.is_empty() {
                self.shared.handed.notify_one();
            }
            // Drop it after unlocking: it may hold the last handle of this store.
            (number, state.shed(), next)
        };
        drop(lost);
        if let Some(Lent { asker, reader, job }) = next {
            let lease = Lease { turns: self.clone(), asker, reader: Some(reader) };
            let thread = thread::Builder::new().name(THREAD.into()).spawn(move || lease.serve(job));
            thread.map_err(|error| StoreError::no_thread(&error))?;
        }
        Ok(QueuePlace { turns: self.clone(), number })
    }

    /// Runs `read` with a reader once it is this asker's turn, which may take as long as `wait`, and waits
    /// for its answer. `begin` prepares the reader; what it returns is dropped when no caller waits for the
    /// answer any more.
    pub(super) async fn ask<T, G>(
        &self,
        asker: Asker,
        wait: Duration,
        begin: impl FnOnce(&R) -> G + Send + 'static,
        read: impl FnOnce(&R) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        G: Send + 'static,
    {
        // Dropping this future gives the question up.
        let (asked, run) = progress::<G>();
        let (answers, mut answer) = oneshot::channel();
        let job = move |reader: &R| {
            if run.begin(|| begin(reader)) {
                // If the receiver is gone, no one waits for the answer.
                let _ = answers.send(read(reader));
            }
        };
        let _place = self.queue(asker, Box::new(job))?;
        // Only the answer wakes this task, not the beginning: most answers come before the wait is over.
        let answered = match timeout(wait, &mut answer).await {
            Ok(answered) => answered,
            Err(_) if asked.has_begun() => answer.await,
            Err(_) => return Err(StoreError::Overloaded(wait)),
        };
        let gone = || if asked.has_begun() { StoreError::Closed } else { StoreError::Overloaded(wait) };
        answered.map_err(|_| gone())?
    }

    /// How its readers are used.
    pub(super) fn usage(&self) -> QueueUsage {
        let state = self.shared.state.lock();
        QueueUsage {
            readers: state.n_readers,
            running: state.lines.iter().map(|line| line.n_running).sum(),
            waiting: state.n_waiting(),
            waits: state.n_waits,
            waited: state.waited,
        }
    }

    /// Drops all waiting questions, and waits for the lent readers, whose questions were cancelled.
    pub(super) fn close(&self) {
        let (free, waiting) = {
            let mut state = self.shared.state.lock();
            state.is_closed = true;
            let waiting: Vec<_> =
                state.lines.iter_mut().map(|line| std::mem::take(&mut line.waiting)).collect();
            (std::mem::take(&mut state.free), waiting)
        };
        self.shared.handed.notify_all();
        drop((free, waiting));
        // This thread may itself run a question, if that holds the last handle of the store.
        let n_own = usize::from(thread::current().name() == Some(THREAD));
        let mut state = self.shared.state.lock();
        let is_lent =
            |state: &mut Rotation<R>| state.lines.iter().map(|line| line.n_running).sum::<usize>() > n_own;
        self.shared.back.wait_while_for(&mut state, is_lent, CLOSE_TIME);
    }
}

impl<R> Lease<R> {
    /// Runs a task, and then the waiting ones.
    fn serve(mut self, mut job: Task<R>) {
        if self.turns.shared.gives_way {
            give_way();
        }
        while let Some(reader) = self.reader.take() {
            job(&reader);
            let (closed, next) = {
                let mut state = self.turns.shared.state.lock();
                (state.take_back(self.asker, reader), state.next())
            };
            drop(closed);
            self.turns.shared.back.notify_all();
            let Some(next) = next.or_else(|| self.wait()) else { return };
            (self.asker, self.reader, job) = (next.asker, Some(next.reader), next.job);
        }
    }

    /// Waits a while for another question.
    fn wait(&self) -> Option<Lent<R>> {
        let QueueState { state, handed, .. } = &*self.turns.shared;
        let mut state = state.lock();
        state.n_idle += 1;
        let has_nothing = |state: &mut Rotation<R>| state.handed.is_empty() && !state.is_closed;
        handed.wait_while_for(&mut state, has_nothing, IDLE);
        state.n_idle -= 1;
        state.handed.pop_front()
    }
}

impl<R> Drop for Lease<R> {
    /// The reader is still here only if the thread could not be started.
    fn drop(&mut self) {
        let Some(reader) = self.reader.take() else { return };
        let closed = self.turns.shared.state.lock().take_back(self.asker, reader);
        drop(closed);
    }
}

impl<R> Drop for QueuePlace<R> {
    fn drop(&mut self) {
        let left = {
            let mut state = self.turns.shared.state.lock();
            let left = state.lines.iter_mut().find_map(|line| {
                let at = line.waiting.iter().position(|task| task.number == self.number)?;
                line.waiting.remove(at)
            });
            state.waited += left.as_ref().map_or(Duration::ZERO, |task| task.since.elapsed());
            state.lines.retain(|line| line.n_running > 0 || !line.waiting.is_empty());
            left
        };
        drop(left);
    }
}
