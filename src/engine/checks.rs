//! Authorization checks: is an action allowed, and which actions are.
//!
//! In: an actor, an action, a resource, and the request's context facts. Out: what the policy decides over
//! the stored facts and those. Each check is the question `allow(actor, action, resource)` with a different
//! part left open; [`super::pages`] leaves the resource open and [`super::subjects`] the actor. Unknown
//! types, ids and actions are not errors: the answer is no, or empty. A bulk request is answered in one read
//! transaction.

use super::answers::{Prepared, expected, read};
use super::versions::DecidingPolicy;
use super::view::View;
use super::{ANY, Engine, EngineError, facts, questions};
use crate::store::{ConsistentRead, Fact, Reader, Value};
use portcullis_compiler::compact::compact;
use portcullis_compiler::question::Question;
use std::collections::BTreeSet;

/// One question of [`Engine::bulk_actions`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionsQuestion {
    /// The actor.
    pub actor: Value,
    /// The resource.
    pub resource: Value,
}

/// What was decided, and over what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<T> {
    /// The answer.
    pub answer: T,
    /// The policy; `None` before the first one.
    pub policy: Option<DecidingPolicy>,
    /// An offset of the store: the answer saw all writes up to it, and perhaps later ones.
    pub offset: u64,
    /// The facts that this policy read of the engine's attributes.
    pub attributes: Vec<Fact>,
}

fn version(policy: Option<DecidingPolicy>) -> Option<u64> {
    policy.map(|policy| policy.version)
}

impl Engine {
    /// Whether the actor may do this to the resource.
    pub async fn authorize(
        &self,
        actor: Value,
        action: String,
        resource: Value,
        context: Vec<Fact>,
    ) -> Result<bool, EngineError> {
        Ok(self.decide(&actor, &action, &resource, &context).await?.answer)
    }

    /// Like [`Engine::authorize`], with what the decision was made over.
    pub async fn decide(
        &self,
        actor: &Value,
        action: &str,
        resource: &Value,
        context: &[Fact],
    ) -> Result<Decision<bool>, EngineError> {
        facts::check_entity("actor", actor)?;
        facts::check_action(action)?;
        facts::check_entity("resource", resource)?;
        let question = questions::authorize(actor, action, resource);
        let decision = self.consistently(|attempt| self.answer(attempt, question.as_ref(), context)).await?;
        let answer = decision.answer;
        self.counted().decided(version(decision.policy), usize::from(answer), usize::from(!answer));
        Ok(decision)
    }

    /// The decision of one attempt.
    async fn answer(
        &self,
        attempt: ConsistentRead<'_>,
        question: Option<&Question>,
        context: &[Fact],
    ) -> Result<Decision<bool>, EngineError> {
        let view = self.view(&attempt, context)?;
        let policy = view.as_ref().map(View::deciding);
        let attributes = view.as_ref().map(|view| view.attributes().to_vec()).unwrap_or_default();
        let (Some(view), Some(question)) = (view, question) else {
            return Ok(Decision { answer: false, policy, offset: attempt.offset(), attributes });
        };
        let prepared = view.prepare(question).await?;
        let expected = expected([&prepared]);
        let answer = read(&attempt, expected, move |reader| prepared.decision(reader)).await?;
        Ok(Decision { answer, policy, offset: attempt.offset(), attributes })
    }

    /// The resources that the actor may do this to. Order and duplicates are kept.
    pub async fn authorize_resources(
        &self,
        actor: Value,
        action: String,
        resources: Vec<Value>,
        context: Vec<Fact>,
    ) -> Result<Vec<Value>, EngineError> {
        Ok(self.decide_each(&actor, &action, resources, &context).await?.answer)
    }

    /// Like [`Engine::authorize_resources`], with what the decisions were made over.
    pub async fn decide_each(
        &self,
        actor: &Value,
        action: &str,
        resources: Vec<Value>,
        context: &[Fact],
    ) -> Result<Decision<Vec<Value>>, EngineError> {
        facts::check_entity("actor", actor)?;
        facts::check_action(action)?;
        resources.iter().try_for_each(|resource| facts::check_entity("resource", resource))?;
        let mut distinct = resources.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let Decision { answer: allowed, policy, offset, attributes } =
            self.consistently(|attempt| self.allowed(attempt, actor, action, &distinct, context)).await?;
        let n_asked = resources.len();
        // INVARIANT: `allowed` is sorted, as `distinct` was.
        let is_allowed = |resource: &Value| allowed.binary_search(resource).is_ok();
        let allowed: Vec<Value> = resources.into_iter().filter(is_allowed).collect();
        self.counted().decided(version(policy), allowed.len(), n_asked - allowed.len());
        Ok(Decision { answer: allowed, policy, offset, attributes })
    }

    /// The decision of one attempt: the allowed resources in their order.
    async fn allowed(
        &self,
        attempt: ConsistentRead<'_>,
        actor: &Value,
        action: &str,
        resources: &[Value],
        context: &[Fact],
    ) -> Result<Decision<Vec<Value>>, EngineError> {
        let Some(view) = self.view(&attempt, context)? else {
            let (answer, attributes) = (Vec::new(), Vec::new());
            return Ok(Decision { answer, policy: None, offset: attempt.offset(), attributes });
        };
        let mut asked = Vec::new();
        for resources in resources.chunk_by(|one, other| one.ty == other.ty) {
            match view.prepare_any(actor, action, resources).await? {
                Some(prepared) => asked.push((resources.to_vec(), prepared)),
                None => {
                    for resource in resources {
                        if let Some(question) = questions::authorize(actor, action, resource) {
                            asked.push((vec![resource.clone()], view.prepare(&question).await?));
                        }
                    }
                }
            }
        }
        let expected = expected(asked.iter().map(|(_, prepared)| prepared));
        let decide = move |reader: &Reader| {
            reader.snapshot(|reader| {
                let mut allowed = Vec::new();
                for (resources, prepared) in &asked {
                    if !prepared.is_decision() {
                        allowed.extend(among(resources, prepared.ids(reader)?));
                    } else if prepared.decision(reader)? {
                        allowed.extend(resources.iter().cloned());
                    }
                }
                Ok(allowed)
            })
        };
        let answer = read(&attempt, expected, decide).await?;
        let (policy, attributes) = (Some(view.deciding()), view.attributes().to_vec());
        Ok(Decision { answer, policy, offset: attempt.offset(), attributes })
    }

    /// The actions that the actor may do to the resource, sorted; [`ANY`] for every action.
    pub async fn actions(
        &self,
        actor: Value,
        resource: Value,
        context: Vec<Fact>,
    ) -> Result<Vec<String>, EngineError> {
        let answers = self.bulk_actions(vec![ActionsQuestion { actor, resource }], context).await?;
        Ok(answers.into_iter().next().unwrap_or_default())
    }

    /// [`Engine::actions`] for several questions, in order.
    pub async fn bulk_actions(
        &self,
        asked: Vec<ActionsQuestion>,
        context: Vec<Fact>,
    ) -> Result<Vec<Vec<String>>, EngineError> {
        for ActionsQuestion { actor, resource } in &asked {
            facts::check_entity("actor", actor)?;
            facts::check_entity("resource", resource)?;
        }
        self.consistently(async |attempt| self.actions_of(&attempt, &asked, &context).await).await
    }

    /// The answers of one attempt.
    pub(super) async fn actions_of(
        &self,
        attempt: &ConsistentRead<'_>,
        asked: &[ActionsQuestion],
        context: &[Fact],
    ) -> Result<Vec<Vec<String>>, EngineError> {
        let Some(view) = self.view(attempt, context)? else { return Ok(vec![Vec::new(); asked.len()]) };
        let mut prepared: Vec<Option<Prepared>> = Vec::with_capacity(asked.len());
        for ActionsQuestion { actor, resource } in asked {
            prepared.push(match questions::actions(actor, resource) {
                Some(question) => Some(view.prepare(&question).await?),
                None => None,
            });
        }
        let expected = expected(prepared.iter().flatten());
        let answer_all = move |reader: &Reader| {
            reader.snapshot(|reader| {
                let answer = |prepared: &Option<Prepared>| match prepared {
                    Some(prepared) => Ok(sorted(prepared.ids(reader)?)),
                    None => Ok(Vec::new()),
                };
                prepared.iter().map(answer).collect()
            })
        };
        read(attempt, expected, answer_all).await
    }
}

impl View {
    /// One question about several resources of a type, which evaluates the actor's part once; `None` if it is
    /// better to ask about each resource alone.
    async fn prepare_any(
        &self,
        actor: &Value,
        action: &str,
        resources: &[Value],
    ) -> Result<Option<Prepared>, EngineError> {
        let question = questions::authorize_any(actor, action, resources);
        let Some(question) = question.filter(|_| resources.len() > 1) else { return Ok(None) };
        match self.prepare(&question).await {
            Ok(prepared) => Ok(prepared.is_enumerable().then_some(prepared)),
            // A check of a single resource is seldom refused for these. If it is, the caller
            // gets that refusal.
            Err(EngineError::Refused(refused)) if refused.refusal.values_may_help() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The resources with one of these ids, in their order; `None` among the ids means all.
fn among(resources: &[Value], ids: Vec<Option<String>>) -> Vec<Value> {
    let Some(ids) = ids.into_iter().collect::<Option<BTreeSet<String>>>() else { return resources.to_vec() };
    resources.iter().filter(|resource| ids.contains(&resource.id)).cloned().collect()
}

/// Ids as they go over the wire: in the store's order, in which they arrive, with [`ANY`] sorted in for a row
/// of any value. Numbers come before other texts, ordered by value.
pub(super) fn sorted(ids: Vec<Option<String>>) -> Vec<String> {
    let any = ids.iter().any(Option::is_none);
    let mut ids: Vec<String> = ids.into_iter().flatten().collect();
    if any && let Err(place) = ids.binary_search_by(|id| compact(id).cmp(&compact(ANY))) {
        ids.insert(place, ANY.to_owned());
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::sorted;

    #[test]
    fn any_takes_its_place_among_the_ids_once() {
        let ids = |ids: &[Option<&str>]| ids.iter().map(|id| id.map(str::to_owned)).collect();
        assert_eq!(
            sorted(ids(&[None, Some("7"), Some("10"), Some("$"), Some("a")])),
            ["7", "10", "$", "*", "a"]
        );
        assert_eq!(sorted(ids(&[None, Some("$"), Some("*"), Some("a")])), ["$", "*", "a"]);
        assert_eq!(sorted(ids(&[Some("10"), Some("a")])), ["10", "a"]);
    }
}
