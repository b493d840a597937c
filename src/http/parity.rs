//! `/expect`: compares decisions with what the application expected.
//!
//! An application that migrates to this service asks both its own code and the service, and then reports the
//! decision of its own code under the id of the request. For this, the latest decisions of each environment
//! are kept in memory: a report comes within moments or never. The result is logged with the request's id,
//! but without actor and resource. Reports about other requests, about SQL that the application ran itself,
//! or that come too late succeed too, because clients send them in the background and no one would see an
//! error.

use super::AppState;
use super::auth::ReadAccess;
use super::headers::RequestId;
use super::json::{Json, Message, Object};
use axum::extract::State;
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How many decisions are kept for each environment: a few minutes of a busy service, a few hundred bytes
/// each.
const KEPT: usize = 10_000;

pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(expect))
}

/// The latest decisions of every environment.
#[derive(Debug, Default)]
pub(super) struct Decisions(RwLock<FxHashMap<String, Mutex<Latest>>>);

impl Decisions {
    /// Keeps a decision, and drops the oldest one if there are too many.
    pub(super) fn keep(&self, environment: &str, request: &RequestId, allowed: bool) {
        if let Some(latest) = self.0.read().get(environment) {
            latest.lock().keep(request.as_str(), allowed);
            return;
        }
        let mut all = self.0.write();
        all.entry(environment.to_owned()).or_default().get_mut().keep(request.as_str(), allowed);
    }

    /// Forgets the decisions of an environment that is removed.
    pub(super) fn forget(&self, environment: &str) {
        self.0.write().remove(environment);
    }

    /// The decision of a request, if it is still known.
    fn of_request(&self, environment: &str, request: &str) -> Option<bool> {
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

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ExpectRequest)]
struct ExpectIn {
    /// The `X-Request-ID` of a check.
    request_id: String,
    /// The decision that the application expected.
    expected: bool,
}

/// Report the expected decision of an earlier check
#[utoipa::path(
    post,
    path = "/expect",
    operation_id = "expect",
    tag = "Checks",
    request_body(content = ExpectIn, example = json!({"request_id": "7b3f-42", "expected": true})),
    responses((status = 200, description = "Whether the decision was known, and agreed", body = Message, example = json!({"message": "recorded: agreed"}))),
)]
async fn expect(
    ReadAccess(environment): ReadAccess,
    State(app): State<Arc<AppState>>,
    Json(Object(ExpectIn { request_id, expected })): Json<Object<ExpectIn>>,
) -> Json<Message> {
    let message = if let Some(allowed) = app.decisions.of_request(&environment.name, &request_id) {
        let agreed = allowed == expected;
        tracing::info!(of = request_id, expected, agreed, "expectation");
        if agreed { "recorded: agreed" } else { "recorded: disagreed" }
    } else {
        tracing::info!(expected, "expected decision of an unknown request");
        "not recorded: no decision is known for this request id"
    };
    Json(Message { message: message.to_owned() })
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
