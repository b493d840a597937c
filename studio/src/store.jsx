// Stores the draft as the policy that answers, after a look at what that changes.

import { useEffect, useRef, useState } from "preact/hooks";
import { post } from "./api.js";
import { Impact, useImpact } from "./impact.jsx";
import { loadStored } from "./live.js";
import { Failure, Shown } from "./parts.jsx";
import { notify, set, useStudio } from "./state.js";

/** What a draft changes about a test, in words; null if nothing. */
function changeOf({ name, active, edited, failures }) {
  const passes = !failures.length;
  const words = [];
  if (active === null) words.push("new in this draft");
  else if (active !== passes) words.push(passes ? "now passes" : "now fails");
  if (edited) words.push("edited in this draft");
  if (!words.length) return null;
  return { name, change: words.join(", "), look: !passes ? "bad" : edited ? "warn" : "good" };
}

/** The button, and its dialog. */
export function StorePolicy({ disabled, title }) {
  const { draft, tests, removed, testsOf, testsError, watches, watchesOf, overtaken, session, stored } = useStudio();
  const [open, setOpen] = useState(false);
  const [error, setError] = useState("");
  const [force, setForce] = useState(false);
  const dialog = useRef(null);
  useEffect(() => {
    if (!open) return;
    dialog.current?.showModal();
    // Someone else may have stored another policy since.
    loadStored().catch((failure) => setError(failure.message));
  }, [open]);
  // Without a session the page asks for a key, which nobody could enter below this dialog.
  useEffect(() => {
    if (session === null) close();
  }, [session]);
  const checking = testsOf !== draft || watchesOf !== draft;
  const failing = tests?.filter(({ failures }) => failures.length) ?? [];
  const changes = checking ? [] : (tests?.map(changeOf).filter(Boolean) ?? []);
  const gone = checking ? [] : removed;
  const nChanges = changes.length + gone.length;
  const answers = watches.filter(({ allowed, active }) => !checking && allowed !== null && active !== null && allowed !== active);
  const impact = useImpact(open, draft, stored);
  const close = () => {
    setOpen(false);
    setError("");
    setForce(false);
  };
  const store = async () => {
    try {
      await post(`api/policy${force ? "?force=true" : ""}`, { src: draft, filename: "policy.polar" });
      set({ stored: draft, overtaken: false, linked: false });
      notify("The policy is stored and in use.");
      close();
    } catch (failure) {
      setError(failure.message);
    }
  };
  return (
    <>
      <button id="store" class="primary" disabled={disabled} onClick={() => setOpen(true)} title={title}>Store…</button>
      {open && (
        <dialog ref={dialog} onClose={close} aria-labelledby="store-title">
          <h2 id="store-title">Store this policy?</h2>
          <p>It replaces the stored policy for everyone who uses this service.</p>
          {overtaken && (
            <p class="note warn">
              Another policy was stored since you began this draft. Storing yours undoes that: look at it first with
              “Revert”, after copying your draft.
            </p>
          )}
          {checking && <p class="muted" role="status">Checking what it changes…</p>}
          {!checking && testsError && <Failure text={`The tests could not be run: ${testsError}`} />}
          {!checking && !testsError && !nChanges && <p class="muted">No test changes.</p>}
          {nChanges > 0 && (
            <>
              <h3>Tests that change</h3>
              <ul class="plain">
                {changes.map(({ name, look, change }) => (
                  <li key={name}><span class={look}>{change}</span> <Shown text={name} /></li>
                ))}
                {gone.map((name) => (
                  <li key={name}><span class="bad">removed by this draft</span> <Shown text={name} /></li>
                ))}
              </ul>
            </>
          )}
          {answers.length > 0 && (
            <>
              <h3>Watched questions that change</h3>
              <ul class="plain">
                {answers.map(({ question, allowed }) => (
                  <li key={question}>
                    <span class={allowed ? "good" : "bad"}>{allowed ? "now allowed" : "now denied"}</span>{" "}
                    <code><Shown text={question} /></code>
                  </li>
                ))}
              </ul>
            </>
          )}
          {impact.isReady ? <Impact {...impact} /> : <p class="muted" role="status">Comparing recent decisions…</p>}
          {failing.length > 0 && (
            <label class="check">
              <input type="checkbox" checked={force} onChange={() => setForce(!force)} />
              Store it even though {failing.length === 1 ? "a test fails" : `${failing.length} tests fail`}
            </label>
          )}
          <Failure text={error} />
          <div class="buttons">
            <button onClick={close}>Cancel</button>
            <button class="primary" disabled={checking || !impact.isReady || (failing.length > 0 && !force)} onClick={store}>Store the policy</button>
          </div>
        </dialog>
      )}
    </>
  );
}
