// Stores the draft as the policy that answers, after a look at what that changes.

import { useEffect, useRef, useState } from "preact/hooks";
import { post } from "./api.js";
import { loadStored } from "./live.js";
import { Failure, Shown } from "./parts.jsx";
import { notify, set, state, useStudio } from "./state.js";

/** The button, and its dialog. */
export function StorePolicy({ disabled }) {
  const { draft, tests, watches } = useStudio();
  const [open, setOpen] = useState(false);
  const [error, setError] = useState("");
  const [force, setForce] = useState(false);
  const [changed, setChanged] = useState(false);
  const dialog = useRef(null);
  useEffect(() => {
    if (!open) return;
    dialog.current?.showModal();
    // Someone else may have stored another policy since.
    const before = state.stored;
    loadStored()
      .then((now) => setChanged(now !== before))
      .catch((failure) => setError(failure.message));
  }, [open]);
  const failing = tests?.filter(({ failures }) => failures.length) ?? [];
  const changes = tests?.filter(({ active, failures }) => active !== null && active !== !failures.length) ?? [];
  const answers = watches.filter(({ allowed, active }) => allowed !== null && active !== null && allowed !== active);
  const close = () => {
    setOpen(false);
    setError("");
    setForce(false);
    setChanged(false);
  };
  const store = async () => {
    try {
      await post(`api/policy${force ? "?force=true" : ""}`, { src: draft, filename: "policy.polar" });
      set({ stored: draft });
      notify("The policy is stored and in use.");
      close();
    } catch (failure) {
      setError(failure.message);
    }
  };
  return (
    <>
      <button id="store" class="primary" disabled={disabled} onClick={() => setOpen(true)} title="Ctrl+S">Store…</button>
      {open && (
        <dialog ref={dialog} onClose={close} aria-labelledby="store-title">
          <h2 id="store-title">Store this policy?</h2>
          <p>It replaces the stored policy for everyone who uses this service.</p>
          {changed && (
            <p class="note warn">
              Another policy was stored since you began this draft. Storing yours undoes that: look at it first with
              “Revert”, after copying your draft.
            </p>
          )}
          {changes.length > 0 && (
            <>
              <h3>Tests that change</h3>
              <ul class="plain">
                {changes.map(({ name, active }) => (
                  <li key={name}>
                    <span class={active ? "bad" : "good"}>{active ? "now fails" : "now passes"}</span> <Shown text={name} />
                  </li>
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
          {failing.length > 0 && (
            <label class="check">
              <input type="checkbox" checked={force} onChange={() => setForce(!force)} />
              Store it even though {failing.length === 1 ? "a test fails" : `${failing.length} tests fail`}
            </label>
          )}
          <Failure text={error} />
          <div class="buttons">
            <button onClick={close}>Cancel</button>
            <button class="primary" disabled={failing.length > 0 && !force} onClick={store}>Store the policy</button>
          </div>
        </dialog>
      )}
    </>
  );
}
