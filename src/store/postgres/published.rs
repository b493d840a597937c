//! What a process knows of an environment: its relations and keys, how far it has seen, and whether it can
//! be written.

use super::keys::LoadedKeys;
use crate::store::database_error::DatabaseError;
use crate::store::key::KeyRing;
use crate::store::signature::Relations;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The newest of everything that this process has seen.
#[derive(Debug)]
pub(super) struct PublishedState {
    relations: RwLock<Arc<Relations>>,
    keys: RwLock<PublishedKeys>,
    /// The last revision that was acknowledged or read.
    offset: AtomicU64,
    /// Why no server took the last write.
    fault: RwLock<Option<DatabaseError>>,
}

/// The keys, and how often their set had changed.
#[derive(Debug)]
struct PublishedKeys {
    generation: i64,
    ring: Arc<KeyRing>,
}

impl PublishedState {
    pub(super) fn new(relations: Relations, keys: LoadedKeys, offset: u64) -> Self {
        let ring = Arc::new(KeyRing::new(keys.keys, &KeyRing::default()));
        Self {
            relations: RwLock::new(Arc::new(relations)),
            keys: RwLock::new(PublishedKeys { generation: keys.generation, ring }),
            offset: AtomicU64::new(offset),
            fault: RwLock::default(),
        }
    }

    pub(super) fn relations(&self) -> Arc<Relations> {
        Arc::clone(&self.relations.read())
    }

    /// Publishes relations, unless newer ones are known.
    pub(super) fn offer_relations(&self, relations: Relations) -> Arc<Relations> {
        let mut current = self.relations.write();
        if relations.generation > current.generation {
            *current = Arc::new(relations);
        }
        Arc::clone(&current)
    }

    pub(super) fn keys(&self) -> Arc<KeyRing> {
        Arc::clone(&self.keys.read().ring)
    }

    /// How often the set of the published keys had changed.
    pub(super) fn keys_generation(&self) -> i64 {
        self.keys.read().generation
    }

    /// Publishes keys, unless newer ones are known.
    pub(super) fn offer_keys(&self, LoadedKeys { generation, keys }: LoadedKeys) {
        let mut current = self.keys.write();
        if generation > current.generation {
            let ring = Arc::new(KeyRing::new(keys, &current.ring));
            *current = PublishedKeys { generation, ring };
        }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset.load(Ordering::SeqCst)
    }

    /// Notes that a revision was acknowledged or read.
    pub(super) fn note_offset(&self, revision: u64) {
        self.offset.fetch_max(revision, Ordering::SeqCst);
    }

    pub(super) fn fault(&self) -> Option<DatabaseError> {
        self.fault.read().clone()
    }

    /// Notes why no server took a write, or that one did.
    pub(super) fn note_fault(&self, fault: Option<DatabaseError>) {
        let mut current = self.fault.write();
        if let (Some(fault), None) = (&fault, &*current) {
            tracing::error!(%fault, "the store takes no writes");
        }
        *current = fault;
    }
}
