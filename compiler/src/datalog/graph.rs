//! Strongly connected components of a dependency graph; the only place that sees petgraph.

use crate::ordered::OrderedSet;
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

/// A component: its nodes, ascending, and whether any of them depends on itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StrongComponent {
    /// The nodes of the component.
    pub(crate) nodes: Vec<usize>,
    /// More than one node, or a node with an edge to itself.
    pub(crate) recursive: bool,
}

/// Returns the components of the graph with `n_nodes` nodes, dependencies first.
///
/// An edge `(a, b)` means that `a` reads `b`. Kosaraju's algorithm returns components in reverse topological
/// order of such a graph, which is the order of evaluation; no second sort is needed. Unlike Tarjan's it does
/// not recurse here, so a chain of rules may be as long as it likes.
pub(crate) fn components(
    n_nodes: usize,
    edges: impl IntoIterator<Item = (usize, usize)>,
) -> Vec<StrongComponent> {
    let edges: OrderedSet<(usize, usize)> = edges.into_iter().collect();
    let mut graph = DiGraph::<(), ()>::with_capacity(n_nodes, edges.len());
    for _ in 0..n_nodes {
        graph.add_node(());
    }
    for (reader, read) in &edges {
        graph.add_edge(NodeIndex::new(*reader), NodeIndex::new(*read), ());
    }
    let order = kosaraju_scc(&graph);
    let component = |members: Vec<NodeIndex>| {
        let recursive = match members.as_slice() {
            [only] => edges.contains(&(only.index(), only.index())),
            _ => true,
        };
        let mut nodes: Vec<usize> = members.into_iter().map(NodeIndex::index).collect();
        nodes.sort_unstable();
        StrongComponent { nodes, recursive }
    };
    order.into_iter().map(component).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_come_first_and_cycles_are_recursive() {
        let found = components(4, [(0, 1), (1, 2), (2, 1), (2, 3)]);
        let expected = [(vec![3], false), (vec![1, 2], true), (vec![0], false)];
        assert_eq!(found, expected.map(|(nodes, recursive)| StrongComponent { nodes, recursive }));
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let length = 200_000;
        let found = components(length, (1..length).map(|node| (node - 1, node)));
        assert_eq!(found.len(), length);
        assert_eq!(found.first().map(|component| component.nodes.as_slice()), Some(&[length - 1][..]));
    }

    #[test]
    fn an_edge_to_itself_is_recursion() {
        let found = components(1, [(0, 0)]);
        assert_eq!(found, [StrongComponent { nodes: vec![0], recursive: true }]);
    }
}
