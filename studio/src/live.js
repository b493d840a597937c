// Keeps answers, tests and names up to date with the draft, the question and the facts.

import { Offline, get, isPolicyError, post } from "./api.js";
import { replaceText } from "./editor.js";
import { questionText } from "./notation.js";
import { notify, set, state, subscribe } from "./state.js";

/** Calls `run` with a signal when one of the watched values has changed, after a pause; the last call wins. */
function live(watched, pause, run) {
  let seen = [];
  let timer;
  let running;
  const look = () => {
    const now = watched();
    if (now.length === seen.length && now.every((value, at) => Object.is(value, seen[at]))) return;
    seen = now;
    clearTimeout(timer);
    running?.abort();
    timer = setTimeout(async () => {
      running = new AbortController();
      const { signal } = running;
      try {
        await run(signal);
      } catch (error) {
        if (signal.aborted) return;
        // What was not asked is asked again once the service is back.
        if (error instanceof Offline) seen = [];
        else throw error;
      }
    }, pause);
  };
  look();
  return subscribe(look);
}

/** The policy that questions are about: the draft, or while that has errors, the last one without. */
export const asked = () => (state.broken && state.good !== null ? state.good : state.draft);

/** The body of a request about that policy. */
export const about = (extra = {}) => ({ policy: asked(), context_facts: state.overlay, ...extra });

/** The same about the draft, with or without errors. */
const aboutDraft = () => ({ policy: state.draft, context_facts: state.overlay });

async function answer(signal) {
  const question = questionText(state.question);
  if (!state.loaded || !state.session) return;
  if (!question) return set({ answer: null, answerError: "" });
  const [draft, stored] = [asked(), state.stored];
  try {
    const found = await post("draft/answer", about({ question }), signal);
    set({ answer: { ...found, question, draft, stored }, answerError: "" });
  } catch (error) {
    if (signal.aborted || error instanceof Offline) throw error;
    if (isPolicyError(error)) set({ broken: true });
    else set({ answer: null, answerError: error.message });
  }
}

async function tests(signal) {
  if (!state.loaded || !state.session) return;
  const testsOf = state.draft;
  try {
    const { tests, removed = [] } = await post("draft/tests", aboutDraft(), signal);
    set({ tests, removed, testsOf, testsError: "" });
  } catch (error) {
    if (signal.aborted || error instanceof Offline) throw error;
    if (!isPolicyError(error)) set({ testsOf, testsError: error.message });
  }
}

async function watches(signal) {
  if (!state.loaded || !state.session) return;
  const watchesOf = asked();
  const found = [];
  for (const question of state.watched) {
    try {
      const { allowed, active } = await post("draft/answer", about({ question }), signal);
      found.push({ question, allowed, active, error: "" });
    } catch (error) {
      if (signal.aborted || error instanceof Offline) throw error;
      if (isPolicyError(error)) return;
      found.push({ question, allowed: null, active: null, error: error.message });
    }
  }
  set({ watches: found, watchesOf });
}

async function names(signal) {
  if (!state.loaded || !state.session) return;
  const good = state.draft;
  try {
    set({ names: await post("draft/names", aboutDraft(), signal), good, broken: false });
  } catch (error) {
    if (signal.aborted || error instanceof Offline) throw error;
    // A broken draft keeps the names of the last good one.
    if (isPolicyError(error)) set({ broken: true });
  }
}

/** Loads the stored policy, and returns its text. A page that has no draft of its own follows it. */
export async function loadStored() {
  const { policy } = await get("api/policy");
  const now = policy?.src ?? "";
  const { loaded, draft, stored: before } = state;
  if (now === before) return now;
  set({ stored: now, testsOf: null, watchesOf: null });
  if (!loaded) return now;
  if (draft === before) {
    replaceText(now);
  } else if (draft !== now) {
    set({ overtaken: true });
    notify("Another policy was stored. Your draft is kept.");
  }
  return now;
}

/** Starts the updates; returns a function that stops them. */
export function keepUpToDate() {
  const session = () => [state.loaded, state.session, state.online];
  const ends = [
    live(() => [...session(), asked(), state.question, state.overlay, state.factsVersion, state.stored], 120, answer),
    live(() => [...session(), state.draft, state.stored], 300, tests),
    live(() => [...session(), asked(), state.stored, state.overlay, state.factsVersion, state.watched], 400, watches),
    live(() => [...session(), state.draft], 100, names),
  ];
  return () => ends.forEach((end) => end());
}
