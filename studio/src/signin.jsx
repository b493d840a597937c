// Asks for a key.

import { useEffect, useRef, useState } from "preact/hooks";
import { get, post } from "./api.js";
import { set, state, useStudio } from "./state.js";

/** The form. With `again`, it is shown above the studio, whose draft is kept. */
export function SignIn({ again }) {
  const { trouble } = useStudio();
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const field = useRef(null);
  useEffect(() => {
    field.current?.focus();
    // A link may have opened a session in another tab.
    const look = async () => {
      const session = await get("session").catch(() => null);
      if (session) set({ session, trouble: "", factsVersion: state.factsVersion + 1 });
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
      set({ session, trouble: "", factsVersion: state.factsVersion + 1 });
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
          {again
            ? "Your draft is still here. Enter a key to continue, or open the printed link in another tab."
            : "Open the link that the program printed when it started, or enter an API key. With a read-only key you can change nothing that is stored."}
        </p>
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
