//! What else suggested facts would change: other actions of the same actor on the same resource.
//!
//! In: a check that was denied, and the sets of facts with which it would not be. Out: for each set the other
//! actions that it would allow, and those that it would take away, because a rule may deny by the same facts.
//! The engine lists the actions without the facts, and with them as context facts.

use super::Suggestions;
use super::confirm::{TIME, with};
use crate::engine::{ANY, ActionsQuestion, Engine, EngineError};
use crate::store::{ConsistentRead, Fact};
use tokio::time::{Instant, timeout_at};

/// What else a suggestion would change for the actor and the resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuggestionEffects {
    /// Actions that it would allow, apart from the one that was asked for.
    pub allows: Vec<String>,
    /// Actions that it would take away.
    pub denies: Vec<String>,
}

impl SuggestionEffects {
    fn between(before: &[String], after: Vec<String>, asked: &str) -> Self {
        let is_every = |actions: &[String]| actions.iter().any(|action| action == ANY);
        let denies =
            before.iter().filter(|action| !is_every(&after) && !after.contains(action)).cloned().collect();
        let is_new = |action: &String| action != asked && !is_every(before) && !before.contains(action);
        Self { denies, allows: after.into_iter().filter(is_new).collect() }
    }
}

impl Engine {
    /// What else each suggestion would change; `None` where finding out would take too much, or the question
    /// for all actions is refused.
    pub(super) async fn effects(
        &self,
        attempt: &ConsistentRead<'_>,
        asked: &ActionsQuestion,
        action: &str,
        context: &[Fact],
        suggestions: &Suggestions,
    ) -> Result<Vec<Option<SuggestionEffects>>, EngineError> {
        if suggestions.sets.is_empty() {
            return Ok(Vec::new());
        }
        let end = Instant::now() + TIME;
        let before = self.possible_actions(attempt, asked, Some(context.to_vec()), end).await?;
        let mut effects = Vec::with_capacity(suggestions.sets.len());
        for suggestion in &suggestions.sets {
            let after = match &before {
                Some(_) => self.possible_actions(attempt, asked, with(context, suggestion), end).await?,
                None => None,
            };
            let between =
                |(before, after): (&Vec<String>, _)| SuggestionEffects::between(before, after, action);
            effects.push(before.as_ref().zip(after).map(between));
        }
        Ok(effects)
    }

    /// The actions with these context facts, as far as they can be listed in time.
    async fn possible_actions(
        &self,
        attempt: &ConsistentRead<'_>,
        asked: &ActionsQuestion,
        context: Option<Vec<Fact>>,
        end: Instant,
    ) -> Result<Option<Vec<String>>, EngineError> {
        let Some(context) = context else { return Ok(None) };
        let actions = self.actions_of(attempt, std::slice::from_ref(asked), &context);
        match timeout_at(end, actions).await {
            Ok(Ok(actions)) => Ok(actions.into_iter().next()),
            Err(_)
            | Ok(Err(
                EngineError::BadRequest(_)
                | EngineError::Refused(_)
                | EngineError::TooLarge(_)
                | EngineError::Timeout(_),
            )) => Ok(None),
            Ok(Err(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_covers_all_others() {
        let list = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let shown = |before: &str, after: &str| {
            let effects = SuggestionEffects::between(&list(before), list(after), "read");
            format!("+{} -{}", effects.allows.join(","), effects.denies.join(","))
        };
        assert_eq!(shown("a b", "b c read"), "+c -a");
        assert_eq!(shown("a", "* read"), "+* -");
        assert_eq!(shown("", "read"), "+ -");
        assert_eq!(shown("* a", "b read"), "+ -*,a");
    }
}
