//! What the writer publishes: the relations, the keys, and whether it still accepts writes.

use super::reading::Readings;
use crate::store::error::StoreError;
use crate::store::key::KeyRing;
use crate::store::signature::Relations;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The writer's published state.
#[derive(Debug, Default)]
pub(super) struct Published {
    /// The relations that questions may use.
    pub(super) relations: RwLock<Arc<Relations>>,
    /// The generation that contains all facts. INVARIANT: it is raised before the commit that creates a
    /// relation, and so before any reader can see a fact of the new generation.
    pub(super) pending_generation: AtomicU64,
    /// The number of the last committed write that changed something.
    pub(super) offset: AtomicU64,
    /// The keys.
    pub(super) keys: RwLock<Arc<KeyRing>>,
    /// Readings that keep the log from starting over until they end or are cut.
    pub(super) readings: Readings,
    /// Why no write is taken any more.
    pub(super) fault: RwLock<Option<Fault>>,
}

/// Why no write is taken any more.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// The disk failed, and its content is unknown.
    Failed(String),
    /// Files were moved or removed.
    Moved(String),
}

impl Published {
    /// Stops writes, as the store's file turned out to be damaged or its content to be unknown. The first
    /// fault stays.
    pub(super) fn stop_writes(&self, fault: Fault) {
        let mut stopped = self.fault.write();
        if stopped.is_none() {
            tracing::error!(
                reason = fault.reason(),
                "the store accepts no more writes until it is opened again"
            );
            *stopped = Some(fault);
        }
    }

    /// The outcome of a question. If the question found the file damaged, it also stops writes: a write could
    /// spread the damage.
    pub(super) fn after<T>(&self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(StoreError::Corrupt(reason)) = &outcome {
            self.stop_writes(Fault::Failed(format!("a question found its file damaged: {reason}")));
        }
        outcome
    }
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
