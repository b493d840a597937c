//! `/studio/draft/decisions`: the recent decisions of the environment, and which of them a draft changes.
//!
//! Decisions show what other callers asked and which context facts they sent. So only a key that may write
//! sees them, and only those of its own environment. They have the context facts that the decision log has.

use crate::engine::{ChangedAnswer, Impact, PastQuestion, PossibleAnswer};
use crate::http::AppState;
use crate::http::auth::WriteAccess;
use crate::http::decision_log::{Line, MOST_DECISIONS, Numbered};
use crate::http::error::ApiError;
use crate::http::json::{Json, Object};
use crate::http::policy::check_size;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How long comparing decisions may take.
const COMPARING: Duration = Duration::from_secs(3);

/// Which decisions are wanted.
#[derive(Debug, Deserialize)]
pub(super) struct DecisionsIn {
    /// Those with a larger number than this.
    #[serde(default)]
    after: u64,
}

/// A decision with its number.
#[derive(Debug, Serialize)]
struct KeptDecisionOut {
    number: u64,
    #[serde(flatten)]
    line: Arc<Line>,
}

impl From<Numbered> for KeptDecisionOut {
    fn from((number, line): Numbered) -> Self {
        Self { number, line }
    }
}

/// The latest decisions.
#[derive(Debug, Serialize)]
pub(super) struct DecisionsOut {
    /// Whether the service keeps decisions.
    is_kept: bool,
    /// How many are kept at most.
    most: usize,
    /// The number of the latest one.
    latest: u64,
    /// Newest first.
    decisions: Vec<KeptDecisionOut>,
}

/// The latest decisions
pub(super) async fn decisions(
    WriteAccess(environment): WriteAccess,
    State(app): State<Arc<AppState>>,
    Json(Object(DecisionsIn { after })): Json<Object<DecisionsIn>>,
) -> Result<Json<DecisionsOut>, ApiError> {
    let kept = app.decision_log.as_ref().and_then(|log| log.since(&environment, after));
    let is_kept = kept.is_some();
    let (lines, latest) = kept.unwrap_or_default();
    let decisions = lines.into_iter().map(KeptDecisionOut::from).collect();
    Ok(Json(DecisionsOut { is_kept, most: MOST_DECISIONS, latest, decisions }))
}

/// The text of a draft.
#[derive(Debug, Deserialize)]
pub(super) struct ImpactIn {
    policy: String,
}

/// A question whose answer a draft changes.
#[derive(Debug, Serialize)]
struct ChangeOut {
    /// How many of the decisions answered it.
    times: usize,
    /// The latest of these decisions.
    #[serde(flatten)]
    latest: Arc<Line>,
    /// The current answers; null if the policy refuses the question.
    active: PossibleAnswer,
    draft: PossibleAnswer,
}

/// What a draft changes about the latest decisions.
#[derive(Debug, Serialize)]
pub(super) struct ImpactOut {
    is_kept: bool,
    /// How many decisions there are.
    decisions: usize,
    /// How many of them cannot be asked again, because the log does not have the whole question.
    not_whole: usize,
    /// How many distinct questions the others have, and how many of these were compared, newest first.
    questions: usize,
    compared: usize,
    changes: Vec<ChangeOut>,
}

/// What a draft changes about the latest decisions
pub(super) async fn impact(
    WriteAccess(environment): WriteAccess,
    State(app): State<Arc<AppState>>,
    Json(Object(ImpactIn { policy })): Json<Object<ImpactIn>>,
) -> Result<Json<ImpactOut>, ApiError> {
    check_size(&policy, &app)?;
    let engine = &environment.engine;
    let draft = engine.draft(policy, "policy.polar".to_owned()).await?;
    let kept = app.decision_log.as_ref().and_then(|log| log.since(&environment, 0));
    let is_kept = kept.is_some();
    let (lines, _) = kept.unwrap_or_default();
    let decisions = lines.len();
    let whole: Vec<Arc<Line>> =
        lines.into_iter().map(|(_, line)| line).filter(|line| line.is_whole()).collect();
    let not_whole = decisions - whole.len();
    let Distinct { asked, latest } = Distinct::of(whole);
    let questions = asked.len();
    let Impact { changed, n_compared } = engine.impact(&draft, &asked, COMPARING).await?;
    let change = |ChangedAnswer { at, before, after }: ChangedAnswer| {
        let (line, times) = latest.get(at)?;
        Some(ChangeOut { times: *times, latest: Arc::clone(line), active: before, draft: after })
    };
    let changes = changed.into_iter().filter_map(change).collect();
    Ok(Json(ImpactOut { is_kept, decisions, not_whole, questions, compared: n_compared, changes }))
}

/// The distinct questions of decisions, in the order of the decisions.
#[derive(Default)]
struct Distinct {
    asked: Vec<PastQuestion>,
    /// For each question, its first decision in this order, and how many decisions it has.
    latest: Vec<(Arc<Line>, usize)>,
}

impl Distinct {
    fn of(lines: Vec<Arc<Line>>) -> Self {
        let mut distinct = Self::default();
        let mut places: HashMap<PastQuestion, usize> = HashMap::new();
        for line in lines {
            let question = line.question();
            let known = places.get(&question).and_then(|at| distinct.latest.get_mut(*at));
            if let Some((_, times)) = known {
                *times += 1;
                continue;
            }
            places.insert(question.clone(), distinct.asked.len());
            distinct.asked.push(question);
            distinct.latest.push((line, 1));
        }
        distinct
    }
}
