//! `/expect`: compares decisions with what the application expected.
//!
//! An application that migrates to this service asks both its own code and the service, and then reports the
//! decision of its own code under the id of the request. For this, the latest [`decisions`] of each
//! environment are kept in memory: a report comes within moments or never. Where several nodes share a store,
//! another one may have decided, so a node [asks the others](peers) about requests that it does not know. The
//! result is logged with the request's id, but without actor and resource. Reports about other requests,
//! about SQL that the application ran itself, or that come too late succeed too, because clients send them in
//! the background and no one would see an error.

mod decisions;
mod peers;

pub(super) use decisions::Decisions;
pub(super) use peers::Peers;

use super::AppState;
use super::auth::ReadAccess;
use super::json::{Json, Message, Object};
use axum::extract::State;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(expect))
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
    let allowed = match (app.decisions.of_request(&environment, &request_id), &app.shared_store) {
        (None, Some(store)) => store.peers().decision(&environment, &request_id).await,
        (known, _) => known,
    };
    let message = if let Some(allowed) = allowed {
        let agreed = allowed == expected;
        tracing::info!(of = request_id, expected, agreed, "expectation");
        if agreed { "recorded: agreed" } else { "recorded: disagreed" }
    } else {
        tracing::info!(expected, "expected decision of an unknown request");
        "not recorded: no decision is known for this request id"
    };
    Json(Message { message: message.to_owned() })
}
