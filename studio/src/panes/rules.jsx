// Two graphs: the rules of the draft, with an arrow from each condition to what follows from it, and the
// proof of the current answer, from the facts that it rests on.

import { useMemo, useState } from "preact/hooks";
import { post } from "../api.js";
import { useAsked } from "../asking.js";
import { Drawing, cut } from "../drawing.jsx";
import { goTo } from "../editor.js";
import { about, asked } from "../live.js";
import { typeOf, visible, written, writtenFact } from "../notation.js";
import { Empty, Failure, Switch, Waiting } from "../parts.jsx";
import { set, useStudio } from "../state.js";

const KINDS = { has_role: "role", has_permission: "permission", has_relation: "relation" };
const SOURCES = { stored: "stored fact", context: "what-if fact", bound: "fact in your database" };
const VIEWS = [["rules", "Rules"], ["proof", "This answer"]];

const NONE = [];

/** A graph with more nodes than this at first shows only those of one type. */
const MANY = 40;

export function RulesPane() {
  const { graphOf } = useStudio();
  const [type, setType] = useState(null);
  const choice = <Switch label="Graph of" options={VIEWS} value={graphOf} onChange={(view) => set({ graphOf: view })} />;
  return (
    <div class="rules">
      {graphOf === "proof" ? <ProofGraph choice={choice} /> : <RuleGraph choice={choice} type={type} setType={setType} />}
    </div>
  );
}

/** The two lines of a predicate's node. */
function texts({ predicate, text, type }) {
  const kind = KINDS[predicate] ?? "";
  const title = text ?? predicate;
  const detail = [type, text === null ? (kind ? `any ${kind}` : "") : (kind || predicate)].filter(Boolean).join(" ");
  return { lines: [cut(visible(title)), cut(visible(detail))], kind };
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

/** The type that is shown first: that of the question's resource, or else the one with the most nodes. */
function firstType({ nodes }, { resource }) {
  if (nodes.length <= MANY) return "";
  const counts = new Map();
  for (const { type } of nodes) if (type) counts.set(type, (counts.get(type) ?? 0) + 1);
  const asked = typeOf(resource);
  if (counts.has(asked)) return asked;
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0] ?? "";
}

function RuleGraph({ choice, type, setType }) {
  const { broken, online, answer, question } = useStudio();
  const policy = asked();
  const ask = async (signal) => ({ ...(await post("draft/graph", about(), signal)), draft: policy });
  const { found, error } = useAsked(ask, 200, [policy, online]);
  const steps = answer && answer.draft === found?.draft ? answer.why.steps : NONE;
  const shownType = found && (type ?? firstType(found, question));
  const graph = useMemo(() => found && drawn(found, shownType, steps), [found, shownType, steps]);
  if (error) return <>{choice}<Failure text={error} /></>;
  if (!graph) return <Waiting broken={broken}>Reading the rules…</Waiting>;
  if (!found.nodes.length) return <Empty title="No rules yet">Write one in the editor. What follows from what is drawn here.</Empty>;
  const types = [...new Set(found.nodes.map((node) => node.type).filter(Boolean))].sort();
  return (
    <>
      <div class="search">
        {choice}
        <label for="graph-type">About</label>
        <select id="graph-type" value={shownType} onChange={(event) => setType(event.currentTarget.value)}>
          <option value="">all types</option>
          {types.map((name) => <option key={name} value={name}>{visible(name)}</option>)}
        </select>
      </div>
      {(found.truncated || steps.length > 0) && (
        <p class="muted">
          {found.truncated ? "Only the first rules are shown: the policy is large. " : ""}
          {steps.length ? "What holds in the current answer is marked." : ""}
        </p>
      )}
      <Drawing label="Graph of rules" graph={graph} onGo={goTo} />
    </>
  );
}

/** The graph of what is about a type, with its neighbours; or all of it. */
function drawn({ nodes, edges }, type, steps) {
  const near = (edge) => !type || nodes[edge.from].type === type || nodes[edge.to].type === type;
  const kept = joined(edges.filter(near));
  const linked = new Set(kept.flatMap(({ from, to }) => [from, to]));
  const shown = [...nodes.keys()].filter((at) => linked.has(at) || !type || nodes[at].type === type);
  const place = new Map(shown.map((at, n) => [at, n]));
  const marked = shown.map((at) => steps.some((step) => isInstance(step, nodes[at])));
  const used = new Set(steps.map(({ rule }) => rule?.line).filter(Boolean));
  const arrows = kept.map(({ from, to, lines, is_negated }) => {
    const [start, end] = [place.get(from), place.get(to)];
    const holds = marked[start] && marked[end] && lines.some((line) => used.has(line));
    return {
      from: start,
      to: end,
      line: lines[0],
      look: `${is_negated ? "not" : ""}${holds ? " holds" : ""}`,
      title: `line ${lines.join(", ")}${is_negated ? ", must not hold" : ""}`,
    };
  });
  const shapes = shown.map((at, n) => {
    const { lines, kind } = texts(nodes[at]);
    return { lines, look: `${kind}${marked[n] ? " holds" : ""}`, line: arrows.find(({ to }) => to === n)?.line };
  });
  return { nodes: shapes, edges: arrows };
}

function ProofGraph({ choice }) {
  const { answer, broken } = useStudio();
  const graph = useMemo(() => answer && proof(answer.why), [answer]);
  const head = (hint) => (
    <div class="search">
      {choice}
      {hint && <span class="muted">{hint}</span>}
    </div>
  );
  if (!answer) {
    return (
      <>
        {head()}
        {broken ? <Waiting broken /> : <Empty title="No answer yet">Ask a question above. What its answer rests on is drawn here.</Empty>}
      </>
    );
  }
  if (!answer.allowed) {
    return (
      <>
        {head()}
        <Empty title="Denied: there is no proof">
          <button class="link" onClick={() => set({ pane: "answer" })}>See what is missing</button> for it to be allowed.
        </Empty>
      </>
    );
  }
  return (
    <>
      {head(answer.columns.length ? "The proof of one of the answers." : "From facts at the bottom to the answer at the top.")}
      <Drawing label="Graph of the proof" graph={graph} onGo={goTo} />
    </>
  );
}

/** A fact in two lines: the predicate with its strings, and the other arguments. */
function factLines({ predicate, args }) {
  const texts = args.filter(({ type, id }) => type === "String" && id !== null);
  const others = args.filter((arg) => !texts.includes(arg));
  const lines = [[predicate, ...texts.map(written)].join(" "), others.map(written).join(", ")];
  return lines.filter(Boolean).map(cut);
}

/** The graph of a proof: a node for each step, and for each condition that is not a step. */
function proof({ proof, steps }) {
  const [nodes, edges, places] = [[], [], new Map()];
  const add = (node) => nodes.push(node) - 1;
  const leaf = (lines, detail, look, full) => add({ lines: [...lines, detail], look, full });
  const visit = (at) => {
    if (places.has(at)) return places.get(at);
    const { fact, source, rule, conditions } = steps[at];
    const detail = source ? SOURCES[source] : rule?.line ? `line ${rule.line}` : rule ? "every policy" : "";
    const look = `${source ? `leaf ${source}` : (KINDS[fact.predicate] ?? "")}${proof.includes(at) ? " holds" : ""}`;
    const own = add({ lines: [...factLines(fact), detail], look, full: writtenFact(fact), line: rule?.line ?? undefined });
    places.set(at, own);
    for (const condition of conditions) {
      const from = "step" in condition ? visit(condition.step)
        : "absent" in condition ? leaf(factLines(condition.absent), "does not hold", "leaf not", writtenFact(condition.absent))
          : "holds" in condition ? leaf(factLines(condition.holds), "holds", "leaf", writtenFact(condition.holds))
            : leaf([cut(visible(condition.test))], "is true", "leaf", visible(condition.test));
      const negated = "absent" in condition;
      edges.push({ from, to: own, look: negated ? "not" : "", title: `${detail}${negated ? ", must not hold" : ""}` });
    }
    return own;
  };
  proof.forEach(visit);
  return { nodes, edges };
}
