// The question as SQL for the caller's own database, which data bindings describe.

import { post } from "../api.js";
import { useAsked } from "../asking.js";
import { about, asked as policyAsked } from "../live.js";
import { questionText, visibleLines } from "../notation.js";
import { Copy, Empty, Failure, RuleLink, Shown, Waiting } from "../parts.jsx";
import { set, useStudio } from "../state.js";

/** A name as databases write it: `OrgUnit` is `org_unit`. */
const snake = (name) => name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/\W+/g, "_").toLowerCase();
const plural = (name) => (/[^aeiou]y$/.test(name) ? name.replace(/y$/, "ies") : /(s|x|ch|sh)$/.test(name) ? `${name}es` : `${name}s`);

/** How many entries of a kind an example has. */
const ENOUGH = 2;

/** Example data bindings for the roles and relations that the policy declares. */
function example(names) {
  const blocks = (names?.blocks ?? []).filter(({ name }) => name !== "global");
  const actor = names?.actors[0] ?? "User";
  const roles = blocks.filter(({ roles }) => roles.length).slice(0, ENOUGH).map(({ name }) => {
    const [who, on] = [snake(actor), snake(name)];
    return `  has_role(${actor}:_, String:_, ${name}:_):\n    query: SELECT ${who}_id, role, ${on}_id FROM ${on}_roles\n`;
  });
  const related = blocks.flatMap(({ name, relations }) => Object.entries(relations).map(([relation, to]) => ({ name, relation, to })));
  const relations = related.slice(0, ENOUGH).map(({ name, relation, to }) =>
    `  has_relation(${name}:_, ${relation}, ${to}:_):\n    query: SELECT id, ${snake(relation)}_id FROM ${plural(snake(name))}\n`);
  const entries = [...roles, ...relations];
  if (!entries.length) entries.push("  has_role(User:_, String:_, Organization:_):\n    query: SELECT user_id, role, organization_id FROM organization_roles\n");
  return `facts:\n${entries.join("")}`;
}

export function BindingsPane() {
  const { question, broken, overlay, factsVersion, online, bindings, filter, names } = useStudio();
  const start = example(names);
  const policy = policyAsked();
  const asked = questionText(question);
  const ready = asked && bindings.trim();
  const ask = ready && ((signal) => post("draft/local", about({ question: asked, bindings, filter }), signal));
  const { found, error } = useAsked(ask, 300, [asked, bindings, filter, policy, overlay, factsVersion, online]);
  return (
    <div class="bindings">
      <label for="bindings">Data bindings</label>
      <textarea id="bindings" rows={10} spellcheck={false} value={bindings} placeholder={start}
        onInput={(event) => set({ bindings: event.currentTarget.value })} />
      <div class="search">
        <label for="filter">Condition over the column</label>
        <input id="filter" value={filter} placeholder="none: rows" spellcheck={false} autocomplete="off"
          onInput={(event) => set({ filter: event.currentTarget.value })} />
      </div>
      {!bindings.trim() && (
        <Empty title="Ask your own tables">
          Say above which queries return the facts of the policy. The page then shows the SQL that answers the question
          in your database, and what it reads. Nothing is sent to your database.{" "}
          <button class="link" onClick={() => set({ bindings: start })}>Start with an example</button>
        </Empty>
      )}
      {bindings.trim() && !asked && <Empty title="No question yet">Ask one above to see its SQL.</Empty>}
      {ready && <Failure text={error} />}
      {ready && !error && (found ? <Explanation found={found} /> : <Waiting broken={broken}>Compiling…</Waiting>)}
    </div>
  );
}

function Explanation({ found }) {
  const { sql, dialect, rules, bindings, slow, notes } = found;
  return (
    <>
      <details class="stage" open>
        <summary>SQL for {dialect}</summary>
        <div class="code">
          <Copy text={sql} />
          <pre tabIndex={0} aria-label="SQL for your database">{visibleLines(sql)}</pre>
        </div>
      </details>
      {slow.map(({ what, help }) => (
        <p class="note warn" key={what}>Slow on a large database: {visibleLines(help ? `${what}\n${help}` : what)}</p>
      ))}
      {notes.map((note) => <p class="note" key={note}>{visibleLines(note)}</p>)}
      <h3>It reads</h3>
      {bindings.length ? (
        <ul class="plain">{bindings.map((key) => <li key={key}><code><Shown text={key} /></code></li>)}</ul>
      ) : (
        <p class="note warn">
          None of these queries. The SQL only uses facts that are stored in this service: add a query for a fact that the rules below
          read.
        </p>
      )}
      <h3>By the rules</h3>
      <ul class="plain">
        {rules.map((rule) => <li key={rule.line + rule.text}><RuleLink rule={rule} /> <code><Shown text={rule.text} /></code></li>)}
      </ul>
    </>
  );
}
