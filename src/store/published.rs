//! What the writer lets everybody else see: the relations, the keys, and whether it still takes writes.

use super::error::StoreError;
use super::keys::KeyRing;
use super::reading::Readings;
use super::relation::Relations;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What readers see of the writer's work.
#[derive(Debug, Default)]
pub(super) struct Published {
    /// The relations that a question may name.
    pub(super) relations: RwLock<Arc<Relations>>,
    /// The generation of the relations that hold all facts there are. INVARIANT: it is raised before the commit that
    /// makes a relation, and so before anybody can read a fact beside it.
    pub(super) pending_generation: AtomicU64,
    /// The number of the last committed write that changed something.
    pub(super) offset: AtomicU64,
    /// The keys.
    pub(super) keys: RwLock<Arc<KeyRing>>,
    /// What keeps the log from starting over until it has been read, or cut.
    pub(super) readings: Readings,
    /// Why no write is taken any more.
    pub(super) fault: RwLock<Option<Fault>>,
}

/// Why no write is taken any more.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// The disk failed, and nobody knows what it holds.
    Failed(String),
    /// Files are not where they were.
    Moved(String),
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Failed(reason) => Self::ReadOnly(reason),
            Fault::Moved(reason) => Self::Moved(reason),
        }
    }
}

impl Fault {
    /// What happened.
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Failed(reason) | Self::Moved(reason) => reason,
        }
    }
}
