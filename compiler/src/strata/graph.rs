//! Strongly connected components of a dependency graph; the only place that sees petgraph.

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

/// A component: its nodes, ascending, and whether any of them depends on itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// The nodes of the component.
    pub nodes: Vec<usize>,
    /// More than one node, or a node with an edge to itself.
    pub recursive: bool,
}

/// Returns the components of the graph with `n_nodes` nodes, dependencies first.
///
/// An edge `(a, b)` means that `a` reads `b`. Tarjan's algorithm returns components in reverse topological
/// order of such a graph, which is the order of evaluation; no second sort is needed.
pub fn components(n_nodes: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Vec<Component> {
    let mut graph = DiGraph::<(), ()>::with_capacity(n_nodes, 0);
    for _ in 0..n_nodes {
        graph.add_node(());
    }
    for (reader, read) in edges {
        graph.update_edge(NodeIndex::new(reader), NodeIndex::new(read), ());
    }
    let order = tarjan_scc(&graph);
    let component = |members: Vec<NodeIndex>| {
        let recursive = match members.as_slice() {
            [only] => graph.contains_edge(*only, *only),
            _ => true,
        };
        let mut nodes: Vec<usize> = members.into_iter().map(NodeIndex::index).collect();
        nodes.sort_unstable();
        Component { nodes, recursive }
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
        assert_eq!(found, expected.map(|(nodes, recursive)| Component { nodes, recursive }));
    }

    #[test]
    fn an_edge_to_itself_is_recursion() {
        let found = components(1, [(0, 0)]);
        assert_eq!(found, [Component { nodes: vec![0], recursive: true }]);
    }
}
