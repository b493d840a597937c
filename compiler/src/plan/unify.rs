//! Relations with the same clauses become one.
//!
//! In: a [`Specialised`] program. Out: the same answers with fewer relations. Two predicates, or one for two
//! types, often specialise to the same clauses up to the relations that those call. The coarsest partition
//! in which members of a class have equal clauses, with calls read as calls of classes, is found by
//! refinement (Hopcroft 1971, without the worklist): relations of one class have the same least fixpoint.

use super::collapse::n_tested;
use crate::specialise::clause::{Clause, Goal, RelId, Specialised, Term};
use rustc_hash::FxHashMap;

/// What distinguishes a relation: its class so far, and its clauses over classes.
type Key = (usize, Vec<(Vec<Term>, Vec<Goal>)>);

/// Replaces each relation by the first one of its class.
pub(super) fn unify(program: &mut Specialised) {
    let mut classes: Vec<usize> = program.relations.iter().map(n_tested).collect();
    let mut count = 0;
    loop {
        let mut numbers: FxHashMap<Key, usize> = FxHashMap::default();
        let mut next = Vec::with_capacity(classes.len());
        for (rel, relation) in program.relations.iter().enumerate() {
            let class = classes.get(rel).copied().unwrap_or(0);
            let clauses = relation.clauses.iter().map(|clause| over_classes(clause, &classes));
            let fresh = numbers.len();
            next.push(*numbers.entry((class, clauses.collect())).or_insert(fresh));
        }
        classes = next;
        if numbers.len() == count {
            break;
        }
        count = numbers.len();
    }
    let mut firsts: FxHashMap<usize, RelId> = FxHashMap::default();
    for (rel, class) in classes.iter().enumerate() {
        firsts.entry(*class).or_insert(RelId(rel));
    }
    let first = |rel: RelId| classes.get(rel.0).and_then(|class| firsts.get(class)).copied().unwrap_or(rel);
    let clauses = program.relations.iter_mut().flat_map(|relation| &mut relation.clauses);
    for clause in clauses.chain(program.roots.iter_mut().map(|root| &mut root.clause)) {
        for goal in &mut clause.goals {
            if let Goal::Call { rel, .. } = goal {
                *rel = first(*rel);
            }
        }
    }
    for relation in &mut program.relations {
        let mut kept: Vec<Clause> = Vec::with_capacity(relation.clauses.len());
        for clause in relation.clauses.drain(..) {
            let known = kept.iter().any(|other| other.head == clause.head && other.goals == clause.goals);
            if !known {
                kept.push(clause);
            }
        }
        relation.clauses = kept;
    }
}

fn over_classes(clause: &Clause, classes: &[usize]) -> (Vec<Term>, Vec<Goal>) {
    let mut goals = clause.goals.clone();
    for goal in &mut goals {
        if let Goal::Call { rel, .. } = goal {
            *rel = RelId(classes.get(rel.0).copied().unwrap_or(0));
        }
    }
    (clause.head.clone(), goals)
}
