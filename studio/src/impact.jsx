// Which recent decisions a draft would change, shown before it is stored.

import { useEffect, useState } from "preact/hooks";
import { post } from "./api.js";
import { counted, Failure, Shown } from "./parts.jsx";
import { decided } from "./panes/decisions.jsx";

/** How many changes are listed at first. */
const FIRST = 8;

/** Compares while `open`. Returns what was found or an error, and neither while it is comparing. */
export function useImpact(open, draft, stored) {
  const [result, setResult] = useState({});
  useEffect(() => {
    if (!open) return undefined;
    setResult({});
    const ending = new AbortController();
    post("draft/decisions/changed", { policy: draft }, ending.signal).then(
      (found) => setResult({ found }),
      (failure) => !ending.signal.aborted && setResult({ error: failure.message }),
    );
    return () => ending.abort();
  }, [open, draft, stored]);
  return { ...result, isReady: Boolean(result.found || result.error) };
}

const WORDS = new Map([[true, "allowed"], [false, "denied"], [null, "refused"]]);

/** The decisions that change. */
export function Impact({ found, error }) {
  const [all, setAll] = useState(false);
  if (error) return <Failure text={`Decisions could not be compared: ${error}`} />;
  if (!found?.is_kept) return null;
  const { changes, decisions, questions, compared, not_whole } = found;
  if (!decisions) return <p class="muted">There are no recent decisions to compare.</p>;
  const shown = all ? changes : changes.slice(0, FIRST);
  return (
    <>
      {changes.length > 0 && (
        <>
          <h3>Recent decisions that change</h3>
          <ul class={all ? "plain changes all" : "plain changes"} tabIndex={all ? 0 : undefined} aria-label="Recent decisions that change">
            {shown.map((change) => (
              <li key={decided(change) + JSON.stringify(change.context_facts)}>
                <span class={change.draft ? "good" : "bad"}>{WORDS.get(change.active)} now, {WORDS.get(change.draft)} with this draft</span>{" "}
                <code><Shown text={decided(change)} /></code>
                {change.times > 1 && <span class="muted"> {counted(change.times, "time")}</span>}
              </li>
            ))}
          </ul>
          {shown.length < changes.length && (
            <button class="link" onClick={() => setAll(true)}>Show all {changes.length}</button>
          )}
        </>
      )}
      <p class="muted small">
        {changes.length === 0 && "No recent decision changes. "}
        {compared < questions ? `Compared ${compared.toLocaleString("en")} of ${counted(questions, "question")}` : `Compared ${counted(questions, "question")}`}
        {" "}from the latest {counted(decisions, "decision")}.
        {not_whole > 0 && ` ${counted(not_whole, "decision")} could not be compared: the log does not have the whole question.`}
      </p>
    </>
  );
}
