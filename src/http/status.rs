//! Endpoints that tell how the service is.
//!
//! The probes need no key: whoever runs the service must be able to ask whether it answers, and they tell
//! nothing else. They answer only when the listener is there, and that is after every store has opened.

use std::{collections::BTreeMap, sync::Arc};

use axum::{Router, routing::get};
use serde::Serialize;

use super::{AppState, auth::ReadAccess, error::ApiError, json::Json};

pub(super) fn router() -> Router<Arc<AppState>> {
    Router::new().route("/stats", get(stats)).route("/healthcheck", get(healthy))
}

/// The probes outside the prefix.
pub(super) fn probes() -> Router<Arc<AppState>> {
    Router::new().route("/health", get(healthy)).route("/ready", get(healthy))
}

#[derive(Debug, Serialize)]
struct Healthy {}

async fn healthy() -> Json<Healthy> {
    Json(Healthy {})
}

#[derive(Debug, Serialize)]
struct PolicyStats {
    /// As texts, which is how the clients declare them.
    versions: Vec<String>,
}

#[derive(Debug, Serialize)]
struct FactStats {
    total: u64,
    predicates: BTreeMap<String, u64>,
}

/// How much is stored. The three numbers at the end are what the oldest client reads.
#[derive(Debug, Serialize)]
struct StatsOut {
    policy: PolicyStats,
    facts: FactStats,
    num_roles: u64,
    num_relations: u64,
    num_facts: u64,
}

async fn stats(ReadAccess(environment): ReadAccess) -> Result<Json<StatsOut>, ApiError> {
    let stats = environment.engine.stats().await?;
    let predicates: BTreeMap<String, u64> = stats.facts.predicates.into_iter().collect();
    let of = |predicate: &str| predicates.get(predicate).copied().unwrap_or_default();
    Ok(Json(StatsOut {
        num_roles: of("has_role"),
        num_relations: of("has_relation"),
        num_facts: stats.facts.total,
        policy: PolicyStats { versions: stats.versions.iter().map(u64::to_string).collect() },
        facts: FactStats { total: stats.facts.total, predicates },
    }))
}
