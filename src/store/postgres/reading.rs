//! Reads the facts of one moment in parts, for an answer that is sent while it is read.
//!
//! In: a pattern. Out: every fact that matches at that moment, in the order of
//! [`FactPage`](crate::store::fact::FactPage). A reading has a connection of its own with a transaction and a
//! cursor, and no thread between two parts. PostgreSQL keeps what its snapshot sees, and so cannot clean up
//! what was changed since: that is why a reading ends after [`LIFETIME`], however slow its client is. The
//! server then ends the transaction by itself.

use super::catalog::Catalog;
use super::clock::{self, Clock, WantedWrites};
use super::facts::selection;
use super::pinned::{PinnedConnection, ReaderSource};
use super::runtime::OwnRuntime;
use super::session::SessionMark;
use super::value;
use crate::store::error::StoreError;
use crate::store::fact::{Fact, FactPattern};
use crate::store::query::lacks_value;
use crate::store::signature::StoredRelation;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};

/// How long a reading may take.
pub(super) const LIFETIME: Duration = Duration::from_mins(10);

/// How many readings of one store there may be at a time: each has a connection.
const MOST_READINGS: usize = 16;

/// How many facts are fetched at once: at most a few hundred KiB.
const FETCHED: usize = 1_000;

/// The name of the cursor.
const CURSOR: &str = "facts";

/// Facts that are read in parts.
pub struct PgFactReading {
    clock: Clock,
    cursor: Arc<Mutex<Option<FactCursor>>>,
}

impl std::fmt::Debug for PgFactReading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PgFactReading({:?})", self.clock.token)
    }
}

/// The readings of a store.
pub(super) struct PgReadings {
    source: Arc<ReaderSource>,
    lifetime: Duration,
    places: Arc<Semaphore>,
    all: Mutex<Vec<Weak<Mutex<Option<FactCursor>>>>>,
}

impl std::fmt::Debug for PgReadings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PgReadings({} free)", self.places.available_permits())
    }
}

/// The position of a reading.
struct FactCursor {
    connection: PinnedConnection,
    schema: String,
    pattern: FactPattern,
    /// The relations that are left. A cursor over the first is open if `is_open`.
    relations: VecDeque<StoredRelation>,
    is_open: bool,
    /// Facts that are fetched, and not yet read.
    fetched: VecDeque<Fact>,
    /// When it must end.
    until: Instant,
    /// How long a part may take.
    limit: Duration,
    _place: OwnedSemaphorePermit,
    // Dropped last: the connection runs on it.
    runtime: OwnRuntime,
}

impl PgReadings {
    pub(super) fn new(source: Arc<ReaderSource>, lifetime: Duration) -> Self {
        let places = Arc::new(Semaphore::new(MOST_READINGS));
        Self { source, lifetime, places, all: Mutex::default() }
    }

    /// Starts reading the current facts. Blocks while it connects.
    pub(super) fn begin(
        &self,
        pattern: FactPattern,
        wanted: &WantedWrites,
    ) -> Result<PgFactReading, StoreError> {
        self.end_old();
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| StoreError::Busy)?;
        let until = Instant::now() + self.lifetime;
        let (cursor, clock) = FactCursor::open(&self.source, pattern, wanted, until, place)?;
        let cursor = Arc::new(Mutex::new(Some(cursor)));
        self.all.lock().push(Arc::downgrade(&cursor));
        Ok(PgFactReading { clock, cursor })
    }

    /// Ends the readings whose clients have taken too long. A reading that is being read right now
    /// notices by itself.
    fn end_old(&self) {
        let mut all = self.all.lock();
        all.retain(|reading| reading.strong_count() > 0);
        for reading in all.iter().filter_map(Weak::upgrade) {
            if let Some(mut cursor) = reading.try_lock()
                && cursor.as_ref().is_some_and(FactCursor::is_late)
            {
                *cursor = None;
            }
        }
    }
}

impl PgFactReading {
    /// The moment that the facts are of.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Passes facts to `each` until it has enough; returns whether there may be more. Blocks, so it must not
    /// be called in asynchronous code.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if the reading has ended early, because it took too long or failed before: facts
    /// are missing.
    pub fn part(&self, each: impl FnMut(&Fact) -> ControlFlow<()>) -> Result<bool, StoreError> {
        let mut slot = self.cursor.lock();
        let cursor = slot.as_mut().filter(|cursor| !cursor.is_late());
        let part = cursor.map_or(Err(StoreError::Busy), |cursor| cursor.part(each));
        if part.is_err() {
            // So that the part left is not mistaken for the rest.
            *slot = None;
        }
        part
    }
}

impl FactCursor {
    fn open(
        source: &ReaderSource,
        pattern: FactPattern,
        wanted: &WantedWrites,
        until: Instant,
        place: OwnedSemaphorePermit,
    ) -> Result<(Self, Clock), StoreError> {
        let (runtime, schema, limit) = (OwnRuntime::new()?, source.schema.clone(), source.limit);
        let opened = within(limit, async {
            let connection = source.connect(&SessionMark::new()?).await?;
            let session = connection.session();
            // Facts are wanted as soon as the first of them are found, and all come in the order of an index.
            session.run(&format!("SET cursor_tuple_fraction = 0; {}", idle_until(until))).await?;
            connection.begin().await?;
            let clock = clock::read(session, &schema, wanted).await?;
            // Read in the same snapshot: all facts are in these relations.
            let relations = Catalog::load(session, &schema).await?.published(&schema).relations;
            Ok((connection, clock, relations))
        });
        let (connection, clock, relations) = runtime.block_on(opened)?;
        let relations = relations.into_iter().filter(|relation| pattern.covers(relation)).collect();
        let (is_open, fetched) = (false, VecDeque::new());
        let cursor = Self {
            connection,
            schema,
            pattern,
            relations,
            is_open,
            fetched,
            until,
            limit,
            runtime,
            _place: place,
        };
        Ok((cursor, clock))
    }

    /// Whether it must end.
    fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }

    fn part(&mut self, mut each: impl FnMut(&Fact) -> ControlFlow<()>) -> Result<bool, StoreError> {
        let Self { connection, schema, pattern, relations, is_open, fetched, until, limit, runtime, .. } =
            self;
        loop {
            while let Some(fact) = fetched.pop_front() {
                if each(&fact).is_break() {
                    return Ok(true);
                }
            }
            let Some(relation) = relations.front() else { return Ok(false) };
            let source = OpenRelation { connection, schema, relation, pattern, until: *until };
            let facts = runtime.block_on(within(*limit, source.fetch(*is_open)))?;
            *is_open = facts.len() == FETCHED;
            if !*is_open {
                relations.pop_front();
            }
            fetched.extend(facts);
        }
    }
}

/// A relation that is being read.
struct OpenRelation<'c> {
    connection: &'c PinnedConnection,
    schema: &'c str,
    relation: &'c StoredRelation,
    pattern: &'c FactPattern,
    until: Instant,
}

impl OpenRelation<'_> {
    /// The next facts: fewer than [`FETCHED`] if they are the last.
    async fn fetch(&self, is_open: bool) -> Result<Vec<Fact>, StoreError> {
        let session = self.connection.session();
        if !is_open {
            self.declare().await?;
        }
        let (idle, fetch) = (idle_until(self.until), format!("FETCH {FETCHED} FROM {CURSOR}"));
        // Sent together.
        let ((), rows) = tokio::try_join!(session.run(&idle), session.rows(&fetch, &[]))?;
        let n_columns = self.relation.columns().count();
        let fact = |row| {
            let id = |column| {
                let id = value::read(row, column)?.ok_or_else(|| lacks_value(&self.relation.table))?;
                Ok(id.into_owned())
            };
            let ids = (0..n_columns).map(id).collect::<Result<Vec<_>, StoreError>>()?;
            Ok(self.relation.fact(ids))
        };
        let facts = rows.iter().map(fact).collect::<Result<Vec<_>, StoreError>>()?;
        if facts.len() < FETCHED {
            session.run(&format!("CLOSE {CURSOR}")).await?;
        }
        Ok(facts)
    }

    async fn declare(&self) -> Result<(), StoreError> {
        let (selection, ids) = selection(self.schema, self.relation, self.pattern);
        let declare = format!("DECLARE {CURSOR} NO SCROLL CURSOR FOR {selection}");
        let ids: Vec<Vec<u8>> = ids.into_iter().map(value::form).collect();
        let params: Vec<(&(dyn ToSql + Sync), Type)> = ids.iter().map(|id| (id as _, Type::BYTEA)).collect();
        self.connection.session().execute(&declare, &params).await.map(drop)
    }
}

/// Lets the server end the transaction if it still waits for its client shortly after this time.
fn idle_until(until: Instant) -> String {
    let left = until.saturating_duration_since(Instant::now()) + Duration::from_secs(1);
    format!("SET idle_in_transaction_session_timeout = {}", left.as_millis())
}

/// The outcome of work that must end even if the network hangs.
async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    timeout(limit, work).await.unwrap_or(Err(StoreError::Timeout(limit)))
}

#[cfg(test)]
mod tests {
    use super::super::address::Address;
    use super::super::connect::{WantedServer, connect};
    use super::super::migrate::migrate;
    use super::super::session::{PgSession, value};
    use super::*;
    use portcullis_testkit::cluster::Cluster;

    /// If its client sleeps, nothing is held for it: neither here nor by the server.
    #[tokio::test]
    async fn a_reading_ends_when_its_time_is_over() {
        let cluster = Cluster::start(&["shared_buffers=16MB"]).unwrap();
        let address = format!("postgres://postgres@/postgres?host={}", cluster.folder);
        let address = Address::parse(&address).unwrap();
        migrate(&address, "default").await.unwrap();
        let (client, server) = connect(&address, WantedServer::Any).await.unwrap();
        let limit = Duration::from_secs(10);
        let schema = "portcullis_e1".to_owned();
        let source = ReaderSource { address, wanted: WantedServer::Any, schema, limit };
        let readings = PgReadings::new(Arc::new(source), Duration::from_secs(2));
        let read = move || {
            let begin = || readings.begin(FactPattern::everything(), &WantedWrites::default());
            let all: Vec<PgFactReading> = (0..MOST_READINGS).map(|_| begin().unwrap()).collect();
            let busy = all.first().unwrap();
            assert!(!busy.part(|_| ControlFlow::Continue(())).unwrap(), "there is nothing, and all of it");
            std::thread::sleep(readings.lifetime);
            let late = busy.part(|_| ControlFlow::Continue(()));
            assert!(matches!(late, Err(StoreError::Busy)), "{late:?}");
            let again: Vec<PgFactReading> = (0..MOST_READINGS).map(|_| begin().unwrap()).collect();
            (all, again)
        };
        let held = tokio::task::spawn_blocking(read).await.unwrap();
        let count = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'";
        let began = Instant::now();
        loop {
            let row = PgSession::new(&client, &server.at).row(count, &[]).await.unwrap();
            if value::<i64>(&row, 0).unwrap() == 0 {
                break;
            }
            assert!(began.elapsed() < limit);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        drop(held);
    }
}
