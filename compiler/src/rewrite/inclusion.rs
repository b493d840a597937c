//! Which relations include which by renaming.
//!
//! In: a [`Specialised`] program. Out: for a relation, all that it includes: those that a clause of it, or of
//! what it includes, calls with just the head's own columns. Relations that include each other form a group:
//! they hold the same tuples, and one of them represents all.
//!
//! Only what is asked for is found. A chain of `n` relations includes `n * n / 2`, so what is found in all is
//! bounded; beyond it a relation includes nothing but itself. That is never wrong: inclusions are only used
//! to leave something out.

use crate::datalog::graph::components;
use crate::datalog::{Clause, Goal, RelId, Specialised, Term};
use crate::id_vec::{IdVec, id};
use crate::ir::Polarity;
use crate::limits;
use crate::ordered::OrderedSet;
use rustc_hash::{FxHashMap, FxHashSet};

id!(/// A group of relations that include each other.
    GroupId, "group");

/// Relations that include each other.
struct Peers {
    /// The one that takes the place of all of them.
    representative: RelId,
    /// Ascending.
    members: Vec<RelId>,
    /// The relations that the members rename, in order.
    renamed: OrderedSet<RelId>,
}

/// The inclusions of a program.
pub(super) struct Inclusions {
    /// For each relation its group.
    group_of: IdVec<RelId, GroupId>,
    groups: IdVec<GroupId, Peers>,
    /// For a group all that it includes, itself first.
    found: FxHashMap<GroupId, OrderedSet<GroupId>>,
    /// The number of inclusions that may still be found.
    budget: usize,
}

impl Inclusions {
    /// Groups the relations.
    pub(super) fn new(program: &Specialised) -> Self {
        let n_relations = program.relations.len();
        let renamed_by: IdVec<RelId, Vec<RelId>> = program
            .relations
            .iter()
            .map(|relation| relation.clauses.iter().filter_map(renamed).collect())
            .collect();
        let edges = renamed_by
            .enumerate()
            .flat_map(|(reader, all)| all.iter().map(move |rel| (reader.index(), rel.index())));
        let mut group_of = IdVec::like(&program.relations, GroupId::from_index(0));
        let mut groups = IdVec::new();
        for component in components(n_relations, edges) {
            let members: Vec<RelId> = component.nodes.into_iter().map(RelId::from_index).collect();
            let Some(representative) = members.first().copied() else { continue };
            let renamed = members.iter().flat_map(|member| &renamed_by[*member]).copied().collect();
            let group = groups.push(Peers { representative, members, renamed });
            groups[group].members.iter().for_each(|member| group_of[*member] = group);
        }
        Self { group_of, groups, found: FxHashMap::default(), budget: limits::INCLUSIONS }
    }

    /// The relations that hold the same tuples as this one, itself among them.
    pub(super) fn group(&self, rel: RelId) -> &[RelId] {
        &self.groups[self.group_of[rel]].members
    }

    /// The relation that represents its group.
    pub(super) fn representative(&self, rel: RelId) -> RelId {
        self.groups[self.group_of[rel]].representative
    }

    /// Whether every tuple of `smaller` is known to be one of `larger`.
    pub(super) fn includes(&mut self, larger: RelId, smaller: RelId) -> bool {
        let group = self.group_of[smaller];
        larger == smaller || self.find(larger).is_some_and(|found| found.contains(&group))
    }

    /// All that the relation includes, its group first; the group alone if the rest is too much to find.
    pub(super) fn included(&mut self, rel: RelId) -> Vec<RelId> {
        let Some(found) = self.find(rel).cloned() else { return self.group(rel).to_vec() };
        found.iter().flat_map(|group| self.groups[*group].members.iter().copied()).collect()
    }

    /// The groups that the relation's group includes; `None` if that is too much to find.
    fn find(&mut self, rel: RelId) -> Option<&OrderedSet<GroupId>> {
        let group = self.group_of[rel];
        if !self.found.contains_key(&group) {
            let mut found = OrderedSet::from_iter([group]);
            let mut at = 0;
            while let Some(next) = found.get_index(at).map(|next| &self.groups[*next]) {
                self.budget = self.budget.checked_sub(next.renamed.len() + 1)?;
                found.extend(next.renamed.iter().map(|rel| self.group_of[*rel]));
                at += 1;
            }
            self.found.insert(group, found);
        }
        self.found.get(&group)
    }
}

/// The relation that a clause merely renames.
pub(super) fn renamed(clause: &Clause) -> Option<RelId> {
    let [Goal::Call { polarity: Polarity::Positive, rel, args, guards }] = clause.goals.as_slice() else {
        return None;
    };
    let distinct: FxHashSet<Term> =
        clause.head.iter().copied().filter(|term| matches!(term, Term::Var(_))).collect();
    (guards.is_empty() && *args == clause.head && distinct.len() == clause.head.len()).then_some(*rel)
}
