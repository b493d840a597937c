// Draws a graph. A worker lays it out, and the user chooses its size.

import { useEffect, useRef, useState } from "preact/hooks";

/** How many characters of a node's text are shown. */
const SHOWN = 46;

/** The factor of one press of a zoom button, the limits of zooming, and the smallest size at first. */
const STEP = 1.25;
const LEAST = 0.1;
const MOST = 2.5;
const READABLE = 0.85;

/** A text of a node, shortened. */
export const cut = (text) => (text.length > SHOWN ? `${text.slice(0, SHOWN - 1)}…` : text);

/** The layout of a graph, from a worker; null until it is ready. The worker ends when the graph changes. */
function useLayout(graph) {
  const [laid, setLaid] = useState(null);
  useEffect(() => {
    const worker = new Worker(new URL("layout.js", location.href));
    const { nodes, edges } = graph;
    worker.onmessage = ({ data }) => {
      setLaid({ graph, ...data });
      worker.terminate();
    };
    worker.onerror = () => setLaid({ graph, failed: true });
    worker.postMessage({ nodes: nodes.map(({ lines }) => lines), edges: edges.map(({ from, to }) => ({ from, to })) });
    return () => worker.terminate();
  }, [graph]);
  return laid?.graph === graph ? laid : null;
}

const path = (points) => {
  const [first, ...rest] = points;
  let text = `M${first.x} ${first.y}`;
  for (let at = 0; at < rest.length - 1; at++) {
    const [control, next] = [rest[at], rest[at + 1]];
    const end = at === rest.length - 2 ? next : { x: (control.x + next.x) / 2, y: (control.y + next.y) / 2 };
    text += `Q${control.x} ${control.y} ${end.x} ${end.y}`;
  }
  return rest.length === 1 ? `${text}L${rest[0].x} ${rest[0].y}` : text;
};

/**
 * @param {{label: string, onGo?: (line: number) => void, graph: {
 *   nodes: {lines: string[], look: string, full?: string, line?: number}[],
 *   edges: {from: number, to: number, look: string, title: string}[]}}} props
 */
export function Drawing({ label, graph, onGo }) {
  const laid = useLayout(graph);
  const place = useRef(null);
  // Null until the user chooses a size.
  const [chosen, setChosen] = useState(null);
  const [room, setRoom] = useState(null);
  useEffect(() => {
    const watcher = new ResizeObserver(([{ contentRect: { width, height } }]) => setRoom({ width, height }));
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, []);
  const fit = laid && room ? Math.min(1, room.width / laid.width, room.height / laid.height) : 1;
  const scale = chosen === "fit" ? Math.max(fit, LEAST) : (chosen ?? Math.max(fit, READABLE));
  // A drawing that does not fit is scrolled to the node of its conclusion, which is at the top.
  useEffect(() => {
    const element = place.current;
    if (!laid || !room || !element) return;
    const first = graph.nodes.findIndex(({ look }) => look.includes("holds"));
    const x = first < 0 ? laid.width / 2 : laid.places[first].x;
    const y = first < 0 ? 0 : laid.places[first].y;
    element.scrollTo(x * scale - element.clientWidth / 2, y * scale - element.clientHeight / 2);
  }, [laid, Boolean(room)]);
  const zoom = (factor) => setChosen(Math.min(MOST, Math.max(LEAST, scale * factor)));
  const onKeyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = { "+": () => zoom(STEP), "=": () => zoom(STEP), "-": () => zoom(1 / STEP), 0: () => setChosen("fit") }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  return (
    <div class="graph" onKeyDown={onKeyDown}>
      <div class="drawing" ref={place} tabIndex={0} role="region" aria-label={label} aria-busy={!laid}>
        {!laid ? <p class="opening">Drawing {graph.nodes.length.toLocaleString("en")} nodes…</p>
          : laid.failed ? <p class="opening">This browser could not draw the graph.</p>
            : <Picture graph={graph} laid={laid} scale={scale} onGo={onGo} />}
      </div>
      <div class="zoom" role="group" aria-label="Size of the graph">
        <button aria-label="Smaller" title="−" disabled={!laid || scale <= LEAST} onClick={() => zoom(1 / STEP)}>−</button>
        <button aria-label="Larger" title="+" disabled={!laid || scale >= MOST} onClick={() => zoom(STEP)}>+</button>
        <button title="0" disabled={!laid} onClick={() => setChosen("fit")}>Fit</button>
      </div>
    </div>
  );
}

function Picture({ graph, laid, scale, onGo }) {
  const { nodes, edges } = graph;
  const { width, height, places, paths } = laid;
  return (
    <svg viewBox={`0 0 ${width} ${height}`} width={Math.round(width * scale)} height={Math.round(height * scale)} role="group"
      aria-label={`${nodes.length} nodes and ${edges.length} arrows between them`}>
      <defs>
        <marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" /></marker>
      </defs>
      {edges.map(({ look, title }, at) => (
        <path key={at} class={`edge ${look}`} d={path(paths[at])} marker-end="url(#end)">
          <title>{title}</title>
        </path>
      ))}
      {nodes.map(({ lines, look, full, line }, at) => {
        const { x, y, width: wide, height: high } = places[at];
        const go = () => line && onGo?.(line);
        return (
          <g key={at} class={`node ${look}`} transform={`translate(${x - wide / 2} ${y - high / 2})`}
            role={line ? "button" : undefined} tabindex={line ? 0 : undefined} onClick={go}
            onKeyDown={(event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), go())}>
            {full && <title>{full}</title>}
            <rect width={wide} height={high} rx="6" />
            {lines.map((text, n) => (
              <text key={n} x={wide / 2} y={16 + 14 * n} class={n === lines.length - 1 ? "kind" : "name"}>{text}</text>
            ))}
          </g>
        );
      })}
    </svg>
  );
}
