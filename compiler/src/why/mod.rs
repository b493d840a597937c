//! Why a question holds, why it does not, and what would make it hold.
//!
//! In: a program, a question, and the facts, read through [`Rows`] alone. Out: an [`Explanation`]. Nothing is
//! recorded while questions are answered; an explanation derives the answer again, from the traced program
//! (`specialise::trace`), whose clauses are still the policy's rules. It is a different evaluator than the
//! statements that answer, so a caller must compare its [`Verdict`] with the answer.
//!
//! A proof has the least height: no other needs fewer rules on top of each other. All work is within a
//! [`Budget`].

mod atoms;
mod choose;
mod claim;
mod evaluate;
mod explanation;
mod failure;
mod height;
mod possible;
mod proof;
mod rows;
mod rules;
mod run;
mod state;
mod step;
mod suggest;
mod terms;
#[cfg(test)]
mod tests;
mod values;
mod world;

pub use explanation::{
    Arg, Atom, Attempt, By, Explanation, FactOrigin, FailedGoal, FailureId, Instance, Lack, MetCondition,
    Step, StepId, Suggestion, Verdict,
};
pub use rows::{Budget, Rows};
pub use rules::Rules;
pub use suggest::{SuggestionSearch, Suggestions};

use crate::builtin::{ALLOW, HAS_PERMISSION, HAS_RELATION, HAS_ROLE};
use crate::catalog::Catalog;
use crate::deadline::Deadline;
use crate::id_vec::IdVec;
use crate::ir::Program;
use crate::ordered::OrderedSet;
use crate::question::{CompileError, Question, Shape};
use crate::refusal::{Place, Refusal};
use crate::specialise;
use failure::Failures;
use proof::Steps;
use run::Run;
use world::{Fault, OpenClause, World};

/// Why there is no explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyError<E> {
    /// Rows could not be read.
    Rows(E),
    /// No explanation is possible.
    Refused(Refusal),
    /// An internal invariant did not hold.
    Lost,
}

impl<E> WhyError<E> {
    /// What ended a run; `None` if its budget did.
    fn of(fault: Fault<E>, program: &Program) -> Option<Self> {
        match fault {
            Fault::Spent => None,
            Fault::Open(open) => Some(Self::open(open, program)),
            Fault::Lost => Some(Self::Lost),
            Fault::Rows(error) => Some(Self::Rows(error)),
        }
    }
}

impl<E> WhyError<E> {
    fn open(OpenClause { rule, var }: OpenClause, program: &Program) -> Self {
        let rule = rule.and_then(|rule| Place::of_rule(&program.source, program.rules[rule].span));
        Self::Refused(Refusal::NotExplainable { var, rule })
    }
}

/// An explanation, and what would make the question hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    /// The explanation.
    pub explanation: Explanation,
    /// If the question does not hold: facts that may make it hold. The search has a limit of its own.
    pub suggestions: Suggestions,
}

impl Rules {
    /// The rules of a question's shape over the relations of a catalog.
    ///
    /// # Errors
    /// [`CompileError::Refused`] if the policy would be copied too often, or a type is missing;
    /// [`CompileError::OutOfTime`] after the deadline.
    pub fn new(
        program: &Program,
        catalog: &Catalog,
        shape: &Shape,
        deadline: Deadline,
    ) -> Result<Self, CompileError> {
        let n_stored = catalog.relations.len();
        let (extended, is_cut) = possible::with_possible(program, catalog);
        let (catalog, traced, is_cut) = match specialise::trace(program, &extended, shape, deadline) {
            Ok(traced) => (extended, traced, is_cut),
            // Without the facts that only could exist there are fewer copies of rules, and
            // rules that only such facts reach do not apply: neither their number nor a test
            // in one of them prevents an explanation.
            Err(CompileError::Refused(Refusal::TooLarge { .. } | Refusal::Untyped { .. })) => {
                (catalog.clone(), specialise::trace(program, catalog, shape, deadline)?, true)
            }
            Err(error) => return Err(error),
        };
        let heads = program.rules.iter().map(|rule| program.predicate(rule.head));
        let (derived, others): (OrderedSet<String>, OrderedSet<String>) = heads
            .map(|predicate| predicate.name.clone())
            .partition(|name| name == ALLOW || name == HAS_PERMISSION);
        let stored = catalog.relations.iter().take(n_stored).map(|relation| relation.predicate.as_str());
        let stored: OrderedSet<&str> = stored.chain([HAS_ROLE, HAS_RELATION]).collect();
        let is_helper = |name: &String| !stored.contains(name.as_str()) && !program.declared.contains(name);
        let helpers = others.into_iter().filter(is_helper).collect();
        Ok(Self { catalog, n_stored, traced, derived, helpers, is_cut })
    }

    /// About how many bytes it takes.
    pub fn n_bytes(&self) -> usize {
        let clause = |traced: &specialise::TracedClause| {
            let terms = traced.vars.len() + traced.clause.goals.len();
            256 + 64 * terms
        };
        let relations = self.traced.relations.iter().flat_map(|relation| &relation.clauses);
        let clauses: usize = relations.chain(&self.traced.roots).map(clause).sum();
        clauses + 256 * self.catalog.relations.len()
    }

    /// Explains a question of the shape; `now` is the value of `@current_unix_time`. If the question does not
    /// hold, also searches for facts that would make it hold.
    ///
    /// # Errors
    /// [`WhyError::Rows`] if rows cannot be read, [`WhyError::Refused`] if no explanation is possible.
    pub fn explain<R: Rows>(
        &self,
        program: &Program,
        question: &Question,
        now: i64,
        rows: &mut R,
        budget: Budget,
        search: Option<SuggestionSearch>,
    ) -> Result<Reasons, WhyError<R::Error>> {
        let mut world = World::new(program, self, question, now, rows);
        world.allow(budget);
        let explanation = self.explanation(&mut world, budget)?;
        let mut reasons = Reasons { explanation, suggestions: Suggestions::default() };
        if let (Verdict::Fails, Some(search)) = (reasons.explanation.verdict, search) {
            let found = suggest::suggest(&mut world, budget, search);
            reasons.suggestions = found.map_err(WhyError::Rows)?;
        }
        Ok(reasons)
    }

    /// Continues an earlier search for facts that may make a question hold.
    ///
    /// # Errors
    /// If rows cannot be read.
    pub fn suggest<R: Rows>(
        &self,
        program: &Program,
        question: &Question,
        now: i64,
        rows: &mut R,
        budget: Budget,
        search: SuggestionSearch,
    ) -> Result<Suggestions, R::Error> {
        suggest::suggest(&mut World::new(program, self, question, now, rows), budget, search)
    }

    fn explanation<R: Rows>(
        &self,
        world: &mut World<'_, R>,
        budget: Budget,
    ) -> Result<Explanation, WhyError<R::Error>> {
        let program = world.program;
        let mut run = Run::new(world);
        let is_spent = ended(run.question(), program)?;
        if is_spent {
            height::compute(&mut run.state, run.world, 0);
        }
        let cut = Explanation { truncated: true, ..Explanation::default() };
        let Some(root) = run.root else { return Ok(cut) };
        let Run { world, state, open, .. } = &mut run;
        let answers = state.tables[root].answers.iter();
        if let Some((_, frame)) = answers.filter_map(|answer| state.answers[*answer].best).min() {
            let mut steps = Steps::default();
            let mut proof = steps.conditions(world, state, frame);
            proof.sort_unstable();
            let proof = proof.into_iter().map(|(_, step)| step).collect();
            let steps = shown(steps.finish(world, state), program)?;
            let (verdict, truncated) = (Verdict::Holds, is_spent || open.is_some());
            return Ok(Explanation { verdict, truncated, steps, proof, failures: IdVec::new() });
        }
        if let Some(open) = open.take() {
            return Err(WhyError::open(open, program));
        }
        if is_spent {
            // What was not looked for to the end may hold.
            return Ok(cut);
        }
        let mut failures = Failures::new();
        run.world.allow(budget);
        let is_cut = ended(failures.explain(&mut run, root), program)?;
        let truncated = is_cut || failures.is_cut || self.is_cut;
        let (failures, steps) = shown(failures.finish(&mut run), program)?;
        let (verdict, proof) = (Verdict::Fails, Vec::new());
        Ok(Explanation { verdict, truncated, steps, proof, failures })
    }
}

/// Whether the budget ended a run.
fn ended<E>(outcome: Result<(), Fault<E>>, program: &Program) -> Result<bool, WhyError<E>> {
    match outcome {
        Ok(()) => Ok(false),
        Err(fault) => WhyError::of(fault, program).map_or(Ok(true), Err),
    }
}

/// What is shown of a run, which takes no budget.
fn shown<T, E>(made: Result<T, Fault<E>>, program: &Program) -> Result<T, WhyError<E>> {
    made.map_err(|fault| WhyError::of(fault, program).unwrap_or(WhyError::Lost))
}
