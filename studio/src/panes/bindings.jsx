// The question as SQL for the caller's own database, which data bindings describe.

import { post } from "../api.js";
import { useAsked } from "../asking.js";
import { about, asked as policyAsked } from "../live.js";
import { questionText, visibleLines } from "../notation.js";
import { Copy, Empty, Failure, RuleLink, Shown, Waiting } from "../parts.jsx";
import { set, useStudio } from "../state.js";

const EXAMPLE = `facts:
  has_role(User:_, String:_, Organization:_):
    query: SELECT user_id, role, organization_id FROM members
  has_relation(Repository:_, organization, Organization:_):
    query: SELECT id, organization_id FROM repositories
`;

export function BindingsPane() {
  const { question, broken, overlay, factsVersion, online, bindings, filter } = useStudio();
  const policy = policyAsked();
  const asked = questionText(question);
  const ready = asked && bindings.trim();
  const ask = ready && ((signal) => post("draft/local", about({ question: asked, bindings, filter }), signal));
  const { found, error } = useAsked(ask, 300, [asked, bindings, filter, policy, overlay, factsVersion, online]);
  return (
    <div class="bindings">
      <label for="bindings">Data bindings</label>
      <textarea id="bindings" rows={10} spellcheck={false} value={bindings} placeholder={EXAMPLE}
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
          <button class="link" onClick={() => set({ bindings: EXAMPLE })}>Start with an example</button>
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
      <ul class="plain">{bindings.map((key) => <li key={key}><code><Shown text={key} /></code></li>)}</ul>
      <h3>By the rules</h3>
      <ul class="plain">
        {rules.map((rule) => <li key={rule.line + rule.text}><RuleLink rule={rule} /> <code><Shown text={rule.text} /></code></li>)}
      </ul>
    </>
  );
}
