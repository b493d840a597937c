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
//! Each question that finds a free reader gets a thread, which continues with the waiting questions and then
//! ends. Starting a thread takes about ten microseconds, and a long question takes more than a thousand.

use super::error::StoreError;
use crate::share::{Asker, give_way};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How many questions may wait: half of the concurrent requests with default settings. A request that waits
/// here asks nothing else meanwhile, which is cheaper than refusing it again and again.
const MOST_WAITING: usize = 256;

/// The name of the threads.
const THREAD: &str = "store-question";

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

/// A question as a closure over a reader.
pub(super) type Task<R> = Box<dyn FnOnce(&R) + Send>;

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
    /// Whether the threads have a low priority.
    gives_way: bool,
}

#[derive(Debug)]
struct Rotation<R> {
    free: Vec<R>,
    n_readers: usize,
    /// The askers with waiting or running questions, the next to have a turn first.
    lines: VecDeque<AskerLine<R>>,
    /// How many questions there were, which numbers them.
    n_asked: u64,
    n_waits: u64,
    waited: Duration,
    is_closed: bool,
}

/// The questions of one asker.
struct AskerLine<R> {
    asker: Asker,
    n_running: usize,
    waiting: VecDeque<WaitingTask<R>>,
}

/// A question that waits, which every one does for a moment.
struct WaitingTask<R> {
    number: u64,
    since: Instant,
    job: Task<R>,
}

impl<R> std::fmt::Debug for AskerLine<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { asker, n_running, waiting } = self;
        let shown = format_args!("{asker:?}: {n_running} running, {} waiting", waiting.len());
        shown.fmt(f)
    }
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
            n_asked: 0,
            n_waits: 0,
            waited: Duration::ZERO,
            is_closed: false,
        };
        let (state, back) = (Mutex::new(state), Condvar::new());
        Self { shared: Arc::new(QueueState { state, back, gives_way }) }
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
            // Drop it after unlocking: it may hold the last handle of this store.
            (number, state.shed(), next)
        };
        drop(lost);
        if let Some((asker, reader, job)) = next {
            let turn = Lease { turns: self.clone(), asker, reader: Some(reader) };
            let thread = thread::Builder::new().name(THREAD.into()).spawn(move || turn.serve(job));
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
        let (begins, begun) = oneshot::channel();
        let (answers, answer) = oneshot::channel();
        let job = move |reader: &R| {
            if begins.send(begin(reader)).is_ok() {
                // If the receiver is gone, no one waits for the answer.
                let _ = answers.send(read(reader));
            }
        };
        let _place = self.queue(asker, Box::new(job))?;
        let overloaded = || StoreError::Overloaded(wait);
        // Dropping this future drops it.
        let running = timeout(wait, begun).await.map_err(|_| overloaded())?;
        let _running: G = running.map_err(|_| overloaded())?;
        answer.await.map_err(|_| StoreError::Closed)?
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
        drop((free, waiting));
        // This thread may itself run a question, if that holds the last handle of the store.
        let n_own = usize::from(thread::current().name() == Some(THREAD));
        let mut state = self.shared.state.lock();
        let is_lent =
            |state: &mut Rotation<R>| state.lines.iter().map(|line| line.n_running).sum::<usize>() > n_own;
        self.shared.back.wait_while_for(&mut state, is_lent, CLOSE_TIME);
    }
}

impl<R> Rotation<R> {
    fn n_waiting(&self) -> usize {
        self.lines.iter().map(|line| line.waiting.len()).sum()
    }

    /// Adds a task to its asker's line; a new line is added at the end.
    fn wait(&mut self, asker: Asker, task: WaitingTask<R>) {
        if let Some(line) = self.lines.iter_mut().find(|line| line.asker == asker) {
            line.waiting.push_back(task);
        } else {
            let waiting = VecDeque::from([task]);
            self.lines.push_back(AskerLine { asker, n_running: 0, waiting });
        }
    }

    /// The next question that can run, with its reader.
    fn next(&mut self) -> Option<(Asker, R, Task<R>)> {
        let most = self.n_readers.saturating_sub(1).max(1);
        let can_ask = |line: &AskerLine<R>| !line.waiting.is_empty() && line.n_running < most;
        let at = self.lines.iter().position(can_ask).filter(|_| !self.free.is_empty())?;
        let mut line = self.lines.remove(at)?;
        let first = line.waiting.pop_front();
        self.waited += first.as_ref().map_or(Duration::ZERO, |first| first.since.elapsed());
        line.n_running += usize::from(first.is_some());
        let asker = line.asker;
        self.lines.push_back(line);
        Some((asker, self.free.pop()?, first?.job))
    }

    /// Removes the last question of the longest line, if too many wait.
    fn shed(&mut self) -> Option<Task<R>> {
        if self.n_waiting() <= MOST_WAITING {
            return None;
        }
        let longest = self.lines.iter_mut().max_by_key(|line| line.waiting.len())?;
        longest.waiting.pop_back().map(|task| task.job)
    }

    /// Takes a reader back; returns it if the store has closed.
    fn take_back(&mut self, asker: Asker, reader: R) -> Option<R> {
        if let Some(line) = self.lines.iter_mut().find(|line| line.asker == asker) {
            line.n_running = line.n_running.saturating_sub(1);
        }
        self.lines.retain(|line| line.n_running > 0 || !line.waiting.is_empty());
        if self.is_closed {
            return Some(reader);
        }
        self.free.push(reader);
        None
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
            let Some((asker, reader, next)) = next else { return };
            (self.asker, self.reader, job) = (asker, Some(reader), next);
        }
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
