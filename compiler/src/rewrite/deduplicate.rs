//! Relations with the same clauses become one.
//!
//! In: a [`Specialised`] program. Out: the same answers with fewer relations. Two predicates, or one for two
//! types, often specialise to the same clauses up to the relations that those call. The coarsest partition
//! in which members of a class have equal clauses, with calls read as calls of classes, is found by
//! refinement (Hopcroft 1971): relations of one class have the same least fixpoint. Where a class splits, the
//! largest part keeps its number, and only readers of the others are looked at again: each relation changes
//! its number at most `log n` times.

use crate::datalog::{Clause, Goal, RelId, Relation, Specialised, Term};
use crate::id_vec::IdVec;
use crate::ir::ids::id;
use crate::ordered::{OrderedMap, OrderedSet};
use rustc_hash::FxHashSet;

id!(/// Relations that have the same clauses, as far as is known.
    ClassId, "class");

/// A relation's clauses, over classes.
type ClausesKey = Vec<(Vec<Term>, Vec<Goal>)>;

/// Replaces each relation by the first one of its class.
pub(super) fn deduplicate(program: &mut Specialised) {
    let Partition { classes, members } = refine(program);
    let mut firsts: IdVec<ClassId, Option<RelId>> = IdVec::like(&members, None);
    let first_of_class: IdVec<RelId, RelId> =
        classes.enumerate().map(|(rel, class)| *firsts[*class].get_or_insert(rel)).collect();
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

/// The relations that call each relation.
fn readers(program: &Specialised) -> IdVec<RelId, Vec<RelId>> {
    let mut readers = IdVec::like(&program.relations, Vec::new());
    for (reader, relation) in program.relations.enumerate() {
        for rel in relation.clauses.iter().flat_map(Clause::callees) {
            readers[rel].push(reader);
        }
    }
    readers
}

/// Sorts the relations into classes.
fn refine(program: &Specialised) -> Partition {
    let readers = readers(program);
    let mut partition = Partition::new(program.relations.iter().map(n_tested));
    let mut stale: OrderedSet<RelId> = program.relations.ids().collect();
    while !stale.is_empty() {
        // The keys of a class were equal: those that may have changed differ from those that have not.
        let mut parts_of: OrderedMap<ClassId, OrderedMap<ClausesKey, OrderedSet<RelId>>> =
            OrderedMap::default();
        for rel in &stale {
            let clauses = program.relations[*rel].clauses.iter();
            let key = clauses.map(|clause| over_classes(clause, &partition.classes)).collect();
            let parts = parts_of.entry(partition.classes[*rel]).or_default();
            parts.entry(key).or_default().insert(*rel);
        }
        let mut renumbered = Vec::new();
        for (class, parts) in parts_of {
            partition.split(class, parts.into_values().collect(), &mut renumbered);
        }
        stale = renumbered.iter().flat_map(|rel| readers[*rel].iter().copied()).collect();
    }
    partition
}

/// A number that differs for relations with other columns, or other columns that are only tested.
fn n_tested(relation: &Relation) -> usize {
    let columns = relation.adornments.iter().filter(|adornment| adornment.has_column());
    columns.fold(1, |number, adornment| number * 2 + usize::from(adornment.is_tested()))
}

/// Relations in classes.
struct Partition {
    /// For each relation its class.
    classes: IdVec<RelId, ClassId>,
    /// For each class its relations.
    members: IdVec<ClassId, OrderedSet<RelId>>,
}

impl Partition {
    /// Relations with the same number start in the same class.
    fn new(numbers: impl Iterator<Item = usize>) -> Self {
        let mut known: OrderedMap<usize, ClassId> = OrderedMap::default();
        let mut members: IdVec<ClassId, OrderedSet<RelId>> = IdVec::new();
        let classes: IdVec<RelId, ClassId> = numbers
            .map(|number| *known.entry(number).or_insert_with(|| members.push(OrderedSet::default())))
            .collect();
        for (rel, class) in classes.enumerate() {
            members[*class].insert(rel);
        }
        Self { classes, members }
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

/// A clause as a key: the number of a class takes the place of each relation that is called.
fn over_classes(clause: &Clause, classes: &IdVec<RelId, ClassId>) -> (Vec<Term>, Vec<Goal>) {
    let mut goals = clause.goals.clone();
    for goal in &mut goals {
        if let Goal::Call { rel, .. } = goal {
            *rel = RelId::from_index(classes[*rel].index());
        }
    }
    (clause.head.clone(), goals)
}
