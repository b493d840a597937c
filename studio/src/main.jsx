// Starts the page: opens the session, then shows the studio, or asks for a key.

import "./studio.css";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { get, post } from "./api.js";
import { App, showShared } from "./app.jsx";
import { begin } from "./session.js";
import { SignIn } from "./signin.jsx";
import { set, state, useStudio } from "./state.js";

/** The session of the cookie, or of the token in the printed link, which is used up. */
async function open() {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (token) history.replaceState(null, "", location.pathname);
  try {
    begin(token ? await post("session", { token }) : await get("session"));
  } catch (error) {
    if (token) {
      const session = await get("session").catch(() => null);
      if (session) begin(session);
      else set({ session, trouble: error.message });
    } else if (error.status === 401) {
      set({ session: null });
    } else {
      set({ session: null, trouble: error.message });
    }
  }
}

function Root() {
  const { session, theme } = useStudio();
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  if (session === undefined) return <p class="opening">Opening the studio…</p>;
  // A session that ends keeps the draft: the studio stays below the dialog.
  if (session === null && !state.loaded) return <SignIn />;
  return (
    <>
      <App />
      {session === null && <SignIn again />}
    </>
  );
}

/** A link that someone opens in this tab changes only the fragment of its address. */
window.addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) open();
  else if (location.hash.startsWith("#s=") && state.loaded) showShared();
});

render(<Root />, document.getElementById("app"));
open();
