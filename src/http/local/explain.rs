//! `/explain_query`: the SQL of any local check, with an explanation.
//!
//! The body is that of one of the other endpoints, recognized by its fields: a conjunction has predicates, a
//! list has a column, a list of actors names a resource and no actor, and of the other two only a decision
//! has an action. If the distinguishing field is missing, another one decides, so that the message names the
//! missing field.

use super::{ActionsLocal, AuthorizeLocal, EvaluateLocal, ListLocal, SubjectsLocal};
use crate::engine::{
    LocalEmbedded, LocalEnd, LocalExplanation, LocalProbe, LocalRequest, LocalRule, LocalSet, LocalSlow,
    StartingEnd,
};
use crate::http::auth::ReadAccess;
use crate::http::distinct::DistinctFields;
use crate::http::error::ApiError;
use crate::http::json::{Json, decode_fields};
use crate::http::openapi::ExplainRequest;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// SQL with an explanation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Explanation)]
pub struct ExplanationOut {
    sql: String,
    dialect: String,
    plan: String,
    rules: Vec<Rule>,
    bindings: Vec<String>,
    embedded: Vec<EmbeddedOut>,
    notes: Vec<String>,
    /// From which end stored facts were followed; null if there is only one.
    stored_facts: Option<StoredFacts>,
    /// The sets that the SQL makes.
    sets: Vec<SetOut>,
    /// What a condition asks for each row that the query around it looks at.
    probes: Vec<ProbeOut>,
    /// The parts that are slow on a large database.
    slow: Vec<SlowOut>,
}

/// From which end stored facts were followed.
#[derive(Debug, Serialize, ToSchema)]
struct StoredFacts {
    from: StoredFactsFrom,
    /// How many values the SQL embeds.
    n_values: usize,
    /// How many it would embed from the other end; null if they were not counted, or are more than allowed.
    n_values_otherwise: Option<usize>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum StoredFactsFrom {
    /// Forwards, from the question's own values, such as the actor.
    Question,
    /// Backwards, from the rows of the caller's tables.
    Rows,
}

/// A set that the SQL makes.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SetMade)]
struct SetOut {
    /// Its name in the SQL; null if it stands where it is used.
    name: Option<String>,
    /// What it holds, if it has a name.
    holds: Option<String>,
    /// `recursion`, `table`, `row`, `array` or `subquery`.
    kind: &'static str,
    /// Why the SQL makes it, and what bounds it.
    why: String,
    /// The keys of the bindings and the names of other sets that it reads.
    reads: Vec<String>,
}

/// A look-up for each row.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RowProbe)]
struct ProbeOut {
    /// The keys of the bindings and the names of sets that it reads.
    reads: Vec<String>,
    /// The columns that lead to it: an index has to start with one of them.
    by: Vec<String>,
}

/// A part that is slow on a large database.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SlowPart)]
struct SlowOut {
    /// What is slow, and why.
    what: String,
    /// What would help.
    help: Option<String>,
}

/// A rule that took part.
#[derive(Debug, Serialize, ToSchema)]
struct Rule {
    line: usize,
    text: String,
}

/// Stored and context facts that are embedded in the SQL.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EmbeddedFacts)]
struct EmbeddedOut {
    predicates: Vec<String>,
    n_rows: usize,
}

impl From<LocalExplanation> for ExplanationOut {
    fn from(explanation: LocalExplanation) -> Self {
        let LocalExplanation {
            sql,
            dialect,
            plan,
            rules,
            bindings,
            embedded,
            stored_facts,
            sets,
            probes,
            slow,
            notes,
        } = explanation;
        let rule = |LocalRule { line, text }: LocalRule| Rule { line, text };
        let facts = |LocalEmbedded { predicates, n_rows }: LocalEmbedded| EmbeddedOut { predicates, n_rows };
        let end = |end: LocalEnd| StoredFacts {
            from: match end.from {
                StartingEnd::Stored => StoredFactsFrom::Question,
                StartingEnd::Demanded => StoredFactsFrom::Rows,
            },
            n_values: end.n_values,
            n_values_otherwise: end.n_values_otherwise,
        };
        let set =
            |LocalSet { name, holds, kind, why, reads }: LocalSet| SetOut { name, holds, kind, why, reads };
        Self {
            sql,
            dialect,
            plan,
            rules: rules.into_iter().map(rule).collect(),
            bindings,
            embedded: embedded.into_iter().map(facts).collect(),
            notes,
            stored_facts: stored_facts.map(end),
            sets: sets.into_iter().map(set).collect(),
            probes: probes.into_iter().map(|LocalProbe { reads, by }| ProbeOut { reads, by }).collect(),
            slow: slow.into_iter().map(|LocalSlow { what, help, .. }| SlowOut { what, help }).collect(),
        }
    }
}

/// Explain the SQL of any local check
///
/// The body is that of the endpoint whose SQL is to be explained.
#[utoipa::path(
    post,
    path = "/explain_query",
    operation_id = "explain_query",
    tag = "Local checks",
    request_body(content = ExplainRequest, example = json!({
        "query": {
            "actor_type": "User", "actor_id": "alice", "action": "read",
            "resource_type": "Repository", "resource_id": "docs", "context_facts": [],
        },
        "data_bindings": "facts:\n  is_public(Repository:_):\n    query: SELECT id FROM repositories WHERE public\n",
    })),
    responses((status = 200, description = "The SQL, and an explanation", body = ExplanationOut)),
)]
pub(super) async fn explain(
    ReadAccess(environment): ReadAccess,
    Json(DistinctFields(body)): Json<DistinctFields>,
) -> Result<Json<ExplanationOut>, ApiError> {
    Ok(Json(environment.engine.explain_local(request(body)?).await?.into()))
}

/// The request, for the endpoint that the body matches.
fn request(body: Map<String, Value>) -> Result<LocalRequest, ApiError> {
    let asks = |field: &str| body.get("query").is_some_and(|query| query.get(field).is_some());
    if body.contains_key("mode") || asks("predicate") {
        decode_fields::<EvaluateLocal>(body).map(LocalRequest::from)
    } else if body.contains_key("column") && asks("resource_id") && !asks("actor_id") {
        decode_fields::<SubjectsLocal>(body).map(LocalRequest::from)
    } else if body.contains_key("column") || asks("action") && !asks("resource_id") {
        decode_fields::<ListLocal>(body).map(LocalRequest::from)
    } else if asks("action") {
        decode_fields::<AuthorizeLocal>(body).map(LocalRequest::from)
    } else {
        decode_fields::<ActionsLocal>(body).map(LocalRequest::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{LocalMode, LocalQuestion};
    use serde_json::json;

    fn read(body: Value) -> Result<LocalQuestion, String> {
        let Value::Object(fields) = body else { panic!("an object") };
        match request(fields) {
            Ok(request) => Ok(request.question),
            Err(ApiError::BadRequest(message)) => Err(message),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// A body for a decision, with every field that a list or the actions have.
    fn query() -> Value {
        json!({
            "actor_type": "User", "actor_id": "ada", "action": "read",
            "resource_type": "Repo", "resource_id": "a",
        })
    }

    #[test]
    fn the_fields_tell_the_questions_apart() {
        let decision = read(json!({ "query": query() }));
        assert!(matches!(decision, Ok(LocalQuestion::Authorize { .. })), "{decision:?}");
        let list = read(json!({ "query": query(), "column": "id" }));
        assert!(matches!(list, Ok(LocalQuestion::List { .. })), "{list:?}");
        let mut who = query();
        who.as_object_mut().unwrap().remove("actor_id");
        let subjects = read(json!({ "query": who, "column": "id" }));
        assert!(matches!(subjects, Ok(LocalQuestion::Subjects { .. })), "{subjects:?}");
        let mut open = query();
        open.as_object_mut().unwrap().remove("action");
        let actions = read(json!({ "query": open, "data_bindings": null }));
        assert!(matches!(actions, Ok(LocalQuestion::Actions { .. })), "{actions:?}");
        let conjunction = read(json!({ "query": { "predicate": ["p", []] }, "mode": { "mode": "select" } }));
        let Ok(LocalQuestion::Evaluate { mode, .. }) = conjunction else { panic!("{conjunction:?}") };
        assert_eq!(mode, LocalMode::Select(Vec::new()));
    }

    #[test]
    fn a_message_names_the_field() {
        let mut wrong = query();
        wrong["actor_id"] = json!(7);
        let message = read(json!({ "query": wrong })).unwrap_err();
        assert!(message.starts_with("`query.actor_id`: invalid type"), "{message}");
        assert!(read(json!({})).unwrap_err().contains("missing field `query`"));
    }
}
