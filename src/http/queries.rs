//! Endpoints that query any predicate of the policy, not only `allow`.
//!
//! `/query` asks about one predicate and answers with facts, `/evaluate_query` about a conjunction over named
//! variables and answers with their values. A part of an answer that holds for every value is `null`, or has
//! the id `null`.

use super::AppState;
use super::auth::QuestionAccess;
use super::error::ApiError;
use super::json::{Json, NamedEntries, Object, Results};
use super::openapi::{Call as CallShape, Name, Text};
use super::values::{FactIn, FactOut, FactsIn, PatternIn, facts};
use crate::engine::{Engine, EvaluateQuery, EvaluateVar};
use serde::de::{Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(query)).routes(routes!(evaluate))
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = QueryRequest)]
struct QueryIn {
    /// A predicate of the policy, with wildcards for the values asked for.
    #[schema(value_type = PatternIn)]
    fact: Object<PatternIn>,
    /// Facts that count for this request alone.
    #[schema(value_type = Option<Vec<FactIn>>)]
    context_facts: FactsIn,
}

/// Query one predicate of the policy
///
/// Unlike `GET /facts`, it also returns facts that follow from the stored ones by the policy.
#[utoipa::path(
    post,
    path = "/query",
    operation_id = "query",
    tag = "Queries",
    extensions(("x-replacement" = json!("POST /evaluate_query"))),
    request_body(content = QueryIn, example = json!({
        "fact": {"predicate": "allow", "args": [{"type": "User", "id": "alice"}, {"type": "String"}, {"type": "Repository", "id": "docs"}]},
    })),
    responses((status = 200, description = "The facts that hold", body = Results<FactOut>, example = json!({"results": [
        {"predicate": "allow", "args": [{"type": "User", "id": "alice"}, {"type": "String", "id": "open_issue"}, {"type": "Repository", "id": "docs"}]},
        {"predicate": "allow", "args": [{"type": "User", "id": "alice"}, {"type": "String", "id": "read"}, {"type": "Repository", "id": "docs"}]},
    ]}))),
)]
async fn query(
    access: QuestionAccess,
    Json(Object(asked)): Json<Object<QueryIn>>,
) -> Result<Json<Results<FactOut>>, ApiError> {
    let (pattern, context) = (asked.fact.into(), facts(asked.context_facts));
    let answers = access.ask(async |engine: &Engine| engine.query(pattern, context).await).await?;
    let results = answers.into_iter().map(|fact| FactOut::new(fact.predicate, fact.args)).collect();
    Ok(Json(Results { results }))
}

/// A predicate's name and the variables of the call, sent as an array of these two.
#[derive(Debug)]
struct NamedVariables {
    predicate: String,
    variables: Vec<String>,
}

impl<'de> Deserialize<'de> for NamedVariables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements;

        impl<'de> Visitor<'de> for Elements {
            type Value = NamedVariables;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of a predicate's name and an array of variables")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<NamedVariables, A::Error> {
                let missing = |found| A::Error::invalid_length(found, &Self);
                let predicate = elements.next_element()?.ok_or_else(|| missing(0))?;
                let variables = elements.next_element()?.ok_or_else(|| missing(1))?;
                // Read all of it: to the decoder, elements that are left are a fault of the syntax.
                let mut found = 2;
                while elements.next_element::<IgnoredAny>()?.is_some() {
                    found += 1;
                }
                if found > 2 { Err(missing(found)) } else { Ok(NamedVariables { predicate, variables }) }
            }
        }

        deserializer.deserialize_seq(Elements)
    }
}

impl From<NamedVariables> for (String, Vec<String>) {
    fn from(NamedVariables { predicate, variables }: NamedVariables) -> Self {
        (predicate, variables)
    }
}

/// A conjunction of calls over variables.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = EvaluateQueryRequest)]
pub(super) struct EvaluateIn {
    #[schema(value_type = CallShape)]
    predicate: NamedVariables,
    /// Further predicates that must hold for the same values.
    #[schema(value_type = Option<Vec<CallShape>>)]
    calls: Option<Vec<NamedVariables>>,
    /// What is known of each variable; every variable must be listed.
    #[schema(value_type = Option<BTreeMap<String, ConstraintIn>>)]
    constraints: Option<NamedEntries<Object<ConstraintIn>>>,
    /// Facts that count for this request alone.
    #[schema(value_type = Option<Vec<FactIn>>)]
    pub(super) context_facts: FactsIn,
}

impl EvaluateIn {
    /// The conjunction without its context facts.
    pub(super) fn query(self) -> EvaluateQuery {
        let constraints =
            self.constraints.map_or_else(BTreeMap::new, |NamedEntries(constraints)| constraints);
        let calls = std::iter::once(self.predicate).chain(self.calls.unwrap_or_default());
        EvaluateQuery {
            atoms: calls.map(NamedVariables::into).collect(),
            vars: constraints
                .into_iter()
                .map(|(name, Object(known))| (name, EvaluateVar { ty: known.ty, ids: known.ids }))
                .collect(),
        }
    }
}

/// What is known of a variable: its type, and optionally its possible ids.
///
/// No other fields: with a misspelt `ids`, the variable could be anything.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Constraint)]
struct ConstraintIn {
    /// Its exact type; not `Actor` or `Resource`.
    #[serde(rename = "type")]
    #[schema(value_type = Name)]
    ty: String,
    /// Its possible ids; null for any.
    #[schema(value_type = Option<Vec<Text>>)]
    ids: Option<Vec<String>>,
}

/// One answer: the value of each variable.
type AssignmentOut = BTreeMap<String, Option<String>>;

/// Find the values of variables for which predicates hold
#[utoipa::path(
    post,
    path = "/evaluate_query",
    operation_id = "evaluate_query",
    tag = "Queries",
    request_body(content = EvaluateIn, example = json!({
        "predicate": ["allow", ["actor", "action", "repository"]],
        "calls": [["is_public", ["repository"]]],
        "constraints": {
            "actor": {"type": "User", "ids": ["alice"]},
            "action": {"type": "String", "ids": ["read"]},
            "repository": {"type": "Repository", "ids": null},
        },
        "context_facts": [],
    })),
    responses((
        status = 200,
        description = "The values of the variables, one object for each answer; null means any value",
        body = Results<BTreeMap<String, Option<String>>>,
        example = json!({"results": [{"action": "read", "actor": "alice", "repository": "docs"}]}),
    )),
)]
async fn evaluate(
    access: QuestionAccess,
    Json(Object(mut asked)): Json<Object<EvaluateIn>>,
) -> Result<Json<Results<AssignmentOut>>, ApiError> {
    let context = facts(asked.context_facts.take());
    let evaluate = async |engine: &Engine| engine.evaluate(asked.query(), context).await;
    Ok(Json(Results { results: access.ask(evaluate).await? }))
}
