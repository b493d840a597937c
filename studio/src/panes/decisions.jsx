// The recent decisions of the service, as they are made. A click asks the question of a decision again.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { post } from "../api.js";
import { LongList } from "../list.jsx";
import { accessFields, questionText, visible, written, writtenFact } from "../notation.js";
import { Empty, Failure, Shown, Switch } from "../parts.jsx";
import { notify, set, state, useStudio } from "../state.js";

/** How often the service is asked for new decisions, in milliseconds. */
const OFTEN = 2000;

const RESULTS = [["", "All"], ["allowed", "Allowed"], ["denied", "Denied"]];

const value = ({ type, id }) => ({ type, id });

/** The question of a decision, in the notation. */
export const decided = ({ actor, action, resource }) =>
  writtenFact({ predicate: "allow", args: [actor, { type: "String", id: action }, resource] });

/** How long a decision took. */
const took = ({ took_us }) => (took_us < 100_000 ? `${(took_us / 1000).toFixed(took_us < 1000 ? 2 : 1)} ms` : `${(took_us / 1e6).toFixed(1)} s`);

/** When a decision was made, in local time. */
const time = (decision) => new Date(decision.time).toLocaleTimeString("en-GB");

/** Asks the question of a decision, with its context facts. */
function again(decision) {
  const text = decided(decision);
  const fields = accessFields(text);
  // An action may look like a question mark.
  const isAccess = fields && questionText({ mode: "access", ...fields }) === text;
  const context = (decision.context_facts ?? []).map(({ predicate, args }) => ({ predicate, args: args.map(value) }));
  if (state.overlay.length) notify("The context facts of this decision replaced your what-if facts.");
  set({
    question: isAccess ? { mode: "access", ...fields, text: "" } : { ...state.question, mode: "any", text },
    overlay: context,
    past: { ...decision, question: text },
    pane: "answer",
  });
}

/** The recent decisions. While the pointer is over the list, no new ones are added, so that rows do not move away. */
function useDecisions(isLive, isPointed) {
  const { session, online } = useStudio();
  const [found, setFound] = useState(null);
  const [error, setError] = useState("");
  const mayRead = Boolean(session?.can_write);
  useEffect(() => {
    if (!mayRead || !online || !isLive) return undefined;
    const ending = new AbortController();
    let timer;
    let latest = 0;
    let all = [];
    const look = async () => {
      try {
        if (document.visibilityState === "visible" && !(isPointed.current && all.length)) {
          const now = await post("draft/decisions", { after: latest }, ending.signal);
          // A service that was started again counts from the beginning.
          if (now.latest < latest) all = [];
          if (now.decisions.length || latest === 0) {
            all = [...now.decisions, ...all].slice(0, now.most);
            setFound({ all, isKept: now.is_kept, most: now.most });
          }
          latest = now.latest < latest ? 0 : now.latest;
          setError("");
        }
      } catch (failure) {
        if (ending.signal.aborted) return;
        setError(failure.message);
      }
      timer = setTimeout(look, OFTEN);
    };
    look();
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [mayRead, online, isLive]);
  return { found, error };
}

export function DecisionsPane() {
  const { session } = useStudio();
  const [text, setText] = useState("");
  const [result, setResult] = useState("");
  const [isLive, setLive] = useState(true);
  const isPointed = useRef(false);
  const { found, error } = useDecisions(isLive, isPointed);
  const shown = useMemo(() => {
    const part = text.trim().toLowerCase();
    const fits = (decision) =>
      (!result || decision.allowed === (result === "allowed")) &&
      (!part || `${decided(decision)} ${decision.key ?? ""}`.toLowerCase().includes(part));
    return found?.all.filter(fits) ?? [];
  }, [found, text, result]);
  if (session && !session.can_write) {
    return (
      <Empty title="Your key is read-only">
        Decisions show what others ask this service. To see them, sign in with a key that may write.
      </Empty>
    );
  }
  if (!found) return error ? <Failure text={error} /> : <p class="opening">Reading the decisions…</p>;
  const { all, isKept, most } = found;
  if (!isKept) {
    return (
      <Empty title="Decisions are not kept">
        Start the service with <code>--decision-log FILE</code>, or with <code>--dev</code>. Its decisions then appear here as they
        are made.
      </Empty>
    );
  }
  if (!all.length) {
    return (
      <Empty title="No decisions yet">
        Checks that programs send to this environment, for example to <code>/api/authorize</code>, appear here at once. Your own
        questions on this page do not.
      </Empty>
    );
  }
  const n = (count) => `${count.toLocaleString("en")} ${count === 1 ? "decision" : "decisions"}`;
  return (
    <div class="facts decisions">
      <div class="search">
        <label class="unseen" for="decision-text">Search decisions</label>
        <input id="decision-text" type="search" placeholder="Search by actor, action, resource or key" value={text} spellcheck={false}
          onInput={(event) => setText(event.currentTarget.value)} />
        <Switch label="Result" options={RESULTS} value={result} onChange={setResult} />
        <button onClick={() => setLive(!isLive)}>{isLive ? "Pause" : "Resume"}</button>
      </div>
      <p class="muted" role="status">
        {text || result ? `${shown.length.toLocaleString("en")} of ${n(all.length)}` : all.length === most ? `The latest ${n(most)}` : n(all.length)}
        {isLive ? "" : ", paused"}. Click a decision to ask its question again.
      </p>
      <Failure text={error} />
      {shown.length ? (
        <div class="held" onPointerEnter={() => (isPointed.current = true)} onPointerLeave={() => (isPointed.current = false)}>
          <LongList label="Decisions" items={shown} keyOf={({ number }) => number} onEnter={again} row={(decision) => <Decision decision={decision} />} />
        </div>
      ) : (
        <Empty title="No decision matches">Try a shorter text or another result.</Empty>
      )}
    </div>
  );
}

function Decision({ decision }) {
  const { allowed, key, error, cut, context_facts, context_facts_left_out } = decision;
  const n_context = (context_facts?.length ?? 0) + (context_facts_left_out ?? 0);
  return (
    <div class="fact" title={visible(error ?? "")}>
      <time dateTime={decision.time} title={decision.time}>{time(decision)}</time>
      <span class={allowed ? "good mark" : "bad mark"} aria-hidden="true">{allowed ? "✓" : "✕"}</span>
      <span class="unseen">{error ? "denied because of a mistake" : allowed ? "allowed" : "denied"}</span>
      <button class="link" tabIndex={-1} onClick={() => again(decision)}><code><Parts decision={decision} /></code></button>
      {error && <span class="chip lack">mistake</span>}
      {cut && <span class="chip lack" title="An id was too long to be kept whole">cut</span>}
      {n_context > 0 && (
        <span class="chip context" title={`Asked with ${n_context === 1 ? "a context fact" : `${n_context} context facts`}`}>+{n_context}</span>
      )}
      <span class="space" />
      {key && <span class="by"><Shown text={key} plain most={24} /></span>}
      <span class="took">{took(decision)}</span>
    </div>
  );
}

/** The actor, the action and the resource. */
function Parts({ decision }) {
  const { actor, action, resource } = decision;
  const [who, on] = [actor, resource].map(written);
  return <><Shown text={who} plain most={60} /> <b><Shown text={action} plain most={40} /></b> <Shown text={on} plain most={60} /></>;
}

/** What a decision was, above the current answer to its question. */
export function Past({ answer }) {
  const { past } = useStudio();
  if (!past || past.question !== answer.question) return null;
  const now = answer.active ?? answer.allowed;
  const words = (allowed) => (allowed ? "allowed" : "denied");
  const left = past.context_facts_left_out ?? 0;
  const changed = now !== past.allowed;
  return (
    <div class={changed ? "note warn" : "note"}>
      {changed && <strong>{past.allowed ? "Allowed then, denied now. " : "Denied then, allowed now. "}</strong>}
      The service {past.error ? "refused" : words(past.allowed)} this at {time(past)}
      {past.key && <> for the key “<Shown text={past.key} plain />”</>}, in {took(past)}
      {past.policy !== null && <>, by version {past.policy} of the policy</>}.
      {past.error && <> The reason: <Shown text={past.error} /></>}
      {past.cut && " An id was too long to be kept whole, so this answer is about another one."}
      {left > 0 && ` ${left === 1 ? "One of its context facts is" : `${left} of its context facts are`} not in the log, so this answer does not count ${left === 1 ? "it" : "them"}.`}
      {" "}<button class="link" onClick={() => set({ past: null, pane: "decisions" })}>Back to the decisions</button>
    </div>
  );
}
