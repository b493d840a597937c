//! Consistent reads: repeats a question if a new relation was published while it ran.
//!
//! A question takes the list of relations, then reads. If a batch commits in between and adds facts to old
//! and to new relations, the question would see only the former. Its result is then discarded, and it runs
//! again with the new list. A writer that keeps adding relations could repeat a question forever, so all
//! attempts after the first share the time limit of one question, and exceeding it is a timeout.

use super::{Reader, Store, StoreError};
use std::time::{Duration, Instant};

/// About how long a commit takes.
const COMMIT: Duration = Duration::from_micros(500);

/// One attempt at a consistent read.
#[derive(Clone, Copy, Debug)]
pub struct ConsistentRead<'s> {
    store: &'s Store,
    is_first: bool,
    /// The deadline, not counting waits for a reader. `None` for the first attempt, each read of which has
    /// the full time limit: compiling does not count.
    until: Option<Instant>,
}

impl Store {
    /// Runs a closure that takes the relations and then reads, and repeats it if a relation was added
    /// meanwhile.
    pub async fn consistently<'s, T, E, F>(&'s self, read: impl Fn(ConsistentRead<'s>) -> F) -> Result<T, E>
    where
        E: From<StoreError>,
        F: Future<Output = Result<T, E>>,
    {
        let embedded = &self.embedded;
        let mut attempt = ConsistentRead { store: self, is_first: true, until: None };
        loop {
            let generation = embedded.relations().generation;
            let outcome = read(attempt).await;
            if embedded.pending_generation() == generation {
                return outcome;
            }
            if attempt.is_first {
                attempt = ConsistentRead { store: self, is_first: false, until: embedded.deadline() };
            }
            attempt.check_time()?;
            while embedded.pending_generation() != embedded.relations().generation {
                tokio::time::sleep(COMMIT).await;
                attempt.check_time()?;
            }
        }
    }
}

impl ConsistentRead<'_> {
    /// Whether this is the first attempt.
    pub fn is_first(self) -> bool {
        self.is_first
    }

    /// Like [`Store::read`], within the time of the question.
    pub async fn read<T, R>(self, read: R) -> Result<T, StoreError>
    where
        T: Send + 'static,
        R: FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        self.store.embedded.read(self.store.asker, self.until, read).await
    }

    /// Like [`ConsistentRead::read`], for a closure that is probably fast. A slow one is started again as a
    /// long question.
    pub async fn read_brief<T, R>(self, read: R) -> Result<T, StoreError>
    where
        T: Send + 'static,
        R: Fn(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        self.store.embedded.read_brief(self.store.asker, self.until, read).await
    }

    fn check_time(self) -> Result<(), StoreError> {
        match self.until {
            Some(until) if Instant::now() >= until => {
                Err(StoreError::Timeout(self.store.embedded.query_time()))
            }
            Some(_) | None => Ok(()),
        }
    }
}
