// Requests to the service, all below this page's own path.

import { set } from "./state.js";

/** An error that the service answered. */
class ApiError extends Error {
  /** @param {number} status @param {{message?: string, code?: string}} body */
  constructor(status, body) {
    super(body.message ?? `the service answered with status ${status}`);
    this.status = status;
    this.code = body.code;
  }
}

/** Whether the draft is the reason for an error. */
export const isPolicyError = (error) => error.code === "invalid_policy";

/** The service cannot be reached. */
export class Offline extends Error {}

/**
 * Sends a request; returns the decoded answer.
 * @param {string} method
 * @param {string} path relative to the page
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 */
export async function call(method, path, body, signal) {
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    lost();
    throw new Offline("the service cannot be reached");
  }
  set({ online: true });
  const text = await response.text();
  let decoded = {};
  try {
    decoded = text ? JSON.parse(text) : {};
  } catch {
    decoded = { message: text.slice(0, 300) };
  }
  if (response.ok) return decoded;
  if (response.status === 401 && !path.startsWith("session")) set({ session: null });
  throw new ApiError(response.status, decoded);
}

/** @param {string} path @param {unknown} body @param {AbortSignal} [signal] */
export const post = (path, body, signal) => call("POST", path, body, signal);

/** @param {string} path @param {AbortSignal} [signal] */
export const get = (path, signal) => call("GET", path, undefined, signal);

let waiting = false;

/** Notes that the service is gone, and looks until it is back. */
export function lost() {
  set({ online: false });
  if (waiting) return;
  waiting = true;
  const look = async () => {
    try {
      const response = await fetch("session");
      waiting = false;
      if (response.status === 401) set({ session: null });
      set({ online: true });
    } catch {
      setTimeout(look, 1000);
    }
  };
  setTimeout(look, 500);
}
