//! Why a question is answered as it is on a caller's own database.
//!
//! The service has no connection to that database, and reads of an explanation follow from each other: which
//! folder's parent is needed, the document's row says. So the caller asks several times. Each answer is one
//! statement for its database, until the rows of all statements so far are enough; then it is the
//! explanation. Nothing is kept in between: each time, the evaluator runs over what is known, and notes what
//! it lacks.
//!
//! ```text
//! question, bindings, rows so far ─evaluator over rows, store, request─┬─lacks rows─▶ one statement
//!                                                                      └─has them──▶ explanation
//! ```
//!
//! The first statement also decides the question itself, by the SQL of the local check. The explanation must
//! agree with it. Suggested facts are context facts of further such decisions.

use super::caller::{self, AskedDecision, CallerAnswers, CallerRow, WantedReads};
use super::mixed::{MixedRows, Unread};
use super::rows::StoredRows;
use super::{Inexplicable, SUGGESTIONS, Why, WhyQuestion, fact, search};
use crate::engine::answers::{Unanswered, read};
use crate::engine::local::Document;
use crate::engine::plans::Plans;
use crate::engine::view::View;
use crate::engine::{Engine, EngineError, LocalMode, LocalQuestion, LocalRequest, questions};
use crate::store::{ConsistentRead, Expected, Fact, Reader};
use portcullis_compiler::question::{CompileError, Question};
use portcullis_compiler::why::{
    Budget, Explanation, Reasons, Rules, Suggestion, SuggestionSearch, Suggestions, Verdict, WhyError,
};
use std::sync::Arc;

/// A question about facts of which the caller's database has some, with what the database said so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalWhyRequest {
    /// The data-bindings document.
    pub bindings: String,
    /// The question.
    pub question: WhyQuestion,
    /// The context facts of the request.
    pub context: Vec<Fact>,
    /// The rows of all statements so far; none at first.
    pub rows: Vec<CallerRow>,
}

/// What follows from the rows so far.
#[derive(Clone, Debug)]
pub enum LocalWhy {
    /// The database is to be asked this; its rows are to be added.
    Ask(String),
    /// The explanation.
    Explained(Box<Why>),
}

/// What the evaluator needs besides rows.
struct Known {
    plans: Arc<Plans>,
    rules: Arc<Rules>,
    question: Question,
    now: i64,
}

/// One request, over one state of the store.
struct Asking<'a> {
    attempt: ConsistentRead<'a>,
    request: &'a LocalWhyRequest,
    question: &'a Question,
    answers: &'a Arc<CallerAnswers>,
    document: Arc<Document>,
    view: View,
}

impl Engine {
    /// Says why a question is answered as it is on the caller's database, or what to ask the database first.
    ///
    /// # Errors
    /// Those of [`Engine::local`] and [`Engine::explain`]; [`EngineError::Contradiction`] if the rows do not
    /// fit the decision.
    pub async fn explain_on_caller(&self, request: LocalWhyRequest) -> Result<LocalWhy, EngineError> {
        let question = match self.why_question(request.question.clone())? {
            Ok(question) => question,
            Err(unanswerable) => {
                let why = self.unanswerable(unanswerable, &request.context).await?;
                return Ok(LocalWhy::Explained(Box::new(why)));
            }
        };
        let answers = Arc::new(CallerAnswers::of(&request.rows)?);
        let (request, question, answers) = (&request, &question, &answers);
        self.consistently(|attempt| async move {
            let Some(view) = self.view(&attempt, &request.context)? else {
                let nothing = Why { offset: attempt.offset(), ..Why::default() };
                return Ok(LocalWhy::Explained(Box::new(nothing)));
            };
            questions::check_predicates(view.program(), question)?;
            let document = self.document(&request.bindings).await?;
            let view = view.at(answers.now);
            let asking = Asking { attempt, request, question, answers, document, view };
            self.reasoned_on_caller(&asking).await
        })
        .await
    }

    async fn reasoned_on_caller(&self, asking: &Asking<'_>) -> Result<LocalWhy, EngineError> {
        let decision = self.decision(asking, &[]).await?;
        let allowed = asking.answers.decision(&decision);
        let (reasons, wanted) = self.over_known(asking, reasons).await?;
        let Some(allowed) = allowed else { return self.ask(asking, vec![decision], wanted).await };
        if !wanted.is_empty() {
            return self.ask(asking, Vec::new(), wanted).await;
        }
        let Reasons { explanation, suggestions } = reasons.map_err(|why| why.of(asking.question))?;
        agree(allowed, explanation.verdict)?;
        let suggestions = match self.confirmed_on_caller(asking, suggestions).await? {
            Ok(confirmed) => confirmed,
            Err(ask) => return Ok(ask),
        };
        let (policy, version) =
            (Some(Arc::clone(&asking.view.plans().policy.program)), Some(asking.view.version()));
        let (document, offset) = (Some(Arc::clone(&asking.document)), asking.attempt.offset());
        let effects = Vec::new();
        let why = Why { allowed, explanation, suggestions, effects, version, offset, policy, document };
        Ok(LocalWhy::Explained(Box::new(why)))
    }

    /// The suggestions with which the question holds on the caller's database, or what to ask the database
    /// first. If there are none, searches for more.
    async fn confirmed_on_caller(
        &self,
        asking: &Asking<'_>,
        suggestions: Suggestions,
    ) -> Result<Result<Suggestions, LocalWhy>, EngineError> {
        let mut found = suggestions;
        let mut confirmed = Suggestions::default();
        loop {
            let mut unknown = Vec::new();
            for suggestion in found.sets {
                let Some(decision) = self.decision_with(asking, &suggestion).await? else { continue };
                match asking.answers.decision(&decision) {
                    Some(true) => confirmed.sets.push(suggestion),
                    Some(false) => {}
                    None => unknown.push(decision),
                }
            }
            if !unknown.is_empty() {
                return self.ask(asking, unknown, WantedReads::new()).await.map(Err);
            }
            confirmed.truncated |= found.truncated;
            let Some(search) = found.next.filter(|_| confirmed.sets.is_empty()) else { break };
            let (further, wanted) = self.further_on_caller(asking, search).await?;
            if !wanted.is_empty() {
                return self.ask(asking, Vec::new(), wanted).await.map(Err);
            }
            found = further;
        }
        confirmed.truncated |= confirmed.sets.len() > SUGGESTIONS;
        confirmed.sets.truncate(SUGGESTIONS);
        Ok(Ok(confirmed))
    }

    /// More suggestions over what is known, and what is not known yet.
    async fn further_on_caller(
        &self,
        asking: &Asking<'_>,
        search: SuggestionSearch,
    ) -> Result<(Suggestions, WantedReads), EngineError> {
        let suggest = move |known: &Known, rows: &mut MixedRows<'_>| {
            let Known { plans, rules, question, now } = known;
            let program = &plans.policy.program;
            match rules.suggest(program, question, *now, rows, Budget::default(), search) {
                Ok(found) => Ok(found),
                Err(Unread::Store(error)) => Err(Unanswered::Store(error)),
                Err(Unread::TooMany) => Ok(Suggestions { truncated: true, ..Suggestions::default() }),
            }
        };
        self.over_known(asking, suggest).await
    }

    /// The statement that decides the question on the caller's database, with further context facts.
    async fn decision(&self, asking: &Asking<'_>, more: &[Fact]) -> Result<AskedDecision, EngineError> {
        let LocalWhyRequest { bindings, question, context, .. } = asking.request;
        let (question, column) = match question.clone() {
            WhyQuestion::Authorize { actor, action, resource } => {
                (LocalQuestion::Authorize { actor, action, resource }, "allowed")
            }
            WhyQuestion::Evaluate(query) => {
                (LocalQuestion::Evaluate { query, mode: LocalMode::Select(Vec::new()) }, "result")
            }
        };
        let context = context.iter().chain(more).cloned().collect();
        let request = LocalRequest { bindings: bindings.clone(), question, context };
        let now = asking.view.now();
        Ok(AskedDecision::new(self.local_at(&asking.attempt, &request, now).await?, column, now))
    }

    /// The same with suggested facts. If the question cannot be asked with a set of facts, the set is not
    /// suggested.
    async fn decision_with(
        &self,
        asking: &Asking<'_>,
        suggestion: &Suggestion,
    ) -> Result<Option<AskedDecision>, EngineError> {
        let facts: Option<Vec<Fact>> = suggestion.iter().map(fact).collect();
        let Some(facts) = facts else { return Ok(None) };
        match self.decision(asking, &facts).await {
            Err(
                EngineError::BadRequest(_)
                | EngineError::Refused(_)
                | EngineError::TooLarge(_)
                | EngineError::Timeout(_),
            ) => Ok(None),
            asked => asked.map(Some),
        }
    }

    /// Evaluates over what is known; also returns the reads that were lacking.
    async fn over_known<T: Send + 'static>(
        &self,
        asking: &Asking<'_>,
        evaluate: impl Fn(&Known, &mut MixedRows<'_>) -> Result<T, Unanswered> + Send + Sync + 'static,
    ) -> Result<(T, WantedReads), EngineError> {
        let Asking { attempt, request, question, answers, document, view } = asking;
        let rules = view.local_rules(question, document).await?;
        let known = Known { plans: view.plans(), rules, question: (*question).clone(), now: view.now() };
        let (answers, context, account) =
            (Arc::clone(answers), request.context.clone(), self.account.clone());
        let find = move |reader: &Reader| {
            reader.snapshot(|reader| {
                let stored = StoredRows::new(reader, &context, account.as_ref());
                let mut rows = MixedRows::new(stored, &answers);
                let found = evaluate(&known, &mut rows)?;
                Ok((found, rows.wanted))
            })
        };
        read(attempt, Expected::Brief, find).await
    }

    /// The statement for what is not known yet.
    async fn ask(
        &self,
        asking: &Asking<'_>,
        decisions: Vec<AskedDecision>,
        wanted: WantedReads,
    ) -> Result<LocalWhy, EngineError> {
        let (plans, document) = (asking.view.plans(), Arc::clone(&asking.document));
        let make = move || {
            let relations = document.relations().collect();
            caller::statement(plans.facts(), &document.bindings, &relations, decisions, &wanted)
        };
        let made = self.in_turn(make).await?;
        made.map(LocalWhy::Ask).map_err(|error| match error {
            CompileError::Refused(refusal) => {
                EngineError::Refused(Box::new(asking.question.refused(refusal)))
            }
            CompileError::OutOfTime(out_of_time) => out_of_time.into(),
            CompileError::Bug(text) => EngineError::Bug(text),
        })
    }
}

/// The reasons over what is known. What would change the answer is looked for only once the rest is known.
fn reasons(
    Known { plans, rules, question, now }: &Known,
    rows: &mut MixedRows<'_>,
) -> Result<Result<Reasons, Inexplicable>, Unanswered> {
    let program = &plans.policy.program;
    let explain = |rows: &mut MixedRows<'_>, search| {
        let explained = rules.explain(program, question, *now, rows, Budget::default(), search);
        Ok(match explained {
            Ok(reasons) => Ok(reasons),
            Err(WhyError::Rows(Unread::Store(error))) => return Err(Unanswered::Store(error)),
            Err(WhyError::Rows(Unread::TooMany)) => {
                let explanation = Explanation { truncated: true, ..Explanation::default() };
                Ok(Reasons { explanation, suggestions: Suggestions::default() })
            }
            Err(WhyError::Refused(refusal)) => Err(Inexplicable::Refused(refusal)),
            Err(WhyError::Lost) => Err(Inexplicable::Lost),
        })
    };
    let fails = |reasons: &Result<Reasons, Inexplicable>| matches!(reasons, Ok(reasons) if reasons.explanation.verdict == Verdict::Fails);
    let first = explain(rows, None)?;
    if !fails(&first) || !rows.wanted.is_empty() {
        return Ok(first);
    }
    let again = explain(rows, Some(search()))?;
    // The time may be over before as much is known again.
    Ok(if fails(&again) { again } else { first })
}

/// Fails if an explanation does not say what the caller's database answers.
fn agree(allowed: bool, verdict: Verdict) -> Result<(), EngineError> {
    let (answer, rows) = match (allowed, verdict) {
        (true, Verdict::Holds) | (false, Verdict::Fails) | (_, Verdict::Unknown) => return Ok(()),
        (true, Verdict::Fails) => ("yes", "no"),
        (false, Verdict::Holds) => ("no", "yes"),
    };
    Err(EngineError::Contradiction(format!(
        "the local check answers {answer}, but the rows of the database say {rows}: run all statements of one \
         explanation in one read-only transaction, in PostgreSQL with REPEATABLE READ, and check the data bindings with \
         `portcullis bindings check`; if neither helps, report this as a bug"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_that_contradicts_the_decision_is_refused() {
        for (allowed, verdict) in [(true, Verdict::Holds), (false, Verdict::Fails)] {
            assert!(agree(allowed, verdict).is_ok());
            assert!(agree(allowed, Verdict::Unknown).is_ok());
            assert!(matches!(agree(!allowed, verdict), Err(EngineError::Contradiction(_))));
        }
    }
}
