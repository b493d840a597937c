//! Runs long computations off the async workers, on fewer threads than there are processors, in fair turns.
//!
//! In: a closure, and its asker. Out: the closure's result. Work waits until a thread is free. The next turn
//! goes to the environment that has waited longest for one, within it to the key that has, and for that key
//! to its oldest work: however much one key sends, another waits for at most one piece of work of each.
//! Running work is not interrupted, and work whose asker has gone before its turn does not start.
//!
//! Each piece of work gets a thread. Starting one takes about ten microseconds, and unlike a shared thread it
//! can lower its priority for good, so that brief questions do not wait for long work.

use super::priority::give_way;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{BuildHasher, BuildHasherDefault};
use std::sync::Arc;
use std::thread;
use tokio::sync::oneshot;

/// For how many turns it is known who had them.
const KEPT: usize = 4_096;

/// The asker: a key of an environment. The default is the service itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Asker {
    environment: u64,
    key: u64,
}

impl Asker {
    /// The asker with this key.
    pub fn new(environment: &str, key: &str) -> Self {
        // Only authenticated keys get here, so hashes cannot be chosen to collide.
        let hash = BuildHasherDefault::<FxHasher>::default();
        Self { environment: hash.hash_one(environment), key: hash.hash_one(key) }
    }
}

/// The work was not done.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// It panicked.
    #[error("work off the async workers panicked")]
    Panicked,
    /// The system has no thread for it.
    #[error("cannot start a thread for work off the async workers: {0}; raise the system's limit of threads")]
    NoThread(#[from] std::io::Error),
}

/// Threads for long work, and the work that waits for one.
#[derive(Debug)]
pub struct Turns {
    queue: Mutex<Queue>,
    /// Whether the threads have a low priority.
    gives_way: bool,
}

#[derive(Debug, Default)]
struct Queue {
    /// How many threads are free.
    free: usize,
    /// The waiting work, oldest first.
    waiting: Vec<Waiting>,
    /// How many turns there were.
    n_turns: u64,
    /// The latest turn of each environment, and of each key: not of all that ever had one, but at least of
    /// those that had one of the latest [`KEPT`].
    of_environment: FxHashMap<u64, u64>,
    of_key: FxHashMap<Asker, u64>,
}

#[derive(Debug)]
struct Waiting {
    asker: Asker,
    turn: oneshot::Sender<Turn>,
}

/// The permission to run; dropping it passes it to the next.
#[derive(Debug)]
struct Turn(Option<Arc<Turns>>);

impl Turns {
    /// Turns for `at_once` pieces of work at the same time.
    fn new(at_once: usize, gives_way: bool) -> Self {
        Self { queue: Mutex::new(Queue { free: at_once.max(1), ..Queue::default() }), gives_way }
    }

    /// One fewer than there are processors, with a low priority, so that long work always leaves one to brief
    /// questions.
    pub fn with_low_priority() -> Self {
        Self::new(n_processors() - 1, true)
    }

    /// As many as there are processors: more threads would only share them.
    pub fn for_each_processor() -> Self {
        Self::new(n_processors(), false)
    }

    /// Runs work in its turn.
    ///
    /// # Errors
    /// The work panicked, or there is no thread for it.
    pub async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        asker: Asker,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Lost> {
        let turn = self.turn(asker).await;
        let gives_way = self.gives_way;
        let (tell, answer) = oneshot::channel();
        let run = move || {
            let _turn = turn;
            if gives_way {
                give_way();
            }
            // If the receiver is gone, no one waits for the answer.
            let _ = tell.send(work());
        };
        thread::Builder::new().name("long-work".into()).spawn(run)?;
        answer.await.map_err(|_| Lost::Panicked)
    }

    /// How many pieces of work have had their turn.
    #[cfg(test)]
    pub(crate) fn n_turns(&self) -> u64 {
        self.queue.lock().n_turns
    }

    async fn turn(self: &Arc<Self>, asker: Asker) -> Turn {
        let coming = {
            let mut queue = self.queue.lock();
            if queue.free > 0 {
                queue.free -= 1;
                queue.note(asker);
                return Turn(Some(Arc::clone(self)));
            }
            let (turn, coming) = oneshot::channel();
            queue.waiting.push(Waiting { asker, turn });
            coming
        };
        // Waiting work stays in the queue until it gets its turn, so the channel is not closed before.
        coming.await.unwrap_or(Turn(None))
    }
}

fn n_processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Queue {
    fn note(&mut self, asker: Asker) {
        self.n_turns += 1;
        self.of_environment.insert(asker.environment, self.n_turns);
        self.of_key.insert(asker, self.n_turns);
        if self.of_key.len() > 2 * KEPT {
            // A forgotten asker counts as new; its last turn was long ago anyway.
            let oldest = self.n_turns - KEPT as u64;
            self.of_key.retain(|_, turn| *turn > oldest);
            self.of_environment.retain(|_, turn| *turn > oldest);
        }
    }

    /// Removes and returns the work whose turn is next.
    fn next(&mut self) -> Option<Waiting> {
        self.waiting.retain(|waiting| !waiting.turn.is_closed());
        let latest = |waiting: &Waiting| {
            let of_environment = self.of_environment.get(&waiting.asker.environment).copied();
            (of_environment.unwrap_or_default(), self.of_key.get(&waiting.asker).copied().unwrap_or_default())
        };
        let (idx, _) = self.waiting.iter().enumerate().min_by_key(|(_, waiting)| latest(waiting))?;
        let next = self.waiting.remove(idx);
        self.note(next.asker);
        Some(next)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(turns) = self.0.take() else { return };
        let mut queue = turns.queue.lock();
        while let Some(next) = queue.next() {
            match next.turn.send(Turn(Some(Arc::clone(&turns)))) {
                Ok(()) => return,
                // Its asker has just gone; the turn must not be dropped under the lock.
                Err(mut turn) => turn.0 = None,
            }
        }
        queue.free += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn asker(environment: &str, key: &str) -> Asker {
        Asker::new(environment, key)
    }

    /// The order in which work runs that was queued in this order behind other work.
    async fn order(asked: &[(&'static str, &'static str)]) -> Vec<usize> {
        let turns = Arc::new(Turns::new(1, false));
        let done = Arc::new(Mutex::new(Vec::new()));
        let first = turns.turn(asker("a", "1")).await;
        let mut waiting = Vec::new();
        for (at, (environment, key)) in asked.iter().enumerate() {
            let (ours, done) = (Arc::clone(&turns), Arc::clone(&done));
            let asker = asker(environment, key);
            waiting.push(tokio::spawn(async move { ours.run(asker, move || done.lock().push(at)).await }));
            while turns.queue.lock().waiting.len() <= at {
                tokio::task::yield_now().await;
            }
        }
        drop(first);
        for each in waiting {
            each.await.expect("no panic").expect("work that is done");
        }
        done.lock().clone()
    }

    #[tokio::test]
    async fn environments_take_turns_and_within_them_keys() {
        let asked = [("a", "1"), ("a", "1"), ("a", "2"), ("a", "1"), ("b", "1"), ("b", "1")];
        assert_eq!(order(&asked).await, [4, 2, 5, 0, 1, 3]);
    }

    #[tokio::test]
    async fn keys_that_are_not_used_any_more_are_forgotten() {
        let turns = Arc::new(Turns::new(1, false));
        for n in 0..3 * KEPT {
            drop(turns.turn(asker(&format!("e{}", n / 2), &n.to_string())).await);
        }
        let queue = turns.queue.lock();
        assert!((KEPT..=2 * KEPT).contains(&queue.of_key.len()), "{}", queue.of_key.len());
        assert!(queue.of_environment.len() <= queue.of_key.len());
    }

    #[tokio::test]
    async fn who_has_gone_gets_no_turn() {
        let turns = Arc::new(Turns::new(1, false));
        let first = turns.turn(Asker::default()).await;
        let gone = tokio::time::timeout(Duration::from_millis(1), turns.run(Asker::default(), || ()));
        assert!(gone.await.is_err());
        drop(first);
        assert_eq!(turns.queue.lock().free, 1);
        assert_eq!(turns.run(Asker::default(), || 7).await.ok(), Some(7));
    }

    #[tokio::test]
    async fn work_that_panics_gives_its_turn_on() {
        let turns = Arc::new(Turns::new(1, false));
        for _ in 0..3 {
            let lost = turns.run(Asker::default(), || std::panic::resume_unwind(Box::new(()))).await;
            assert!(lost.is_err());
        }
        assert_eq!(turns.run(Asker::default(), || 7).await.ok(), Some(7));
    }
}
