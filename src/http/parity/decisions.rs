//! The latest decisions of this node, by the request that asked for them.

use crate::http::headers::RequestId;
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// How many decisions are kept for each environment: a few minutes of a busy service, a few hundred bytes
/// each.
const KEPT: usize = 10_000;

/// The latest decisions of every environment.
#[derive(Debug, Default)]
pub(in crate::http) struct Decisions(RwLock<FxHashMap<String, Mutex<Latest>>>);

impl Decisions {
    /// Keeps a decision, and drops the oldest one if there are too many.
    pub(in crate::http) fn keep(&self, environment: &str, request: &RequestId, allowed: bool) {
        if let Some(latest) = self.0.read().get(environment) {
            latest.lock().keep(request.as_str(), allowed);
            return;
        }
        let mut all = self.0.write();
        all.entry(environment.to_owned()).or_default().get_mut().keep(request.as_str(), allowed);
    }

    /// Forgets the decisions of an environment that is removed.
    pub(in crate::http) fn forget(&self, environment: &str) {
        self.0.write().remove(environment);
    }

    /// The decision of a request, if it is still known.
    pub(super) fn of_request(&self, environment: &str, request: &str) -> Option<bool> {
        self.0.read().get(environment)?.lock().allowed.get(request).copied()
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
