//! Questions that are asked again, as a relation came while they were answered.
//!
//! A question takes the relations and then reads. With a batch in between that puts facts into old and new relations it
//! could see the former alone, so what it saw is thrown away and it is asked again, over the relations of then. A
//! writer that makes relations without a pause could keep a question from ever being answered: all attempts after the first
//! together have the time of one question, and then it fails as a slow one does.

use super::{Reader, Store, StoreError};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a commit takes, about.
const COMMIT: Duration = Duration::from_micros(500);

/// One attempt to answer a question.
#[derive(Clone, Copy, Debug)]
pub struct ConsistentRead<'s> {
    store: &'s Store,
    is_first: bool,
    /// When the question must have its answer, what it waits for a reader aside. None for the first attempt, each read of
    /// which has the time of a question: compiling does not count.
    until: Option<Instant>,
}

impl Store {
    /// Runs what takes the relations and then reads, again if a relation came meanwhile.
    pub async fn consistently<'s, T, E, F>(&'s self, read: impl Fn(ConsistentRead<'s>) -> F) -> Result<T, E>
    where
        E: From<StoreError>,
        F: Future<Output = Result<T, E>>,
    {
        let published = &self.shared.published;
        let mut attempt = ConsistentRead { store: self, is_first: true, until: None };
        loop {
            let generation = published.relations.read().generation;
            let outcome = read(attempt).await;
            if published.pending_generation.load(Ordering::SeqCst) == generation {
                return outcome;
            }
            if attempt.is_first {
                attempt = ConsistentRead { store: self, is_first: false, until: self.shared.pool.deadline() };
            }
            attempt.check_time()?;
            while published.pending_generation.load(Ordering::SeqCst) != published.relations.read().generation
            {
                tokio::time::sleep(COMMIT).await;
                attempt.check_time()?;
            }
        }
    }
}

impl ConsistentRead<'_> {
    /// Whether the question was not asked before.
    pub fn is_first(self) -> bool {
        self.is_first
    }

    /// [`Store::read`] within the time of the question.
    pub async fn read<T, R>(self, read: R) -> Result<T, StoreError>
    where
        T: Send + 'static,
        R: FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        self.store.shared.pool.run(self.store.asker, self.until, read).await
    }

    /// [`ConsistentRead::read`] for a closure that is probably done in no time; one that is not is run again.
    pub async fn read_brief<T, R>(self, read: R) -> Result<T, StoreError>
    where
        T: Send + 'static,
        R: Fn(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        self.store.shared.pool.run_brief(self.store.asker, self.until, read).await
    }

    fn check_time(self) -> Result<(), StoreError> {
        match self.until {
            Some(until) if Instant::now() >= until => {
                Err(StoreError::Timeout(self.store.shared.pool.limit()))
            }
            Some(_) | None => Ok(()),
        }
    }
}
