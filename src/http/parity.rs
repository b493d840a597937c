//! `/expect`: whether a decision was the one that the application expected.
//!
//! An application that moves to this service asks both its own code and us, and reports afterwards, under
//! the id of the request, what its own code had said. The decisions of the latest requests are kept for that,
//! a bounded number for each environment, in memory: a report comes within moments or never. What is found
//! goes to the log, with the request's id and neither actor nor resource. A report about a request that was
//! no check, whose SQL the application ran itself, or that is too long ago is answered all the same, since
//! the clients send reports on the side and nobody would see an error.

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

/// The decisions that are kept for each environment; some minutes of a busy service, some hundred bytes each.
const KEPT: usize = 10_000;

pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(expect))
}

/// The latest decisions of every environment, from its first one on.
#[derive(Debug, Default)]
pub(super) struct Decisions(RwLock<FxHashMap<String, Mutex<Latest>>>);

impl Decisions {
    /// Keeps a decision, and forgets the oldest one if there are many.
    pub(super) fn keep(&self, environment: &str, request: &RequestId, allowed: bool) {
        if let Some(latest) = self.0.read().get(environment) {
            latest.lock().keep(request.as_str(), allowed);
            return;
        }
        let mut all = self.0.write();
        all.entry(environment.to_owned()).or_default().get_mut().keep(request.as_str(), allowed);
    }

    /// The decision of a request, if it is still known.
    fn of_request(&self, environment: &str, request: &str) -> Option<bool> {
        self.0.read().get(environment)?.lock().allowed.get(request).copied()
    }
}

/// The latest decisions of one environment.
#[derive(Debug, Default)]
struct Latest {
    /// By request; its hash is seeded, because the ids are the clients' own.
    allowed: HashMap<Arc<str>, bool>,
    /// The requests, oldest first, each once.
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
    /// Its decision as the application would have it.
    expected: bool,
}

/// Report which decision was expected of an earlier check
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
        tracing::info!(expected, "expectation of a decision that is not known");
        "not recorded: no decision is known under this request id any more"
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
