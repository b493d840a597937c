//! Endpoints for the state of the service.
//!
//! The probes need no key, because operators must be able to ask whether the service answers; they reveal
//! nothing else. They answer only once the listener exists, which is after every store has been opened.

use super::auth::ReadAccess;
use super::error::ApiError;
use super::json::Json;
use super::{AppState, DEFAULT_ENVIRONMENT};
use crate::engine::builtin::{HAS_RELATION, HAS_ROLE};
use axum::extract::State;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(stats)).routes(routes!(healthcheck))
}

/// The probes outside the prefix.
pub(super) fn probes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(health)).routes(routes!(ready))
}

/// An empty answer: the service answers.
#[derive(Debug, Serialize, ToSchema)]
struct Healthy {}

/// Ask whether the service answers and can store facts
#[utoipa::path(
    get,
    path = "/healthcheck",
    operation_id = "healthcheck",
    tag = "Service",
    security(()),
    responses((status = 200, description = "Yes", body = Healthy, example = json!({}))),
)]
async fn healthcheck(State(app): State<Arc<AppState>>) -> Result<Json<Healthy>, ApiError> {
    let fault = app.environments.read().values().find_map(|environment| environment.engine.fault());
    if let Some(fault) = fault {
        return Err(fault.into());
    }
    // A store in a database may be out of reach; the embedded one is open.
    if let Some(environment) = app.environment(DEFAULT_ENVIRONMENT) {
        environment.engine.follow().await?;
    }
    Ok(Json(Healthy {}))
}

/// Ask whether the service answers
#[utoipa::path(
    get,
    path = "/health",
    operation_id = "health",
    tag = "Service",
    security(()),
    responses((status = 200, description = "Yes", body = Healthy, example = json!({}))),
)]
async fn health() -> Json<Healthy> {
    Json(Healthy {})
}

/// Ask whether the service can answer questions
#[utoipa::path(
    get,
    path = "/ready",
    operation_id = "ready",
    tag = "Service",
    security(()),
    responses((status = 200, description = "Yes", body = Healthy, example = json!({}))),
)]
async fn ready(State(app): State<Arc<AppState>>) -> Result<Json<Healthy>, ApiError> {
    if let Some(environment) = app.environment(DEFAULT_ENVIRONMENT) {
        environment.engine.is_ready().await?;
    }
    Ok(Json(Healthy {}))
}

#[derive(Debug, Serialize, ToSchema)]
struct PolicyStats {
    /// The ids of all versions, oldest first; clients declare them as texts.
    versions: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct FactStats {
    total: u64,
    /// By predicate.
    predicates: BTreeMap<String, u64>,
}

/// What is stored. The last three numbers are for the oldest client.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Stats)]
struct StatsOut {
    policy: PolicyStats,
    facts: FactStats,
    num_roles: u64,
    num_relations: u64,
    num_facts: u64,
}

/// Count what is stored
#[utoipa::path(
    get,
    path = "/stats",
    operation_id = "get_stats",
    tag = "Service",
    responses((status = 200, description = "The counts", body = StatsOut, example = json!({
        "policy": {"versions": ["1"]},
        "facts": {"total": 3, "predicates": {"has_relation": 1, "has_role": 1, "is_public": 1}},
        "num_roles": 1, "num_relations": 1, "num_facts": 3,
    }))),
)]
async fn stats(ReadAccess(environment): ReadAccess) -> Result<Json<StatsOut>, ApiError> {
    let stats = environment.engine.stats().await?;
    let predicates: BTreeMap<String, u64> = stats.facts.predicates.into_iter().collect();
    let of = |predicate: &str| predicates.get(predicate).copied().unwrap_or_default();
    Ok(Json(StatsOut {
        num_roles: of(HAS_ROLE),
        num_relations: of(HAS_RELATION),
        num_facts: stats.facts.total,
        policy: PolicyStats { versions: stats.versions.iter().map(u64::to_string).collect() },
        facts: FactStats { total: stats.facts.total, predicates },
    }))
}
