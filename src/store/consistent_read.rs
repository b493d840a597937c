//! Consistent reads: repeats a question if a new relation was published while it ran.
//!
//! A question takes the list of relations, then reads. If a batch commits in between and adds facts to old
//! and to new relations, the question would see only the former. Its result is then discarded, and it runs
//! again with the new list. A writer that keeps adding relations could repeat a question forever, so all
//! attempts after the first share the time limit of one question, and exceeding it is a timeout.

use super::{Reader, Relations, Store, StoreError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// About how long a commit takes.
const COMMIT: Duration = Duration::from_micros(500);

/// One attempt at a consistent read, and what it begins with.
#[derive(Clone, Debug)]
pub struct ConsistentRead<'s> {
    store: &'s Store,
    offset: u64,
    relations: Arc<Relations>,
    is_first: bool,
    /// The deadline, not counting waits for a reader. `None` for the first attempt, each read of which has
    /// the full time limit: compiling does not count.
    until: Option<Instant>,
}

impl Store {
    /// Runs a closure that reads from the attempt's relations, and repeats it if a relation was added
    /// meanwhile.
    pub async fn consistently<'s, T, E, F>(&'s self, read: impl Fn(ConsistentRead<'s>) -> F) -> Result<T, E>
    where
        E: From<StoreError>,
        F: Future<Output = Result<T, E>>,
    {
        let embedded = &self.embedded;
        let (mut is_first, mut until) = (true, None);
        loop {
            // In this order: the relations contain the facts of all writes up to the offset.
            let (offset, relations) = (embedded.offset(), embedded.relations());
            let generation = relations.generation;
            let outcome = read(ConsistentRead { store: self, offset, relations, is_first, until }).await;
            if embedded.pending_generation() == generation {
                return outcome;
            }
            if is_first {
                (is_first, until) = (false, embedded.deadline());
            }
            self.check_time(until)?;
            while embedded.pending_generation() != embedded.relations().generation {
                tokio::time::sleep(COMMIT).await;
                self.check_time(until)?;
            }
        }
    }

    fn check_time(&self, until: Option<Instant>) -> Result<(), StoreError> {
        match until {
            Some(until) if Instant::now() >= until => Err(StoreError::Timeout(self.embedded.query_time())),
            Some(_) | None => Ok(()),
        }
    }
}

impl ConsistentRead<'_> {
    /// Whether this is the first attempt.
    pub fn is_first(&self) -> bool {
        self.is_first
    }

    /// The relations that the attempt reads from. Its statements may name their tables.
    pub fn relations(&self) -> &Arc<Relations> {
        &self.relations
    }

    /// The store's offset at the beginning: the attempt sees all writes up to it, and perhaps later ones.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Like [`Store::read`], within the time of the question.
    pub async fn read<T, R>(&self, read: R) -> Result<T, StoreError>
    where
        T: Send + 'static,
        R: FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        self.store.embedded.read(self.store.asker, self.until, read).await
    }

    /// Like [`ConsistentRead::read`], for a closure that is probably fast. A slow one is started again as a
    /// long question.
    pub async fn read_brief<T, R>(&self, read: R) -> Result<T, StoreError>
    where
        T: Send + 'static,
        R: Fn(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        self.store.embedded.read_brief(self.store.asker, self.until, read).await
    }
}
