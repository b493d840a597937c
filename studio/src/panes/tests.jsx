// The draft's own tests, run as it is edited.

import { append, goTo } from "../editor.js";
import { parseCall, polarFact } from "../notation.js";
import { Empty, Failure, Shown } from "../parts.jsx";
import { ask } from "../question.jsx";
import { MOST_WATCHED, notify, set, state, useStudio } from "../state.js";

/** Watches a question. */
export function watch(question) {
  const { watched } = state;
  if (watched.includes(question)) return notify("You already watch this question: see “Tests”.");
  if (watched.length === MOST_WATCHED) return notify(`At most ${MOST_WATCHED} questions are watched: remove one first.`);
  set({ watched: [...watched, question] });
  notify("Watching this question: see “Tests”.");
}

export function TestsPane() {
  return (
    <div>
      <Watches />
      <Tests />
    </div>
  );
}

/** The watched questions, with their answers under the draft and the stored policy. */
function Watches() {
  const { watched, watches } = useStudio();
  if (!watched.length) return null;
  const remove = (question) => set({ watched: watched.filter((one) => one !== question) });
  return (
    <section class="watches" aria-label="Watched questions">
      <h3>Watched questions</h3>
      <ul class="tests">
        {watched.map((question) => {
          const found = watches.find((one) => one.question === question);
          const changes = found && found.active !== null && found.allowed !== null && found.active !== found.allowed;
          return (
            <li key={question}>
              <div class="row">
                <span class={found?.allowed ? "good" : "bad"}>{!found ? "…" : found.error ? "refused" : found.allowed ? "allowed" : "denied"}</span>
                <button class="link name" onClick={() => ask(question)}><code><Shown text={question} plain /></code></button>
                <span class="space" />
                {changes && <span class="chip changed">{found.active ? "allowed as stored" : "denied as stored"}</span>}
                <button class="quiet far" aria-label="Stop watching this question" onClick={() => remove(question)}>✕</button>
              </div>
              <Failure text={found?.error} />
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Tests() {
  const { tests, testsError } = useStudio();
  if (testsError) return <Failure text={testsError} />;
  if (!tests) return <p class="opening">Running the tests…</p>;
  if (!tests.length) {
    return <Empty title="No tests yet">Ask a question, then press “Make this a test” next to its answer.</Empty>;
  }
  const failed = tests.filter(({ failures }) => failures.length);
  return (
    <div>
      <p class={failed.length ? "summary bad" : "summary good"} role="status">
        {failed.length ? `${failed.length} of ${tests.length} fail` : tests.length === 1 ? "The test passes" : `All ${tests.length} pass`}
      </p>
      <ul class="tests">
        {[...failed, ...tests.filter(({ failures }) => !failures.length)].map((test) => <Test key={test.name} test={test} />)}
      </ul>
    </div>
  );
}

function Test({ test }) {
  const { name, passed, total, failures, active, edited } = test;
  const passes = !failures.length;
  return (
    <li class={passes ? "pass" : "fail"}>
      <div class="row">
        <span class="mark" aria-hidden="true">{passes ? "✓" : "✕"}</span>
        <button class="link name" onClick={() => goTo(lineOf(name))}><Shown text={name} plain /></button>
        <span class="unseen">{passes ? "passes" : "fails"}</span>
        {active === null && <span class="chip">new</span>}
        {edited && <span class="chip">edited</span>}
        {active !== null && active !== passes && <span class="chip changed">{passes ? "fails as stored" : "passes as stored"}</span>}
        <span class="space" />
        <span class="muted">{passed} of {total}</span>
      </div>
      {failures.map((failure) => {
        const line = /^line (\d+): /.exec(failure);
        return (
          <div class="failure" key={failure}>
            {line && <button class="chip line" onClick={() => goTo(Number(line[1]))}>line {line[1]}</button>}
            <code><Shown text={line ? failure.slice(line[0].length) : failure} /></code>
          </div>
        );
      })}
    </li>
  );
}

/** The line of a test. */
function lineOf(name) {
  const named = (line) => {
    const written = /^\s*test\s+"((?:[^"\\]|\\.)*)"/.exec(line)?.[1];
    return written?.replace(/\\(.)/g, (_, char) => ({ n: "\n", r: "\r", t: "\t", 0: "\0" })[char] ?? char);
  };
  return state.draft.split("\n").findIndex((line) => named(line) === name) + 1;
}

/** The facts that an answer read: those of its proof, or those that rules matched before a condition failed. */
function factsOf(why) {
  const facts = new Set();
  const steps = why.steps.filter(({ source }) => source);
  for (const { fact } of steps) {
    if (fact.args.every(({ type, id }) => type !== null && id !== null)) facts.add(polarFact(fact));
  }
  return [...facts];
}

/** Adds the question to the draft as a test, with the facts that its answer rests on. */
export function addTest({ question, allowed, why }) {
  let call;
  try {
    call = parseCall(question);
    if (call.args.some(({ id }) => id === null)) throw new Error();
  } catch {
    return notify("Only a single call without `?` or `_` can become a test.");
  }
  const taken = new Set([...state.draft.matchAll(/^test "((?:[^"\\]|\\.)*)"/gm)].map(([, name]) => name));
  const [who, what, on] = call.args.map(({ id }) => id.replace(/[^\w .:@/-]/g, "").slice(0, 40));
  const base = call.predicate === "allow" && on ? `${who} ${allowed ? "may" : "may not"} ${what} ${on}` : `${call.predicate} of ${who}`;
  let name = base;
  for (let n = 2; taken.has(name); n++) name = `${base}, ${n}`;
  const facts = factsOf(why);
  const setup = facts.length ? `  setup {\n${facts.map((fact) => `    ${fact};\n`).join("")}  }\n\n` : "";
  const test = `test "${name}" {\n${setup}  ${allowed ? "assert" : "assert_not"} ${polarFact(call)};\n}\n`;
  append(`${state.draft === "" || state.draft.endsWith("\n\n") ? "" : state.draft.endsWith("\n") ? "\n" : "\n\n"}${test}`);
  notify("The test is at the end of the draft.");
}
