//! Whose turn it is: the askers' lines and the free readers.

use crate::share::Asker;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How many questions may wait: half of the concurrent requests with default settings. A request that waits
/// here asks nothing else meanwhile, which is cheaper than refusing it again and again.
const MOST_WAITING: usize = 256;

/// A question as a closure over a reader.
pub(super) type Task<R> = Box<dyn FnOnce(&R) + Send>;

/// The askers' lines and the free readers.
#[derive(Debug)]
pub(super) struct Rotation<R> {
    pub(super) free: Vec<R>,
    pub(super) n_readers: usize,
    /// The askers with waiting or running questions, the next to have a turn first.
    pub(super) lines: VecDeque<AskerLine<R>>,
    /// The questions that idle threads are about to take.
    pub(super) handed: VecDeque<Lent<R>>,
    /// How many threads wait for a question.
    pub(super) n_idle: usize,
    /// How many questions there have been; this numbers them.
    pub(super) n_asked: u64,
    pub(super) n_waits: u64,
    pub(super) waited: Duration,
    pub(super) is_closed: bool,
}

/// A question that is about to run, with the reader that it gets.
pub(super) struct Lent<R> {
    pub(super) asker: Asker,
    pub(super) reader: R,
    pub(super) job: Task<R>,
}

/// The questions of one asker.
pub(super) struct AskerLine<R> {
    pub(super) asker: Asker,
    pub(super) n_running: usize,
    pub(super) waiting: VecDeque<WaitingTask<R>>,
}

/// A question that waits, which every one does for a moment.
pub(super) struct WaitingTask<R> {
    pub(super) number: u64,
    pub(super) since: Instant,
    pub(super) job: Task<R>,
}

impl<R> std::fmt::Debug for AskerLine<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { asker, n_running, waiting } = self;
        let shown = format_args!("{asker:?}: {n_running} running, {} waiting", waiting.len());
        shown.fmt(f)
    }
}

impl<R> std::fmt::Debug for Lent<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a question of {:?}", self.asker)
    }
}

impl<R> Rotation<R> {
    /// Hands a question to an idle thread; returns the question if no thread is idle.
    pub(super) fn hand(&mut self, lent: Lent<R>) -> Option<Lent<R>> {
        if self.n_idle > self.handed.len() {
            self.handed.push_back(lent);
            return None;
        }
        Some(lent)
    }

    pub(super) fn n_waiting(&self) -> usize {
        self.lines.iter().map(|line| line.waiting.len()).sum()
    }

    /// Adds a task to its asker's line; a new line is added at the end.
    pub(super) fn wait(&mut self, asker: Asker, task: WaitingTask<R>) {
        if let Some(line) = self.lines.iter_mut().find(|line| line.asker == asker) {
            line.waiting.push_back(task);
        } else {
            let waiting = VecDeque::from([task]);
            self.lines.push_back(AskerLine { asker, n_running: 0, waiting });
        }
    }

    /// The next question that can run, with its reader.
    pub(super) fn next(&mut self) -> Option<Lent<R>> {
        let most = self.n_readers.saturating_sub(1).max(1);
        let can_ask = |line: &AskerLine<R>| !line.waiting.is_empty() && line.n_running < most;
        let at = self.lines.iter().position(can_ask).filter(|_| !self.free.is_empty())?;
        let mut line = self.lines.remove(at)?;
        let first = line.waiting.pop_front();
        self.waited += first.as_ref().map_or(Duration::ZERO, |first| first.since.elapsed());
        line.n_running += usize::from(first.is_some());
        let asker = line.asker;
        self.lines.push_back(line);
        Some(Lent { asker, reader: self.free.pop()?, job: first?.job })
    }

    /// Removes the last question of the longest line, if too many wait.
    pub(super) fn shed(&mut self) -> Option<Task<R>> {
        if self.n_waiting() <= MOST_WAITING {
            return None;
        }
        let longest = self.lines.iter_mut().max_by_key(|line| line.waiting.len())?;
        longest.waiting.pop_back().map(|task| task.job)
    }

    /// Takes a reader back; returns it if the store has closed.
    pub(super) fn take_back(&mut self, asker: Asker, reader: R) -> Option<R> {
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
