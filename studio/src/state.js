// What the page shows, in one place. Panes read it with `useStudio` and change it with `set`.

import { useEffect, useState } from "preact/hooks";

/**
 * @typedef {{type: string, id: string}} Value
 * @typedef {{predicate: string, args: Value[]}} Fact
 * @typedef {{mode: "access" | "any", actor: string, action: string, resource: string, text: string}} Question
 */

/** How many questions can be watched: each is asked again after every change. */
export const MOST_WATCHED = 12;

export const state = {
  /** Who is asking: `undefined` until that is known, `null` without a session. */
  session: undefined,
  online: true,
  /** The text in the editor, and the stored one. */
  draft: "",
  stored: "",
  loaded: false,
  /** @type {Question} */
  question: { mode: "access", actor: "", action: "", resource: "", text: "" },
  /** @type {Fact[]} The facts that are sent with questions and never stored. */
  overlay: [],
  /** The answer, and the draft that it is about. */
  answer: null,
  answerError: "",
  /** Whether the draft has errors, so that answers are those of an earlier one. */
  broken: false,
  asking: false,
  tests: null,
  /** Questions whose answers are watched, and their answers under the draft and the stored policy. */
  watched: [],
  watches: [],
  testsError: "",
  names: null,
  problems: [],
  checkedIn: 0,
  editorOnline: false,
  pane: "answer",
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
  useEffect(() => subscribe(() => again((n) => n + 1)), []);
  return state;
}

let fading;

/** Shows a sentence for a while. */
export function notify(notice) {
  clearTimeout(fading);
  set({ notice });
  fading = setTimeout(() => set({ notice: "" }), 6000);
}
