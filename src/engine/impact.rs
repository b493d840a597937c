//! Which answers to earlier questions a draft changes.
//!
//! In: a draft, and earlier questions. Out: those whose answers it changes, with the current facts. Each
//! question is asked under the draft and again under the active policy, so that facts that were stored since
//! do not count as changes. These answers are not decisions, and are not counted as such.

use super::{Draft, Engine, EngineError, questions};
use crate::store::{Fact, Value};
use std::time::{Duration, Instant};

/// A question that was asked earlier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PastQuestion {
    /// The actor.
    pub actor: Value,
    /// The action.
    pub action: String,
    /// The resource.
    pub resource: Value,
    /// Its context facts.
    pub context: Vec<Fact>,
}

/// The answer of a policy to a question; `None` if the policy refuses the question.
pub type PossibleAnswer = Option<bool>;

/// A question whose answer a draft changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedAnswer {
    /// The index of the question.
    pub at: usize,
    /// The answer under the active policy.
    pub before: PossibleAnswer,
    /// The answer under the draft.
    pub after: PossibleAnswer,
}

/// What a draft changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// The questions whose answers it changes, in their order.
    pub changed: Vec<ChangedAnswer>,
    /// How many questions were compared: the first ones, until the time was over.
    pub n_compared: usize,
}

impl Engine {
    /// Compares the answers to questions under the active policy and under a draft, one after another, until
    /// the time is over.
    pub async fn impact(
        &self,
        draft: &Draft,
        asked: &[PastQuestion],
        limit: Duration,
    ) -> Result<Impact, EngineError> {
        let end = Instant::now() + limit;
        let drafted = self.under(draft);
        let mut impact = Impact::default();
        for (at, question) in asked.iter().enumerate() {
            let rest = end.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                break;
            }
            let both = async {
                Ok::<_, EngineError>((self.would_say(question).await?, drafted.would_say(question).await?))
            };
            let Ok(answers) = tokio::time::timeout(rest, both).await else { break };
            let (before, after) = answers?;
            impact.n_compared += 1;
            if before != after {
                impact.changed.push(ChangedAnswer { at, before, after });
            }
        }
        Ok(impact)
    }

    /// The answer to a question, without counting it as a decision.
    async fn would_say(&self, asked: &PastQuestion) -> Result<PossibleAnswer, EngineError> {
        let PastQuestion { actor, action, resource, context } = asked;
        let Some(question) = questions::authorize(actor, action, resource) else { return Ok(Some(false)) };
        match self.answers(&question, context).await {
            Ok(answers) => Ok(Some(!answers.rows.is_empty())),
            Err(error @ (EngineError::Store(_) | EngineError::Bug(_))) => Err(error),
            // The policy refuses the question or its facts.
            Err(_) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{fact, value};
    use super::super::{Change, EngineSettings, PolicyOptions};
    use super::*;

    const STORED: &str = r#"actor User {}
resource Repo { roles = ["reader", "writer"]; permissions = ["read", "write"];
  "read" if "reader"; "read" if "writer"; "write" if "writer"; }"#;

    async fn engine() -> Engine {
        let engine = Engine::in_memory(EngineSettings::default()).await.unwrap();
        engine.set_policy(STORED.to_owned(), "p".to_owned(), PolicyOptions::default()).await.unwrap();
        let facts = vec![fact("has_role", &["User:a", "String:writer", "Repo:r"])];
        engine.apply(vec![Change::Insert(facts)]).await.unwrap();
        engine
    }

    fn asked(action: &str, context: Vec<Fact>) -> PastQuestion {
        let (actor, resource) = (value("User", "a"), value("Repo", "r"));
        PastQuestion { actor, action: action.into(), resource, context }
    }

    #[tokio::test]
    async fn answers_that_a_draft_changes_are_found_and_no_decision_is_counted() {
        let engine = engine().await;
        let questions = [
            asked("read", Vec::new()),
            asked("write", Vec::new()),
            asked("write", vec![fact("has_role", &["User:a", "String:reader", "Repo:r"])]),
            asked("erase", Vec::new()),
        ];
        let policy = STORED.replace(r#""read" if "writer"; "write" if "writer";"#, r#""write" if "reader";"#);
        let draft = engine.draft(policy, "p".to_owned()).await.unwrap();
        let impact = engine.impact(&draft, &questions, Duration::from_mins(1)).await.unwrap();
        let changed = |at| ChangedAnswer { at, before: Some(true), after: Some(false) };
        assert_eq!(impact, Impact { changed: vec![changed(0), changed(1)], n_compared: 4 });
        assert!(engine.counters().decisions.is_empty(), "a comparison counts no decision");

        let none = engine.impact(&draft, &questions, Duration::ZERO).await.unwrap();
        assert_eq!((none.n_compared, none.changed.len()), (0, 0));
    }

    #[tokio::test]
    async fn a_question_that_a_draft_refuses_is_a_change() {
        let engine = engine().await;
        let context = vec![fact("has_role", &["User:a", "String:reader", "Repo:r"])];
        let draft = engine.draft("actor User {} resource Repo {}".to_owned(), "p".to_owned()).await.unwrap();
        let impact = engine.impact(&draft, &[asked("read", context)], Duration::from_mins(1)).await.unwrap();
        assert_eq!(impact.changed, [ChangedAnswer { at: 0, before: Some(true), after: None }]);
    }
}
