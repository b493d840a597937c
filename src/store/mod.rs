//! The store: facts, policy versions and keys of one environment.
//!
//! In: batches of changes, and read statements. Out: durable facts and rows. Both sides exchange plain data:
//! this module knows nothing about policies. [`Store`] says what a store does, and `embedded` does it in one
//! SQLite file; the other modules are what both share.
//!
//! What holds:
//! - An acknowledged write is on the disk, and any read that starts later sees it. A failed write changed
//!   nothing. Both hold however the process ends.
//! - A batch is applied as a whole, in order, and every reader sees all of it or none of it.
//! - An attempt of [`Store::consistently`] has its relations before it reads: every table that they name
//!   exists while they are held, and every fact acknowledged before is in one of them. What it returns was
//!   read from all facts of its moment.
//!
//! Not here: which facts a policy accepts, and how a question becomes SQL (`engine`).

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
pub mod postgres;
mod query;
mod signature;
#[cfg(test)]
mod tests;
mod token;

pub use consistent_read::ConsistentRead;
pub use database_error::{DatabaseError, OLDEST_SERVER};
pub use digest::KeyDigest;
pub use embedded::{
    Existing, FactReading, Holdings, Reader, Remains, Snapshot, accept_loss, aside, delete, find_loss,
    restore,
};
pub use error::{Loss, StoreError};
pub use fact::{Applied, ArgPattern, Change, Fact, FactPage, FactPattern, Stats, Value};
pub use key::{Access, Key, NewKey};
pub use long_queue::Usage;
pub use options::StoreOptions;
pub use policy::{PolicyVersion, StoredPolicy};
pub use query::{Lookup, Param, Work};
pub use signature::{Relations, StoredArg, StoredRelation};
pub use token::{Nonce, Token};

use crate::share::Asker;
use embedded::Embedded;
use std::path::Path;
use std::sync::Arc;

/// A handle to an open store. Clones share the store. Dropping the last one finishes the queued writes and
/// closes it.
#[derive(Clone, Debug)]
pub struct Store {
    embedded: Arc<Embedded>,
    asker: Asker,
}

impl Store {
    /// Opens the store in a directory, which is created if it does not exist. Blocks while it checks the
    /// file.
    pub fn open(dir: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        Embedded::open(dir, options).map(Self::of)
    }

    /// An empty store that disappears with its last handle, for tests and trials. Unlike with a file, its
    /// reader and its writer block each other.
    pub fn in_memory(options: &StoreOptions) -> Result<Self, StoreError> {
        Embedded::in_memory(options).map(Self::of)
    }

    fn of(embedded: Embedded) -> Self {
        Self { embedded: Arc::new(embedded), asker: Asker::default() }
    }

    /// The same store, with its reads accounted to this asker.
    #[must_use]
    pub fn asked_by(&self, asker: Asker) -> Self {
        Self { embedded: Arc::clone(&self.embedded), asker }
    }

    /// How many questions are running and waiting.
    pub fn usage(&self) -> Usage {
        self.embedded.usage()
    }

    /// Cancels running questions and accepts no more. Writes continue.
    pub fn end_questions(&self) {
        self.embedded.end_questions();
    }

    /// A random secret that was created with the store; it authenticates page tokens.
    pub fn secret(&self) -> &[u8; 32] {
        self.embedded.secret()
    }

    /// The current relations. Hold them while statements that name their tables run.
    pub fn relations(&self) -> Arc<Relations> {
        self.embedded.relations()
    }

    /// The number of the last acknowledged write that changed something, over the store's whole life.
    pub fn offset(&self) -> u64 {
        self.embedded.offset()
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
        self.embedded.apply_within(changes, delete_reach).await
    }

    /// Removes all facts and all policies; keys stay.
    pub async fn clear(&self) -> Result<Applied, StoreError> {
        self.embedded.clear().await
    }

    /// Runs a possibly slow closure with a reader, on a thread that may block.
    pub async fn read<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        self.embedded.read(self.asker, None, read).await
    }

    /// Like [`Store::read`], for a closure that is probably fast. A slow one is started again as a long
    /// question.
    pub async fn read_brief<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        self.embedded.read_brief(self.asker, None, read).await
    }

    /// The stored facts that match, at most `limit` of them.
    pub async fn facts(&self, pattern: FactPattern, limit: usize) -> Result<FactPage, StoreError> {
        let pattern = &pattern;
        self.consistently(|attempt| async move {
            let (relations, pattern) = (Arc::clone(attempt.relations()), pattern.clone());
            let find = move |reader: &Reader| reader.facts(&relations, &pattern, limit);
            attempt.read_brief(move |reader| reader.snapshot(&find)).await
        })
        .await
    }

    /// The stored facts that match now, to be read in parts. `None` in memory, where a reader blocks the
    /// writer. Blocks briefly.
    pub fn reading(&self, pattern: FactPattern) -> Result<Option<FactReading>, StoreError> {
        self.embedded.reading(pattern)
    }

    /// How many facts are stored; reads counters, not facts.
    pub async fn stats(&self) -> Result<Stats, StoreError> {
        self.read_brief(Reader::stats).await
    }

    /// The size of the store's files in bytes; 0 in memory.
    pub async fn bytes(&self) -> Result<u64, StoreError> {
        self.embedded.bytes(self.asker).await
    }

    /// Why the store no longer accepts writes, if it does not.
    pub fn fault(&self) -> Option<StoreError> {
        self.embedded.fault()
    }

    /// Stores a policy as the active one.
    pub async fn put_policy(&self, src: String, filename: String) -> Result<PolicyVersion, StoreError> {
        self.embedded.put_policy(src, filename).await
    }

    /// The policy with this id, or the active one.
    pub async fn policy(&self, id: Option<u64>) -> Result<Option<StoredPolicy>, StoreError> {
        self.read_brief(move |reader| reader.policy(id)).await
    }

    /// All policies, oldest first, without their texts.
    pub async fn policy_versions(&self) -> Result<Vec<PolicyVersion>, StoreError> {
        self.read_brief(Reader::policy_versions).await
    }

    /// Creates a key. Its text is available only now.
    pub async fn create_key(
        &self,
        environment: String,
        name: String,
        access: Access,
    ) -> Result<NewKey, StoreError> {
        self.embedded.create_key(environment, name, access).await
    }

    /// Revokes a key; returns whether it exists.
    pub async fn revoke_key(&self, id: String) -> Result<bool, StoreError> {
        self.embedded.revoke_key(id).await
    }

    /// All keys, oldest first, the revoked ones too.
    pub fn keys(&self) -> Vec<Key> {
        self.embedded.keys().list()
    }

    /// When a key was last used, in seconds since the epoch; `None` if never. Uses within the last hour
    /// before a kill may be missing.
    pub fn key_last_used(&self, id: &str) -> Option<i64> {
        self.embedded.keys().last_used(id)
    }

    /// The key with this text, unless it is unknown or revoked. Reads memory only.
    pub fn verify_key(&self, text: &str) -> Option<Key> {
        self.embedded.keys().verify(text)
    }
}
