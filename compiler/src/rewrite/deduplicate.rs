//! Relations with the same clauses become one.
//!
//! In: a [`Specialised`] program. Out: the same answers with fewer relations. Two predicates, or one for two
//! types, often specialise to the same clauses up to the relations that those call. Relations are put into
//! the largest classes whose members have equal clauses, with calls read as calls of classes: relations of
//! one class have the same least fixpoint.

use super::partition::{ClassId, Classes, coarsest};
use crate::datalog::{Adornment, Clause, Goal, RelId, Relation, Specialised, Term};
use crate::id_vec::IdVec;
use crate::ordered::OrderedMap;
use rustc_hash::FxHashSet;

/// Replaces each relation by the first one of its class.
pub(super) fn deduplicate(program: &mut Specialised) {
    let callees = |relation: &Relation| relation.clauses.iter().flat_map(Clause::callees).collect();
    let calls: IdVec<RelId, Vec<RelId>> = program.relations.iter().map(callees).collect();
    let classes = coarsest(&calls, |rel, classes| {
        let relation = &program.relations[rel];
        let clauses = relation.clauses.iter().map(|clause| over_classes(clause, classes));
        (given_columns(relation), clauses.collect::<Vec<_>>())
    });
    let mut firsts: OrderedMap<ClassId, RelId> = OrderedMap::default();
    let first_of_class: IdVec<RelId, RelId> =
        classes.enumerate().map(|(rel, class)| *firsts.entry(*class).or_insert(rel)).collect();
    let clauses = program.relations.iter_mut().flat_map(|relation| &mut relation.clauses);
    for clause in clauses.chain(program.roots.iter_mut().map(|root| &mut root.clause)) {
        for goal in &mut clause.goals {
            if let Goal::Call { rel, .. } = goal {
                *rel = first_of_class[*rel];
            }
        }
    }
    for relation in program.relations.iter_mut().filter(|relation| relation.clauses.len() > 1) {
        let mut kept: FxHashSet<(Vec<Term>, Vec<Goal>)> = FxHashSet::default();
        relation.clauses.retain(|clause| kept.insert((clause.head.clone(), clause.goals.clone())));
    }
}

/// Each column of a relation, with its type unless its values are only tested. A recursion that starts from
/// nothing has equal clauses for any type.
fn given_columns(relation: &Relation) -> Vec<Option<Adornment>> {
    let columns = relation.adornments.iter().filter(|adornment| adornment.has_column());
    columns.map(|adornment| (!adornment.is_tested()).then_some(*adornment)).collect()
}

/// A clause as a key: the number of a class takes the place of each relation that is called.
fn over_classes(clause: &Clause, classes: &Classes) -> (Vec<Term>, Vec<Goal>) {
    let mut goals = clause.goals.clone();
    for goal in &mut goals {
        if let Goal::Call { rel, .. } = goal {
            *rel = RelId::from_index(classes[*rel].index());
        }
    }
    (clause.head.clone(), goals)
}
