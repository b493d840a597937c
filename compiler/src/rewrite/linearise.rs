//! Transitivity becomes linear: `p :- p, p` with exits `e` is the same as `p :- e, p`.
//!
//! In: a [`Specialised`] program. Out: the same answers, with fewer clauses that call their component twice.
//! Only where it is provably the same: the relation is alone in its component, its one step is
//! `p(x, z, i) :- p(x, y, i), p(y, z, i)` with nothing else in it, and composition pairs the same columns
//! on both sides, so that it is associative.

use crate::datalog::{Clause, Goal, RelId, Relation, Specialised, Term};
use crate::ir::Polarity;

/// Rewrites every transitive relation of the program.
pub(super) fn linearise(program: &mut Specialised) {
    for rel in program.self_recursive() {
        let relation = program.relations[rel].clone();
        let is_step = |clause: &&Clause| clause.callees().any(|callee| callee == rel);
        let steps: Vec<&Clause> = relation.clauses.iter().filter(is_step).collect();
        let [step] = steps.as_slice() else { continue };
        if !is_transitive(rel, step) {
            continue;
        }
        let exits: Vec<Clause> = relation.clauses.iter().filter(|clause| !is_step(clause)).cloned().collect();
        let exit_rel = program.relations.push(Relation { clauses: exits.clone(), ..relation.clone() });
        let mut linear = (*step).clone();
        if let Some(Goal::Call { rel: callee, .. }) = linear.goals.first_mut() {
            *callee = exit_rel;
        }
        program.relations[rel].clauses = exits.into_iter().chain([linear]).collect();
    }
}

/// Whether the clause is transitivity and nothing else.
fn is_transitive(rel: RelId, clause: &Clause) -> bool {
    let [
        Goal::Call { polarity: Polarity::Positive, rel: left_rel, args: left, .. },
        Goal::Call { polarity: Polarity::Positive, rel: right_rel, args: right, .. },
    ] = clause.goals.as_slice()
    else {
        return false;
    };
    let head = &clause.head;
    let distinct = |terms: &[Term]| {
        terms.iter().enumerate().all(|(at, term)| {
            matches!(term, Term::Var(_)) && !terms.iter().skip(at + 1).any(|other| other == term)
        })
    };
    [*left_rel, *right_rel] == [rel, rel]
        && [head, left, right].into_iter().all(|terms| distinct(terms))
        && composes(head, left, right)
}

/// Whether `head` is `first` composed with `second`: each column is invariant, from the first alone (where
/// the second has the middle), or from the second alone (where the first has the middle).
fn composes(head: &[Term], first: &[Term], second: &[Term]) -> bool {
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
            return false;
        }
    }
    let paired =
        from_first.len() == from_second.len() && from_first.iter().all(|term| from_second.contains(term));
    paired && !from_first.is_empty()
}
