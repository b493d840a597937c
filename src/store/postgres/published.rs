//! The relations that readers know.

use crate::store::signature::Relations;
use parking_lot::RwLock;
use std::sync::Arc;

/// The newest relations that this process has seen.
#[derive(Debug)]
pub(super) struct PublishedRelations(RwLock<Arc<Relations>>);

impl PublishedRelations {
    pub(super) fn new(relations: Relations) -> Self {
        Self(RwLock::new(Arc::new(relations)))
    }

    pub(super) fn current(&self) -> Arc<Relations> {
        Arc::clone(&self.0.read())
    }

    /// Publishes relations, unless newer ones are known.
    pub(super) fn offer(&self, relations: Relations) -> Arc<Relations> {
        let mut current = self.0.write();
        if relations.generation > current.generation {
            *current = Arc::new(relations);
        }
        Arc::clone(&current)
    }
}
