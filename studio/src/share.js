// The state of the page as a fragment of its address. Fragments stay in the browser, so nothing is stored.

import { MOST_WATCHED, MOST_WHAT_IF, state } from "./state.js";

const MOST = 1_000_000;

async function through(stream, bytes) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  const parts = [];
  let length = 0;
  const reader = piped.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > 4 * MOST) throw new Error("the link holds too much");
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

function encode(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decode(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}

/** An address that shows the draft, the question and the what-if facts. */
export async function link() {
  const { draft, question, overlay, pane, bindings, filter, watched } = state;
  const json = JSON.stringify({ v: 1, draft, question, overlay, pane, bindings, filter, watched });
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(json));
  return `${location.origin}${location.pathname}#s=${encode(packed)}`;
}

const text = (value) => typeof value === "string";
const isFact = (fact) =>
  text(fact?.predicate) && Array.isArray(fact.args) && fact.args.every((arg) => text(arg?.type) && text(arg?.id));

/** What an address shows; null if it shows nothing. Throws if it is damaged. */
export async function shared(hash) {
  const packed = /^#s=([\w-]+)$/.exec(hash)?.[1];
  if (!packed) return null;
  const bytes = await through(new DecompressionStream("deflate-raw"), decode(packed));
  const { draft, question, overlay, pane, bindings, filter, watched } = JSON.parse(new TextDecoder().decode(bytes));
  const parts = [question?.mode, question?.actor, question?.action, question?.resource, question?.text];
  const isOverlay = Array.isArray(overlay) && overlay.length <= MOST_WHAT_IF && overlay.every(isFact);
  if (!text(draft) || draft.length > MOST || !parts.every(text) || !isOverlay) {
    throw new Error("the link is damaged");
  }
  const { mode, actor, action, resource } = question;
  return {
    draft,
    question: { mode: mode === "any" ? "any" : "access", actor, action, resource, text: question.text },
    overlay: overlay.map(({ predicate, args }) => ({
      predicate,
      args: args.map(({ type, id }) => ({ type, id })),
    })),
    pane: text(pane) ? pane : "answer",
    bindings: text(bindings) ? bindings : "",
    filter: text(filter) ? filter : "",
    watched: Array.isArray(watched) ? watched.filter(text).slice(0, MOST_WATCHED) : [],
  };
}
