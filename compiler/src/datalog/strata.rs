//! The order of evaluation: components of relations that call each other, dependencies first.

use super::graph::{StrongComponent, components};
use super::{Clause, RelId, Specialised};
use indexmap::IndexSet;

impl Specialised {
    /// The components of relations that have clauses, dependencies first.
    pub(crate) fn strata(&self) -> Vec<StrongComponent> {
        let edges = self.relations.enumerate().flat_map(|(reader, relation)| {
            let callees = relation.clauses.iter().flat_map(Clause::callees);
            callees.map(move |rel| (reader.index(), rel.index()))
        });
        let mut components = components(self.relations.len(), edges);
        let has_clauses = |node: &usize| !self.relations[RelId::from_index(*node)].clauses.is_empty();
        components.retain(|component| component.nodes.iter().any(has_clauses));
        components
    }

    /// The relations that are recursive by calling themselves and no other relation that calls them.
    pub(crate) fn self_recursive(&self) -> IndexSet<RelId> {
        let recursive = self.strata().into_iter().filter(|component| component.recursive);
        let alone = recursive.filter_map(|component| match component.nodes.as_slice() {
            [only] => Some(RelId::from_index(*only)),
            _ => None,
        });
        alone.collect()
    }
}
