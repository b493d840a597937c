//! The store: facts, policy versions and keys of one environment.
//!
//! In: batches of changes, and read statements. Out: durable facts and rows. Both sides exchange plain data:
//! this module knows nothing about policies. [`Store`] says what a store does. `embedded` does it in one
//! SQLite file, [`postgres`] in a database of a PostgreSQL server; the other modules are what both share.
//!
//! What holds:
//! - An acknowledged write is on the disk, and any read of the primary that starts later sees it. A failed
//!   write changed nothing. Both hold however the process ends.
//! - A batch is applied as a whole, in order, and every reader sees all of it or none of it.
//! - An attempt of [`Store::consistently`] has its relations before it reads: every table that they name
//!   exists while they are held, and every fact acknowledged before is in one of them. What it returns was
//!   read from all facts of its moment.
//!
//! Not here: which facts a policy accepts, and how a question becomes SQL (`engine`).

mod asking;
mod consistent_read;
mod database_error;
mod digest;
mod embedded;
mod error;
mod fact;
mod key;
mod long_queue;
mod options;
mod policy;
mod progress;
pub mod postgres;
mod query;
mod reader;
mod reading;
mod rotation;
mod signature;
#[cfg(test)]
mod tests;
mod token;

pub use consistent_read::ConsistentRead;
pub use database_error::{DatabaseError, OLDEST_SERVER};
pub use digest::KeyDigest;
pub use embedded::{
    Existing, Holdings, Remains, Snapshot, accept_loss, check_own_name, delete, find_loss, is_store,
    note_name, restore,
};
pub use error::{Loss, StoreError};
pub use fact::{Applied, ArgPattern, Change, Fact, FactPage, FactPattern, Stats, Value};
pub use key::{Access, Key, NewKey, check_key_name};
pub use long_queue::{QueueUsage, Usage};
pub use options::StoreOptions;
pub use policy::{PolicyDigest, PolicyVersion, StoredPolicy};
pub use query::{Expected, Lookup, Param, RowQuery, Work, values};
pub use reader::{Reader, aside};
pub use reading::FactReading;
pub use signature::{Relations, StoredArg, StoredRelation};
pub use token::{Nonce, Token, WriteMark};

use crate::share::Asker;
use embedded::Embedded;
use portcullis_compiler::StoreDialect;
use postgres::{PostgresStore, StoreServers};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A handle to an open store. Clones share the store. Dropping the last one finishes the queued writes and
/// closes it.
#[derive(Clone, Debug)]
pub struct Store {
    backend: Backend,
    asker: Asker,
    /// Writes that its questions must see.
    after: Option<Token>,
    /// Whether no replica may answer its questions.
    asks_primary: bool,
    /// Whether this process knows the keys of a clock that was read for this request. Always false in the
    /// embedded store.
    knows_keys: Arc<AtomicBool>,
}

/// What keeps the data of a store.
#[derive(Clone, Debug)]
enum Backend {
    Embedded(Arc<Embedded>),
    Postgres(Arc<PostgresStore>),
}

impl Store {
    /// Opens the store in a directory, which is created if it does not exist. Blocks while it checks the
    /// file.
    pub fn open(dir: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        Embedded::open(dir, options).map(Self::embedded)
    }

    /// An empty store that disappears with its last handle, for tests and trials. Unlike with a file, its
    /// reader and its writer block each other.
    pub fn in_memory(options: &StoreOptions) -> Result<Self, StoreError> {
        Embedded::in_memory(options).map(Self::embedded)
    }

    /// Opens an environment in a PostgreSQL database.
    pub async fn connect(
        servers: &StoreServers,
        environment: &str,
        options: &StoreOptions,
    ) -> Result<Self, StoreError> {
        let store = PostgresStore::open(servers, environment, options).await?;
        Ok(Self::over(Backend::Postgres(Arc::new(store))))
    }

    fn embedded(store: Embedded) -> Self {
        Self::over(Backend::Embedded(Arc::new(store)))
    }

    fn over(backend: Backend) -> Self {
        let (asker, after, knows_keys) = (Asker::default(), None, Arc::default());
        Self { backend, asker, after, asks_primary: false, knows_keys }
    }

    /// The same store for one request, with its reads accounted to this asker.
    #[must_use]
    pub fn asked_by(&self, asker: Asker) -> Self {
        Self { asker, after: None, knows_keys: Arc::default(), ..self.clone() }
    }

    /// The same store, whose questions must see all writes up to a moment. The embedded store ignores it: its
    /// questions see all acknowledged writes anyway.
    ///
    /// A question fails with [`DatabaseError::LostWrite`] if one of them was lost.
    #[must_use]
    pub fn after(&self, after: Option<Token>) -> Self {
        Self { after, ..self.clone() }
    }

    /// The same store, whose questions no replica answers: they see all acknowledged writes, and the offset
    /// before them is not later than what they see.
    #[must_use]
    pub fn of_primary(&self) -> Self {
        Self { asks_primary: true, ..self.clone() }
    }

    /// What its statements must be written in.
    pub fn dialect(&self) -> StoreDialect {
        match &self.backend {
            Backend::Embedded(_) => StoreDialect::Sqlite,
            Backend::Postgres(_) => StoreDialect::Postgresql,
        }
    }

    /// How many questions are running and waiting.
    pub fn usage(&self) -> Usage {
        match &self.backend {
            Backend::Embedded(store) => store.usage(),
            Backend::Postgres(store) => store.usage(),
        }
    }

    /// Cancels running questions and accepts no more. Writes continue.
    pub fn end_questions(&self) {
        match &self.backend {
            Backend::Embedded(store) => store.end_questions(),
            Backend::Postgres(store) => store.end_questions(),
        }
    }

    /// A random secret that was created with the store; it authenticates page tokens.
    pub fn secret(&self) -> &[u8; 32] {
        match &self.backend {
            Backend::Embedded(store) => store.secret(),
            Backend::Postgres(store) => store.secret(),
        }
    }

    /// The current relations. Hold them while statements that name their tables run.
    pub fn relations(&self) -> Arc<Relations> {
        match &self.backend {
            Backend::Embedded(store) => store.relations(),
            Backend::Postgres(store) => store.relations(),
        }
    }

    /// The number of the last acknowledged write that changed something, over the store's whole life.
    pub fn offset(&self) -> u64 {
        match &self.backend {
            Backend::Embedded(store) => store.offset(),
            Backend::Postgres(store) => store.latest().revision,
        }
    }

    /// The last write that this process has acknowledged or seen.
    pub fn last_write(&self) -> WriteMark {
        match &self.backend {
            Backend::Embedded(store) => WriteMark { offset: store.offset(), nonce: None },
            Backend::Postgres(store) => store.latest().into(),
        }
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
        match &self.backend {
            Backend::Embedded(store) => store.apply_within(changes, delete_reach).await,
            Backend::Postgres(store) => Ok(store.apply_within(changes, delete_reach).await?.0),
        }
    }

    /// Removes all facts and all policies; keys stay.
    pub async fn clear(&self) -> Result<Applied, StoreError> {
        match &self.backend {
            Backend::Embedded(store) => store.clear().await,
            Backend::Postgres(store) => Ok(store.clear().await?.0),
        }
    }

    /// The stored facts that match, at most `limit` of them.
    pub async fn facts(&self, pattern: FactPattern, limit: usize) -> Result<FactPage, StoreError> {
        let pattern = &pattern;
        self.consistently(|attempt| async move {
            let (relations, pattern) = (Arc::clone(attempt.relations()), pattern.clone());
            let facts = move |reader: &Reader<'_>| {
                reader.snapshot(|reader| reader.facts(&relations, &pattern, limit))
            };
            attempt.read(Expected::Brief, facts).await
        })
        .await
    }

    /// The stored facts that match now, to be read in parts. `None` in memory, where a reader blocks the
    /// writer. Blocks until the reading has begun.
    pub fn reading(&self, pattern: FactPattern) -> Result<Option<FactReading>, StoreError> {
        Ok(match &self.backend {
            Backend::Embedded(store) => store.reading(pattern)?.map(FactReading::Embedded),
            Backend::Postgres(store) => Some(FactReading::Postgres(store.reading(pattern, self.after)?)),
        })
    }

    /// How many facts are stored; reads counters, not facts.
    pub async fn stats(&self) -> Result<Stats, StoreError> {
        self.read_brief(|reader: &Reader<'_>| Reader::stats(reader)).await
    }

    /// The size of the store in bytes: of its files, or of its tables; 0 in memory.
    pub async fn bytes(&self) -> Result<u64, StoreError> {
        match &self.backend {
            Backend::Embedded(store) => store.bytes(self.asker).await,
            Backend::Postgres(store) => store.bytes(self.asker).await,
        }
    }

    /// Why the store no longer accepts writes, if it does not.
    pub fn fault(&self) -> Option<StoreError> {
        match &self.backend {
            Backend::Embedded(store) => store.fault(),
            Backend::Postgres(store) => store.fault(),
        }
    }

    /// Stores a policy as the active one.
    ///
    /// Returns also the moment after it.
    pub async fn put_policy(
        &self,
        src: String,
        filename: String,
    ) -> Result<(PolicyVersion, WriteMark), StoreError> {
        match &self.backend {
            Backend::Embedded(store) => {
                let version = store.put_policy(src, filename).await?;
                Ok((version, WriteMark { offset: store.offset(), nonce: None }))
            }
            Backend::Postgres(store) => {
                let (version, token) = store.put_policy(src, filename).await?;
                Ok((version, token.into()))
            }
        }
    }

    /// The policy with this id, or the active one.
    pub async fn policy(&self, id: Option<u64>) -> Result<Option<StoredPolicy>, StoreError> {
        self.read_brief(move |reader| reader.policy(id)).await
    }

    /// All policies, oldest first, without their texts.
    pub async fn policy_versions(&self) -> Result<Vec<PolicyVersion>, StoreError> {
        self.read_brief(|reader: &Reader<'_>| Reader::policy_versions(reader)).await
    }

    /// Creates a key of an environment. Its text is available only now.
    ///
    /// # Errors
    /// [`StoreError::EnvironmentName`] for a name that no environment can have, or that is not the one of a
    /// store on PostgreSQL.
    pub async fn create_key(
        &self,
        environment: String,
        name: String,
        access: Access,
    ) -> Result<NewKey, StoreError> {
        match &self.backend {
            Backend::Embedded(store) => store.create_key(environment, name, access).await,
            Backend::Postgres(store) if store.environment() == environment => {
                store.create_key(name, access).await
            }
            Backend::Postgres(_) => Err(StoreError::EnvironmentName(environment)),
        }
    }

    /// Revokes a key; returns whether it exists.
    pub async fn revoke_key(&self, id: String) -> Result<bool, StoreError> {
        match &self.backend {
            Backend::Embedded(store) => store.revoke_key(id).await,
            Backend::Postgres(store) => store.revoke_key(id).await,
        }
    }

    /// All keys, oldest first, the revoked ones too.
    pub fn keys(&self) -> Vec<Key> {
        match &self.backend {
            Backend::Embedded(store) => store.keys().list(),
            Backend::Postgres(store) => store.keys(),
        }
    }

    /// When a key was last used, in seconds since the epoch; `None` if never. Uses within the last hour
    /// before a kill may be missing.
    pub fn key_last_used(&self, id: &str) -> Option<i64> {
        match &self.backend {
            Backend::Embedded(store) => store.keys().last_used(id),
            Backend::Postgres(store) => store.key_last_used(id),
        }
    }

    /// The key with this text, unless it is unknown or revoked. Also [follows](Self::follow) other processes.
    pub async fn find_key(&self, text: &str) -> Result<Option<Key>, StoreError> {
        match &self.backend {
            Backend::Embedded(store) => Ok(store.keys().verify(text)),
            Backend::Postgres(store) => store.find_key(self.asker, text).await,
        }
    }

    /// The key with this text, unless it is unknown or revoked, as far as this process knows.
    pub fn known_key(&self, text: &str) -> Option<Key> {
        match &self.backend {
            Backend::Embedded(store) => store.keys().verify(text),
            Backend::Postgres(store) => store.verify_key(text),
        }
    }

    /// The key with this text, even if it is revoked, as far as this process knows.
    pub fn held_key(&self, text: &str) -> Option<Key> {
        match &self.backend {
            Backend::Embedded(store) => store.keys().find(text),
            Backend::Postgres(store) => store.held_key(text),
        }
    }

    /// Whether a known key was still valid when its request began, whose store this is
    /// ([`asked_by`](Self::asked_by)). To be called once its questions are
    /// [consistently](Self::consistently) answered: the keys are then those of their clocks.
    pub async fn was_valid(&self, text: &str) -> Result<bool, StoreError> {
        match &self.backend {
            Backend::Embedded(_) => Ok(true),
            Backend::Postgres(store) => {
                if !self.knows_keys.load(Ordering::SeqCst) {
                    self.follow().await?;
                }
                Ok(store.verify_key(text).is_some())
            }
        }
    }

    /// Reads what other processes have changed, if there can be any.
    pub async fn follow(&self) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Embedded(_) => Ok(()),
            Backend::Postgres(store) => store.follow(self.asker).await,
        }
    }

    /// The version of the active policy as far as this process has seen, 0 if there is none. `None` if no
    /// other process can change it.
    pub fn newest_policy(&self) -> Option<u64> {
        match &self.backend {
            Backend::Embedded(_) => None,
            Backend::Postgres(store) => Some(store.newest_policy()),
        }
    }
}
