//! The store in a PostgreSQL database. No other module of the store uses its driver.
//!
//! ```text
//! postgres://… ─address─▶ servers ─connect─▶ one that can be the store
//!                                    ├─ migrate: makes its schemas, or brings them to the newest format
//!                                    └─ check: says what is wrong with it
//!
//! apply, clear, put_policy, keys ──▶ queue ──▶ writer thread ──▶ clock, revision and change: one transaction
//! read(closure) ──▶ in turns ──▶ a reader and its connection ──▶ answer and clock: one statement
//! reading ──▶ a connection of its own ──▶ facts of one moment, in parts
//! ```
//!
//! The schema `portcullis` lists the environments; each has a schema of its own, `portcullis_e<N>`. In it,
//! the *clock* is one row. Every batch locks it first and raises its revision, and every question reads it in
//! its own statement. So an answer comes with the moment that it is of, a [`Token`], and a question that
//! gives a token is answered from all writes up to it or not at all.
//!
//! [`PostgresStore`] is one environment: its facts, policy versions and keys. Any number of processes may
//! have it open.

mod address;
mod batch;
mod catalog;
mod check;
mod clock;
mod connect;
mod error;
mod facts;
mod frontier;
mod keys;
mod migrate;
mod pinned;
mod policy;
mod pool;
mod published;
mod reader;
mod reading;
mod runtime;
mod schema;
mod session;
mod tls;
mod transaction;
mod value;
mod writer;

pub use address::Address;
pub use check::{FindingState, StoreFinding, check};
pub use clock::Clock;
pub use connect::{ReachedServer, WantedServer, connect};
pub use frontier::Frontier;
pub use migrate::{MigratedSchema, delete_environment, migrate, names_at, prepare};
pub use pool::AskedRead;
pub use reader::PgReader;
pub use reading::PgFactReading;
pub use schema::{FORMAT, StoredEnvironment};

use super::database_error::DatabaseError;
use super::error::StoreError;
use super::fact::{Applied, Change, FactPattern};
use super::long_queue::Usage;
use super::options::StoreOptions;
use super::signature::Relations;
use super::token::Token;
use crate::share::Asker;
use catalog::Catalog;
use clock::WantedWrites;
use pinned::ReaderSource;
use pool::ReaderPool;
use published::{PublishedState, SeenMoment};
use reading::{LIFETIME, PgReadings};
use session::PgSession;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio::time::timeout;
use writer::{BatchWork, BatchWriter, WriteDone, WriterSource};

/// How long the clock alone may take: it is one row.
const CONFIRM_TIME: Duration = Duration::from_secs(5);

/// An environment in a PostgreSQL database.
///
/// ```no_run
/// # use portcullis::store::postgres::{Address, AskedRead, PostgresStore, migrate};
/// # use portcullis::store::{StoreError, StoreOptions};
/// # async fn example() -> Result<(), StoreError> {
/// let address = Address::parse("postgres://portcullis@db.internal/portcullis")?;
/// migrate(&address, "production").await?;
/// let store = PostgresStore::open(&address, "production", &StoreOptions::default()).await?;
/// let (applied, token) = store.apply_within(Vec::new(), None).await?;
/// let asked = AskedRead { after: Some(token), ..AskedRead::default() };
/// let (clock, _) = store.read(asked, |reader| reader.confirm()).await?;
/// assert!(clock.token.revision >= applied.offset);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PostgresStore {
    address: Address,
    environment: StoredEnvironment,
    secret: [u8; 32],
    published: Arc<PublishedState>,
    /// Held while keys and relations are read again.
    refreshing: Mutex<()>,
    readers: ReaderPool,
    readings: PgReadings,
    writer: BatchWriter,
}

impl PostgresStore {
    /// Opens an environment of the store at an address.
    pub async fn open(
        address: &Address,
        environment: &str,
        options: &StoreOptions,
    ) -> Result<Self, StoreError> {
        let (client, server) = connect(address, WantedServer::ReadWrite).await?;
        let session = PgSession::new(&client, &server.at);
        schema::format(session).await?.usable()?;
        let environments = schema::environments(session).await?;
        let found = environments.into_iter().find(|found| found.name == environment);
        let environment = found.ok_or_else(|| DatabaseError::NoEnvironment(environment.to_owned()))?;
        let schema = environment.schema();
        let secret = clock::secret(session, &schema).await?;
        // Read first: all writes up to it are in what is read after it.
        let seen = SeenMoment::of(clock::read(session, &schema, &WantedWrites::default()).await?);
        let relations = Catalog::load(session, &schema).await?.published(&schema);
        let keys = keys::load(session, &schema, &environment.name).await?;
        let published = Arc::new(PublishedState::new(relations, keys, seen));
        let source = Arc::new(ReaderSource {
            address: address.clone(),
            wanted: WantedServer::ReadWrite,
            schema: schema.clone(),
            limit: options.query_time,
        });
        let readers = ReaderPool::new(&source, options)?;
        let readings = PgReadings::new(source, LIFETIME);
        let writer = BatchWriter::start(WriterSource {
            address: address.clone(),
            schema,
            environment: environment.name.clone(),
            limit: options.query_time,
            wait: options.query_wait,
            published: Arc::clone(&published),
        })?;
        let address = address.clone();
        Ok(Self {
            address,
            environment,
            secret,
            published,
            refreshing: Mutex::default(),
            readers,
            readings,
            writer,
        })
    }

    /// The name of the environment.
    pub fn environment(&self) -> &str {
        &self.environment.name
    }

    /// The schema of the environment, in which the tables of [`relations`](Self::relations) are.
    pub fn schema(&self) -> String {
        self.environment.schema()
    }

    /// The relations that this process knows. An answer whose clock has another [`Clock::catalog`] than their
    /// generation was made with the wrong ones.
    pub fn relations(&self) -> Arc<Relations> {
        self.published.relations()
    }

    /// Reads keys and relations again unless these generations, or newer ones, are known. Concurrent callers
    /// share one read.
    ///
    /// # Errors
    /// [`DatabaseError::TakenOver`] if the server that answers does not have them.
    pub(super) async fn catch_up(&self, keys: i64, relations: u64) -> Result<(), StoreError> {
        let is_behind = || self.keys_generation() < keys || self.relations().generation < relations;
        if is_behind() {
            let read = async {
                let _one_reads = self.refreshing.lock().await;
                if is_behind() { self.refresh().await.map(drop) } else { Ok(()) }
            };
            timeout(CONFIRM_TIME, read).await.map_err(|_| self.silent(CONFIRM_TIME))??;
        }
        if is_behind() {
            return self.unless_taken_over(Err(self.taken_over().into()));
        }
        Ok(())
    }

    /// Reads the relations and the keys again, after another process has changed them.
    ///
    /// # Errors
    /// [`DatabaseError::TakenOver`] if the server does not have what this process has seen.
    pub async fn refresh(&self) -> Result<Arc<Relations>, StoreError> {
        let (client, server) = connect(&self.address, WantedServer::ReadWrite).await?;
        let (session, schema) = (PgSession::new(&client, &server.at), self.schema());
        let wanted = WantedWrites { seen: Some(self.frontier()), after: None };
        self.unless_taken_over(clock::read(session, &schema, &wanted).await)?;
        self.published.offer_keys(keys::load(session, &schema, self.environment()).await?);
        let catalog = Catalog::load(session, &schema).await?;
        Ok(self.published.offer_relations(catalog.published(&schema)))
    }

    /// A random secret that was made with the environment; it authenticates page tokens.
    pub fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// The last write that this process has acknowledged, or seen in an answer.
    pub fn latest(&self) -> Token {
        self.published.frontier().newest()
    }

    /// All that this process has seen. A question that names it is answered from no server that lacks any of
    /// it.
    pub fn frontier(&self) -> Frontier {
        self.published.frontier()
    }

    /// How many questions are running and waiting.
    pub fn usage(&self) -> Usage {
        self.readers.usage()
    }

    /// Cancels running questions and accepts no more. Writes continue.
    pub fn end_questions(&self) {
        self.readers.end();
    }

    /// How long a question may run.
    pub fn query_time(&self) -> Duration {
        self.readers.limit()
    }

    /// The deadline of a question that starts now.
    pub fn deadline(&self) -> Option<Instant> {
        Instant::now().checked_add(self.query_time())
    }

    /// Why no server took the last write for as long as it waited; `None` once one answers again. And that
    /// writes were lost, for good.
    pub fn fault(&self) -> Option<StoreError> {
        let taken_over = self.published.lost().map(|revision| DatabaseError::TakenOver { revision });
        taken_over.or_else(|| self.published.fault()).map(StoreError::from)
    }

    /// Applies a batch: all of it in order, or nothing. Fails if a pattern of a deletion matches more facts
    /// than `delete_reach`. Returns also the moment after it.
    pub async fn apply_within(
        &self,
        changes: Vec<Change>,
        delete_reach: Option<u64>,
    ) -> Result<(Applied, Token), StoreError> {
        self.change(BatchWork::Apply { changes, delete_reach }).await
    }

    /// Removes all facts and all policies; keys stay. Returns also the moment after it.
    pub async fn clear(&self) -> Result<(Applied, Token), StoreError> {
        let (applied, token) = self.change(BatchWork::Clear).await?;
        self.published.note_policy(SeenMoment { token, policy: 0 });
        Ok((applied, token))
    }

    async fn change(&self, work: BatchWork) -> Result<(Applied, Token), StoreError> {
        match self.writer.write(work).await? {
            (WriteDone::Applied(applied), token) => Ok((applied, token)),
            (other, _) => Err(other.unexpected()),
        }
    }

    /// Runs a possibly slow closure with a reader; returns also the clock of its first statement.
    pub async fn read<T, F>(&self, asked: AskedRead, read: F) -> Result<(T, Option<Clock>), StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&PgReader) -> Result<T, StoreError> + Send + 'static,
    {
        let seen = asked.seen.clone();
        self.noted(seen.as_ref(), self.readers.run(asked, read).await)
    }

    /// Like [`read`](Self::read), for a closure that is probably fast. A slow one is started again.
    pub async fn read_brief<T, F>(&self, asked: AskedRead, read: F) -> Result<(T, Option<Clock>), StoreError>
    where
        T: Send + 'static,
        F: Fn(&PgReader) -> Result<T, StoreError> + Send + 'static,
    {
        let seen = asked.seen.clone();
        self.noted(seen.as_ref(), self.readers.run_brief(asked, read).await)
    }

    /// The outcome of a question, whose moment is now known. It follows all that the question named.
    fn noted<T>(
        &self,
        named: Option<&Frontier>,
        outcome: Result<(T, Option<Clock>), StoreError>,
    ) -> Result<(T, Option<Clock>), StoreError> {
        if let Ok((_, Some(clock))) = &outcome {
            self.published.note(clock.token, named);
            self.published.note_policy(SeenMoment::of(*clock));
        }
        outcome
    }

    /// The outcome of a question that must see what this process has seen. If that is lost, so may be its
    /// policy, its keys and its relations, from now on.
    pub(super) fn unless_taken_over<T>(&self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(StoreError::Database(DatabaseError::TakenOver { revision })) = &outcome {
            self.published.note_lost(*revision);
        }
        match self.published.lost() {
            Some(revision) => Err(DatabaseError::TakenOver { revision }.into()),
            None => outcome,
        }
    }

    /// Reads the clock, and what other processes have changed of keys and relations.
    ///
    /// # Errors
    /// [`DatabaseError::NoEnvironment`] once the environment was deleted, and [`DatabaseError::TakenOver`]
    /// once another server turns out not to have what this process has seen.
    pub async fn follow(&self, asker: Asker) -> Result<(), StoreError> {
        let clock = self.confirm(asker, None, None).await?;
        self.catch_up(clock.keys, u64::try_from(clock.catalog).unwrap_or_default()).await
    }

    /// Reads the clock alone, not after `until`.
    ///
    /// # Errors
    /// [`DatabaseError::NoEnvironment`] once the environment was deleted.
    /// [`DatabaseError::TakenOver`] once another server turns out not to have what this process has seen: its
    /// policy, keys and relations may be of lost writes.
    /// [`DatabaseError::LostWrite`] if one of the writes up to `after` was lost.
    pub(super) async fn confirm(
        &self,
        asker: Asker,
        after: Option<Token>,
        until: Option<Instant>,
    ) -> Result<Clock, StoreError> {
        let soon = Instant::now().checked_add(CONFIRM_TIME);
        let has_time = until.zip(soon).is_none_or(|(until, soon)| until >= soon);
        let until = until.into_iter().chain(soon).min();
        let asked = AskedRead { asker, seen: Some(self.frontier()), after, until };
        let confirmed = self.read_brief(asked, PgReader::confirm).await;
        match confirmed {
            Err(StoreError::Timeout(_)) if has_time => Err(self.silent(CONFIRM_TIME).into()),
            Err(StoreError::Database(DatabaseError::NoTable(_))) => {
                Err(DatabaseError::NoEnvironment(self.environment().to_owned()).into())
            }
            confirmed => Ok(self.unless_taken_over(confirmed)?.0),
        }
    }

    /// The error of a server that did not answer for so long.
    fn silent(&self, time: Duration) -> DatabaseError {
        let reason = format!("no answer within {time:?}");
        DatabaseError::Unreachable { at: self.address.to_string(), reason }
    }

    fn taken_over(&self) -> DatabaseError {
        DatabaseError::TakenOver { revision: self.latest().revision }
    }

    /// The version of the policy that was active at the latest moment that this process has seen, 0 for
    /// none.
    pub fn newest_policy(&self) -> u64 {
        self.published.policy()
    }

    /// The stored facts that match now, to be read in parts. Blocks while it connects, so it must not be
    /// called in asynchronous code.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if too many are read at the same time.
    pub fn reading(&self, pattern: FactPattern) -> Result<PgFactReading, StoreError> {
        self.readings.begin(pattern)
    }

    /// The size of the environment's tables and their indexes in bytes.
    pub async fn bytes(&self, asker: Asker) -> Result<u64, StoreError> {
        let asked = AskedRead { asker, seen: Some(self.frontier()), ..AskedRead::default() };
        let outcome = self.read_brief(asked, PgReader::bytes).await;
        Ok(self.unless_taken_over(outcome)?.0)
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.readers.close();
        self.writer.stop();
    }
}
