//! The store in one SQLite file. No other module of the store uses its driver.
//!
//! ```text
//! apply, clear, put_policy, keys ──▶ queue ──▶ writer thread ──▶ store.db (+ log)
//!                                                 │ publishes        ▲
//! relations() ◀──────────── Arc<Relations> ◀──────┘                  │ one snapshot each
//! read(closure) ──▶ brief, or long: taking turns ──▶ a reader ───────┘
//! ```
//!
//! A store that contradicts itself is not served. `migrate` and `damage` say what is checked, and what no
//! check can find.
//!
//! One process serves a directory at a time. Others may read it meanwhile, as a [`Snapshot`], and copy it.

mod aside;
mod backup;
mod connect;
mod damage;
mod delete;
mod directory;
mod error;
mod facts;
mod keys;
mod log;
mod mark;
mod migrate;
mod name;
mod policy;
mod pool;
mod published;
mod reader;
mod reading;
mod remains;
mod snapshot;
#[cfg(test)]
mod tests;
mod transaction;
mod value;
mod watch;
mod writer;

pub(super) use aside::aside;
pub use backup::{Existing, restore};
pub use delete::delete;
pub use name::{check_own_name, is_store, note_name};
pub(super) use reader::SqliteReader;
pub(super) use reading::SqliteReading;
pub use remains::{Remains, accept_loss, find_loss};
pub use snapshot::{Holdings, Snapshot};

use crate::share::Asker;
use crate::store::error::StoreError;
use crate::store::fact::{Applied, Change, FactPattern};
use crate::store::key::{Access, KeyRing, NewKey};
use crate::store::long_queue::Usage;
use crate::store::options::StoreOptions;
use crate::store::policy::PolicyVersion;
use crate::store::signature::Relations;
use connect::Location;
use mark::Tally;
use pool::Pool;
use published::Published;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use transaction::Transaction;
use writer::Writer;

/// An open store. Its methods without documentation are those of [`Store`](super::Store).
#[derive(Debug)]
pub(super) struct Embedded {
    pool: Pool,
    writer: Writer,
    published: Arc<Published>,
    secret: [u8; 32],
    files: Vec<PathBuf>,
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // Close the readers first: the last connection to close checkpoints the log into the file, which
        // readers may not do.
        self.pool.close();
        self.writer.stop();
    }
}

impl Embedded {
    pub(super) fn open(dir: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        let is_new = !dir.exists();
        let opened = Location::directory(dir).and_then(|place| Self::open_at(place, options));
        opened.map_err(|error| {
            if is_new && !matches!(error, StoreError::Locked(_)) {
                // Half a store would block the next start. Report the first error, which is the cause.
                let _ = std::fs::remove_dir_all(dir);
            }
            error.at_start(dir)
        })
    }

    pub(super) fn in_memory(options: &StoreOptions) -> Result<Self, StoreError> {
        Self::open_at(Location::memory(), options)
    }

    fn open_at(mut place: Location, options: &StoreOptions) -> Result<Self, StoreError> {
        if let [database, log, ..] = place.files().as_slice() {
            damage::examine(database, log)?;
        }
        let mut conn = place.writer()?;
        migrate::examine(&conn, place.path())?;
        if let Some(dir) = place.dir()
            && let Some(loss) = mark::MarkFile::in_directory(dir)?.loss(&conn)?
        {
            return Err(StoreError::Lost { dir: dir.into(), loss });
        }
        place.check_begun(&conn)?;
        connect::prepare_writer(&conn, &place, options)?;
        migrate::migrate(&mut conn, place.path())?;
        migrate::check(&mut conn, options.check_time)?;
        policy::check(&conn)?;
        let secret = secret(&conn)?;
        let tally = Tally::begin(&conn, &place)?;
        place.note_store();
        let files = place.files();
        let readers = |n: usize| {
            let reader = |_| SqliteReader::new(place.reader(options)?, options.query_time);
            (0..n.max(1)).map(reader).collect::<Result<Vec<_>, StoreError>>()
        };
        let (brief, long) = (readers(options.readers)?, readers(options.long_readers)?);
        let published = Arc::new(Published::default());
        let writer = Writer::start(conn, place, tally, Arc::clone(&published))?;
        // In memory, a reader and the writer block each other.
        let pool = Pool::new(brief, long, options, !files.is_empty(), Arc::clone(&published));
        Ok(Self { pool, writer, published, secret, files })
    }

    pub(super) fn usage(&self) -> Usage {
        self.pool.usage()
    }

    pub(super) fn end_questions(&self) {
        self.pool.end();
    }

    pub(super) fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    pub(super) fn relations(&self) -> Arc<Relations> {
        Arc::clone(&self.published.relations.read())
    }

    /// The generation of relations that contains all facts: a newer one than that of
    /// [`relations`](Self::relations) while a commit adds a relation.
    pub(super) fn pending_generation(&self) -> u64 {
        self.published.pending_generation.load(Ordering::SeqCst)
    }

    pub(super) fn offset(&self) -> u64 {
        self.published.offset.load(Ordering::SeqCst)
    }

    /// How long a question may run.
    pub(super) fn query_time(&self) -> Duration {
        self.pool.limit()
    }

    /// The deadline of a question that starts now.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.pool.deadline()
    }

    /// Runs a possibly slow closure with a reader until the deadline, or for the time of one question.
    pub(super) fn read<T, F>(
        &self,
        asker: Asker,
        until: Option<Instant>,
        read: F,
    ) -> impl Future<Output = Result<T, StoreError>>
    where
        T: Send + 'static,
        F: FnOnce(&SqliteReader) -> Result<T, StoreError> + Send + 'static,
    {
        self.pool.run(asker, until, read)
    }

    /// Like [`read`](Self::read), for a closure that is probably fast.
    pub(super) fn read_brief<T, F>(
        &self,
        asker: Asker,
        until: Option<Instant>,
        read: F,
    ) -> impl Future<Output = Result<T, StoreError>>
    where
        T: Send + 'static,
        F: Fn(&SqliteReader) -> Result<T, StoreError> + Send + 'static,
    {
        self.pool.run_brief(asker, until, read)
    }

    pub(super) fn reading(&self, pattern: FactPattern) -> Result<Option<SqliteReading>, StoreError> {
        let Some(dir) = self.files.first().and_then(|database| database.parent()) else {
            return Ok(None);
        };
        SqliteReading::begin(Arc::clone(&self.published), dir, pattern).map(Some)
    }

    pub(super) async fn bytes(&self, asker: Asker) -> Result<u64, StoreError> {
        let files = self.files.clone();
        self.read_brief(asker, None, move |_| {
            // The log exists only while the store is open, and may disappear at any time.
            let length = |path: &PathBuf| path.metadata().map_or(0, |found| found.len());
            Ok(files.iter().map(length).sum())
        })
        .await
    }

    pub(super) fn fault(&self) -> Option<StoreError> {
        self.published.fault.read().clone().map(StoreError::from)
    }

    /// All keys.
    pub(super) fn keys(&self) -> Arc<KeyRing> {
        Arc::clone(&self.published.keys.read())
    }

    pub(super) async fn apply_within(
        &self,
        changes: Vec<Change>,
        delete_reach: Option<u64>,
    ) -> Result<Applied, StoreError> {
        let weight = changes.iter().map(Change::len).sum();
        self.write(weight, move |transaction| facts::apply(transaction, &changes, delete_reach)).await
    }

    pub(super) async fn clear(&self) -> Result<Applied, StoreError> {
        self.write(1, |transaction| {
            let (tables, deleted) = transaction.directory.clear(transaction.conn)?;
            transaction.pending.retired = tables;
            policy::clear(transaction.conn)?;
            Ok(Applied { offset: transaction.advance(), nonce: None, inserted: 0, deleted })
        })
        .await
    }

    pub(super) async fn put_policy(
        &self,
        src: String,
        filename: String,
    ) -> Result<PolicyVersion, StoreError> {
        self.write(1, move |transaction| {
            transaction.advance();
            policy::put(transaction.conn, &src, &filename, transaction.now)
        })
        .await
    }

    pub(super) async fn create_key(
        &self,
        environment: String,
        name: String,
        access: Access,
    ) -> Result<NewKey, StoreError> {
        self.write(1, move |transaction| {
            transaction.pending.keys_changed = true;
            keys::create(transaction.conn, &environment, &name, access, transaction.now)
        })
        .await
    }

    pub(super) async fn revoke_key(&self, id: String) -> Result<bool, StoreError> {
        self.write(1, move |transaction| {
            transaction.pending.keys_changed = true;
            keys::revoke(transaction.conn, &id)
        })
        .await
    }

    async fn write<T, F>(&self, weight: usize, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.writer.write(weight, work).await
    }
}

fn secret(conn: &Connection) -> Result<[u8; 32], StoreError> {
    Ok(conn.query_row("SELECT value FROM meta WHERE name = 'secret'", [], |row| row.get(0))?)
}
