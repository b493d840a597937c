//! Evaluations: single decisions.
//!
//! Several evaluations are answered one after the other, in their order. What is wrong with one of them is
//! part of its answer, as a denial; only a fault of the service ends the request.

use super::TAG;
use super::decide::{EvaluationIn, EvaluationOut, decide, decide_part};
use crate::http::auth::QuestionAccess;
use crate::http::decision_log::Witness;
use crate::http::distinct::DistinctFields;
use crate::http::error::ApiError;
use crate::http::json::{Json, Object, decode_fields};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// The maximum number of evaluations in a request.
const MOST_EVALUATIONS: usize = 10_000;

/// How many bytes the defaults may have in all evaluations together, which get a copy each: copying more
/// takes longer than answering.
const MOST_COPIED: usize = 16 << 20;

/// The parts of an evaluation.
const PARTS: [&str; 4] = ["subject", "action", "resource", "context"];

/// What a part of one of several evaluations takes from the default if it lacks it.
const REQUIRED: [&str; 3] = ["type", "id", "name"];

/// How several evaluations end.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AuthzenSemantic)]
enum Semantic {
    #[default]
    ExecuteAll,
    DenyOnFirstDeny,
    PermitOnFirstPermit,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = AuthzenOptions)]
struct OptionsIn {
    #[schema(value_type = Option<Semantic>)]
    evaluations_semantic: Option<Semantic>,
}

/// Several evaluations, with defaults for their parts. Without any it is a single one.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AuthzenEvaluations)]
pub(super) struct EvaluationsIn {
    /// Each may lack parts for which there is a default.
    #[schema(value_type = Option<Vec<Object>>, max_items = 10_000)]
    evaluations: Option<Vec<DistinctFields>>,
    #[schema(value_type = Option<OptionsIn>)]
    options: Option<Object<OptionsIn>>,
    /// The default subject.
    #[schema(value_type = Option<Object>)]
    subject: Option<DistinctFields>,
    /// The default action.
    #[schema(value_type = Option<Object>)]
    action: Option<DistinctFields>,
    /// The default resource.
    #[schema(value_type = Option<Object>)]
    resource: Option<DistinctFields>,
    /// The default context.
    #[schema(value_type = Option<Object>)]
    context: Option<DistinctFields>,
}

/// Decisions in the order of the evaluations, or a single one.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuthzenDecisions)]
#[serde(untagged)]
pub(super) enum EvaluationsOut {
    /// Several
    Each { evaluations: Vec<EvaluationOut> },
    /// One
    Single { decision: bool },
}

/// Evaluate whether a subject may do this to a resource
#[utoipa::path(
    post,
    path = "/access/v1/evaluation",
    operation_id = "authzen_evaluation",
    tag = TAG,
    request_body(content = EvaluationIn, example = json!({
        "subject": {"type": "User", "id": "alice"}, "action": {"name": "read"},
        "resource": {"type": "Repository", "id": "site"},
    })),
    responses((status = 200, description = "The decision", body = EvaluationOut, example = json!({"decision": true}))),
)]
pub(super) async fn evaluate(
    access: QuestionAccess,
    witness: Witness,
    Json(Object(asked)): Json<Object<EvaluationIn>>,
) -> Result<Json<EvaluationOut>, ApiError> {
    let decision = decide(&access, &witness, asked).await?;
    Ok(Json(EvaluationOut { decision, context: None }))
}

/// Evaluate several such questions
///
/// Parts outside `evaluations` are defaults for each of them. An evaluation that is wrong is denied, and says
/// why in its context.
#[utoipa::path(
    post,
    path = "/access/v1/evaluations",
    operation_id = "authzen_evaluations",
    tag = TAG,
    request_body(content = EvaluationsIn, example = json!({
        "subject": {"type": "User", "id": "alice"}, "resource": {"type": "Repository", "id": "site"},
        "evaluations": [{"action": {"name": "read"}}, {"action": {"name": "write"}}],
        "options": {"evaluations_semantic": "execute_all"},
    })),
    responses((status = 200, description = "The decisions", body = EvaluationsOut, example = json!({
        "evaluations": [{"decision": true}, {"decision": false}],
    }))),
)]
pub(super) async fn evaluate_each(
    access: QuestionAccess,
    witness: Witness,
    Json(Object(asked)): Json<Object<EvaluationsIn>>,
) -> Result<Json<EvaluationsOut>, ApiError> {
    let EvaluationsIn { evaluations, options, subject, action, resource, context } = asked;
    let parts = PARTS.into_iter().zip([subject, action, resource, context]);
    let part = |(name, part): (&str, Option<DistinctFields>)| {
        let DistinctFields(part) = part?;
        Some((name.to_owned(), Value::from(part)))
    };
    let defaults: Map<String, Value> = parts.filter_map(part).collect();
    let evaluations = evaluations.unwrap_or_default();
    if evaluations.is_empty() {
        let decision = decide(&access, &witness, decode_fields(defaults)?).await?;
        return Ok(Json(EvaluationsOut::Single { decision }));
    }
    if evaluations.len() > MOST_EVALUATIONS {
        let n = evaluations.len();
        return Err(ApiError::TooLarge(format!(
            "the request has {n} evaluations, at most {MOST_EVALUATIONS} are allowed: send the others in further requests"
        )));
    }
    if size(&defaults).saturating_mul(evaluations.len()) > MOST_COPIED {
        return Err(ApiError::TooLarge(format!(
            "the defaults are too large for so many evaluations: at most {MOST_COPIED} bytes in all of them"
        )));
    }
    let semantic = options.and_then(|Object(options)| options.evaluations_semantic).unwrap_or_default();
    // Of evaluations that are all wrong, none would be asked.
    access.ask(async |_| Ok(())).await?;
    let mut decisions = Vec::with_capacity(evaluations.len());
    for DistinctFields(evaluation) in evaluations {
        let decision = decide_part(&access, &witness, with_defaults(evaluation, &defaults)).await?;
        let is_last = match semantic {
            Semantic::ExecuteAll => false,
            Semantic::DenyOnFirstDeny => !decision.decision,
            Semantic::PermitOnFirstPermit => decision.decision,
        };
        decisions.push(decision);
        if is_last {
            break;
        }
    }
    if let (Semantic::DenyOnFirstDeny, Some(last)) = (semantic, decisions.last_mut())
        && !last.decision
    {
        let ended = || json!({ "code": "200", "reason": "deny_on_first_deny" });
        last.context.get_or_insert_with(ended);
    }
    Ok(Json(EvaluationsOut::Each { evaluations: decisions }))
}

/// How many bytes the parts take as text.
fn size(parts: &Map<String, Value>) -> usize {
    // Names and values that were decoded can be encoded again.
    serde_json::to_string(parts).map_or(usize::MAX, |text| text.len())
}

/// An evaluation, completed by the defaults: a part that it lacks, and the type, the id or the name of a part
/// that it has without it.
fn with_defaults(mut evaluation: Map<String, Value>, defaults: &Map<String, Value>) -> Map<String, Value> {
    for part in PARTS {
        let Some(default) = defaults.get(part) else { continue };
        match (evaluation.get_mut(part), default) {
            (None, default) => {
                evaluation.insert(part.to_owned(), default.clone());
            }
            (Some(Value::Object(own)), Value::Object(default)) if part != "context" => {
                for (name, value) in default.iter().filter(|(name, _)| REQUIRED.contains(&name.as_str())) {
                    own.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
            (Some(_), _) => {}
        }
    }
    evaluation
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(evaluation: Value, defaults: Value) -> Value {
        let (Value::Object(evaluation), Value::Object(defaults)) = (evaluation, defaults) else {
            panic!("objects")
        };
        with_defaults(evaluation, &defaults).into()
    }

    #[test]
    fn a_default_fills_in_a_part_and_what_names_it_but_no_properties() {
        let defaults = json!({
            "subject": {"type": "user", "id": "alice", "properties": {"role": "admin"}},
            "resource": {"type": "record"},
            "context": {"zone": "inside"},
            "other": 1,
        });
        let both = completed(
            json!({"subject": {"id": "bob"}, "resource": {"id": "1"}, "context": {}}),
            defaults.clone(),
        );
        assert_eq!(
            both,
            json!({"subject": {"type": "user", "id": "bob"}, "resource": {"type": "record", "id": "1"}, "context": {}})
        );
        let none = completed(json!({}), defaults.clone());
        assert_eq!((&none["subject"], &none["context"]), (&defaults["subject"], &defaults["context"]));
        assert_eq!(none.get("other"), None);
        assert_eq!(completed(json!({"subject": 7}), defaults)["subject"], json!(7));
    }
}
