//! The latest decisions of this node, by the request that asked for them.

use crate::http::Environment;
use crate::http::headers::RequestId;
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

/// How many decisions are kept for each environment: a few minutes of a busy service, a few hundred bytes
/// each.
const KEPT: usize = 10_000;

/// The latest decisions of every environment that is served, by its name. An environment that is deleted and
/// created again under the same name has another secret, and starts without decisions.
#[derive(Debug, Default)]
pub(in crate::http) struct Decisions(RwLock<FxHashMap<String, OfEnvironment>>);

impl Decisions {
    /// Begins to keep the decisions of an environment that is served from now on.
    pub(in crate::http) fn begin(&self, environment: &Environment) {
        let kept = OfEnvironment { secret: *environment.engine.secret(), latest: Mutex::default() };
        self.0.write().insert(environment.name.clone(), kept);
    }

    /// Keeps a decision, and drops the oldest one if there are too many. That of a request which outlasted
    /// its environment is not kept.
    pub(in crate::http) fn keep(&self, environment: &Environment, request: &RequestId, allowed: bool) {
        if let Some(kept) = self.0.read().get(&environment.name).filter(|kept| kept.is_of(environment)) {
            kept.latest.lock().keep(request.as_str(), allowed);
        }
    }

    /// Forgets the decisions of an environment that is removed.
    pub(in crate::http) fn forget(&self, environment: &Environment) {
        let mut all = self.0.write();
        if all.get(&environment.name).is_some_and(|kept| kept.is_of(environment)) {
            all.remove(&environment.name);
        }
    }

    /// The decision of a request, if it is still known.
    pub(super) fn of_request(&self, environment: &Environment, request: &str) -> Option<bool> {
        let all = self.0.read();
        let kept = all.get(&environment.name).filter(|kept| kept.is_of(environment))?;
        kept.latest.lock().allowed.get(request).copied()
    }
}

/// The decisions of one environment.
struct OfEnvironment {
    secret: [u8; 32],
    latest: Mutex<Latest>,
}

impl OfEnvironment {
    fn is_of(&self, environment: &Environment) -> bool {
        self.secret == *environment.engine.secret()
    }
}

impl fmt::Debug for OfEnvironment {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfEnvironment").field("latest", &self.latest).finish_non_exhaustive()
    }
}

/// The latest decisions of one environment.
#[derive(Debug, Default)]
struct Latest {
    /// By request; the hash is seeded, because clients choose the ids.
    allowed: HashMap<Arc<str>, bool>,
    /// The distinct requests, oldest first.
    order: VecDeque<Arc<str>>,
}

impl Latest {
    fn keep(&mut self, request: &str, allowed: bool) {
        if let Some(known) = self.allowed.get_mut(request) {
            *known = allowed;
            return;
        }
        if self.order.len() >= KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.allowed.remove(&oldest);
        }
        let request: Arc<str> = request.into();
        self.order.push_back(Arc::clone(&request));
        self.allowed.insert(request, allowed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, EngineSettings};

    #[tokio::test]
    async fn a_request_that_outlasts_its_environment_leaves_nothing() {
        let environment = async || Environment {
            name: "staging".to_owned(),
            engine: Engine::in_memory(EngineSettings::default()).await.unwrap(),
        };
        let (old, new) = (environment().await, environment().await);
        let (decisions, request) = (Decisions::default(), RequestId::fresh());
        let known = |environment| decisions.of_request(environment, request.as_str());
        decisions.begin(&old);
        decisions.keep(&old, &request, true);
        assert_eq!(known(&old), Some(true));
        decisions.forget(&old);
        decisions.keep(&old, &request, true);
        assert_eq!((known(&old), decisions.0.read().len()), (None, 0));
        decisions.begin(&new);
        decisions.keep(&old, &request, true);
        assert_eq!((known(&old), known(&new)), (None, None));
        decisions.forget(&old);
        decisions.keep(&new, &request, false);
        assert_eq!(known(&new), Some(false));
    }

    #[test]
    fn the_oldest_decision_is_forgotten_first() {
        let mut latest = Latest::default();
        for n in 0..KEPT {
            latest.keep(&n.to_string(), n % 2 == 0);
        }
        latest.keep("0", false);
        assert_eq!((latest.order.len(), latest.allowed.get("0")), (KEPT, Some(&false)));
        latest.keep("one more", true);
        assert_eq!((latest.order.len(), latest.allowed.len()), (KEPT, KEPT));
        assert_eq!((latest.allowed.get("0"), latest.allowed.get("1")), (None, Some(&false)));
    }
}
