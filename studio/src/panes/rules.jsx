// The rules of the draft as a graph: an arrow leads from each condition to what follows from it.

import { useMemo, useState } from "preact/hooks";
import { post } from "../api.js";
import { useAsked } from "../asking.js";
import { goTo } from "../editor.js";
import { layOut } from "../layout.js";
import { about, asked } from "../live.js";
import { visible } from "../notation.js";
import { Empty, Failure, Waiting } from "../parts.jsx";
import { useStudio } from "../state.js";

const KINDS = { has_role: "role", has_permission: "permission", has_relation: "relation" };

/** The two lines of a node. */
function texts({ predicate, text, type }) {
  const kind = KINDS[predicate] ?? "";
  const title = text ?? predicate;
  const detail = [type, text === null ? (kind ? `any ${kind}` : "") : (kind || predicate)].filter(Boolean).join(" ");
  return { title: visible(title).slice(0, 34), detail: visible(detail).slice(0, 38), kind };
}

/** Rules between the same two nodes become one arrow with all of their lines. */
function joined(edges) {
  const found = new Map();
  for (const { from, to, line, is_negated } of edges) {
    const key = `${from} ${to} ${is_negated}`;
    const edge = found.get(key) ?? { from, to, is_negated, lines: [] };
    edge.lines.push(line);
    found.set(key, edge);
  }
  return [...found.values()];
}

/** Whether an answer's step is an instance of a node. */
function isInstance(step, { predicate, text, type }) {
  const { fact } = step;
  const about = predicate === "has_relation" ? fact.args[0] : fact.args.at(-1);
  return (
    fact.predicate === predicate &&
    (text === null || fact.args.some((arg) => arg.type === "String" && arg.id === text)) &&
    (type === null || about?.type === type)
  );
}

export function RulesPane() {
  const { broken, online, answer } = useStudio();
  const policy = asked();
  const [type, setType] = useState("");
  const ask = async (signal) => ({ ...(await post("draft/graph", about(), signal)), draft: policy });
  const { found, error } = useAsked(ask, 200, [policy, online]);
  const graph = useMemo(() => found && drawn(found, type), [found, type]);
  if (error) return <Failure text={error} />;
  if (!graph) return <Waiting broken={broken}>Reading the rules…</Waiting>;
  if (!found.nodes.length) return <Empty title="No rules yet">Write one in the editor. What follows from what is drawn here.</Empty>;
  const types = [...new Set(found.nodes.map((node) => node.type).filter(Boolean))].sort();
  const steps = answer && answer.draft === found.draft ? answer.why.steps : [];
  return (
    <div class="rules">
      <div class="search">
        <label for="graph-type">About</label>
        <select id="graph-type" value={type} onChange={(event) => setType(event.currentTarget.value)}>
          <option value="">all types</option>
          {types.map((name) => <option key={name} value={name}>{visible(name)}</option>)}
        </select>
        <span class="muted">
          {found.truncated ? "Only the first rules are shown: the policy is large. " : ""}
          {steps.length ? "What holds in the current answer is marked." : ""}
        </span>
      </div>
      <Drawing graph={graph} steps={steps} />
    </div>
  );
}

/** The graph of what is about a type, with its neighbours; or all of it. */
function drawn({ nodes, edges }, type) {
  const near = (edge) => !type || nodes[edge.from].type === type || nodes[edge.to].type === type;
  const kept = joined(edges.filter(near));
  const used = [...new Set([...kept.flatMap(({ from, to }) => [from, to]), ...nodes.keys()])].filter(
    (at) => kept.some(({ from, to }) => from === at || to === at) || !type || nodes[at].type === type,
  );
  const place = new Map(used.map((at, n) => [at, n]));
  const moved = kept.map((edge) => ({ ...edge, from: place.get(edge.from), to: place.get(edge.to) }));
  return layOut(used.map((at) => ({ ...texts(nodes[at]), node: nodes[at] })), moved);
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

function Drawing({ graph, steps }) {
  const { width, height, nodes, edges } = graph;
  const marked = nodes.map(({ node }) => steps.some((step) => isInstance(step, node)));
  const used = new Set(steps.map(({ rule }) => rule?.line).filter(Boolean));
  return (
    <div class="drawing" tabIndex={0} role="region" aria-label="Graph of rules">
      <svg ref={(svg) => svg && (svg.style.minWidth = `${Math.round(width * 0.7)}px`)} viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="group" aria-label={`${nodes.length} predicates and ${edges.length} rules between them`}>
        <defs>
          <marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" /></marker>
        </defs>
        {edges.map(({ points, lines, is_negated, from, to }, at) => {
          const holds = marked[from] && marked[to] && lines.some((line) => used.has(line));
          return (
            <path key={at} class={`edge${is_negated ? " not" : ""}${holds ? " holds" : ""}`} d={path(points)} marker-end="url(#end)">
              <title>{`line ${lines.join(", ")}${is_negated ? ", must not hold" : ""}`}</title>
            </path>
          );
        })}
        {nodes.map(({ x, y, width: wide, height: high, title, detail, kind }, at) => {
          const lines = edges.filter(({ to }) => to === at).flatMap((edge) => edge.lines);
          const go = () => lines.length && goTo(lines[0]);
          return (
            <g key={at} class={`node ${kind}${marked[at] ? " holds" : ""}`} transform={`translate(${x - wide / 2} ${y - high / 2})`}
              role={lines.length ? "button" : undefined} tabindex={lines.length ? 0 : undefined} onClick={go}
              onKeyDown={(event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), go())}>
              <rect width={wide} height={high} rx="6" />
              <text x={wide / 2} y="16" class="name">{title}</text>
              <text x={wide / 2} y="30" class="kind">{detail}</text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}
