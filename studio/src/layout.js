// Places the nodes of a graph in layers, and the lines between them.

import dagre from "@dagrejs/dagre";

const HEIGHT = 38;

/** The width of a node with these texts, in pixels. */
const widthOf = (...texts) => Math.min(260, 24 + 7.2 * Math.max(...texts.map((text) => text.length)));

/**
 * @param {{title: string, detail: string}[]} nodes
 * @param {{from: number, to: number}[]} edges
 */
export function layOut(nodes, edges) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "BT", nodesep: 18, ranksep: 44, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  nodes.forEach(({ title, detail }, at) => graph.setNode(String(at), { width: widthOf(title, detail), height: HEIGHT }));
  edges.forEach(({ from, to }, at) => graph.setEdge(String(from), String(to), {}, String(at)));
  dagre.layout(graph);
  const { width, height } = graph.graph();
  return {
    width: Math.max(width, 1),
    height: Math.max(height, 1),
    nodes: nodes.map((node, at) => ({ ...node, ...graph.node(String(at)) })),
    edges: edges.map((edge, at) => ({
      ...edge,
      points: graph.edge({ v: String(edge.from), w: String(edge.to), name: String(at) }).points,
    })),
  };
}
