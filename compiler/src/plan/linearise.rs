//! Transitivity becomes linear: `p :- p, p` with exits `e` is the same as `p :- e, p`.
//!
//! In: a [`Specialised`] program. Out: the same answers, with fewer clauses that call their component twice.
//! Only where it is provably the same: the relation is alone in its component, its one step is
//! `p(x, z, i) :- p(x, y, i), p(y, z, i)` with nothing else in it, and composition pairs the same columns
//! on both sides, so that it is associative.

use super::planner;
use crate::ir::Polarity;
use crate::specialise::clause::{Clause, Goal, RelId, Relation, Specialised, Term};

/// Rewrites every transitive relation of the program.
pub(crate) fn linearise(program: &mut Specialised) {
    for rel in planner::alone(&program.relations) {
        let Some(relation) = program.relation(rel).cloned() else { continue };
        let is_step = |clause: &&Clause| calls(clause).any(|callee| callee == rel);
        let steps: Vec<&Clause> = relation.clauses.iter().filter(is_step).collect();
        let [step] = steps.as_slice() else { continue };
        let Some(right) = transitive(rel, step) else { continue };
        let exits: Vec<Clause> = relation.clauses.iter().filter(|clause| !is_step(clause)).cloned().collect();
        let exit_rel = RelId(program.relations.len());
        let mut linear = (*step).clone();
        if let Some(Goal::Call { rel: callee, .. }) = linear.goals.get_mut(right) {
            *callee = exit_rel;
        }
        let mut clauses = exits.clone();
        clauses.push(linear);
        program.relations.push(Relation { clauses: exits, ..relation.clone() });
        if let Some(slot) = program.relations.get_mut(rel.0) {
            slot.clauses = clauses;
        }
    }
}

fn calls(clause: &Clause) -> impl Iterator<Item = RelId> {
    clause.goals.iter().filter_map(|goal| match goal {
        Goal::Call { rel, .. } => Some(*rel),
        Goal::Scan { .. } | Goal::Values { .. } | Goal::Compare { .. } | Goal::Rows { .. } => None,
    })
}

/// The index of the goal to replace by the exits, if the clause is transitivity and nothing else.
fn transitive(rel: RelId, clause: &Clause) -> Option<usize> {
    let [
        Goal::Call { polarity: Polarity::Positive, rel: left_rel, args: left, .. },
        Goal::Call { polarity: Polarity::Positive, rel: right_rel, args: right, .. },
    ] = clause.goals.as_slice()
    else {
        return None;
    };
    if *left_rel != rel || *right_rel != rel {
        return None;
    }
    let head = &clause.head;
    let distinct = |terms: &[Term]| {
        terms.iter().enumerate().all(|(at, term)| {
            matches!(term, Term::Var(_)) && !terms.iter().skip(at + 1).any(|other| other == term)
        })
    };
    if !distinct(head) || !distinct(left) || !distinct(right) {
        return None;
    }
    composes(head, left, right).or_else(|| composes(head, right, left).map(|_| 1)).map(|_| 0)
}

/// Whether `head` is `first` composed with `second`: each column is invariant, from the first alone (where
/// the second has the middle), or from the second alone (where the first has the middle).
fn composes(head: &[Term], first: &[Term], second: &[Term]) -> Option<usize> {
    let columns =
        || head.iter().zip(first).zip(second).map(|((head, first), second)| (*head, *first, *second));
    let mut from_first = Vec::new();
    let mut from_second = Vec::new();
    for (head_term, first_term, second_term) in columns() {
        if head_term == first_term && head_term == second_term {
            continue;
        }
        if head_term == first_term && !head.contains(&second_term) {
            from_first.push(second_term);
        } else if head_term == second_term && !head.contains(&first_term) {
            from_second.push(first_term);
        } else {
            return None;
        }
    }
    let paired =
        from_first.len() == from_second.len() && from_first.iter().all(|term| from_second.contains(term));
    (paired && !from_first.is_empty()).then_some(0)
}
