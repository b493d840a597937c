//! Endpoints that ask any predicate of the policy, not only `allow`.
//!
//! `/query` asks one predicate and answers with facts, `/evaluate_query` a conjunction over named variables
//! and answers with their values. What is free in an answer, because it holds for every value, has the id `null`, or is it.

use std::{collections::BTreeMap, sync::Arc};

use axum::{Router, routing::post};
use serde::Deserialize;

use super::{
    AppState,
    auth::ReadAccess,
    error::ApiError,
    json::{Json, Object, Results},
    values::{FactOut, FactsIn, PatternIn, facts},
};
use crate::engine::{EvaluateQuery, EvaluateVar};

pub(super) fn router() -> Router<Arc<AppState>> {
    Router::new().route("/query", post(query)).route("/evaluate_query", post(evaluate))
}

#[derive(Debug, Deserialize)]
struct QueryIn {
    fact: Object<PatternIn>,
    context_facts: FactsIn,
}

async fn query(
    ReadAccess(environment): ReadAccess,
    Json(Object(asked)): Json<Object<QueryIn>>,
) -> Result<Json<Results<FactOut>>, ApiError> {
    let answers = environment.engine.query(asked.fact.into(), facts(asked.context_facts)).await?;
    let results = answers.into_iter().map(|fact| FactOut::new(fact.predicate, fact.args)).collect();
    Ok(Json(Results { results }))
}

/// A predicate's name and the variables it is called with.
type Call = (String, Vec<String>);

/// A conjunction of calls over variables.
#[derive(Debug, Deserialize)]
pub(super) struct EvaluateIn {
    predicate: Call,
    calls: Option<Vec<Call>>,
    constraints: Option<BTreeMap<String, Object<ConstraintIn>>>,
    pub(super) context_facts: FactsIn,
}

impl EvaluateIn {
    /// The conjunction without its context.
    pub(super) fn query(self) -> EvaluateQuery {
        let constraints = self.constraints.unwrap_or_default().into_iter();
        EvaluateQuery {
            atoms: std::iter::once(self.predicate).chain(self.calls.unwrap_or_default()).collect(),
            vars: constraints
                .map(|(name, Object(known))| (name, EvaluateVar { ty: known.ty, ids: known.ids }))
                .collect(),
        }
    }
}

/// What is known of a variable: its type, and perhaps which ids it may have.
#[derive(Debug, Deserialize)]
struct ConstraintIn {
    #[serde(rename = "type")]
    ty: String,
    ids: Option<Vec<String>>,
}

/// One answer: the value of each variable.
type Binding = BTreeMap<String, Option<String>>;

async fn evaluate(
    ReadAccess(environment): ReadAccess,
    Json(Object(mut asked)): Json<Object<EvaluateIn>>,
) -> Result<Json<Results<Binding>>, ApiError> {
    let context = facts(asked.context_facts.take());
    Ok(Json(Results { results: environment.engine.evaluate(asked.query(), context).await? }))
}
