// What the page shows, in one place. Panes read it with `useStudio` and change it with `set`.

import { useLayoutEffect, useState } from "preact/hooks";

/**
 * @typedef {{type: string, id: string}} Value
 * @typedef {{predicate: string, args: Value[]}} Fact
 * @typedef {{mode: "access" | "any", actor: string, action: string, resource: string, text: string}} Question
 */

/** How many questions can be watched: each is asked again after every change. */
export const MOST_WATCHED = 12;

/** How many what-if facts are sent with a question, as the service allows. */
export const MOST_WHAT_IF = 100;

export const state = {
  /** Who is asking: `undefined` until that is known, `null` without a session. */
  session: undefined,
  online: true,
  /** The environment of what is shown, and another one that a later session is for. */
  environment: "",
  elsewhere: "",
  /** The text in the editor, and the stored one. */
  draft: "",
  stored: "",
  loaded: false,
  /** The last draft without errors. */
  good: null,
  /** Whether another policy was stored since the draft was begun. */
  overtaken: false,
  /** Whether what is shown came from a link. */
  linked: false,
  /** @type {Question} */
  question: { mode: "access", actor: "", action: "", resource: "", text: "" },
  /** @type {Fact[]} The facts that are sent with questions and never stored. */
  overlay: [],
  /** The answer, and the draft that it is about. */
  answer: null,
  answerError: "",
  /** The earlier decision whose question is asked again. */
  past: null,
  /** Whether the draft has errors, so that answers are those of an earlier one. */
  broken: false,
  /** The draft's tests, the stored ones that it removes, and the draft that they are of. */
  tests: null,
  removed: [],
  testsOf: null,
  /** Questions whose answers are watched, and their answers under the draft and the stored policy. */
  watched: [],
  watches: [],
  watchesOf: null,
  testsError: "",
  names: null,
  problems: [],
  checkedIn: 0,
  editorOnline: false,
  /** Why the service refused the editor, as the service says it. */
  editorTrouble: "",
  pane: "answer",
  /** What the graph shows: the rules, or the proof of the answer. */
  graphOf: "rules",
  /** The data bindings of the caller's database, and the column of a condition. */
  bindings: "",
  filter: "",
  /** Counts changes of stored facts, so that what depends on them is asked again. */
  factsVersion: 0,
  theme: "auto",
  notice: "",
  /** Why there is no session, beside that nobody has opened one. */
  trouble: "",
};

const listeners = new Set();

/** Changes the state and tells those who show it. */
export function set(patch) {
  if (Object.keys(patch).every((key) => Object.is(state[key], patch[key]))) return;
  Object.assign(state, patch);
  for (const listener of [...listeners]) listener();
}

/** Calls a function after each change; returns a function that unsubscribes it. */
export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The state; a component that calls this is shown again after each change. */
export function useStudio() {
  const [, again] = useState(0);
  // At once and not after the next frame: a change in between would never be shown.
  useLayoutEffect(() => subscribe(() => again((n) => n + 1)), []);
  return state;
}

let fading;

/** Shows a sentence for a while. */
export function notify(notice) {
  clearTimeout(fading);
  set({ notice });
  fading = setTimeout(() => set({ notice: "" }), 6000);
}

/** Adds what-if facts. */
export function addWhatIf(facts) {
  const overlay = [...state.overlay, ...facts];
  if (overlay.length > MOST_WHAT_IF) return notify(`At most ${MOST_WHAT_IF} what-if facts are sent: remove one first.`);
  set({ overlay });
}
