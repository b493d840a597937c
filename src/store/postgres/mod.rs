//! The store in a PostgreSQL database. No other module of the store uses its driver.
//!
//! ```text
//! postgres://… ─address─▶ servers ─connect─▶ one that can be the store
//!                                    ├─ migrate: makes its schemas, or brings them to the newest format
//!                                    └─ check: says what is wrong with it
//!
//! apply ──▶ queue ──▶ writer thread ──▶ clock, revisions, facts: one transaction
//! read(closure) ──▶ in turns ──▶ a reader and its connection ──▶ answer and clock: one statement
//! ```
//!
//! The schema `portcullis` lists the environments; each has a schema of its own, `portcullis_e<N>`. In it,
//! the *clock* is one row. Every batch locks it first and raises its revision, and every question reads it in
//! its own statement. So an answer comes with the moment that it is of, a [`Token`], and a question that
//! gives a token is answered from all writes up to it or not at all.
//!
//! [`PostgresStore`] is one environment. It stores facts and runs statements; `serve` does not use it.

mod address;
mod batch;
mod catalog;
mod check;
mod clock;
mod connect;
mod error;
mod migrate;
mod pinned;
mod pool;
mod published;
mod reader;
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
pub use migrate::{MigratedSchema, migrate};
pub use pool::AskedRead;
pub use reader::{PgReader, RowQuery};
pub use schema::{FORMAT, StoredEnvironment};

use super::database_error::DatabaseError;
use super::error::StoreError;
use super::fact::{Applied, Change};
use super::options::StoreOptions;
use super::signature::Relations;
use super::token::Token;
use catalog::Catalog;
use pinned::ReaderSource;
use pool::ReaderPool;
use published::PublishedRelations;
use session::PgSession;
use std::sync::Arc;
use writer::{BatchWork, BatchWriter, WriterSource};

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
    published: Arc<PublishedRelations>,
    readers: ReaderPool,
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
        let relations = Catalog::load(session, &schema).await?.published();
        let published = Arc::new(PublishedRelations::new(relations));
        let source = ReaderSource {
            address: address.clone(),
            wanted: WantedServer::ReadWrite,
            schema: schema.clone(),
            limit: options.query_time,
        };
        let readers = ReaderPool::new(&Arc::new(source), options)?;
        let writer = BatchWriter::start(WriterSource {
            address: address.clone(),
            schema,
            limit: options.query_time,
            wait: options.query_wait,
            published: Arc::clone(&published),
        })?;
        Ok(Self { address: address.clone(), environment, published, readers, writer })
    }

    /// The schema of the environment, in which the tables of [`relations`](Self::relations) are.
    pub fn schema(&self) -> String {
        self.environment.schema()
    }

    /// The relations that this process knows. An answer whose clock has another [`Clock::catalog`] than their
    /// generation was made with the wrong ones.
    pub fn relations(&self) -> Arc<Relations> {
        self.published.current()
    }

    /// Reads the relations again, after another process has changed them.
    pub async fn refresh(&self) -> Result<Arc<Relations>, StoreError> {
        let (client, server) = connect(&self.address, WantedServer::ReadWrite).await?;
        let catalog = Catalog::load(PgSession::new(&client, &server.at), &self.schema()).await?;
        Ok(self.published.offer(catalog.published()))
    }

    /// Applies a batch: all of it in order, or nothing. Fails if a pattern of a deletion matches more facts
    /// than `delete_reach`. Returns also the moment after it.
    pub async fn apply_within(
        &self,
        changes: Vec<Change>,
        delete_reach: Option<u64>,
    ) -> Result<(Applied, Token), StoreError> {
        self.writer.write(BatchWork::Apply { changes, delete_reach }).await
    }

    /// Removes all facts and all policies. Returns also the moment after it.
    pub async fn clear(&self) -> Result<(Applied, Token), StoreError> {
        self.writer.write(BatchWork::Clear).await
    }

    /// Runs a possibly slow closure with a reader; returns also the clock of its first statement.
    pub async fn read<T, F>(&self, asked: AskedRead, read: F) -> Result<(T, Option<Clock>), StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&PgReader) -> Result<T, StoreError> + Send + 'static,
    {
        self.readers.run(asked, read).await
    }

    /// Like [`read`](Self::read), for a closure that is probably fast. A slow one is started again.
    pub async fn read_brief<T, F>(&self, asked: AskedRead, read: F) -> Result<(T, Option<Clock>), StoreError>
    where
        T: Send + 'static,
        F: Fn(&PgReader) -> Result<T, StoreError> + Send + 'static,
    {
        self.readers.run_brief(asked, read).await
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.readers.close();
        self.writer.stop();
    }
}
