// The stored facts: search, add, delete; and facts that are only sent with questions.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { call, post } from "../api.js";
import { useAsked } from "../asking.js";
import { LongList } from "../list.jsx";
import { parseFact, writtenFact } from "../notation.js";
import { Empty, FactText, Failure, Shown } from "../parts.jsx";
import { addWhatIf, notify, set, state, useStudio } from "../state.js";
import { Suggest } from "../suggest.jsx";
import { suggestFact } from "../suggestions.js";

/** How many facts are asked for first, and at most. */
const FIRST = 500;
const MOST = 200_000;

export function FactsPane() {
  const { names, factsVersion, online, session } = useStudio();
  const [predicate, setPredicate] = useState("");
  const [text, setText] = useState("");
  const [most, setMost] = useState(FIRST);
  const ask = (signal) => post("draft/facts", { predicate, text, most }, signal);
  const { found, error } = useAsked(ask, 120, [predicate, text, most, factsVersion, online, session]);
  const predicates = [...new Set((names?.predicates ?? []).filter((one) => one.is_stored).map((one) => one.name))];
  const look = (change) => {
    setMost(FIRST);
    change();
  };
  return (
    <div class="facts">
      <WhatIf />
      <AddFact />
      <div class="search">
        <label class="unseen" for="fact-text">Search facts</label>
        <input id="fact-text" type="search" placeholder="Search stored facts" value={text} spellcheck={false}
          onInput={(event) => { const { value } = event.currentTarget; look(() => setText(value)); }} />
        <label class="unseen" for="fact-predicate">Predicate</label>
        <select id="fact-predicate" value={predicate} onChange={(event) => { const { value } = event.currentTarget; look(() => setPredicate(value)); }}>
          <option value="">All predicates</option>
          {predicates.map((name) => <option key={name} value={name}>{name}</option>)}
        </select>
        <span class="muted" role="status">{found ? counted(found) : ""}</span>
      </div>
      <Failure text={error} />
      {found && !found.facts.length && (
        <Empty title={text || predicate ? "No fact matches" : "No facts are stored"}>
          {text || predicate ? "Try a shorter text or another predicate." : "Add one above, or try one without storing it."}
        </Empty>
      )}
      {found && found.facts.length > 0 && (
        <LongList label="Stored facts" items={found.facts} keyOf={(_, at) => at} onDelete={startDelete}
          row={(fact) => <FactRow key={writtenFact(fact)} fact={fact} canDelete={session?.can_write} />}
          onEnd={() => found.more && most < MOST && setMost(Math.min(most * 20, MOST))} />
      )}
      {found?.more && most >= MOST && (
        <p class="muted">These are the first {MOST.toLocaleString("en")}: search to see others.</p>
      )}
    </div>
  );
}

/** How many facts were found. */
function counted({ facts, more }) {
  if (facts.length === 1 && !more) return "1 fact";
  return `${facts.length.toLocaleString("en")}${more ? "+" : ""} facts`;
}

/** Asks whether the fact of a row is to be deleted, as its button does. */
const startDelete = (row) => row.querySelector("[aria-label='Delete this fact']")?.click();

function FactRow({ fact, canDelete }) {
  const [sure, setSure] = useState(false);
  const confirm = useRef(null);
  useLayoutEffect(() => confirm.current?.focus({ preventScroll: true }), [sure]);
  /** Moves the focus from the two buttons, which go away, to their row, or to the list if the row goes away. */
  const leave = (place) => {
    const next = confirm.current?.closest(place);
    setSure(false);
    next?.focus({ preventScroll: true });
  };
  const remove = async () => {
    try {
      await call("DELETE", "api/facts", fact);
      leave(".list");
      set({ factsVersion: state.factsVersion + 1 });
    } catch (error) {
      leave("li");
      notify(error.message);
    }
  };
  return (
    <div class="fact">
      <FactText fact={fact} />
      <span class="space" />
      {canDelete && (sure ? (
        <>
          <button class="quiet bad" ref={confirm} onClick={remove}>Delete</button>
          <button class="quiet" onClick={() => leave("li")}>Keep</button>
        </>
      ) : (
        <button class="quiet far" tabIndex={-1} aria-label="Delete this fact" onClick={() => setSure(true)}>✕</button>
      ))}
    </div>
  );
}

function AddFact() {
  const { session } = useStudio();
  const [text, setText] = useState("");
  const [sure, setSure] = useState(false);
  const [error, setError] = useState("");
  const read = () => {
    try {
      setError("");
      return parseFact(text);
    } catch (failure) {
      setError(failure.message);
      return null;
    }
  };
  const change = (value) => {
    setText(value);
    setSure(false);
  };
  const store = async () => {
    const fact = read();
    setSure(false);
    if (!fact) return;
    try {
      await post("api/facts", fact);
      setText("");
      set({ factsVersion: state.factsVersion + 1 });
    } catch (failure) {
      setError(failure.message);
    }
  };
  const tryOut = () => {
    const fact = read();
    if (!fact) return;
    addWhatIf([fact]);
    change("");
  };
  return (
    <div class="add">
      <Suggest label="New fact" hidden name="fact" value={text} placeholder={'has_role(User:alice, "member", Organization:acme)'}
        suggest={suggestFact} onChange={change} onEnter={session?.can_write ? () => setSure(read() !== null) : tryOut} invalid={Boolean(error)} />
      {sure ? (
        <>
          <button class="primary" onClick={store}>Store for everyone</button>
          <button onClick={() => setSure(false)}>Cancel</button>
        </>
      ) : (
        <>
          <button onClick={tryOut} disabled={!text.trim()}>Try</button>
          {session?.can_write && <button class="primary" onClick={store} disabled={!text.trim()}>Store</button>}
        </>
      )}
      <Failure text={error} />
    </div>
  );
}

/** Facts that are sent with questions and never stored. */
function WhatIf() {
  const { overlay } = useStudio();
  if (!overlay.length) return null;
  return (
    <section class="what-if" aria-label="What-if facts">
      <div class="row">
        <h3>What if</h3>
        <span class="muted">sent with each question, never stored</span>
        <span class="space" />
        <button class="quiet" onClick={() => set({ overlay: [] })}>Clear</button>
      </div>
      <ul class="plain">
        {overlay.map((fact, n) => (
          <li class="fact" key={writtenFact(fact) + n}>
            <code><Shown text={writtenFact(fact)} /></code>
            <span class="space" />
            <button class="quiet far" aria-label="Remove this what-if fact" onClick={() => set({ overlay: overlay.filter((_, at) => at !== n) })}>✕</button>
          </li>
        ))}
      </ul>
    </section>
  );
}
