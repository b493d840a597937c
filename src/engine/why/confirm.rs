//! Which suggested facts change the answer: the engine answers the question with each set of them.

use super::{SUGGESTIONS, Suggestion, Suggestions, fact};
use crate::engine::answers::{Prepared, Unanswered, expected, read};
use crate::engine::view::View;
use crate::engine::why::rows::StoredRows;
use crate::engine::{Engine, EngineError};
use crate::store::{ConsistentRead, Expected, Fact, Reader};
use portcullis_compiler::question::Question;
use portcullis_compiler::why::{Budget, SuggestionSearch};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long all searches and all answers for suggestions may take together.
pub(super) const TIME: Duration = Duration::from_secs(1);

/// Whether a question holds with a suggestion.
enum Confirmation {
    Holds,
    Fails,
    /// The answer would take too much time or memory.
    Unknown,
}

impl Engine {
    /// The suggestions with which the question holds. If there are none, searches for more.
    pub(super) async fn confirmed(
        &self,
        attempt: &ConsistentRead<'_>,
        view: &View,
        question: &Question,
        context: &[Fact],
        suggestions: Suggestions,
    ) -> Result<Suggestions, EngineError> {
        let end = Instant::now() + TIME;
        let mut found = suggestions;
        let mut confirmed = Suggestions::default();
        loop {
            confirmed.truncated |= found.truncated;
            for suggestion in found.sets {
                if confirmed.sets.len() == SUGGESTIONS {
                    confirmed.truncated = true;
                    break;
                }
                let asked = self.confirmation(attempt, question, context, &suggestion);
                match timeout_at(end, asked).await {
                    Ok(Ok(Confirmation::Holds)) => {
                        let smallest = self.smallest(attempt, question, context, suggestion.clone());
                        let (set, is_smallest) = match timeout_at(end, smallest).await {
                            Ok(smallest) => smallest?,
                            Err(_) => (suggestion, false),
                        };
                        add(&mut confirmed.sets, set);
                        confirmed.truncated |= !is_smallest;
                    }
                    Ok(Ok(Confirmation::Fails)) => {}
                    Ok(Ok(Confirmation::Unknown)) => confirmed.truncated = true,
                    Ok(Err(error)) => return Err(error),
                    Err(_) => return Ok(Suggestions { truncated: true, ..confirmed }),
                }
            }
            let Some(search) = found.next.filter(|_| confirmed.sets.is_empty()) else { return Ok(confirmed) };
            match timeout_at(end, self.further(attempt, view, question, context, search)).await {
                Ok(further) => found = further?,
                Err(_) => return Ok(Suggestions { truncated: true, ..confirmed }),
            }
        }
    }

    /// More suggestions.
    async fn further(
        &self,
        attempt: &ConsistentRead<'_>,
        view: &View,
        question: &Question,
        context: &[Fact],
        search: SuggestionSearch,
    ) -> Result<Suggestions, EngineError> {
        let rules = view.rules(question).await?;
        let (plans, now, account) = (view.plans(), view.now(), self.account.clone());
        let (question, context) = (question.clone(), context.to_vec());
        let find = move |reader: &Reader| {
            reader.snapshot(|reader| {
                let mut rows = StoredRows::new(reader, &context, account.as_ref());
                let program = &plans.policy.program;
                let found = rules.suggest(program, &question, now, &mut rows, Budget::default(), search);
                found.map_err(Unanswered::Store)
            })
        };
        read(attempt, Expected::Brief, find).await
    }

    /// The suggestion without the facts that it does not need, and whether that is known of each: the search
    /// does not always find the smallest set.
    async fn smallest(
        &self,
        attempt: &ConsistentRead<'_>,
        question: &Question,
        context: &[Fact],
        mut suggestion: Suggestion,
    ) -> Result<(Suggestion, bool), EngineError> {
        let (mut at, mut is_smallest) = (0, true);
        while suggestion.len() > 1 && at < suggestion.len() {
            let mut fewer = suggestion.clone();
            fewer.remove(at);
            match self.confirmation(attempt, question, context, &fewer).await? {
                Confirmation::Holds => suggestion = fewer,
                answer @ (Confirmation::Fails | Confirmation::Unknown) => {
                    is_smallest &= matches!(answer, Confirmation::Fails);
                    at += 1;
                }
            }
        }
        Ok((suggestion, is_smallest))
    }

    /// Whether the question holds with further context facts. Facts with which the engine refuses the
    /// question are not suggested.
    async fn confirmation(
        &self,
        attempt: &ConsistentRead<'_>,
        question: &Question,
        context: &[Fact],
        suggestion: &Suggestion,
    ) -> Result<Confirmation, EngineError> {
        let Some(context) = with(context, suggestion) else { return Ok(Confirmation::Fails) };
        let asked = async {
            let Some(view) = self.view(attempt, &context)? else { return Ok(false) };
            let prepared: Prepared = view.prepare(question).await?;
            let expected = expected([&prepared]);
            read(attempt, expected, move |reader| prepared.has_answers(reader)).await
        };
        match asked.await {
            Ok(true) => Ok(Confirmation::Holds),
            Ok(false) | Err(EngineError::BadRequest(_) | EngineError::Refused(_)) => Ok(Confirmation::Fails),
            Err(EngineError::TooLarge(_) | EngineError::Timeout(_)) => Ok(Confirmation::Unknown),
            Err(error) => Err(error),
        }
    }
}

/// Adds a set unless a subset of it is there, and removes the supersets of it.
fn add(sets: &mut Vec<Suggestion>, set: Suggestion) {
    let is_part = |part: &Suggestion, of: &Suggestion| part.iter().all(|fact| of.contains(fact));
    if sets.iter().any(|known| is_part(known, &set)) {
        return;
    }
    sets.retain(|known| !is_part(&set, known));
    sets.push(set);
}

/// The context facts together with those of a suggestion.
pub(super) fn with(context: &[Fact], suggestion: &Suggestion) -> Option<Vec<Fact>> {
    let facts = suggestion.iter().map(fact).collect::<Option<Vec<Fact>>>()?;
    Some(context.iter().cloned().chain(facts).collect())
}
