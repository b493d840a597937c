// The studio: the editor on one side, questions and what follows from them on the other.

import { useEffect, useRef } from "preact/hooks";
import { format, goTo, lightLines, mount, replaceText } from "./editor.js";
import { keepUpToDate, loadStored } from "./live.js";
import { counted } from "./parts.jsx";
import { QuestionBar } from "./question.jsx";
import { AnswerPane } from "./panes/answer.jsx";
import { BindingsPane } from "./panes/bindings.jsx";
import { DecisionsPane } from "./panes/decisions.jsx";
import { FactsPane } from "./panes/facts.jsx";
import { RulesPane } from "./panes/rules.jsx";
import { StagesPane } from "./panes/stages.jsx";
import { TestsPane } from "./panes/tests.jsx";
import { leave, look } from "./session.js";
import { link, shared } from "./share.js";
import { notify, set, state, useStudio } from "./state.js";
import { StorePolicy } from "./store.jsx";

/** The panes, in their order. */
const PANES = [
  { id: "answer", title: "Answer", Pane: AnswerPane },
  { id: "stages", title: "SQL", Pane: StagesPane },
  { id: "tests", title: "Tests", Pane: TestsPane },
  { id: "facts", title: "Facts", Pane: FactsPane },
  { id: "rules", title: "Rules", Pane: RulesPane },
  { id: "decisions", title: "Decisions", Pane: DecisionsPane },
  { id: "bindings", title: "Your database", Pane: BindingsPane },
];

/** Panes that show what is stored, whatever the draft says. */
const ABOUT_STORED = ["facts", "decisions"];

/** Loads the stored policy, or what a shared address shows. */
async function load() {
  try {
    set({ draft: await loadStored() });
  } catch (error) {
    notify(error.message);
    return;
  }
  await showShared();
  set({ loaded: true });
}

/** Shows what a shared address holds, if it is one. */
export async function showShared() {
  let from = null;
  try {
    from = await shared(location.hash);
  } catch {
    notify("This link is damaged, so it is not shown.");
  }
  if (location.hash) history.replaceState(null, "", location.pathname);
  if (!from) return;
  if (state.draft !== state.stored && !confirm("Replace your draft with the one of this link?")) return;
  const { draft, ...rest } = from;
  set({ ...rest, linked: true });
  replaceText(draft);
}

/** The keys of the page, beside those of the editor. */
function onKey(event) {
  if (event.altKey && /^[1-9]$/.test(event.key)) {
    const pane = PANES[Number(event.key) - 1];
    if (pane) {
      event.preventDefault();
      set({ pane: pane.id });
      document.getElementById(`tab-${pane.id}`)?.focus();
    }
  } else if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    event.preventDefault();
    document.querySelector(".question input")?.focus();
  } else if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    document.getElementById("store")?.click();
  }
}

export function App() {
  const { loaded, online, session } = useStudio();
  useEffect(() => {
    if (!loaded && online && session) load();
  }, [online, session]);
  useEffect(() => {
    document.addEventListener("keydown", onKey);
    const leaving = (event) => {
      if (state.loaded && state.draft !== state.stored) event.preventDefault();
    };
    window.addEventListener("beforeunload", leaving);
    window.addEventListener("focus", look);
    return () => {
      document.removeEventListener("keydown", onKey);
      window.removeEventListener("beforeunload", leaving);
      window.removeEventListener("focus", look);
    };
  }, []);
  useEffect(() => keepUpToDate(), []);
  return (
    <div class="studio" inert={session === null}>
      <Header />
      <Bars />
      <main class="work">
        <section class="policy" aria-label="Policy">{loaded ? <Editor /> : <p class="opening">Loading the policy…</p>}</section>
        <section class="asking" aria-label="Questions">
          <QuestionBar />
          <Panes />
        </section>
      </main>
      <Status />
    </div>
  );
}

function Header() {
  const { session, theme } = useStudio();
  const share = async () => {
    const address = await link();
    if (address.length > 30_000) return notify("This draft is too long for a link.");
    try {
      await navigator.clipboard.writeText(address);
      notify("A link to this draft and question is in the clipboard. The link contains everything; nothing was stored.");
    } catch {
      history.replaceState(null, "", address);
      notify("The address bar now has a link to this draft and question: copy it from there.");
    }
  };
  const next = { auto: "dark", dark: "light", light: "auto" }[theme];
  return (
    <header class="top">
      <h1>
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M2 14V7a6 6 0 0 1 12 0v7M5 14V5M8 14V3M11 14V5M2 8h12M2 11h12" />
        </svg>
        Portcullis
      </h1>
      {session && <span class="chip" title="The environment of your key">{session.environment}</span>}
      {session && !session.can_write && <span class="chip" title="Your key is read-only">read-only</span>}
      <span class="space" />
      <button class="quiet" onClick={share}>Share</button>
      <button class="quiet" onClick={() => set({ theme: next })} aria-label={`Colours: ${theme}`}>
        {{ auto: "Auto", dark: "Dark", light: "Light" }[theme]}
      </button>
      <button class="quiet" onClick={leave}>Sign out</button>
    </header>
  );
}

/** What is true of the whole page: that the service is gone, or that others wrote what is shown. */
function Bars() {
  const { online, notice, linked } = useStudio();
  return (
    <div aria-live="polite">
      {!online && (
        <p class="bar bad">The service cannot be reached. Your draft is still here. The studio reconnects by itself.</p>
      )}
      {linked && (
        <p class="bar">
          This draft, question and what-if facts came from a link. Nothing of it is stored.{" "}
          <button class="link" onClick={() => set({ linked: false })}>Hide this</button>
        </p>
      )}
      {notice && <p class="bar">{notice}</p>}
    </div>
  );
}

function Editor() {
  const { draft, stored, problems, session, answer } = useStudio();
  const place = useRef(null);
  useEffect(() => mount(place.current), []);
  useEffect(() => lightLines(answer && answer.draft === draft ? linesOf(answer) : new Map()), [answer, draft]);
  const changed = draft !== stored;
  const errors = problems.filter(({ severity }) => severity === "error");
  return (
    <>
      <div class="pane-head">
        <h2>Policy</h2>
        <span class={changed ? "chip changed" : "chip"}>{changed ? "draft" : "as stored"}</span>
        <span class="space" />
        <button class="quiet" onClick={format} title="Shift+Alt+F">Format</button>
        {changed && <button class="quiet" onClick={() => (set({ overtaken: false, linked: false }), replaceText(stored))}>Revert</button>}
        <StorePolicy disabled={!session?.can_write || !changed || errors.length > 0}
          title={session?.can_write === false ? "Your key is read-only" : "Ctrl+S"} />
      </div>
      <div class="editor" ref={place} />
    </>
  );
}

/** The lines of an answer's rules, each with its class. */
function linesOf({ why }) {
  const lines = new Map();
  for (const { attempts } of why.failures) {
    for (const { rule } of attempts) if (rule?.line) lines.set(rule.line, "miss");
  }
  for (const { rule } of why.steps) if (rule?.line) lines.set(rule.line, "lit");
  return lines;
}

function Panes() {
  const { pane, tests, overlay } = useStudio();
  const failed = tests?.filter(({ failures }) => failures.length).length ?? 0;
  const marks = { tests: failed || null, facts: overlay.length ? `+${overlay.length}` : null };
  const onKeyDown = (event) => {
    const at = PANES.findIndex(({ id }) => id === pane);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = PANES.at(to % PANES.length);
    set({ pane: next.id });
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  const { Pane, title, id } = PANES.find((one) => one.id === pane) ?? PANES[0];
  return (
    <>
      <div class="tabs" role="tablist" aria-label="Panes" onKeyDown={onKeyDown}>
        {PANES.map((one) => (
          <button key={one.id} id={`tab-${one.id}`} role="tab" aria-selected={one.id === id} aria-controls="pane"
            tabIndex={one.id === id ? 0 : -1} onClick={() => set({ pane: one.id })}>
            {one.title}
            {marks[one.id] && <span class="count">{marks[one.id]}</span>}
          </button>
        ))}
      </div>
      <div class="pane" id="pane" role="tabpanel" aria-label={title} tabIndex={0}>
        {!ABOUT_STORED.includes(id) && <Stale />}
        <Pane key={id} />
      </div>
    </>
  );
}

/** Says that answers are older than the draft. */
function Stale() {
  const { broken, good, problems } = useStudio();
  const first = problems.find(({ severity }) => severity === "error");
  if (!broken) return null;
  return (
    <p class="note warn" role="status">
      The draft has errors. {good !== null && "This pane shows the last draft without errors. "}
      {first && <button class="link" onClick={() => goTo(first.line)}>Go to the first error</button>}
    </p>
  );
}

function Status() {
  const { problems, checkedIn, editorOnline, editorTrouble, tests } = useStudio();
  const errors = problems.filter(({ severity }) => severity === "error").length;
  const warnings = problems.length - errors;
  const passed = tests?.filter(({ failures }) => !failures.length).length;
  return (
    <footer class="status">
      {!editorOnline ? (
        <span>Not checked</span>
      ) : problems.length ? (
        <button class={errors ? "link bad" : "link warn"} onClick={() => goTo(problems[0].line)}>
          {[errors && counted(errors, "error"), warnings && counted(warnings, "warning")].filter(Boolean).join(", ")}
        </button>
      ) : (
        <span>No problems</span>
      )}
      {tests && <span>{tests.length ? passed === tests.length ? `${counted(passed, "test")} passed` : `${tests.length - passed} of ${counted(tests.length, "test")} failed` : "No tests"}</span>}
      <span class="space" />
      <span data-checked={Math.round(checkedIn)}>
        {editorOnline ? (checkedIn ? `checked in ${Math.max(1, Math.round(checkedIn))} ms` : "") : editorTrouble ? "" : "connecting to the language server…"}
      </span>
      {!editorOnline && editorTrouble && <span class="warn" role="status">{editorTrouble}</span>}
    </footer>
  );
}
