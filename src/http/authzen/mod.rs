//! The OpenID AuthZEN Authorization API 1.0, over the questions that the rest of the interface asks.
//!
//! | endpoint | question |
//! |---|---|
//! | `/access/v1/evaluation` | `/authorize` |
//! | `/access/v1/evaluations` | several of them |
//! | `/access/v1/search/subject` | `/list_subjects` of one type |
//! | `/access/v1/search/resource` | `/list` |
//! | `/access/v1/search/action` | `/actions` |
//! | `/.well-known/authzen-configuration` | none: where these are |
//!
//! A subject is an actor, and types, ids and action names are those of the policy. Properties and context are
//! facts of the request if the policy reads them ([`crate::engine::Attribute`]). In a search, `*` means
//! everyone or everything, as in the other lists; an evaluation of `*` is then permitted as well.
//!
//! Two things differ from the other endpoints, because the specification has them so. The body of an error is
//! a JSON string, its message ([`as_text`]), and a body of a different type than JSON is 400.

mod decide;
mod evaluation;
mod input;
mod metadata;
mod search;

use super::AppState;
use super::error::ErrorMessage;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Where the paths of these endpoints begin.
pub(super) const PREFIX: &str = "/access/v1/";

/// The heading of these endpoints in the OpenAPI document.
pub(super) const TAG: &str = "AuthZEN";

pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new()
        .routes(routes!(evaluation::evaluate))
        .routes(routes!(evaluation::evaluate_each))
        .routes(routes!(search::subjects))
        .routes(routes!(search::resources))
        .routes(routes!(search::actions))
        .routes(routes!(metadata::metadata))
}

/// An error in the form of the specification.
pub(super) fn as_text(mut response: Response) -> Response {
    let Some(ErrorMessage(message)) = response.extensions_mut().remove() else { return response };
    *response.body_mut() = Body::from(serde_json::Value::from(message).to_string());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    response
}
