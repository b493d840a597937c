//! Drops the ways to an answer that other rules find anyway.
//!
//! In: a [`Specialised`] program. Out: the same answers with fewer clauses. If a member of a group has the
//! group's role on a folder, and a role on a folder implies it on the folder's repositories, then a role of
//! the group on a folder reaches the user on the repository twice: by the group first, or by the folder
//! first.
//!
//! A clause is superfluous if the other clauses derive its head from its own body for any contents of the
//! relations: uniform containment (Sagiv 1987), which is sound under recursion. A call that only some clauses
//! of the callee make superfluous is replaced by the others:
//!
//! ```text
//! p(u, r) :- group(u, g), q(g, r)         q(g, r) :- grant(g, r)
//!                                         q(g, r) :- in(r, f), s(g, f)       superfluous, if
//! p(u, r) :- in(r, f), t(u, f)            t(u, f) :- group(u, g), s(g, f)
//! ```
//!
//! [`redundant`] leaves out calls of a clause by the same search. It is bounded; what it does not find stays,
//! and costs time but no answer.

mod redundant;
mod search;

pub(super) use redundant::drop_redundant_calls;

use crate::datalog::unfold::unfold_call;
use crate::datalog::{Clause, Goal, RelId, Specialised, Term};
use crate::deadline::Deadline;
use crate::ir::Polarity;
use indexmap::IndexSet;
use search::GOALS;

/// How many clauses and goals the searches of one run over a program may try.
const ALL_STEPS: usize = 100_000;

/// Drops the superfluous clauses of every relation. Whole clauses go first: a rule that another one covers
/// may no longer be covered when that one has lost some of its alternatives, which further rules find.
pub(super) fn drop_contained(program: &mut Specialised, deadline: Deadline) {
    let components = program.strata().into_iter().filter(|component| component.recursive);
    let recursive: IndexSet<RelId> =
        components.flat_map(|component| component.nodes).map(RelId::from_index).collect();
    let mut left = ALL_STEPS;
    replace_clauses(program, &recursive, deadline, |candidate| {
        candidate.is_superfluous(&mut left).then(Vec::new)
    });
    let mut left = ALL_STEPS;
    replace_clauses(program, &recursive, deadline, |candidate| candidate.without_contained(&mut left));
}

/// Replaces clauses of every relation by what `replace` has for them.
fn replace_clauses(
    program: &mut Specialised,
    recursive: &IndexSet<RelId>,
    deadline: Deadline,
    mut replace: impl FnMut(&Candidate<'_>) -> Option<Vec<Clause>>,
) {
    for rel in program.relations.ids() {
        if deadline.is_over() {
            return;
        }
        let mut at = 0;
        while let Some(clause) = program.relations[rel].clauses.get(at) {
            let is_searched = program.relations[rel].clauses.len() > 1 && clause.goals.len() <= GOALS;
            let candidate = Candidate { program, recursive, place: (rel, at), clause };
            let Some(replaced) = is_searched.then(|| replace(&candidate)).flatten() else {
                at += 1;
                continue;
            };
            let n_new = replaced.len();
            program.relations[rel].clauses.splice(at..=at, replaced);
            at += n_new;
        }
    }
}

/// A clause whose answers others may find. `left` is always how many steps searches may still take.
struct Candidate<'p> {
    program: &'p Specialised,
    /// The relations of recursions.
    recursive: &'p IndexSet<RelId>,
    /// The clause's relation, and its place there.
    place: (RelId, usize),
    clause: &'p Clause,
}

impl<'p> Candidate<'p> {
    /// Whether the other clauses find all its answers: as it is, or once a call is replaced by any clause of
    /// what it calls.
    fn is_superfluous(&self, left: &mut usize) -> bool {
        self.is_found(self.clause, left)
            || self.calls().any(|call| {
                call.alternatives
                    .iter()
                    .all(|alternative| self.is_found(&self.with(&call, alternative), left))
            })
    }

    /// Better clauses to replace it, if any.
    fn without_contained(&self, left: &mut usize) -> Option<Vec<Clause>> {
        for call in self.calls() {
            let n_alternatives = call.alternatives.len();
            if n_alternatives < 2 || n_alternatives > *left {
                continue;
            }
            *left -= n_alternatives;
            let unfolded = call.alternatives.iter().map(|alternative| self.with(&call, alternative));
            let kept: Vec<Clause> = unfolded.filter(|clause| !self.is_found(clause, left)).collect();
            if kept.len() < n_alternatives {
                return Some(kept);
            }
        }
        None
    }

    /// Its calls that may be replaced by the clauses of what they call. A recursion is one fixpoint; taken
    /// apart it would be more.
    fn calls(&self) -> impl Iterator<Item = OpenCall<'p>> {
        let Self { program, recursive, clause, .. } = *self;
        clause.goals.iter().enumerate().filter_map(move |(at, goal)| match goal {
            Goal::Call { polarity: Polarity::Positive, rel, args, .. } if !recursive.contains(rel) => {
                let alternatives = program.relations[*rel].clauses.as_slice();
                (!alternatives.is_empty()).then_some(OpenCall { at, args, alternatives })
            }
            _ => None,
        })
    }

    /// The clause with a call replaced.
    fn with(&self, call: &OpenCall<'_>, alternative: &Clause) -> Clause {
        unfold_call(self.clause, call.at, call.args, alternative)
    }

    /// Whether the other clauses find all answers of this version of it.
    fn is_found(&self, clause: &Clause, left: &mut usize) -> bool {
        clause.goals.len() <= GOALS && search::derives_head(self.program, self.place, clause, left)
    }
}

/// A call that may be replaced: its place in the clause, its arguments, and what it calls.
struct OpenCall<'p> {
    at: usize,
    args: &'p [Term],
    alternatives: &'p [Clause],
}
