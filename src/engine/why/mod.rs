//! Why a question is answered as it is.
//!
//! In: a question and its context facts. Out: the engine's answer with an explanation of it, both of one
//! moment. The explanation comes from another evaluator (`portcullis_compiler::why`), so the two are
//! compared, and if they disagree the request fails: an explanation never contradicts the answer. The engine
//! has checked each suggested set of facts, as context facts.

mod caller;
mod confirm;
mod effects;
mod local;
mod mixed;
pub(super) mod rows;

use super::answers::{Unanswered, expected, read};
use super::checks::ActionsQuestion;
use super::evaluate::EvaluateQuery;
use super::local::Document;
use super::view::View;
use super::{Engine, EngineError, facts, questions};
use crate::store::{ConsistentRead, Fact, PolicyDigest, Reader, Value};
pub use caller::CallerRow;
pub use effects::SuggestionEffects;
pub use local::{LocalWhy, LocalWhyRequest};
pub use portcullis_compiler::why::{
    Atom as WhyAtom, Attempt as WhyAttempt, By as WhyBy, Explanation, FactOrigin, FailedGoal,
    Lack as WhyLack, MetCondition as WhyCondition, Step as WhyStep, Suggestion, Suggestions, Verdict,
};

use portcullis_compiler::builtin::{ALLOW, is_abstract};
use portcullis_compiler::catalog::BindingId;
use portcullis_compiler::ir::{Program, RuleId};
use portcullis_compiler::primitive::STRING;
use portcullis_compiler::question::{Domain, Question, RefusedQuestion};
use portcullis_compiler::refusal::Refusal;
use portcullis_compiler::why::{Arg as WhyArg, Budget, Reasons, SuggestionSearch, WhyError};
use rows::StoredRows;
use std::sync::Arc;

/// How many sets of facts are suggested at most.
const SUGGESTIONS: usize = 5;

/// How many sets of each size are tried to find them.
const CANDIDATES: usize = 10;

/// A question to explain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyQuestion {
    /// May the actor do this to the resource?
    Authorize {
        /// The actor.
        actor: Value,
        /// The action.
        action: String,
        /// The resource.
        resource: Value,
    },
    /// Are there values for which all predicates hold?
    Evaluate(EvaluateQuery),
}

/// An answer and why it is so.
#[derive(Clone, Debug, Default)]
pub struct Why {
    /// Whether the question holds.
    pub allowed: bool,
    /// Why.
    pub explanation: Explanation,
    /// If it does not hold: sets of facts with each of which it would.
    pub suggestions: Suggestions,
    /// For each of these sets, what else it would change; `None` where that is not known. Empty if it was not
    /// asked for.
    pub effects: Vec<Option<SuggestionEffects>>,
    /// The version of the policy; `None` before the first one.
    pub version: Option<u64>,
    /// An offset of the store: the explanation saw all writes up to it, and perhaps later ones.
    pub offset: u64,
    /// The policy; `None` before the first one.
    policy: Option<Arc<Program>>,
    /// The data bindings, if the question is about a caller's database.
    document: Option<Arc<Document>>,
}

/// A rule as the policy writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyRule {
    /// Its line; `None` for a rule that every policy has.
    pub line: Option<usize>,
    /// Its text on one line.
    pub text: String,
}

/// A question that nothing could answer.
#[derive(Clone, Debug)]
struct Unanswerable {
    /// What it asks, if that is one atom.
    atom: Option<WhyAtom>,
    /// Why nothing could answer it.
    reason: String,
}

impl Unanswerable {
    /// A check in which the type of the actor or the resource is abstract.
    fn check(actor: Value, action: String, resource: Value) -> Self {
        let abstract_type = if is_abstract(&actor.ty) { &actor.ty } else { &resource.ty };
        let reason = format!("no value has the type `{abstract_type}`, which stands for several types");
        let action = Value { ty: STRING.to_owned(), id: action };
        let arg = |Value { ty, id }: Value| WhyArg { ty: Some(ty), id: Some(id) };
        let args = [actor, action, resource].map(arg).into();
        Self { atom: Some(WhyAtom { predicate: ALLOW.to_owned(), args }), reason }
    }
}

/// An answer and its reasons, by one look at the facts.
struct ExplainedAnswer {
    allowed: bool,
    reasons: Result<Reasons, Inexplicable>,
}

/// Why there is no explanation of an answer.
enum Inexplicable {
    /// None is possible.
    Refused(Refusal),
    /// A fault of the evaluator.
    Lost,
}

impl Inexplicable {
    /// The error of a question.
    fn of(self, question: &Question) -> EngineError {
        match self {
            Self::Refused(refusal) => EngineError::Refused(Box::new(question.refused(refusal))),
            Self::Lost => EngineError::Bug("an explanation lost what it had found".to_owned()),
        }
    }
}

impl Why {
    /// The policy's file name.
    pub fn file(&self) -> Option<&str> {
        self.policy.as_ref().map(|policy| policy.source.name())
    }

    /// The digest of the policy's text.
    pub fn digest(&self) -> Option<String> {
        self.policy.as_ref().map(|policy| PolicyDigest::of(policy.source.text()).to_string())
    }

    /// The key of a binding, whose rows are facts of the explanation.
    pub fn binding(&self, binding: BindingId) -> Option<&str> {
        Some(&self.document.as_ref()?.bindings.facts[binding].key)
    }

    /// A rule of the explanation.
    pub fn rule(&self, rule: RuleId) -> WhyRule {
        let Some(policy) = &self.policy else { return WhyRule { line: None, text: String::new() } };
        let rule = &policy.rules[rule];
        let written = policy.source.snippet(rule.span);
        if written.is_empty() {
            return WhyRule { line: None, text: portcullis_compiler::ir::print::rule(policy, rule) };
        }
        let text = written.split_whitespace().collect::<Vec<_>>().join(" ");
        WhyRule { line: Some(policy.source.locate(rule.span).line), text }
    }
}

impl Engine {
    /// Answers a question and says why.
    pub async fn explain(&self, asked: WhyQuestion, context: Vec<Fact>) -> Result<Why, EngineError> {
        let question = match self.why_question(asked)? {
            Ok(question) => question,
            Err(unanswerable) => return self.unanswerable(unanswerable, &context).await,
        };
        self.consistently(async |attempt| self.reasoned(&attempt, &question, &context).await).await
    }

    /// Answers a question and says why, and if it is a check what else its suggestions would change.
    pub async fn explain_with_effects(
        &self,
        asked: WhyQuestion,
        context: Vec<Fact>,
    ) -> Result<Why, EngineError> {
        let WhyQuestion::Authorize { actor, action, resource } = &asked else {
            return self.explain(asked, context).await;
        };
        let check = ActionsQuestion { actor: actor.clone(), resource: resource.clone() };
        let action = action.clone();
        let question = match self.why_question(asked)? {
            Ok(question) => question,
            Err(unanswerable) => return self.unanswerable(unanswerable, &context).await,
        };
        let told = async |attempt: ConsistentRead<'_>| {
            let why = self.reasoned(&attempt, &question, &context).await?;
            let effects = self.effects(&attempt, &check, &action, &context, &why.suggestions).await?;
            Ok(Why { effects, ..why })
        };
        self.consistently(told).await
    }

    /// The explanation of a question that nothing could answer: no, with the reason.
    async fn unanswerable(&self, question: Unanswerable, context: &[Fact]) -> Result<Why, EngineError> {
        let Unanswerable { atom, reason } = question;
        let attempt = WhyAttempt { rule: None, met: Vec::new(), lacks: WhyLack::Test(reason) };
        let goal = FailedGoal { atom, attempts: vec![attempt], ..FailedGoal::default() };
        let failures = vec![goal].into();
        let explanation = Explanation { verdict: Verdict::Fails, failures, ..Explanation::default() };
        self.consistently(async |attempt| {
            let view = self.view(&attempt, context)?;
            let policy = view.as_ref().map(|view| Arc::clone(&view.plans().policy.program));
            let (version, offset) = (view.as_ref().map(View::version), attempt.offset());
            Ok(Why { explanation: explanation.clone(), version, offset, policy, ..Why::default() })
        })
        .await
    }

    /// The question, with *some value* for each that it asks for, or why nothing could answer it.
    fn why_question(&self, asked: WhyQuestion) -> Result<Result<Question, Unanswerable>, EngineError> {
        let question = match asked {
            WhyQuestion::Authorize { actor, action, resource } => {
                facts::check_entity("actor", &actor)?;
                facts::check_action(&action)?;
                facts::check_entity("resource", &resource)?;
                let question = questions::authorize(&actor, &action, &resource);
                question.ok_or_else(|| Unanswerable::check(actor, action, resource))
            }
            WhyQuestion::Evaluate(query) => {
                query.check(self.settings().question_atoms)?;
                let is_empty = query.vars.values().any(|var| var.ids.as_ref().is_some_and(Vec::is_empty));
                if is_empty {
                    let reason = "the question has a variable with an empty list of values".to_owned();
                    Err(Unanswerable { atom: None, reason })
                } else {
                    Ok(query.question().1)
                }
            }
        };
        Ok(question.map(|mut question| {
            for var in &mut question.vars {
                if var.domain == Domain::Wanted {
                    var.domain = Domain::Ignored;
                }
            }
            question
        }))
    }

    pub(super) async fn reasoned(
        &self,
        attempt: &ConsistentRead<'_>,
        question: &Question,
        context: &[Fact],
    ) -> Result<Why, EngineError> {
        let Some(view) = self.view(attempt, context)? else {
            return Ok(Why { offset: attempt.offset(), ..Why::default() });
        };
        questions::check_predicates(view.program(), question)?;
        let ExplainedAnswer { allowed, reasons } = self.found(attempt, &view, question, context).await?;
        let Reasons { explanation, suggestions } = reasons.map_err(|why| why.of(question))?;
        agree(allowed, explanation.verdict)?;
        let suggestions = self.confirmed(attempt, &view, question, context, suggestions).await?;
        let (policy, version) = (Some(Arc::clone(&view.plans().policy.program)), Some(view.version()));
        let offset = attempt.offset();
        let (effects, document) = (Vec::new(), None);
        Ok(Why { allowed, explanation, suggestions, effects, version, offset, policy, document })
    }

    /// The answer and its reasons, of one moment.
    async fn found(
        &self,
        attempt: &ConsistentRead<'_>,
        view: &View,
        question: &Question,
        context: &[Fact],
    ) -> Result<ExplainedAnswer, EngineError> {
        let prepared = match view.prepare(question).await {
            Err(EngineError::Refused(refused)) => {
                return Err(unexplained(view, question, *refused).await);
            }
            prepared => prepared?,
        };
        let rules = view.rules(question).await?;
        let (plans, now, account) = (view.plans(), view.now(), self.account.clone());
        let (question, context) = (question.clone(), context.to_vec());
        let expected = expected([&prepared]);
        let find = move |reader: &Reader| {
            reader.snapshot(|reader| {
                let allowed = prepared.has_answers(reader)?;
                let mut rows = StoredRows::new(reader, &context, account.as_ref());
                let program = &plans.policy.program;
                let reasons =
                    rules.explain(program, &question, now, &mut rows, Budget::default(), Some(search()));
                let reasons = match reasons {
                    Ok(reasons) => Ok(reasons),
                    Err(WhyError::Rows(error)) => return Err(Unanswered::Store(error)),
                    Err(WhyError::Refused(refusal)) => Err(Inexplicable::Refused(refusal)),
                    Err(WhyError::Lost) => Err(Inexplicable::Lost),
                };
                Ok(ExplainedAnswer { allowed, reasons })
            })
        };
        read(attempt, expected, find).await
    }
}

/// The error for a question with *some value* that is refused. Where the same question for all values is
/// answered, it is one that cannot be explained.
async fn unexplained(view: &View, question: &Question, refused: RefusedQuestion) -> EngineError {
    if let Refusal::NotEnumerable { var, rule, .. } = &refused.refusal {
        let mut for_all = question.clone();
        for var in &mut for_all.vars {
            if var.domain == Domain::Ignored {
                var.domain = Domain::Wanted;
            }
        }
        if view.prepare(&for_all).await.is_ok() {
            let refusal = Refusal::NotExplainable { var: var.clone(), rule: *rule };
            return EngineError::Refused(Box::new(question.refused(refusal)));
        }
    }
    EngineError::Refused(Box::new(refused))
}

/// The search for facts to suggest.
fn search() -> SuggestionSearch {
    SuggestionSearch::new(CANDIDATES)
}

/// Fails if an explanation does not say what the engine answers.
fn agree(allowed: bool, verdict: Verdict) -> Result<(), EngineError> {
    match (allowed, verdict) {
        (true, Verdict::Holds) | (false, Verdict::Fails) | (_, Verdict::Unknown) => Ok(()),
        (true, Verdict::Fails) => {
            Err(EngineError::Bug("the engine allows what the explanation does not derive".to_owned()))
        }
        (false, Verdict::Holds) => {
            Err(EngineError::Bug("the explanation derives what the engine does not allow".to_owned()))
        }
    }
}

/// A fact of a suggestion.
fn fact(atom: &WhyAtom) -> Option<Fact> {
    let arg = |arg: &portcullis_compiler::why::Arg| Some(Value { ty: arg.ty.clone()?, id: arg.id.clone()? });
    Some(Fact { predicate: atom.predicate.clone(), args: atom.args.iter().map(arg).collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_that_contradicts_the_answer_is_an_internal_error() {
        for (allowed, verdict) in [(true, Verdict::Holds), (false, Verdict::Fails)] {
            assert!(agree(allowed, verdict).is_ok());
            assert!(agree(allowed, Verdict::Unknown).is_ok());
            assert!(matches!(agree(!allowed, verdict), Err(EngineError::Bug(_))));
        }
    }
}
