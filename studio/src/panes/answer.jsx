// The answer: yes or no with its proof, or what is missing for it; or a table of what was asked for.

import { post } from "../api.js";
import { showExample } from "../example.js";
import { loadStored } from "../live.js";
import { ask } from "../question.jsx";
import { questionText, valueFault, written, writtenFact } from "../notation.js";
import { Empty, FactText, Failure, RuleLink, Shown, StoreForEveryone, ValueText, Waiting } from "../parts.jsx";
import { addWhatIf, notify, set, state, useStudio } from "../state.js";
import { Past } from "./decisions.jsx";
import { addTest, watch } from "./tests.jsx";

/** How many levels of a proof are open at first. */
const OPEN = 3;

export function AnswerPane() {
  const { answer, answerError, question, stored, broken, overlay } = useStudio();
  if (answerError) return <><Failure text={answerError} />{overlay.length > 0 && <WithWhatIf />}</>;
  if (!questionText(question)) return <NoQuestion question={question} />;
  if (!answer) return <Waiting broken={broken}>Asking…</Waiting>;
  const differs = answer.active !== null && answer.active !== answer.allowed && answer.stored === stored;
  const says = <strong>{answer.active ? "allowed" : "denied"}</strong>;
  return (
    <article class="answer" aria-live="polite">
      <Verdict answer={answer} />
      <Past answer={answer} />
      {overlay.length > 0 && <WithWhatIf />}
      {differs && answer.draft !== stored && (
        <p class="note">The stored policy says otherwise: {says}. Storing this draft changes the answer.</p>
      )}
      {differs && answer.draft === stored && (
        <p class="note warn">
          Another policy was stored since this page loaded it, which says otherwise: {says}.{" "}
          <button class="link" onClick={() => loadStored().catch((error) => notify(error.message))}>Load it</button>
        </p>
      )}
      {answer.warnings.map((text) => <p class="note warn" key={text}><Shown text={text} /></p>)}
      {answer.refused && <p class="note warn">Not all answers can be listed: <Shown text={answer.refused} /></p>}
      {answer.columns.length > 0 && answer.rows.length > 0 && <Rows answer={answer} />}
      {answer.allowed ? <Proof why={answer.why} title={answer.columns.length ? "One of them holds because" : "Because"} /> : <Reasons why={answer.why} />}
      {answer.why.truncated && <p class="note">The explanation was cut off at its limit: there may be other reasons.</p>}
    </article>
  );
}

/** Says that the answer is not about stored facts alone. */
function WithWhatIf() {
  const { overlay } = useStudio();
  const one = overlay.length === 1;
  return (
    <p class="note warn">
      Asked with {one ? "a what-if fact that is" : `${overlay.length} what-if facts that are`} not stored.{" "}
      <button class="link" onClick={() => set({ overlay: [] })}>Ask without {one ? "it" : "them"}</button>
    </p>
  );
}

function NoQuestion({ question }) {
  const { names } = useStudio();
  const { mode, actor, action, resource } = question;
  if (mode === "access" && (actor || action || resource)) {
    const missing = [["an actor", actor], ["an action", action], ["a resource", resource]];
    const words = missing.filter(([what, text]) => (what === "an action" ? !text.trim() : !text.trim() || valueFault(text))).map(([what]) => what);
    return (
      <Empty title="Complete the question">
        It still needs {words.join(" and ")}. Write <code>?</code> for the part that you want to know.
      </Empty>
    );
  }
  if (names && !names.types.length) {
    return (
      <Empty title="Start with a policy">
        Write an actor, a resource and a rule in the editor, then ask what they allow. The{" "}
        <button class="link" onClick={showExample}>example</button>{" "}
        has one of each.
      </Empty>
    );
  }
  return (
    <Empty title="Ask a question">
      Enter who wants to do what to which resource. Use <code>?</code> for what you want to know:{" "}
      <code>User:alice</code> <code>read</code> <code>Repository:?</code> lists what Alice may read.
    </Empty>
  );
}

function Verdict({ answer }) {
  const { allowed, columns, rows, more } = answer;
  const n = `${rows.length.toLocaleString("en")}${more ? " and more" : ""}`;
  const list = columns.length > 0 && !answer.refused;
  return (
    <div class={`verdict ${allowed ? "yes" : "no"}`}>
      <span class="mark" aria-hidden="true">{allowed ? "✓" : "✕"}</span>
      <div>
        <p class="word">{list ? (rows.length ? `${n} ${rows.length === 1 ? "answer" : "answers"}` : "No answers") : allowed ? "Allowed" : "Denied"}</p>
        <p class="asked"><code><Shown text={answer.question} /></code></p>
      </div>
      <span class="space" />
      <button class="quiet" onClick={() => watch(answer.question)}>Watch</button>
      {!list && <button class="quiet" onClick={() => addTest(answer)}>Make this a test</button>}
    </div>
  );
}

/** The answers as a table. A value leads to the question with it. */
function Rows({ answer }) {
  const { columns, rows } = answer;
  const typeOf = (at) => (rows.every((row) => row[at].type === rows[0][at].type) ? rows[0][at].type : null);
  const named = columns.map((name, at) => (/^[?_]/.test(name) ? (typeOf(at) ?? "value") : name));
  const put = (at, value) => {
    let n = -1;
    ask(answer.question.replace(/"(?:[^"\\]|\\.)*"|(?<=[(,\s]|^)(?:[A-Za-z_][\w:]*:)?\?\w*/g, (part) => {
      if (part.startsWith('"')) return part;
      n += 1;
      return n === at ? written(value) : part;
    }));
  };
  return (
    <div class="rows">
      <table>
        <thead><tr>{named.map((name, at) => <th key={at} scope="col"><Shown text={name} /></th>)}</tr></thead>
        <tbody>
          {rows.map((row, n) => (
            <tr key={n}>
              {row.map((value, at) => (
                <td key={at}>
                  {value.id === null ? (
                    <em>{value.type ? `every ${value.type}` : "everything"}</em>
                  ) : (
                    <button class="link" title="Ask about this one" onClick={() => put(at, value)}><ValueText value={value} plain /></button>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const SOURCES = { stored: "stored", context: "what-if", bound: "database" };

function Proof({ why, title }) {
  if (!why.proof.length) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul class="tree">{why.proof.map((at) => <Step key={at} why={why} at={at} depth={0} />)}</ul>
    </section>
  );
}

/** What holds, with what it follows from. */
function Step({ why, at, depth }) {
  const { fact, source, rule, conditions } = why.steps[at];
  const line = (
    <>
      <FactText fact={fact} />
      {source && <span class={`chip ${source}`}>{SOURCES[source]}</span>}
      <RuleLink rule={rule} />
    </>
  );
  if (!conditions.length) return <li class="leaf">{line}</li>;
  return (
    <li>
      <details open={depth < OPEN}>
        <summary>{line}</summary>
        <ul class="tree">{conditions.map((condition, n) => <Condition key={n} why={why} condition={condition} depth={depth + 1} />)}</ul>
      </details>
    </li>
  );
}

function Condition({ why, condition, depth }) {
  if ("step" in condition) return <Step why={why} at={condition.step} depth={depth} />;
  if ("holds" in condition) return <li class="leaf"><FactText fact={condition.holds} /></li>;
  if ("absent" in condition) return <li class="leaf"><span class="chip">nothing like</span> <FactText fact={condition.absent} /></li>;
  return <li class="leaf"><code><Shown text={condition.test} /></code></li>;
}

/** Whether a relation has the types that the policy declares; suggestions that do not fit are listed last. */
function isDeclared({ predicate, args }, names) {
  if (predicate !== "has_relation" || args.length !== 3) return true;
  const [of, relation, to] = args;
  const declared = names?.blocks.find(({ name }) => name === of.type)?.relations[relation.id];
  return [undefined, to.type, "Actor", "Resource"].includes(declared);
}

function Reasons({ why }) {
  const { session, names } = useStudio();
  const suggestions = [true, false].flatMap((fits) => why.suggestions.filter((facts) => facts.every((fact) => isDeclared(fact, names)) === fits));
  const store = async (facts) => {
    try {
      await post("api/batch", [{ inserts: facts.map(concrete) }]);
      set({ factsVersion: state.factsVersion + 1 });
      notify(facts.length === 1 ? "The fact is stored." : "The facts are stored.");
    } catch (error) {
      notify(error.message);
    }
  };
  return (
    <>
      {suggestions.length > 0 && (
        <section>
          <h3>It would be allowed with</h3>
          <ul class="suggestions">
            {suggestions.map((facts, n) => (
              <li key={n}>
                <div>{facts.map((fact) => <FactText key={writtenFact(fact)} fact={fact} />)}</div>
                <button class="quiet" onClick={() => addWhatIf(facts.map(concrete))}>Try</button>
                {session?.can_write && <StoreForEveryone onStore={() => store(facts)} />}
              </li>
            ))}
          </ul>
        </section>
      )}
      {why.failures.length > 0 && (
        <section>
          <h3>What is missing</h3>
          <ul class="tree"><Goal why={why} at={0} depth={0} seen={[]} /></ul>
        </section>
      )}
    </>
  );
}

const concrete = ({ predicate, args }) => ({ predicate, args: args.map(({ type, id }) => ({ type, id })) });

/** What does not hold, with the rules that could derive it. */
function Goal({ why, at, depth, seen }) {
  const { goal, may_be_fact, attempts, n_others } = why.failures[at];
  const line = (
    <>
      <span class="chip lack">no</span>
      {goal ? <FactText fact={goal} /> : "all of these together"}
      {may_be_fact && <span class="chip">could be a fact</span>}
    </>
  );
  if (!attempts.length || seen.includes(at)) return <li class="leaf">{line}</li>;
  return (
    <li>
      <details open={depth < OPEN}>
        <summary>{line}</summary>
        <ul class="tree">
          {attempts.map((attempt, n) => <Attempt key={n} why={why} attempt={attempt} depth={depth + 1} seen={[...seen, at]} />)}
          {n_others > 0 && <li class="leaf more">{n_others} other {n_others === 1 ? "way" : "ways"} got just as far</li>}
        </ul>
      </details>
    </li>
  );
}

function Attempt({ why, attempt, depth, seen }) {
  const { rule, met, lacks } = attempt;
  return (
    <li class="attempt">
      <div><RuleLink rule={rule} /> {rule && <code class="rule"><Shown text={rule.text} /></code>}</div>
      <ul class="tree">
        {met.map((condition, n) => <Condition key={n} why={why} condition={condition} depth={depth + 1} />)}
        <Lack why={why} lacks={lacks} depth={depth} seen={seen} />
      </ul>
    </li>
  );
}

function Lack({ why, lacks, depth, seen }) {
  if ("goal" in lacks) return <Goal why={why} at={lacks.goal} depth={depth + 1} seen={seen} />;
  if ("fact" in lacks) return <li class="leaf"><span class="chip lack">no fact</span> <FactText fact={lacks.fact} /></li>;
  if ("refuted" in lacks) {
    return <li><span class="chip lack">must not hold</span><ul class="tree"><Step why={why} at={lacks.refuted} depth={depth} /></ul></li>;
  }
  return <li class="leaf"><span class="chip lack">not true</span> <code><Shown text={lacks.test} /></code></li>;
}
