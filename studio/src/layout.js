// A worker that places the nodes of a graph in layers, and the lines between them, so that a large graph does
// not block the page. The build makes a separate file of it.

import dagre from "@dagrejs/dagre";

/** The height of a node with these lines, in pixels. */
const heightOf = (lines) => 10 + 14 * lines.length;

/** Its width. */
const widthOf = (lines) => 24 + 7.3 * Math.max(...lines.map((text) => text.length));

/**
 * @param {string[][]} nodes the lines of each
 * @param {{from: number, to: number}[]} edges
 */
function layOut(nodes, edges) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "BT", nodesep: 18, ranksep: 44, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  nodes.forEach((lines, at) => graph.setNode(String(at), { width: widthOf(lines), height: heightOf(lines) }));
  edges.forEach(({ from, to }, at) => graph.setEdge(String(from), String(to), {}, String(at)));
  dagre.layout(graph);
  const { width, height } = graph.graph();
  const place = ({ x, y, width, height }) => ({ x, y, width, height });
  return {
    width: Math.max(width, 1),
    height: Math.max(height, 1),
    places: nodes.map((_, at) => place(graph.node(String(at)))),
    paths: edges.map(({ from, to }, at) => graph.edge({ v: String(from), w: String(to), name: String(at) }).points),
  };
}

self.onmessage = ({ data: { nodes, edges } }) => self.postMessage(layOut(nodes, edges));
