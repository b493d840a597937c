// Asks for a key.

import { useEffect, useRef, useState } from "preact/hooks";
import { get, post } from "./api.js";
import { Shown } from "./parts.jsx";
import { begin, startAnew } from "./session.js";
import { state, useStudio } from "./state.js";

/** The form. With `again`, it is shown above the studio, whose draft is kept. */
export function SignIn({ again }) {
  const { trouble, elsewhere, environment } = useStudio();
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const field = useRef(null);
  useEffect(() => {
    field.current?.focus();
    // A link may have opened a session in another tab.
    const look = async () => {
      const session = await get("session").catch(() => null);
      if (session && session.environment !== state.elsewhere) begin(session);
    };
    window.addEventListener("focus", look);
    return () => window.removeEventListener("focus", look);
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const session = await post("session", { key: field.current.value });
      field.current.value = "";
      setError("");
      begin(session);
    } catch (failure) {
      setError(failure.message);
    }
    setBusy(false);
  };
  return (
    <main class={again ? "signin over" : "signin"}>
      <form onSubmit={submit}>
        <h1>{again ? "The session has ended" : "Portcullis studio"}</h1>
        <p>
          {again ? (
            "Your draft is kept. To go on, enter a key, or open a new link that the program printed."
          ) : (
            <>
              Enter an API key, as <code>portcullis keys create</code> prints it. With a key of <code>--read-only</code> you
              can change nothing that is stored. If the program runs with <code>--dev</code>, open the link that it printed.
            </>
          )}
        </p>
        {elsewhere && (
          <p class="note warn">
            You are signed in to the environment “<Shown text={elsewhere} />”, but your draft is of “<Shown text={environment} />”.
            Enter a key of that one to go on with the draft, or{" "}
            <button type="button" class="link" onClick={startAnew}>give up the draft</button>.
          </p>
        )}
        {trouble && !error && <p class="note warn">{trouble}</p>}
        <label for="key">API key</label>
        <input id="key" ref={field} type="password" autocomplete="off" spellcheck={false} required
          aria-invalid={error ? "true" : undefined} aria-describedby={error ? "key-error" : undefined} />
        {error && <p class="note bad" id="key-error" role="alert">{error}</p>}
        <button class="primary" disabled={busy}>{busy ? "Opening…" : "Open the studio"}</button>
      </form>
    </main>
  );
}
