// The beginning and the end of a session.

import { call, get } from "./api.js";
import { loadStored } from "./live.js";
import { set, state } from "./state.js";

/** Shows the page as if it were opened now. Nothing of what it showed stays. */
export function startAnew() {
  // What is not loaded any more needs no question about a draft that is lost.
  set({ session: null, loaded: false });
  location.reload();
}

/** Goes on with a session. One of another environment has another policy and other facts. */
export function begin(session) {
  const { loaded, environment, draft, stored, factsVersion } = state;
  if (loaded && session.environment !== environment) {
    if (draft === stored) startAnew();
    else set({ session: null, elsewhere: session.environment, trouble: "" });
    return;
  }
  set({ session, environment: session.environment, elsewhere: "", trouble: "", factsVersion: factsVersion + 1 });
}

/** Looks whether another tab or another person changed what this page shows as theirs. */
export async function look() {
  if (!state.loaded || !state.session) return;
  try {
    const session = await get("session");
    const { environment, can_write } = state.session ?? {};
    if (session.environment !== environment || session.can_write !== can_write) begin(session);
    else await loadStored();
  } catch (error) {
    if (error.status === 401) set({ session: null });
  }
}

/** Ends the session, and takes from the page what it showed. */
export async function leave() {
  if (state.draft !== state.stored && !confirm("Your draft is lost when you sign out. Sign out?")) return;
  await call("DELETE", "session").catch(() => null);
  startAnew();
}
