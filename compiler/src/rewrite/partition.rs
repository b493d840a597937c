//! Sorts relations into the largest classes whose members are alike.
//!
//! In: for each relation the relations that it calls, and a key in which these are represented by their
//! classes. Out: the coarsest partition in which the relations of a class have equal keys. It is found by
//! refinement (Hopcroft 1971; Paige and Tarjan 1987): all relations start in one class. Where a class splits,
//! the largest part keeps its number, and only readers of the others are looked at again: each relation
//! changes its number at most `log n` times.

use crate::datalog::RelId;
use crate::id_vec::{IdVec, id};
use crate::ordered::{OrderedMap, OrderedSet};
use std::hash::Hash;

id!(/// Relations that are alike, as far as is known.
    pub(super) ClassId, "class");

/// The class of each relation.
pub(super) type Classes = IdVec<RelId, ClassId>;

/// Relations in classes.
struct Partition {
    classes: Classes,
    /// The relations of each class.
    members: IdVec<ClassId, OrderedSet<RelId>>,
}

/// Sorts relations into classes. `calls` has the relations whose classes are in each relation's key.
pub(super) fn coarsest<Key: Hash + Eq>(
    calls: &IdVec<RelId, Vec<RelId>>,
    key: impl Fn(RelId, &Classes) -> Key,
) -> Classes {
    let readers = readers(calls);
    let mut partition = Partition::of_one_class(calls);
    let mut stale: OrderedSet<RelId> = calls.ids().collect();
    while !stale.is_empty() {
        // The keys of a class were equal: those that may have changed differ from those that have not.
        let mut parts_of: OrderedMap<ClassId, OrderedMap<Key, OrderedSet<RelId>>> = OrderedMap::default();
        for rel in &stale {
            let parts = parts_of.entry(partition.classes[*rel]).or_default();
            parts.entry(key(*rel, &partition.classes)).or_default().insert(*rel);
        }
        let mut renumbered = Vec::new();
        for (class, parts) in parts_of {
            partition.split(class, parts.into_values().collect(), &mut renumbered);
        }
        stale = renumbered.iter().flat_map(|rel| readers[*rel].iter().copied()).collect();
    }
    partition.classes
}

/// The relations that call each relation.
fn readers(calls: &IdVec<RelId, Vec<RelId>>) -> IdVec<RelId, Vec<RelId>> {
    let mut readers = IdVec::like(calls, Vec::new());
    for (reader, rels) in calls.enumerate() {
        for rel in rels {
            readers[*rel].push(reader);
        }
    }
    readers
}

impl Partition {
    fn of_one_class<T>(relations: &IdVec<RelId, T>) -> Self {
        let mut members = IdVec::new();
        let class = members.push(relations.ids().collect());
        Self { classes: IdVec::like(relations, class), members }
    }

    /// Splits disjoint parts of a class from each other and from the rest. The largest part, or the rest,
    /// remains; the relations that leave are added to `renumbered`.
    fn split(&mut self, class: ClassId, mut parts: Vec<OrderedSet<RelId>>, renumbered: &mut Vec<RelId>) {
        let members = &mut self.members[class];
        for rel in parts.iter().flatten() {
            members.swap_remove(rel);
        }
        let largest = parts.iter_mut().max_by_key(|part| part.len());
        if let Some(largest) = largest.filter(|largest| largest.len() > members.len()) {
            std::mem::swap(largest, members);
        }
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            renumbered.extend(&part);
            let class = self.members.push(part);
            for rel in &self.members[class] {
                self.classes[*rel] = class;
            }
        }
    }
}
