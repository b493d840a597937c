//! The store in a PostgreSQL database. No other module of the store uses its driver.
//!
//! ```text
//! postgres://… ─address─▶ servers ─connect─▶ one that can be the store
//!                                    ├─ migrate: makes its schemas, or brings them to the newest format
//!                                    └─ check: says what is wrong with it
//!
//! apply, clear, put_policy, keys ──▶ queue ──▶ writer thread ──▶ clock, revision and change: one transaction
//! read(closure) ──▶ taking turns ──▶ a reader and its connection ──▶ answer and clock: one statement
//! ask(closure) ──▶ the same, of a replica if one may answer
//! reading ──▶ a connection of its own ──▶ facts of one moment, in parts
//! notices ──▶ a connection of its own ◀──▶ those of other processes
//! probe ──▶ a connection of its own, to a primary that had no answer in time
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
mod following;
mod frontier;
mod kept_nonces;
mod keys;
mod migrate;
mod moments;
mod new_rows;
mod notices;
mod pause;
mod pinned;
mod policy;
mod pool;
mod probe;
mod published;
mod reader;
mod reading;
mod replicas;
mod row_change;
mod runtime;
mod schema;
mod session;
mod silence;
mod sorted_rows;
mod tls;
mod transaction;
mod value;
mod writer;
mod writer_source;

pub use address::Address;
pub use check::{FindingState, StoreFinding, check};
pub use clock::Clock;
pub use connect::{ReachedServer, WantedServer, connect};
pub use frontier::Frontier;
pub use migrate::{MigratedSchema, delete_environment, migrate, names_at, prepare};
pub use notices::Notices;
pub use pool::{AskedRead, PoolUsage};
pub use reader::PgReader;
pub use reading::PgFactReading;
pub(super) use replicas::{AnyAnswer, PgRead};
pub use replicas::{ReplicaUsage, StoreServers};
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
use probe::judged;
use published::{PublishedState, SeenMoment};
use reading::{LIFETIME, PgReadings};
use replicas::Replicas;
use row_change::RowChange;
use session::PgSession;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use writer::{BatchWork, BatchWriter, WriteDone};
use writer_source::WriterSource;

/// An environment in a PostgreSQL database.
///
/// ```no_run
/// # use portcullis::store::postgres::{Address, AskedRead, PostgresStore, migrate};
/// # use portcullis::store::{StoreError, StoreOptions};
/// # async fn example() -> Result<(), StoreError> {
/// let address = Address::parse("postgres://portcullis@db.internal/portcullis")?;
/// migrate(&address, "production").await?;
/// let store = PostgresStore::open(&address.into(), "production", &StoreOptions::default()).await?;
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
    replicas: Replicas,
    writer: BatchWriter,
}

impl PostgresStore {
    /// Opens an environment of the store at an address, and readers for its replicas.
    pub async fn open(
        servers: &StoreServers,
        environment: &str,
        options: &StoreOptions,
    ) -> Result<Self, StoreError> {
        let address = &servers.primary;
        let (client, server) = connect(address, WantedServer::ReadWrite).await?;
        let session = PgSession::new(&client, &server.at);
        schema::format(session).await?.usable()?;
        let environments = schema::environments(session).await?;
        let found = environments.into_iter().find(|found| found.name == environment);
        let environment = found.ok_or_else(|| DatabaseError::NoEnvironment(environment.to_owned()))?;
        let schema = environment.schema();
        let secret = clock::secret(session, &schema).await?;
        let relations = Catalog::load(session, &schema).await?.published(&schema);
        let keys = keys::load(session, &schema, &environment.name).await?;
        // Read last: no later failover can lose what was read, unless this process notices it.
        let seen = SeenMoment::of(clock::read(session, &schema, &WantedWrites::default()).await?);
        let published = Arc::new(PublishedState::new(relations, keys, seen));
        let source = Arc::new(ReaderSource {
            address: address.clone(),
            wanted: WantedServer::ReadWrite,
            schema: schema.clone(),
            limit: options.query_time,
        });
        let replicas = Replicas::new(servers, &schema, options)?;
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
            replicas,
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

    /// A random secret that was made with the environment; it authenticates page tokens.
    pub fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// The last write that this process has acknowledged, or seen in an answer.
    pub fn latest(&self) -> Token {
        self.published.frontier().newest()
    }

    /// All that this process has seen. The primary answers no question that names it if it lacks any of it.
    pub fn frontier(&self) -> Frontier {
        self.published.frontier()
    }

    /// How many questions are running and waiting.
    pub fn usage(&self) -> Usage {
        let mut all = Usage::default();
        for PoolUsage { brief, long } in self.pool_usage() {
            all.brief_running += brief.running;
            all.long_running += long.running;
            all.long_waiting += long.waiting;
        }
        all
    }

    /// How the readers of the primary are used, and then those of each replica.
    pub fn pool_usage(&self) -> Vec<PoolUsage> {
        std::iter::once(&self.readers).chain(self.replicas.pools()).map(ReaderPool::usage).collect()
    }

    /// How often each replica was asked.
    pub fn replica_usage(&self) -> Vec<ReplicaUsage> {
        self.replicas.usage()
    }

    /// Cancels running questions and accepts no more. Writes continue.
    pub fn end_questions(&self) {
        self.readers.end();
        self.replicas.pools().for_each(ReaderPool::end);
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
        let changes = RowChange::all(changes).await?;
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
        let (since, seen) = (Instant::now(), asked.seen.clone());
        let outcome = self.of_primary(since, Box::pin(self.readers.run(asked, read))).await;
        self.noted(since, seen.as_ref(), outcome)
    }

    /// Like [`read`](Self::read), for a closure that is probably fast. A slow one is started again.
    pub async fn read_brief<T, F>(&self, asked: AskedRead, read: F) -> Result<(T, Option<Clock>), StoreError>
    where
        T: Send + 'static,
        F: Fn(&PgReader) -> Result<T, StoreError> + Send + 'static,
    {
        let (since, seen) = (Instant::now(), asked.seen.clone());
        let outcome = self.of_primary(since, Box::pin(self.readers.run_brief(asked, read))).await;
        self.noted(since, seen.as_ref(), outcome)
    }

    /// The outcome of a question of the primary since a time; an error at once while that is silent.
    async fn of_primary<T>(
        &self,
        since: Instant,
        question: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let outcome = self.address.silence.unless_on(question).await;
        judged(&self.address, since, outcome).await
    }

    /// Whether the primary is silent: what needs it fails at once.
    pub fn primary_is_silent(&self) -> bool {
        self.address.silence.is_on()
    }

    /// The outcome of a question of the primary since a time. Its moment is now known, and follows all that
    /// the question named.
    fn noted<T>(
        &self,
        since: Instant,
        named: Option<&Frontier>,
        outcome: Result<(T, Option<Clock>), StoreError>,
    ) -> Result<(T, Option<Clock>), StoreError> {
        if let Ok((_, Some(clock))) = &outcome {
            self.published.note(clock.token, named);
            self.published.note_usable(since);
            self.replicas.observe(since, clock);
            self.published.note_policy(SeenMoment::of(*clock));
        }
        outcome
    }

    /// The version of the policy that was active at the latest moment that this process has seen, 0 for
    /// none.
    pub fn newest_policy(&self) -> u64 {
        self.published.policy()
    }

    /// The stored facts that match now, all writes up to `after` included, to be read in parts. Blocks while
    /// it connects, so it must not be called in asynchronous code.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if too many are read at the same time.
    pub fn reading(&self, pattern: FactPattern, after: Option<Token>) -> Result<PgFactReading, StoreError> {
        self.address.silence.check()?;
        let wanted = WantedWrites { seen: Some(self.frontier()), after, known: None };
        self.unless_taken_over(self.readings.begin(pattern, &wanted))
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
        self.replicas.pools().for_each(ReaderPool::close);
        self.writer.stop();
    }
}
