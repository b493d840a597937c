//! Proofs: each fact and each derivation that an answer of a run needs, once.

use super::atoms::{self, Attempted};
use super::explanation::{Atom, By, FactOrigin, Instance, MetCondition, Step, StepId};
use super::rows::Rows;
use super::state::{AnswerId, Derivations, FrameId, Via};
use super::world::{Fault, World};
use crate::catalog::{Catalog, RelationSource, SourceId};
use crate::id_vec::IdVec;
use crate::ir::{BodyLiteralId, LiteralKind, Polarity};
use indexmap::IndexMap;
use rustc_hash::FxHashMap;

/// The steps that are needed so far.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// `None` for an answer whose own steps are still to follow.
    known: IdVec<StepId, Option<Step>>,
    by_answer: FxHashMap<AnswerId, StepId>,
    by_fact: IndexMap<(Atom, FactOrigin), StepId>,
    open: Vec<AnswerId>,
}

impl Steps {
    /// The step of an answer; its own steps follow in [`Steps::finish`].
    pub(super) fn answer(&mut self, answer: AnswerId) -> StepId {
        let Self { known, by_answer, open, .. } = self;
        *by_answer.entry(answer).or_insert_with(|| {
            open.push(answer);
            known.push(None)
        })
    }

    /// The step of a fact.
    pub(super) fn fact(&mut self, atom: Atom, catalog: &Catalog, source: SourceId) -> StepId {
        let origin = origin(catalog, source);
        let Self { known, by_fact, .. } = self;
        let fact = (atom.clone(), origin);
        *by_fact
            .entry(fact)
            .or_insert_with(|| known.push(Some(Step { atom, height: 0, by: By::Fact(origin) })))
    }

    /// The steps of the conditions that an attempt satisfied, with the literal of each.
    pub(super) fn conditions<R: Rows>(
        &mut self,
        world: &mut World<'_, R>,
        state: &Derivations,
        frame: FrameId,
    ) -> Vec<(BodyLiteralId, StepId)> {
        // The values of all conditions, also of those that were not known then.
        let attempted = Attempted::of(world, state, frame);
        let mut found = Vec::new();
        for (goal, via) in state.conditions(frame) {
            let Some(literal) = attempted.traced.literals[goal] else { continue };
            match via {
                Via::Row(source) => {
                    let Some(atom) = atoms::literal_atom(world, &attempted, literal) else { continue };
                    found.push((literal, self.fact(atom, &world.rules.catalog, source)));
                }
                Via::Answer(answer) => found.push((literal, self.answer(answer))),
                Via::Assumed | Via::Test => {}
            }
        }
        found
    }

    /// All steps, those that the known ones need included.
    ///
    /// # Errors
    /// [`Fault::Lost`] if the run does not have an attempt of each.
    pub(super) fn finish<R: Rows>(
        mut self,
        world: &mut World<'_, R>,
        state: &Derivations,
    ) -> Result<IdVec<StepId, Step>, Fault<R::Error>> {
        while let Some(answer) = self.open.pop() {
            let id = self.answer(answer);
            self.known[id] = self.expanded(world, state, answer);
        }
        self.known.into_iter().collect::<Option<_>>().ok_or(Fault::Lost)
    }

    fn expanded<R: Rows>(
        &mut self,
        world: &mut World<'_, R>,
        state: &Derivations,
        answer: AnswerId,
    ) -> Option<Step> {
        let atom = atoms::answered(world, state, answer)?;
        let found = &state.answers[answer];
        let (height, frame) = found.best.or_else(|| Some((0, *found.derivations.first()?)))?;
        let attempted = Attempted::of(world, state, frame);
        let (Some(rule_id), Some(rule)) = (attempted.traced.clause.rule, attempted.rule) else {
            let source = state.conditions(frame).into_iter().find_map(|(_, via)| match via {
                Via::Row(source) => Some(source),
                Via::Answer(_) | Via::Assumed | Via::Test => None,
            });
            let origin = origin(&world.rules.catalog, source?);
            return Some(Step { atom, height, by: By::Fact(origin) });
        };
        let steps: FxHashMap<BodyLiteralId, StepId> =
            self.conditions(world, state, frame).into_iter().collect();
        let mut conditions = Vec::with_capacity(rule.body.len());
        for (id, literal) in rule.body.enumerate() {
            conditions.push(match &literal.kind {
                LiteralKind::Atom { polarity, .. } => match (polarity, steps.get(&id)) {
                    (Polarity::Negated, _) => atoms::absent(world, &attempted, id)?,
                    (Polarity::Positive, Some(step)) => MetCondition::Step(*step),
                    (Polarity::Positive, None) => {
                        MetCondition::Holds(atoms::literal_atom(world, &attempted, id)?)
                    }
                },
                LiteralKind::Compare { .. }
                | LiteralKind::OneOf { .. }
                | LiteralKind::NotOfType { .. }
                | LiteralKind::False => MetCondition::Test(atoms::test(world, &attempted, literal)),
            });
        }
        Some(Step { atom, height, by: By::Rule(Instance { rule: rule_id, conditions }) })
    }
}

fn origin(catalog: &Catalog, source: SourceId) -> FactOrigin {
    match catalog.relations[source].source {
        RelationSource::Context { .. } => FactOrigin::Context,
        RelationSource::Bound { binding, .. } => FactOrigin::Bound(binding),
        RelationSource::Table { .. } => FactOrigin::Stored,
    }
}
