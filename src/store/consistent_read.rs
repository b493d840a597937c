//! Consistent reads: repeats a question if a new relation was published while it ran.
//!
//! A question takes the list of relations, then reads. If a batch commits in between and adds facts to old
//! and to new relations, the question would see only the former. Its result is then discarded, and it runs
//! again with the new list, as it does if a table of its list does not exist any more. The embedded store
//! knows of such a commit before readers can see it. A store on PostgreSQL learns of it from the clock of the
//! answer, since another process may have committed.
//!
//! A writer that keeps adding relations could repeat a question forever, so all attempts after the first
//! share the time limit of one question, and exceeding it is a timeout.

use super::postgres::Clock;
use super::{Backend, DatabaseError, Expected, Reader, Relations, Store, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
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
    seen: Arc<SeenClock>,
}

/// What a question's clocks showed.
#[derive(Debug)]
struct SeenClock {
    /// The newest generation of relations; negative before the first.
    catalog: AtomicI64,
    /// The newest generation of keys.
    keys: AtomicI64,
    /// The oldest revision of an answer.
    revision: AtomicU64,
    /// Whether a read was [not answered](StoreError::is_unanswered).
    is_unanswered: AtomicBool,
}

impl SeenClock {
    fn new() -> Self {
        let (catalog, keys) = (AtomicI64::new(-1), AtomicI64::new(0));
        let (revision, is_unanswered) = (AtomicU64::new(u64::MAX), AtomicBool::new(false));
        Self { catalog, keys, revision, is_unanswered }
    }

    fn note(&self, clock: Clock) {
        self.catalog.fetch_max(clock.catalog, Ordering::SeqCst);
        self.keys.fetch_max(clock.keys, Ordering::SeqCst);
        self.revision.fetch_min(clock.token.revision, Ordering::SeqCst);
    }

    /// The generation of relations; `None` if no clock was read yet.
    fn catalog(&self) -> Option<u64> {
        u64::try_from(self.catalog.load(Ordering::SeqCst)).ok()
    }
}

impl Store {
    /// Runs a closure that reads from the attempt's relations, and repeats it if a relation was added
    /// meanwhile. Unless it fails because the database does not answer, this process knows afterwards what
    /// other processes had changed of keys, relations and the policy's number when it began.
    pub async fn consistently<'s, T, E, F>(&'s self, read: impl Fn(ConsistentRead<'s>) -> F) -> Result<T, E>
    where
        E: From<StoreError>,
        F: Future<Output = Result<T, E>>,
    {
        let (mut is_first, mut until) = (true, None);
        let seen = Arc::new(SeenClock::new());
        loop {
            // In this order: the relations contain the facts of all writes up to the offset.
            let (offset, relations) = (self.offset(), self.relations());
            let generation = relations.generation;
            let attempt =
                ConsistentRead { store: self, offset, relations, is_first, until, seen: Arc::clone(&seen) };
            let outcome = read(attempt).await;
            if outcome.is_err() && seen.is_unanswered.load(Ordering::SeqCst) {
                return outcome;
            }
            // No statement has read the clock: another process may have replaced the policy.
            if seen.catalog().is_none() {
                self.see_clock(&seen, until).await?;
            }
            self.catch_up_keys(&seen).await?;
            if self.newest_generation(&seen) <= generation {
                return outcome;
            }
            if is_first {
                (is_first, until) = (false, self.deadline());
            }
            self.check_time(until)?;
            self.catch_up(&seen, until).await?;
        }
    }

    /// Reads the clock alone.
    async fn see_clock(&self, seen: &SeenClock, until: Option<Instant>) -> Result<(), StoreError> {
        if let Backend::Postgres(store) = &self.backend {
            seen.note(store.confirm(self.asker, self.after, until).await?);
        }
        Ok(())
    }

    /// Reads the keys that a clock announced.
    async fn catch_up_keys(&self, seen: &SeenClock) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Embedded(_) => {}
            Backend::Postgres(store) => {
                store.catch_up(seen.keys.load(Ordering::SeqCst), 0).await?;
                self.knows_keys.store(true, Ordering::SeqCst);
            }
        }
        Ok(())
    }

    /// The generation of relations that contains all facts that a question may have seen.
    fn newest_generation(&self, seen: &SeenClock) -> u64 {
        match &self.backend {
            Backend::Embedded(store) => store.pending_generation(),
            Backend::Postgres(_) => seen.catalog().unwrap_or_default(),
        }
    }

    /// Waits until the newest relations are published.
    async fn catch_up(&self, seen: &SeenClock, until: Option<Instant>) -> Result<(), StoreError> {
        while self.newest_generation(seen) > self.relations().generation {
            match &self.backend {
                Backend::Embedded(_) => tokio::time::sleep(COMMIT).await,
                Backend::Postgres(store) => store.catch_up(0, self.newest_generation(seen)).await?,
            }
            self.check_time(until)?;
        }
        Ok(())
    }

    fn check_time(&self, until: Option<Instant>) -> Result<(), StoreError> {
        match until {
            Some(until) if Instant::now() >= until => Err(StoreError::Timeout(self.query_time())),
            Some(_) | None => Ok(()),
        }
    }

    /// How long a question may run.
    fn query_time(&self) -> Duration {
        match &self.backend {
            Backend::Embedded(store) => store.query_time(),
            Backend::Postgres(store) => store.query_time(),
        }
    }

    /// The deadline of a question that starts now.
    fn deadline(&self) -> Option<Instant> {
        match &self.backend {
            Backend::Embedded(store) => store.deadline(),
            Backend::Postgres(store) => store.deadline(),
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

    /// The reads of the attempt until now have seen all writes up to this offset, and perhaps later ones.
    pub fn offset(&self) -> u64 {
        // A replica may have answered from before the attempt began.
        self.offset.min(self.seen.revision.load(Ordering::SeqCst))
    }

    /// Runs a closure with a reader, within the time of the question. One that was expected to be brief is
    /// started again as a long question if it is slow.
    pub async fn read<T, R>(&self, expected: Expected, read: R) -> Result<T, StoreError>
    where
        T: Send + 'static,
        R: Fn(&Reader<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
    {
        self.noted(self.store.ask(expected, self.until, read).await).await
    }

    /// The answer, whose relations are now known. If there is none because a table is missing, the clock
    /// shows whether there are newer relations.
    async fn noted<T>(&self, outcome: Result<(T, Option<Clock>), StoreError>) -> Result<T, StoreError> {
        match outcome {
            Ok((answer, clock)) => {
                clock.into_iter().for_each(|clock| self.seen.note(clock));
                Ok(answer)
            }
            Err(StoreError::Database(error @ DatabaseError::NoTable(_))) => {
                self.store.see_clock(&self.seen, self.until).await?;
                Err(error.into())
            }
            Err(error) => {
                if error.is_unanswered() {
                    self.seen.is_unanswered.store(true, Ordering::SeqCst);
                }
                Err(error)
            }
        }
    }
}
