//! Relations with the same clauses become one.
//!
//! In: a [`Specialised`] program. Out: the same answers with fewer relations. Two predicates, or one for two
//! types, often specialise to the same clauses up to the relations that those call. The coarsest partition
//! in which members of a class have equal clauses, with calls read as calls of classes, is found by
//! refinement (Hopcroft 1971): relations of one class have the same least fixpoint. Where a class splits, the
//! largest part keeps its number, and only readers of the others are looked at again: each relation changes
//! its number at most `log n` times.

use super::collapse::n_tested;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::specialise::clause::{Clause, Goal, RelId, Specialised, Term};
use rustc_hash::{FxHashMap, FxHashSet};

/// A relation's clauses, over classes.
type Key = Vec<(Vec<Term>, Vec<Goal>)>;

/// Replaces each relation by the first one of its class.
pub(super) fn unify(program: &mut Specialised) {
    let classes = refine(program);
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
    for relation in program.relations.iter_mut().filter(|relation| relation.clauses.len() > 1) {
        let mut kept: FxHashSet<(Vec<Term>, Vec<Goal>)> = FxHashSet::default();
        relation.clauses.retain(|clause| kept.insert((clause.head.clone(), clause.goals.clone())));
    }
}

/// The relations that call each relation.
fn readers(program: &Specialised) -> Vec<Vec<usize>> {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); program.relations.len()];
    for (reader, relation) in program.relations.iter().enumerate() {
        for goal in relation.clauses.iter().flat_map(|clause| &clause.goals) {
            if let Goal::Call { rel, .. } = goal
                && let Some(readers) = readers.get_mut(rel.0)
            {
                readers.push(reader);
            }
        }
    }
    readers
}

/// Returns the class of each relation.
fn refine(program: &Specialised) -> Vec<usize> {
    let readers = readers(program);
    let mut partition = Partition::new(program.relations.iter().map(n_tested));
    let mut stale: OrderedSet<usize> = (0..program.relations.len()).collect();
    while !stale.is_empty() {
        // The keys of a class were equal: those that may have changed differ from those that have not.
        let mut parts_of: OrderedMap<usize, OrderedMap<Key, OrderedSet<usize>>> = OrderedMap::default();
        for rel in &stale {
            if let (Some(relation), Some(class)) = (program.relations.get(*rel), partition.classes.get(*rel))
            {
                let clauses = relation.clauses.iter();
                let key = clauses.map(|clause| over_classes(clause, &partition.classes)).collect();
                parts_of.entry(*class).or_default().entry(key).or_default().insert(*rel);
            }
        }
        let mut renumbered = Vec::new();
        for (class, parts) in parts_of {
            partition.split(class, parts.into_values().collect(), &mut renumbered);
        }
        stale = renumbered.iter().filter_map(|rel| readers.get(*rel)).flatten().copied().collect();
    }
    partition.classes
}

/// Relations in classes.
struct Partition {
    /// For each relation its class.
    classes: Vec<usize>,
    /// For each class its relations.
    members: Vec<OrderedSet<usize>>,
}

impl Partition {
    /// Relations with the same number start in the same class.
    fn new(numbers: impl Iterator<Item = usize>) -> Self {
        let mut known: OrderedSet<usize> = OrderedSet::default();
        let classes: Vec<usize> = numbers.map(|number| known.insert_full(number).0).collect();
        let mut members = vec![OrderedSet::default(); known.len()];
        for (rel, class) in classes.iter().enumerate() {
            if let Some(members) = members.get_mut(*class) {
                members.insert(rel);
            }
        }
        Self { classes, members }
    }

    /// Splits disjoint parts of a class from each other and from the rest. The largest part, or the rest,
    /// remains; the relations that leave are added to `renumbered`.
    fn split(&mut self, class: usize, mut parts: Vec<OrderedSet<usize>>, renumbered: &mut Vec<usize>) {
        let Some(members) = self.members.get_mut(class) else { return };
        for rel in parts.iter().flatten() {
            members.swap_remove(rel);
        }
        let largest = parts.iter_mut().max_by_key(|part| part.len());
        if let Some(largest) = largest.filter(|largest| largest.len() > members.len()) {
            std::mem::swap(largest, members);
        }
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            for rel in &part {
                if let Some(slot) = self.classes.get_mut(*rel) {
                    *slot = self.members.len();
                }
            }
            renumbered.extend(&part);
            self.members.push(part);
        }
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
