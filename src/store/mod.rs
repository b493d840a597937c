//! The embedded store: facts, policy versions and keys of one environment, in one SQLite file.
//!
//! In: batches of changes, and read statements. Out: durable facts and rows. Both sides exchange plain data:
//! this module knows nothing about policies, and no other module knows SQLite.
//!
//! ```text
//! apply, clear, put_policy, keys ──▶ queue ──▶ writer thread ──▶ store.db (+ log)
//!                                                 │ publishes        ▲
//! relations() ◀──────────── Arc<Relations> ◀──────┘                  │ one snapshot each
//! read(closure) ──▶ brief, or long and in turns ──▶ a reader ────────┘
//! ```
//!
//! What holds:
//! - An acknowledged write is on the disk, and any read that starts later sees it. A failed write changed
//!   nothing. Both hold however the process ends.
//! - A batch is applied as a whole, in order, and every reader sees all of it or none of it.
//! - Take [`Store::relations`] first, then read: every table that the snapshot names exists while the
//!   snapshot is held, and every fact acknowledged before is in one of them. [`Store::consistently`] around
//!   both guarantees that a read sees all facts of its moment.
//! - A store that contradicts itself is not served. `migrate` and `damage` say what is checked, and what no
//!   check can find.
//! - One process serves a directory at a time. Others may read it meanwhile, as a [`Snapshot`], and copy it.
//!
//! Not here: which facts a policy accepts, and how a question becomes SQL (`engine`).

mod aside;
mod backup;
mod connect;
mod consistent_read;
mod damage;
mod delete;
mod digest;
mod error;
mod fact;
mod facts;
mod keys;
mod log;
mod long_queue;
mod mark;
mod migrate;
mod policy;
mod pool;
mod published;
mod reader;
mod reading;
mod relation;
mod remains;
mod signature;
mod snapshot;
#[cfg(test)]
mod tests;
mod transaction;
mod value;
mod watch;
mod writer;

pub use aside::aside;
pub use backup::{Existing, restore};
pub use connect::StoreOptions;
pub use consistent_read::ConsistentRead;
pub use delete::delete;
pub use digest::KeyDigest;
pub use error::StoreError;
pub use fact::{Applied, ArgPattern, Change, Fact, FactPage, FactPattern, Stats, Value};
pub use keys::{Access, Key, NewKey};
pub use mark::Loss;
pub use policy::{PolicyVersion, StoredPolicy};
pub use pool::Usage;
pub use reader::Reader;
pub use reading::FactReading;
pub use relation::Relations;
pub use remains::{Remains, accept_loss, find_loss};
pub use signature::{StoredArg, StoredRelation};
pub use snapshot::{Holdings, Snapshot};
pub use value::Param;

use crate::share::Asker;
use connect::Location;
use mark::Tally;
use pool::Pool;
use published::Published;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use transaction::Transaction;
use writer::Writer;

/// A handle to an open store. Clones share the store. Dropping the last one finishes the queued writes and
/// closes it.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<StoreState>,
    asker: Asker,
}

#[derive(Debug)]
struct StoreState {
    pool: Pool,
    writer: Writer,
    published: Arc<Published>,
    secret: [u8; 32],
    files: Vec<PathBuf>,
}

impl Drop for StoreState {
    fn drop(&mut self) {
        // Close the readers first: the last connection to close checkpoints the log into the file, which
        // readers may not do.
        self.pool.close();
        self.writer.stop();
    }
}

impl Store {
    /// Opens the store in a directory, which is created if it does not exist. Blocks while it checks the
    /// file.
    pub fn open(dir: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
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

    /// An empty store that disappears with its last handle, for tests and trials. Unlike with a file, its
    /// reader and its writer block each other.
    pub fn in_memory(options: &StoreOptions) -> Result<Self, StoreError> {
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
            let reader = |_| Reader::new(place.reader(options)?, options.query_time);
            (0..n.max(1)).map(reader).collect::<Result<Vec<_>, StoreError>>()
        };
        let (brief, long) = (readers(options.readers)?, readers(options.long_readers)?);
        let published = Arc::new(Published::default());
        let writer = Writer::start(conn, place, tally, Arc::clone(&published))?;
        // In memory, a reader and the writer block each other.
        let pool = Pool::new(brief, long, options, !files.is_empty(), Arc::clone(&published));
        let shared = StoreState { pool, writer, published, secret, files };
        Ok(Self { shared: Arc::new(shared), asker: Asker::default() })
    }

    /// The same store, with its reads accounted to this asker.
    #[must_use]
    pub fn asked_by(&self, asker: Asker) -> Self {
        Self { shared: Arc::clone(&self.shared), asker }
    }

    /// How many questions are running and waiting.
    pub fn usage(&self) -> Usage {
        self.shared.pool.usage()
    }

    /// Cancels running questions and accepts no more. Writes continue.
    pub fn end_questions(&self) {
        self.shared.pool.end();
    }

    /// A random secret that was created with the store; it authenticates page tokens.
    pub fn secret(&self) -> &[u8; 32] {
        &self.shared.secret
    }

    /// The current relations. Hold the snapshot while statements that name its tables run.
    pub fn relations(&self) -> Arc<Relations> {
        Arc::clone(&self.shared.published.relations.read())
    }

    /// The number of the last acknowledged write that changed something, over the store's whole life.
    pub fn offset(&self) -> u64 {
        self.shared.published.offset.load(Ordering::SeqCst)
    }

    /// Applies a batch: all of it in order, or nothing.
    pub async fn apply(&self, changes: Vec<Change>) -> Result<Applied, StoreError> {
        self.apply_within(changes, None).await
    }

    /// Like [`Store::apply`], but fails if a pattern of a deletion matches more facts than `delete_reach`.
    pub async fn apply_within(
        &self,
        changes: Vec<Change>,
        delete_reach: Option<u64>,
    ) -> Result<Applied, StoreError> {
        let weight = changes.iter().map(Change::len).sum();
        self.write(weight, move |transaction| {
            let mut applied = Applied { offset: *transaction.offset, inserted: 0, deleted: 0 };
            for change in &changes {
                match change {
                    Change::Insert(new) => {
                        applied.inserted += facts::insert(transaction.conn, transaction.directory, new)?;
                    }
                    Change::Delete(patterns) => {
                        for pattern in patterns {
                            let gone = facts::delete(transaction.conn, transaction.directory, pattern)?;
                            if let Some(allowed) = delete_reach.filter(|allowed| gone > *allowed) {
                                return Err(StoreError::Reach { matched: gone, allowed });
                            }
                            applied.deleted += gone;
                        }
                    }
                }
            }
            if applied.inserted + applied.deleted > 0 {
                applied.offset = transaction.advance();
            }
            Ok(applied)
        })
        .await
    }

    /// Removes all facts and all policies; keys stay.
    pub async fn clear(&self) -> Result<Applied, StoreError> {
        self.write(1, |transaction| {
            let (tables, deleted) = transaction.directory.clear(transaction.conn)?;
            transaction.pending.retired = tables;
            policy::clear(transaction.conn)?;
            Ok(Applied { offset: transaction.advance(), inserted: 0, deleted })
        })
        .await
    }

    /// Runs a possibly slow closure with a connection, on a thread that may block.
    pub async fn read<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        self.shared.pool.run(self.asker, None, read).await
    }

    /// Like [`Store::read`], for a closure that is probably fast. A slow one is started again as a long
    /// question.
    pub async fn read_brief<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        self.shared.pool.run_brief(self.asker, None, read).await
    }

    /// The stored facts that match, at most `limit` of them.
    pub async fn facts(&self, pattern: FactPattern, limit: usize) -> Result<FactPage, StoreError> {
        self.consistently(|attempt| {
            let (relations, pattern) = (self.relations(), pattern.clone());
            attempt.read_brief(move |reader| {
                reader.snapshot(|reader| facts::find(reader, &relations, &pattern, limit))
            })
        })
        .await
    }

    /// The stored facts that match now, to be read in parts. `None` in memory, where a reader blocks the
    /// writer. Blocks briefly.
    pub fn reading(&self, pattern: FactPattern) -> Result<Option<FactReading>, StoreError> {
        let Some(dir) = self.shared.files.first().and_then(|database| database.parent()) else {
            return Ok(None);
        };
        FactReading::begin(Arc::clone(&self.shared.published), dir, pattern).map(Some)
    }

    /// How many facts are stored; reads counters, not facts.
    pub async fn stats(&self) -> Result<Stats, StoreError> {
        self.read_brief(|reader| reader.with(facts::stats)).await
    }

    /// The size of the store's files in bytes; 0 in memory.
    pub async fn bytes(&self) -> Result<u64, StoreError> {
        let files = self.shared.files.clone();
        self.read_brief(move |_| {
            // The log exists only while the store is open, and may disappear at any time.
            let length = |path: &PathBuf| path.metadata().map_or(0, |found| found.len());
            Ok(files.iter().map(length).sum())
        })
        .await
    }

    /// Why the store no longer accepts writes, if it does not.
    pub fn fault(&self) -> Option<StoreError> {
        self.shared.published.fault.read().clone().map(StoreError::from)
    }

    /// Stores a policy as the active one.
    pub async fn put_policy(&self, src: String, filename: String) -> Result<PolicyVersion, StoreError> {
        self.write(1, move |transaction| {
            transaction.advance();
            policy::put(transaction.conn, &src, &filename, transaction.now)
        })
        .await
    }

    /// The policy with this id, or the active one.
    pub async fn policy(&self, id: Option<u64>) -> Result<Option<StoredPolicy>, StoreError> {
        self.read_brief(move |reader| reader.with(|conn| policy::get(conn, id))).await
    }

    /// All policies, oldest first, without their texts.
    pub async fn policy_versions(&self) -> Result<Vec<PolicyVersion>, StoreError> {
        self.read_brief(|reader| reader.with(policy::versions)).await
    }

    /// Creates a key. Its text is available only now.
    pub async fn create_key(
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

    /// Revokes a key; returns whether it exists.
    pub async fn revoke_key(&self, id: String) -> Result<bool, StoreError> {
        self.write(1, move |transaction| {
            transaction.pending.keys_changed = true;
            keys::revoke(transaction.conn, &id)
        })
        .await
    }

    /// All keys, oldest first, the revoked ones too.
    pub fn keys(&self) -> Vec<Key> {
        self.shared.published.keys.read().list()
    }

    /// When a key was last used, in seconds since the epoch; `None` if never. Uses within the last hour
    /// before a kill may be missing.
    pub fn key_last_used(&self, id: &str) -> Option<i64> {
        self.shared.published.keys.read().last_used(id)
    }

    /// The key with this text, unless it is unknown or revoked. Reads memory only.
    pub fn verify_key(&self, text: &str) -> Option<Key> {
        let ring = Arc::clone(&self.shared.published.keys.read());
        ring.verify(text)
    }

    async fn write<T, F>(&self, weight: usize, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.shared.writer.write(weight, work).await
    }
}

fn secret(conn: &Connection) -> Result<[u8; 32], StoreError> {
    Ok(conn.query_row("SELECT value FROM meta WHERE name = 'secret'", [], |row| row.get(0))?)
}
