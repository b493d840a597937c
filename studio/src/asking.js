// What a pane asks the service while it is shown.

import { useEffect, useState } from "preact/hooks";
import { isPolicyError } from "./api.js";

/**
 * Asks whenever one of `needs` changes, after a pause in milliseconds in which another change starts anew.
 * The last answer stays until there is another one, and while the draft has errors.
 *
 * @param {((signal: AbortSignal) => Promise<any>) | null} ask null if there is nothing to ask
 * @param {number} pause
 * @param {any[]} needs
 * @returns {{found: any, error: string}} the answer, or why there is none
 */
export function useAsked(ask, pause, needs) {
  const [found, setFound] = useState(null);
  const [error, setError] = useState("");
  useEffect(() => {
    if (!ask) return undefined;
    const ending = new AbortController();
    const timer = setTimeout(async () => {
      try {
        setFound(await ask(ending.signal));
        setError("");
      } catch (failure) {
        if (!ending.signal.aborted && !isPolicyError(failure)) setError(failure.message);
      }
    }, pause);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, needs);
  return { found, error };
}
