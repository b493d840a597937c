// Keeps answers, tests and names up to date with the draft, the question and the facts.

import { Offline, get, post } from "./api.js";
import { questionText } from "./notation.js";
import { set, state, subscribe } from "./state.js";

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

/** The body of a request about the draft. */
export const about = (extra = {}) => ({ policy: state.draft, context_facts: state.overlay, ...extra });

const isPolicyError = (error) => error.code === "invalid_policy";

async function answer(signal) {
  const question = questionText(state.question);
  if (!state.loaded || !state.session) return;
  if (!question) return set({ answer: null, answerError: "", asking: false });
  set({ asking: true });
  try {
    const found = await post("draft/answer", about({ question }), signal);
    set({ answer: { ...found, question, draft: state.draft }, answerError: "", broken: false, asking: false });
  } catch (error) {
    if (signal.aborted || error instanceof Offline) throw error;
    if (isPolicyError(error)) set({ broken: true, asking: false });
    else set({ answer: null, answerError: error.message, asking: false });
  }
}

async function tests(signal) {
  if (!state.loaded || !state.session) return;
  try {
    const found = await post("draft/tests", about(), signal);
    set({ tests: found.tests, testsError: "", broken: false });
  } catch (error) {
    if (signal.aborted || error instanceof Offline) throw error;
    if (isPolicyError(error)) set({ broken: true });
    else set({ testsError: error.message });
  }
}

async function watches(signal) {
  if (!state.loaded || !state.session) return;
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
  set({ watches: found });
}

async function names(signal) {
  if (!state.loaded || !state.session) return;
  try {
    set({ names: await post("draft/names", about(), signal) });
  } catch (error) {
    if (signal.aborted || error instanceof Offline) throw error;
    // A broken draft keeps the names of the last good one.
  }
}

/** Loads the stored policy. Returns its text. */
export async function loadStored() {
  const { policy } = await get("api/policy");
  const stored = policy?.src ?? "";
  set({ stored });
  return stored;
}

/** Starts the updates; returns a function that stops them. */
export function keepUpToDate() {
  const session = () => [state.loaded, state.session, state.online];
  const ends = [
    live(() => [...session(), state.draft, state.question, state.overlay, state.factsVersion, state.stored], 120, answer),
    live(() => [...session(), state.draft, state.stored], 300, tests),
    live(() => [...session(), state.draft, state.stored, state.overlay, state.factsVersion, state.watched], 400, watches),
    live(() => [...session(), state.draft], 200, names),
  ];
  return () => ends.forEach((end) => end());
}
