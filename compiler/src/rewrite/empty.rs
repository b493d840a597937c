//! Removes what cannot hold and what nothing reaches.
//!
//! A clause that calls an empty relation derives nothing, and a negation of an empty relation always holds. A
//! relation that the question does not reach is emptied. Ids stay as they are.

use crate::datalog::{Clause, Goal, RelId, Specialised};
use crate::id_vec::IdVec;
use crate::ir::Polarity;
use crate::ordered::OrderedSet;

/// Removes clauses that call a relation without clauses, and negations of such relations.
pub(super) fn drop_empty(program: &mut Specialised) {
    let mut readers: IdVec<RelId, Vec<RelId>> = IdVec::like(&program.relations, Vec::new());
    for (reader, relation) in program.relations.enumerate() {
        for rel in relation.clauses.iter().flat_map(Clause::callees) {
            readers[rel].push(reader);
        }
    }
    let mut empty: IdVec<RelId, bool> =
        program.relations.iter().map(|relation| relation.clauses.is_empty()).collect();
    let mut emptied: Vec<RelId> = empty.ids().filter(|rel| empty[*rel]).collect();
    while !emptied.is_empty() {
        let affected: OrderedSet<RelId> =
            emptied.drain(..).flat_map(|rel| readers[rel].iter().copied()).collect();
        for rel in affected {
            let clauses = &mut program.relations[rel].clauses;
            if !clauses.is_empty() {
                clauses.retain_mut(|clause| is_possible(clause, &empty));
                if clauses.is_empty() {
                    emptied.push(rel);
                }
            }
        }
        for rel in &emptied {
            empty[*rel] = true;
        }
    }
    program.roots.retain_mut(|root| is_possible(&mut root.clause, &empty));
}

/// Whether a clause calls no empty relation; removes its negations of empty relations.
fn is_possible(clause: &mut Clause, empty: &IdVec<RelId, bool>) -> bool {
    let calls_empty = |goal: &Goal, wanted: Polarity| match goal {
        Goal::Call { polarity, rel, .. } => *polarity == wanted && empty[*rel],
        Goal::Scan { .. } | Goal::Values { .. } | Goal::Compare { .. } => false,
    };
    clause.goals.retain(|goal| !calls_empty(goal, Polarity::Negated));
    !clause.goals.iter().any(|goal| calls_empty(goal, Polarity::Positive))
}

/// Empties the relations that the question does not reach.
pub(super) fn drop_unreached(program: &mut Specialised) {
    let mut reached: IdVec<RelId, bool> = IdVec::like(&program.relations, false);
    let mut queue: Vec<RelId> = program.roots.iter().flat_map(|root| root.clause.callees()).collect();
    while let Some(next) = queue.pop() {
        if !std::mem::replace(&mut reached[next], true) {
            queue.extend(program.relations[next].clauses.iter().flat_map(Clause::callees));
        }
    }
    for (relation, reached) in program.relations.iter_mut().zip(&reached) {
        if !reached {
            relation.clauses.clear();
        }
    }
}
