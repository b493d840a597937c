// The draft's own tests, run as it is edited.

import { append, goTo } from "../editor.js";
import { parseCall, polarFact } from "../notation.js";
import { Empty, Failure, Shown } from "../parts.jsx";
import { notify, state, useStudio } from "../state.js";

export function TestsPane() {
  const { tests, testsError } = useStudio();
  if (testsError) return <Failure text={testsError} />;
  if (!tests) return <p class="opening">Running the tests…</p>;
  if (!tests.length) {
    return <Empty title="No tests yet">Ask a question, then press “Make this a test” at its answer.</Empty>;
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
  const { name, passed, total, failures, active } = test;
  const passes = !failures.length;
  return (
    <li class={passes ? "pass" : "fail"}>
      <div class="row">
        <span class="mark" aria-hidden="true">{passes ? "✓" : "✕"}</span>
        <button class="link name" onClick={() => goTo(lineOf(name))}><Shown text={name} plain /></button>
        <span class="unseen">{passes ? "passes" : "fails"}</span>
        {active === null && <span class="chip">new</span>}
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
  const lines = state.draft.split("\n");
  return lines.findIndex((line) => line.startsWith("test ") && line.includes(name)) + 1;
}

/** The facts that an answer read: of its proof, or those that rules found before something was missing. */
function factsOf(why) {
  const facts = new Map();
  const steps = why.steps.filter(({ source }) => source);
  for (const { fact } of steps) {
    if (fact.args.every(({ type, id }) => type !== null && id !== null)) facts.set(polarFact(fact), fact);
  }
  return [...facts.keys()];
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
