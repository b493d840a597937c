//! The metadata document: where the endpoints are.

use super::TAG;
use crate::http::AppState;
use crate::http::error::ApiError;
use crate::http::json::Json;
use axum::extract::State;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Where the endpoints are.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuthzenMetadata)]
pub(super) struct EndpointsOut {
    policy_decision_point: String,
    access_evaluation_endpoint: String,
    access_evaluations_endpoint: String,
    search_subject_endpoint: String,
    search_resource_endpoint: String,
    search_action_endpoint: String,
}

/// Find the AuthZEN endpoints
///
/// Only if the setting `public_url` has the address under which clients reach the service. An address from
/// the request itself could be anyone's.
#[utoipa::path(
    get,
    path = "/.well-known/authzen-configuration",
    operation_id = "authzen_metadata",
    tag = TAG,
    security(()),
    responses(
        (status = 200, description = "The addresses", body = EndpointsOut),
        (status = 404, description = "The service does not know its address", body = crate::http::openapi::Error),
    ),
)]
pub(super) async fn metadata(State(app): State<Arc<AppState>>) -> Result<Json<EndpointsOut>, ApiError> {
    let Some(url) = app.config.public_url.as_ref() else {
        return Err(ApiError::NotFound("the setting `public_url` is missing".to_owned()));
    };
    let endpoint = |path: &str| format!("{}/access/v1/{path}", url.0);
    Ok(Json(EndpointsOut {
        policy_decision_point: url.0.clone(),
        access_evaluation_endpoint: endpoint("evaluation"),
        access_evaluations_endpoint: endpoint("evaluations"),
        search_subject_endpoint: endpoint("search/subject"),
        search_resource_endpoint: endpoint("search/resource"),
        search_action_endpoint: endpoint("search/action"),
    }))
}
