// What becomes of the question: each stage of the compiler, the SQL, and the plan of the store's database.

import { post } from "../api.js";
import { useAsked } from "../asking.js";
import { about, asked as policyAsked } from "../live.js";
import { questionText, visibleLines } from "../notation.js";
import { Copy, Empty, Failure, Waiting } from "../parts.jsx";
import { useStudio } from "../state.js";

export function StagesPane() {
  const { question, broken, overlay, factsVersion, online } = useStudio();
  const policy = policyAsked();
  const asked = questionText(question);
  const ask = asked && ((signal) => post("draft/stages", about({ question: asked }), signal));
  const { found, error } = useAsked(ask, 200, [asked, policy, overlay, factsVersion, online]);
  if (!asked) return <Empty title="No question yet">Ask one above to see the SQL that answers it, and how the compiler got there.</Empty>;
  if (error) return <Failure text={error} />;
  if (!found) return <Waiting broken={broken}>Compiling…</Waiting>;
  const { stages, sql, statement, plan } = found;
  return (
    <div class="stages">
      <Text title="SQL" text={sql} open>One table for each kind of fact, as <code>portcullis compile</code> prints it.</Text>
      <Text title="On this store" text={statement}>The statement that the store runs, over its own tables.</Text>
      <Text title="Plan of the database" text={plan.join("\n")} open />
      <h3>Stages of the compiler</h3>
      {stages.map(({ title, text }) => <Text key={title} title={title} text={text} />)}
    </div>
  );
}

function Text({ title, text, open, children }) {
  return (
    <details class="stage" open={open}>
      <summary>{title}</summary>
      {children && <p class="about">{children}</p>}
      <div class="code">
        <Copy text={text} label={`Copy`} />
        <pre tabIndex={0} aria-label={title}>{visibleLines(text) || "(nothing)"}</pre>
      </div>
    </details>
  );
}
