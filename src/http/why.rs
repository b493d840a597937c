//! `/explain`: the answer to a question, with the reasons for it.
//!
//! The body is that of `/authorize` or of `/evaluate_query`, recognized by its fields. Proofs and failures
//! are lists whose entries refer to each other by their places, counted from 0: what is needed twice is there
//! once.

use super::AppState;
use super::auth::ReadAccess;
use super::checks::AuthorizeIn;
use super::distinct::DistinctFields;
use super::error::ApiError;
use super::json::{Json, decode_fields};
use super::openapi::{AnsweredValue, Error, ExplainDecisionRequest};
use super::params::{flag, moment, pairs, version};
use super::queries::EvaluateIn;
use super::values::{ArgOut, facts};
use crate::engine::{
    Fact, FactOrigin, FailedGoal, SuggestionEffects, Value, Why, WhyAtom, WhyAttempt, WhyBy, WhyCondition,
    WhyLack, WhyQuestion, WhyRule, WhyStep,
};
use axum::http::Uri;
use serde::{Deserialize, Serialize};
use serde_json::Map;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(explain))
}

/// An answer and why it is so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DecisionExplanation)]
pub struct WhyOut {
    /// The answer, the same as that of `/authorize`. For a conjunction: whether it has any answer.
    pub allowed: bool,
    /// Whether the explanation ended at its limit: a proof is right, but perhaps not the shortest, and
    /// reasons for a no are not all there are.
    pub truncated: bool,
    /// The policy's file name.
    pub policy: Option<String>,
    /// The policy's version; null before the first one.
    pub policy_version: Option<u64>,
    /// The first eight digits of the SHA-256 of the policy's text, as the decision log has them; null before
    /// the first policy.
    pub policy_digest: Option<String>,
    /// The offset of the store: the explanation saw all writes up to it. If it is that of an earlier answer,
    /// no fact has changed since.
    pub offset: u64,
    /// If allowed, the places in `steps` of what was asked.
    pub proof: Vec<usize>,
    /// What holds: facts, and what rules derive from them.
    pub steps: Vec<StepOut>,
    /// If not allowed, what does not hold; the first is what was asked. Empty if the explanation ended at its
    /// limit before everything that might hold was looked at.
    pub failures: Vec<FailureOut>,
    /// If not allowed, up to five small sets of facts with each of which it would be, found by asking again
    /// with them as context facts.
    pub suggestions: Vec<Vec<AtomOut>>,
    /// Whether there may be other such sets: the search for them ended at its limit, or there are more than
    /// five.
    pub suggestions_truncated: bool,
    /// With `effects=true`, for each of these sets what else it would change for the actor and the resource;
    /// null where that is not known. Empty otherwise.
    #[serde(default)]
    pub suggestion_effects: Vec<Option<EffectsOut>>,
}

/// What else facts would change: other actions of the actor on the resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = SuggestionEffects)]
pub struct EffectsOut {
    /// Actions that they would allow as well; `*` is every action.
    pub allows: Vec<String>,
    /// Actions that they would take away.
    pub denies: Vec<String>,
}

/// A fact, or what a rule derives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ProofStep)]
pub struct StepOut {
    /// What holds; a wildcard stands for every value.
    pub fact: AtomOut,
    /// 0 for a fact, otherwise one more than the height of the highest step used.
    pub height: usize,
    /// Where the fact is; null if a rule derives it.
    pub source: Option<SourceOut>,
    /// The key of the data binding whose query returns the fact; null if it is elsewhere.
    pub binding: Option<String>,
    /// The rule that derives it; null for a fact.
    pub rule: Option<RuleOut>,
    /// The rule's conditions, in its order.
    pub conditions: Vec<ConditionOut>,
}

/// Where a fact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = FactSource)]
pub enum SourceOut {
    /// In the store
    Stored,
    /// In the request
    Context,
    /// In the caller's database
    Bound,
}

/// A rule of the policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ExplainedRule)]
pub struct RuleOut {
    /// Its line; null for a rule that every policy has.
    pub line: Option<usize>,
    /// Its text on one line.
    pub text: String,
}

/// A condition that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = MetCondition)]
pub enum ConditionOut {
    /// It holds by the step at this place
    Step(usize),
    /// It holds; its steps are not shown
    Holds(AtomOut),
    /// Nothing like this holds
    Absent(AtomOut),
    /// A comparison
    Test(String),
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = FailedGoal)]
pub struct FailureOut {
    /// What does not hold, of any value where it has a wildcard; null for a conjunction.
    pub goal: Option<AtomOut>,
    /// Whether it could be stored as a fact, and is not.
    pub may_be_fact: bool,
    /// The rules that could derive it, each with the first condition that does not hold.
    pub attempts: Vec<AttemptOut>,
    /// How many other ways to use these rules came as far.
    pub n_others: usize,
}

/// A rule that does not apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = RuleAttempt)]
pub struct AttemptOut {
    /// The rule; null for the conjunction itself.
    pub rule: Option<RuleOut>,
    /// Its conditions that hold.
    pub met: Vec<ConditionOut>,
    /// The first that does not.
    pub lacks: LackOut,
}

/// A condition that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = LackedCondition)]
pub enum LackOut {
    /// There is no such fact
    Fact(AtomOut),
    /// The goal at this place in `failures` does not hold
    Goal(usize),
    /// It is negated, and the step at this place shows that it holds
    Refuted(usize),
    /// A comparison
    Test(String),
}

/// A predicate with its arguments; encoded like every fact of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ExplainedFact)]
pub struct AtomOut {
    /// The predicate's name.
    pub predicate: String,
    /// Its arguments.
    #[schema(value_type = Vec<AnsweredValue>)]
    pub args: Vec<ArgOut>,
}

/// Explain a decision
///
/// The body is that of `/authorize` or of `/evaluate_query`; of the latter, one answer is explained, or why
/// there is none. The answer and its explanation belong to the same state of the store. A proof has the least
/// height. With `version`, an older version of the policy answers, with the current facts; with `at`, as if
/// it were that time. With `effects`, each suggestion of a check says what else it would change.
#[utoipa::path(
    post,
    path = "/explain",
    operation_id = "explain",
    tag = "Checks",
    params(
        ("version" = Option<u64>, Query, description = "The version of the policy; by default the active one"),
        ("at" = Option<i64>, Query, description = "The time for rules that compare with it, in seconds since \
            1970-01-01 00:00 UTC; by default now"),
        ("effects" = Option<bool>, Query, description = "Whether to say which other actions of the actor on the \
            resource each suggestion would allow or take away; takes one more question for each"),
    ),
    request_body(content = ExplainDecisionRequest, example = json!({
        "actor_type": "User", "actor_id": "alice", "action": "read",
        "resource_type": "Repository", "resource_id": "docs",
    })),
    responses(
        (status = 200, description = "The answer, and why it is so", body = WhyOut),
        (status = 404, description = "No such version", body = Error),
    ),
)]
async fn explain(
    ReadAccess(environment): ReadAccess,
    uri: Uri,
    Json(DistinctFields(body)): Json<DistinctFields>,
) -> Result<Json<WhyOut>, ApiError> {
    let (question, context) = asked(body)?;
    let pairs = pairs(&uri)?;
    let engine = match version(&pairs, &["version"])? {
        Some(id) => environment.engine.at_version(id).await?,
        None => environment.engine.clone(),
    };
    let engine = match moment(&pairs, "at")? {
        Some(moment) => engine.at_moment(moment),
        None => engine,
    };
    let why = if flag(&pairs, "effects")? {
        engine.explain_with_effects(question, context).await?
    } else {
        engine.explain(question, context).await?
    };
    Ok(Json(WhyOut::from(&why)))
}

/// The question of the endpoint that the body matches, and its context facts.
pub(super) fn asked(body: Map<String, serde_json::Value>) -> Result<(WhyQuestion, Vec<Fact>), ApiError> {
    if body.contains_key("predicate") {
        let mut asked: EvaluateIn = decode_fields(body)?;
        let context = facts(asked.context_facts.take());
        return Ok((WhyQuestion::Evaluate(asked.query()), context));
    }
    let asked: AuthorizeIn = decode_fields(body)?;
    let actor = Value { ty: asked.actor_type, id: asked.actor_id };
    let resource = Value { ty: asked.resource_type, id: asked.resource_id };
    let context = facts(asked.context_facts);
    Ok((WhyQuestion::Authorize { actor, action: asked.action, resource }, context))
}

impl From<&Why> for WhyOut {
    fn from(why: &Why) -> Self {
        let explanation = &why.explanation;
        let set = |facts: &Vec<WhyAtom>| facts.iter().map(AtomOut::from).collect();
        Self {
            allowed: why.allowed,
            truncated: explanation.truncated,
            policy: why.file().map(str::to_owned),
            policy_version: why.version,
            policy_digest: why.digest(),
            offset: why.offset,
            proof: explanation.proof.iter().map(|step| step.index()).collect(),
            steps: explanation.steps.iter().map(|step| StepOut::of(why, step)).collect(),
            failures: explanation.failures.iter().map(|failure| FailureOut::of(why, failure)).collect(),
            suggestions: why.suggestions.sets.iter().map(set).collect(),
            suggestions_truncated: why.suggestions.truncated,
            suggestion_effects: why
                .effects
                .iter()
                .map(|known| known.as_ref().map(EffectsOut::from))
                .collect(),
        }
    }
}

impl StepOut {
    fn of(why: &Why, step: &WhyStep) -> Self {
        let fact = |source, binding: Option<&str>| Self {
            fact: (&step.atom).into(),
            height: step.height,
            source: Some(source),
            binding: binding.map(str::to_owned),
            rule: None,
            conditions: Vec::new(),
        };
        match &step.by {
            WhyBy::Fact(FactOrigin::Stored) => fact(SourceOut::Stored, None),
            WhyBy::Fact(FactOrigin::Context) => fact(SourceOut::Context, None),
            WhyBy::Fact(FactOrigin::Bound(binding)) => fact(SourceOut::Bound, why.binding(*binding)),
            WhyBy::Rule(instance) => Self {
                fact: (&step.atom).into(),
                height: step.height,
                source: None,
                binding: None,
                rule: Some(why.rule(instance.rule).into()),
                conditions: instance.conditions.iter().map(ConditionOut::from).collect(),
            },
        }
    }
}

impl FailureOut {
    fn of(why: &Why, failure: &FailedGoal) -> Self {
        let attempt = |attempt: &WhyAttempt| AttemptOut {
            rule: attempt.rule.map(|rule| why.rule(rule).into()),
            met: attempt.met.iter().map(ConditionOut::from).collect(),
            lacks: match &attempt.lacks {
                WhyLack::Fact(atom) => LackOut::Fact(atom.into()),
                WhyLack::Goal(failure) => LackOut::Goal(failure.index()),
                WhyLack::Refuted(step) => LackOut::Refuted(step.index()),
                WhyLack::Test(test) => LackOut::Test(test.clone()),
            },
        };
        Self {
            goal: failure.atom.as_ref().map(AtomOut::from),
            may_be_fact: failure.may_be_fact,
            attempts: failure.attempts.iter().map(attempt).collect(),
            n_others: failure.n_others,
        }
    }
}

impl From<&SuggestionEffects> for EffectsOut {
    fn from(SuggestionEffects { allows, denies }: &SuggestionEffects) -> Self {
        Self { allows: allows.clone(), denies: denies.clone() }
    }
}

impl From<WhyRule> for RuleOut {
    fn from(WhyRule { line, text }: WhyRule) -> Self {
        Self { line, text }
    }
}

impl From<&WhyCondition> for ConditionOut {
    fn from(condition: &WhyCondition) -> Self {
        match condition {
            WhyCondition::Step(step) => Self::Step(step.index()),
            WhyCondition::Holds(atom) => Self::Holds(atom.into()),
            WhyCondition::Absent(atom) => Self::Absent(atom.into()),
            WhyCondition::Test(test) => Self::Test(test.clone()),
        }
    }
}

impl From<&WhyAtom> for AtomOut {
    fn from(atom: &WhyAtom) -> Self {
        let args = atom.args.iter().map(|arg| ArgOut { ty: arg.ty.clone(), id: arg.id.clone() });
        Self { predicate: atom.predicate.clone(), args: args.collect() }
    }
}
