//! `/studio/draft/…`: questions about a policy that is not stored, and about the stored facts.
//!
//! Each body has the draft's text; questions are in the notation of the command line. Nothing is stored, so a
//! read-only key may ask, except about decisions.

use super::bindings::local;
use super::decisions::{decisions, impact};
use crate::engine::{
    AnsweredValue, Answers, Draft, Engine, EngineError, Fact, FactSearch, PolicyNames, Question,
    QuestionStages, RuleEdge, RuleGraph, RuleNode, TestReport, notation,
};
use crate::http::AppState;
use crate::http::auth::ReadAccess;
use crate::http::error::ApiError;
use crate::http::json::{Json, Object};
use crate::http::policy::check_size;
use crate::http::stream;
use crate::http::values::{ArgOut, FactOut, FactsIn, facts};
use crate::http::why::WhyOut;
use crate::share::Account;
use axum::extract::State;
use axum::routing::post;
use axum::{Extension, Router};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many facts are sent at once at most.
const MOST_FACTS: usize = 200_000;

/// How many ids are suggested.
const MOST_IDS: usize = 20;

pub(super) fn router() -> Router<Arc<AppState>> {
    Router::new()
        .route("/answer", post(answer))
        .route("/stages", post(stages))
        .route("/tests", post(tests))
        .route("/names", post(names))
        .route("/graph", post(graph))
        .route("/local", post(local))
        .route("/facts", post(search))
        .route("/ids", post(ids))
        .route("/decisions", post(decisions))
        .route("/decisions/changed", post(impact))
}

/// A draft, and perhaps a question.
#[derive(Debug, Deserialize)]
pub(super) struct DraftIn {
    policy: String,
    #[serde(default)]
    question: String,
    context_facts: FactsIn,
}

/// A draft that validates, with the question about it.
pub(super) struct AskedDraft {
    /// The engine under the draft.
    pub(super) engine: Engine,
    pub(super) question: Question,
    pub(super) context: Vec<Fact>,
    /// About names of the question that the draft does not have.
    pub(super) warnings: Vec<String>,
}

impl DraftIn {
    async fn draft(&self, engine: &Engine, app: &AppState) -> Result<Draft, ApiError> {
        check_size(&self.policy, app)?;
        Ok(engine.draft(self.policy.clone(), "policy.polar".to_owned()).await?)
    }

    pub(super) async fn asked(self, engine: &Engine, app: &AppState) -> Result<AskedDraft, ApiError> {
        let question = notation::parse(&self.question);
        let question = question.map_err(|error| ApiError::BadRequest(format!("the question, {error}")))?;
        let draft = self.draft(engine, app).await?;
        let (engine, warnings) = (engine.under(&draft), draft.unknown_names(&question));
        Ok(AskedDraft { engine, question, context: facts(self.context_facts), warnings })
    }
}

/// The answer to a question.
#[derive(Debug, Serialize)]
struct AnswerOut {
    /// Whether it has an answer under the draft.
    allowed: bool,
    /// Whether it has one under the active policy; null if that refuses the question, or takes too long.
    active: Option<bool>,
    /// The names of what is asked for.
    columns: Vec<String>,
    rows: Vec<Vec<ArgOut>>,
    /// Whether there are more rows.
    more: bool,
    /// Why the rows cannot be listed.
    refused: Option<String>,
    /// About names of the question that the draft does not have.
    warnings: Vec<String>,
    why: WhyOut,
}

async fn answer(
    ReadAccess(environment): ReadAccess,
    State(app): State<Arc<AppState>>,
    Json(Object(sent)): Json<Object<DraftIn>>,
) -> Result<Json<AnswerOut>, ApiError> {
    let AskedDraft { engine, question, context, warnings } = sent.asked(&environment.engine, &app).await?;
    let why = engine.reasons(&question, &context).await?;
    let (answers, refused) = match engine.answers(&question, &context).await {
        Ok(answers) => (answers, None),
        // There may be answers, which cannot be listed.
        Err(error) => (Answers::default(), Some(refusal(error)?)),
    };
    let active = match environment.engine.reasons(&question, &context).await {
        Ok(why) => Some(why.allowed),
        Err(error) => refusal(error).map(|_| None)?,
    };
    let Answers { columns, rows, more } = answers;
    let value = |AnsweredValue { ty, id }| ArgOut { ty, id };
    let rows = rows.into_iter().map(|row| row.into_iter().map(value).collect()).collect();
    Ok(Json(AnswerOut {
        allowed: why.allowed,
        active,
        columns,
        rows,
        more,
        refused,
        warnings,
        why: WhyOut::from(&why),
    }))
}

/// Why a question is refused. A fault of the service is an error of the request.
fn refusal(error: EngineError) -> Result<String, ApiError> {
    let error = ApiError::from(error);
    if error.is_client_error() { Ok(error.into_parts().1) } else { Err(error) }
}

#[derive(Debug, Serialize)]
struct StageOut {
    title: String,
    text: String,
}

#[derive(Debug, Serialize)]
struct StagesOut {
    stages: Vec<StageOut>,
    sql: String,
    statement: String,
    plan: Vec<String>,
}

async fn stages(
    ReadAccess(environment): ReadAccess,
    State(app): State<Arc<AppState>>,
    Json(Object(sent)): Json<Object<DraftIn>>,
) -> Result<Json<StagesOut>, ApiError> {
    let AskedDraft { engine, question, context, .. } = sent.asked(&environment.engine, &app).await?;
    let QuestionStages { stages, sql, statement, plan } = engine.question_stages(&question, &context).await?;
    let stages = stages.into_iter().map(|(title, text)| StageOut { title, text }).collect();
    Ok(Json(StagesOut { stages, sql, statement, plan }))
}

#[derive(Debug, Serialize)]
struct TestOut {
    name: String,
    passed: usize,
    total: usize,
    failures: Vec<String>,
    /// Whether the active policy's test of this name passes there; null if there is none.
    active: Option<bool>,
    /// Whether the active policy's test of this name says something else.
    edited: bool,
}

#[derive(Debug, Serialize)]
struct TestsOut {
    tests: Vec<TestOut>,
    /// Tests of the active policy that the draft lacks.
    removed: BTreeSet<String>,
}

async fn tests(
    ReadAccess(environment): ReadAccess,
    State(app): State<Arc<AppState>>,
    Json(Object(sent)): Json<Object<DraftIn>>,
) -> Result<Json<TestsOut>, ApiError> {
    let engine = &environment.engine;
    let draft = sent.draft(engine, &app).await?;
    let report = engine.test_draft(&draft).await?;
    let (before, edits) = match engine.active_as_draft() {
        Some(active) => (passes(engine.test_draft(&active).await?), draft.test_edits(&active)),
        None => Default::default(),
    };
    let tests = report.tests.into_iter().map(|test| TestOut {
        active: before.get(&test.name).copied(),
        edited: edits.edited.contains(&test.name),
        name: test.name,
        passed: test.passed,
        total: test.total,
        failures: test.failures,
    });
    Ok(Json(TestsOut { tests: tests.collect(), removed: edits.removed }))
}

/// Which tests pass.
fn passes(report: TestReport) -> BTreeMap<String, bool> {
    report.tests.into_iter().map(|test| (test.name, test.failures.is_empty())).collect()
}

#[derive(Debug, Serialize)]
struct BlockNamesOut {
    name: String,
    roles: Vec<String>,
    permissions: Vec<String>,
    relations: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
struct PredicateOut {
    name: String,
    arity: usize,
    is_stored: bool,
}

#[derive(Debug, Serialize)]
struct NamesOut {
    types: Vec<String>,
    actors: Vec<String>,
    predicates: Vec<PredicateOut>,
    blocks: Vec<BlockNamesOut>,
}

async fn names(
    ReadAccess(environment): ReadAccess,
    State(app): State<Arc<AppState>>,
    Json(Object(sent)): Json<Object<DraftIn>>,
) -> Result<Json<NamesOut>, ApiError> {
    let draft = sent.draft(&environment.engine, &app).await?;
    let PolicyNames { types, actors, predicates, stored, blocks } = draft.names();
    let predicate =
        |(name, arity): (String, usize)| PredicateOut { is_stored: stored.contains(&name), name, arity };
    Ok(Json(NamesOut {
        types: types.into_iter().collect(),
        actors: actors.into_iter().collect(),
        predicates: predicates.into_iter().map(predicate).collect(),
        blocks: blocks
            .into_iter()
            .map(|block| BlockNamesOut {
                name: block.name,
                roles: block.roles,
                permissions: block.permissions,
                relations: block.relations.into_iter().collect(),
            })
            .collect(),
    }))
}

#[derive(Debug, Serialize)]
struct RuleNodeOut {
    predicate: String,
    text: Option<String>,
    #[serde(rename = "type")]
    ty: Option<String>,
}

#[derive(Debug, Serialize)]
struct RuleEdgeOut {
    from: usize,
    to: usize,
    line: usize,
    is_negated: bool,
}

#[derive(Debug, Serialize)]
struct GraphOut {
    nodes: Vec<RuleNodeOut>,
    edges: Vec<RuleEdgeOut>,
    truncated: bool,
}

async fn graph(
    ReadAccess(environment): ReadAccess,
    State(app): State<Arc<AppState>>,
    Json(Object(sent)): Json<Object<DraftIn>>,
) -> Result<Json<GraphOut>, ApiError> {
    let RuleGraph { nodes, edges, truncated } = sent.draft(&environment.engine, &app).await?.graph();
    let node = |RuleNode { predicate, text, ty }| RuleNodeOut { predicate, text, ty };
    let edge = |RuleEdge { from, to, line, is_negated }| RuleEdgeOut { from, to, line, is_negated };
    let (nodes, edges) = (nodes.into_iter().map(node).collect(), edges.into_iter().map(edge).collect());
    Ok(Json(GraphOut { nodes, edges, truncated }))
}

#[derive(Debug, Deserialize)]
struct SearchIn {
    predicate: Option<String>,
    #[serde(default)]
    text: String,
    most: Option<usize>,
}

#[derive(Debug, Serialize)]
struct SearchOut {
    facts: Vec<FactOut>,
    more: bool,
}

async fn search(
    ReadAccess(environment): ReadAccess,
    State(app): State<Arc<AppState>>,
    Extension(account): Extension<Arc<Account>>,
    Json(Object(SearchIn { predicate, text, most })): Json<Object<SearchIn>>,
) -> Result<Json<SearchOut>, ApiError> {
    let _seat = stream::seat(&app, &account)?;
    let most = most.unwrap_or(MOST_FACTS).min(MOST_FACTS);
    let predicate = predicate.filter(|predicate| !predicate.is_empty());
    let found = environment.engine.search_facts(FactSearch { predicate, text, most }).await?;
    Ok(Json(SearchOut { facts: found.facts.into_iter().map(FactOut::from).collect(), more: found.more }))
}

#[derive(Debug, Deserialize)]
struct IdsIn {
    #[serde(rename = "type")]
    ty: String,
    #[serde(default)]
    text: String,
}

#[derive(Debug, Serialize)]
struct IdsOut {
    ids: Vec<String>,
}

async fn ids(
    ReadAccess(environment): ReadAccess,
    State(app): State<Arc<AppState>>,
    Extension(account): Extension<Arc<Account>>,
    Json(Object(IdsIn { ty, text })): Json<Object<IdsIn>>,
) -> Result<Json<IdsOut>, ApiError> {
    let _seat = stream::seat(&app, &account)?;
    Ok(Json(IdsOut { ids: environment.engine.search_ids(ty, &text, MOST_IDS).await? }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreError;

    #[test]
    fn a_fault_of_the_service_is_not_taken_for_a_refusal_of_the_question() {
        assert_eq!(refusal(EngineError::Timeout("too long".to_owned())).ok().as_deref(), Some("too long"));
        for fault in [EngineError::Bug("a bug".to_owned()), StoreError::Busy.into()] {
            assert!(refusal(fault).is_err_and(|error| !error.is_client_error()));
        }
    }
}
