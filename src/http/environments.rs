//! The environments of the running service.

use super::{AppState, Environment};
use crate::engine::EngineError;
use std::sync::Arc;

impl AppState {
    /// Adds an environment.
    pub fn add(&self, environment: Environment) {
        let mut environments = self.environments.write();
        self.decisions.begin(&environment);
        environments.insert(environment.name.clone(), Arc::new(environment));
    }

    /// Removes an environment, so that its keys are refused; returns it if there is one. Requests that have
    /// begun still hold it.
    pub fn remove(&self, name: &str) -> Option<Arc<Environment>> {
        let removed = self.environments.write().remove(name);
        if let Some(removed) = &removed {
            self.forget(removed);
        }
        removed
    }

    /// Removes this environment, unless another one has taken its name; returns whether it was there.
    pub(super) fn close(&self, closed: &Environment) -> bool {
        let mut environments = self.environments.write();
        let is_there = environments
            .get(&closed.name)
            // Each environment has its own secret.
            .is_some_and(|open| open.engine.secret() == closed.engine.secret());
        if is_there {
            environments.remove(&closed.name);
            self.forget(closed);
        }
        is_there
    }

    /// Forgets what was decided in an environment.
    fn forget(&self, removed: &Environment) {
        self.decisions.forget(removed);
        if let Some(log) = &self.decision_log {
            log.forget(removed);
        }
    }

    /// Cancels the environments' questions, for a shutdown that has waited long enough.
    pub(super) fn end_questions(&self) {
        self.environments.read().values().for_each(|environment| environment.engine.end_questions());
    }

    /// The environment with this name, if it is open.
    pub fn environment(&self, name: &str) -> Option<Arc<Environment>> {
        self.environments.read().get(name).cloned()
    }

    /// The environment with this name, which is opened if another node has made it in the shared store.
    pub async fn find_environment(&self, name: &str) -> Result<Option<Arc<Environment>>, EngineError> {
        match (self.environment(name), &self.shared_store) {
            (Some(environment), _) => Ok(Some(environment)),
            (None, None) => Ok(None),
            (None, Some(store)) => store.find(self, name).await,
        }
    }
}
