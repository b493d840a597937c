//! Long questions take turns.
//!
//! ```text
//! question ─▶ line of its asker ─▶ the askers' turns, one question each ─▶ a free reader ─▶ a thread that gives way
//! ```
//!
//! Whoever asks more does not get more: each asker has a line of its own, and a reader that becomes free takes the first
//! question of the asker who has waited longest since a turn. No asker has all readers, so that the next one finds a
//! reader free however long the questions of the first take. Where too many wait, the longest line loses its last.
//!
//! Each question that finds a reader free gets a thread, which goes on with those that wait and then ends. Starting one
//! takes some ten microseconds, and a question that comes here more than a thousand.

use super::error::StoreError;
use super::reader::Reader;
use super::writer;
use crate::share::Asker;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Questions that may wait: half of the requests that may be at work, unless the settings say otherwise. Who waits here asks
/// nothing else meanwhile, which costs less than refusing it over and over.
const MOST_WAITING: usize = 256;

/// The name of the threads.
const THREAD: &str = "store-question";

/// How long closing waits for questions to notice that they have ended: many times what one takes for that.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is done with a reader.
pub(super) type Task = Box<dyn FnOnce(&Reader) + Send>;

/// The readers of long questions, and who waits for them.
#[derive(Clone, Debug)]
pub(super) struct LongQueue {
    shared: Arc<QueueState>,
}

#[derive(Debug)]
struct QueueState {
    state: Mutex<Lines>,
    /// Told when a reader comes back.
    back: Condvar,
    /// Whether the threads leave the processors to others first.
    gives_way: bool,
}

#[derive(Debug)]
struct Lines {
    free: Vec<Reader>,
    n_readers: usize,
    /// Everybody who waits or whose questions run; whose turn is next stands first.
    lines: VecDeque<Line>,
    /// Questions so far, which numbers them.
    n_asked: u64,
    is_closed: bool,
}

/// The questions of one asker.
struct Line {
    asker: Asker,
    n_running: usize,
    waiting: VecDeque<(u64, Task)>,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { asker, n_running, waiting } = self;
        let shown = format_args!("{asker:?}: {n_running} running, {} waiting", waiting.len());
        shown.fmt(f)
    }
}

/// A place in a line, which is given up when this is dropped.
#[derive(Debug)]
pub(super) struct QueuePlace {
    turns: LongQueue,
    number: u64,
}

/// A question that has its reader.
struct Lease {
    turns: LongQueue,
    asker: Asker,
    /// `None` once it is given back.
    reader: Option<Reader>,
}

impl LongQueue {
    /// Takes the readers.
    pub(super) fn new(free: Vec<Reader>, gives_way: bool) -> Self {
        let n_readers = free.len();
        let state = Lines { free, n_readers, lines: VecDeque::new(), n_asked: 0, is_closed: false };
        let (state, back) = (Mutex::new(state), Condvar::new());
        Self { shared: Arc::new(QueueState { state, back, gives_way }) }
    }

    /// Queues a job. One that is dropped without a turn has lost its place to another asker's, or the store closes.
    pub(super) fn queue(&self, asker: Asker, job: Task) -> Result<QueuePlace, StoreError> {
        let (number, lost, next) = {
            let mut state = self.shared.state.lock();
            if state.is_closed {
                return Err(StoreError::Closed);
            }
            state.n_asked += 1;
            let number = state.n_asked;
            state.wait(asker, number, job);
            let next = state.next();
            // What is dropped may be the last to hold this very store: not while the state is locked.
            (number, state.shed(), next)
        };
        drop(lost);
        if let Some((asker, reader, job)) = next {
            let turn = Lease { turns: self.clone(), asker, reader: Some(reader) };
            let thread = thread::Builder::new().name(THREAD.into()).spawn(move || turn.serve(job));
            thread.map_err(|error| StoreError::Io(format!("no thread for a question: {error}")))?;
        }
        Ok(QueuePlace { turns: self.clone(), number })
    }

    /// Questions that run, and that wait.
    pub(super) fn usage(&self) -> (usize, usize) {
        let state = self.shared.state.lock();
        (state.lines.iter().map(|line| line.n_running).sum(), state.n_waiting())
    }

    /// Lets nobody wait any more, and waits for the readers that are lent, whose questions were ended.
    pub(super) fn close(&self) {
        let (free, waiting) = {
            let mut state = self.shared.state.lock();
            state.is_closed = true;
            let waiting: Vec<_> =
                state.lines.iter_mut().map(|line| std::mem::take(&mut line.waiting)).collect();
            (std::mem::take(&mut state.free), waiting)
        };
        drop((free, waiting));
        // A question may hold the last handle of its store.
        let n_own = usize::from(thread::current().name() == Some(THREAD));
        let mut state = self.shared.state.lock();
        let is_lent =
            |state: &mut Lines| state.lines.iter().map(|line| line.n_running).sum::<usize>() > n_own;
        self.shared.back.wait_while_for(&mut state, is_lent, PATIENCE);
    }
}

impl Lines {
    fn n_waiting(&self) -> usize {
        self.lines.iter().map(|line| line.waiting.len()).sum()
    }

    /// Puts a job into the line of its asker, who comes last if there was none.
    fn wait(&mut self, asker: Asker, number: u64, job: Task) {
        if let Some(line) = self.lines.iter_mut().find(|line| line.asker == asker) {
            line.waiting.push_back((number, job));
        } else {
            let waiting = VecDeque::from([(number, job)]);
            self.lines.push_back(Line { asker, n_running: 0, waiting });
        }
    }

    /// The next question that can be asked, with its reader.
    fn next(&mut self) -> Option<(Asker, Reader, Task)> {
        let most = self.n_readers.saturating_sub(1).max(1);
        let can_ask = |line: &Line| !line.waiting.is_empty() && line.n_running < most;
        let at = self.lines.iter().position(can_ask).filter(|_| !self.free.is_empty())?;
        let mut line = self.lines.remove(at)?;
        let first = line.waiting.pop_front();
        line.n_running += usize::from(first.is_some());
        let asker = line.asker;
        self.lines.push_back(line);
        Some((asker, self.free.pop()?, first?.1))
    }

    /// Takes the last question of the longest line, if too many wait.
    fn shed(&mut self) -> Option<Task> {
        if self.n_waiting() <= MOST_WAITING {
            return None;
        }
        let longest = self.lines.iter_mut().max_by_key(|line| line.waiting.len())?;
        longest.waiting.pop_back().map(|(_, job)| job)
    }

    /// Takes a reader back, unless the store has closed.
    fn take_back(&mut self, asker: Asker, reader: Reader) -> Option<Reader> {
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

impl Lease {
    /// Runs a job, and then those that wait.
    fn serve(mut self, mut job: Task) {
        if self.turns.shared.gives_way {
            writer::give_way();
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

impl Drop for Lease {
    /// Only where no thread could be started the reader is still here.
    fn drop(&mut self) {
        let Some(reader) = self.reader.take() else { return };
        let closed = self.turns.shared.state.lock().take_back(self.asker, reader);
        drop(closed);
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        let left = {
            let mut state = self.turns.shared.state.lock();
            let job = state.lines.iter_mut().find_map(|line| {
                let at = line.waiting.iter().position(|(number, _)| *number == self.number)?;
                line.waiting.remove(at)
            });
            state.lines.retain(|line| line.n_running > 0 || !line.waiting.is_empty());
            job
        };
        drop(left);
    }
}
