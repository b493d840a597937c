// What the fields of questions and facts suggest: names of the draft, and ids of stored facts.

import { post } from "./api.js";
import { quoted, typeOf, written } from "./notation.js";
import { state } from "./state.js";

const begins = (text, part) => text.toLowerCase().startsWith(part.toLowerCase());

/** Types, and after a type its ids, for the part of a text that begins at `from`. */
async function values(part, from, types, wanted = true) {
  const typed = /^([A-Za-z_][\w:]*?):"?([^"]*)$/.exec(part);
  if (typed && state.names?.types.includes(typed[1])) {
    const [, type, text] = typed;
    const { ids } = await post("draft/ids", { type, text });
    const found = ids.map((id) => ({ from, text: written({ type, id }), detail: "stored" }));
    return wanted && text === "" ? [...found, { from, text: `${type}:?`, detail: "which?" }] : found;
  }
  const found = types.filter((type) => begins(type, part)).map((type) => ({ from, text: `${type}:`, more: true }));
  return wanted && part === "" ? [...found, { from, text: "?", detail: "which?" }] : found;
}

/** The types that may act. */
const actors = () => (state.names?.actors.length ? state.names.actors : (state.names?.types ?? []));

/** The types that something may be done to: those with permissions, or else all. */
function resources() {
  const blocks = state.names?.blocks.filter(({ permissions }) => permissions.length) ?? [];
  const types = blocks.map(({ name }) => name).filter((name) => name !== "global");
  return types.length ? types : (state.names?.types ?? []);
}

/** The permissions of a type, or of all. */
function permissions(type) {
  const blocks = state.names?.blocks ?? [];
  const of = blocks.filter(({ name }) => !type || name === type);
  return [...new Set((of.length ? of : blocks).flatMap((block) => block.permissions))].sort();
}

export const suggestActor = (text, at) => values(text.slice(0, at), 0, actors());
export const suggestResource = (text, at) => values(text.slice(0, at), 0, resources());

export async function suggestAction(text, at) {
  const part = text.slice(0, at).replace(/^"/, "");
  const found = permissions(typeOf(state.question.resource)).filter((name) => begins(name, part));
  return [...found.map((name) => ({ from: 0, text: name })), ...(part ? [] : [{ from: 0, text: "?", detail: "which?" }])];
}

/** The texts that an argument of a call may be. */
function texts(predicate, args) {
  const of = typeOf(args.at(-1) ?? "");
  const blocks = (state.names?.blocks ?? []).filter(({ name }) => !of || args.length < 3 || name === of);
  const all = (part) => [...new Set(blocks.flatMap(part))].sort();
  if (predicate === "allow" || predicate === "has_permission") return all((block) => block.permissions);
  if (predicate === "has_role") return all((block) => block.roles);
  if (predicate === "has_relation") return all((block) => Object.keys(block.relations));
  return [];
}

/** The start of the argument in which a text ends, outside of quotes; and those before it. */
function lastArgument(text) {
  let from = text.lastIndexOf("(") + 1;
  const args = [];
  let inside = false;
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') inside = !inside;
    else if (text[at] === "," && !inside) {
      args.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  while (text[from] === " ") from++;
  return { from, args };
}

/** For a call in the notation; `stored` is whether it must be a fact. */
export async function suggestCall(text, at, stored = false) {
  const before = text.slice(0, at);
  const open = /([A-Za-z_]\w*)\s*\((?:[^()]|"(?:[^"\\]|\\.)*")*$/.exec(before);
  if (!open) {
    const from = before.length - (/[A-Za-z_]\w*$/.exec(before)?.[0].length ?? 0);
    const part = before.slice(from);
    if (/\)\s*$/.test(before) && !stored) return [{ from, text: " and ", more: true }];
    const known = (state.names?.predicates ?? []).filter(({ is_stored }) => !stored || is_stored);
    const names = [...new Set(known.map(({ name }) => name))].filter((name) => begins(name, part));
    return names.map((name) => ({ from, text: `${name}(`, more: true }));
  }
  const { from, args } = lastArgument(before);
  const part = before.slice(from);
  const predicate = open[1];
  if (args.length === 1) {
    const after = text.slice(at).split(",").slice(1).map((arg) => arg.trim());
    const named = texts(predicate, [...args, part, ...after]).map((name) => quoted(name));
    if (named.length && !part.includes(":")) {
      const found = named.filter((name) => begins(name, part || '"')).map((name) => ({ from, text: name }));
      return stored || part ? found : [...found, { from, text: "?", detail: "which?" }];
    }
  }
  return values(part, from, args.length === 0 ? [...new Set([...actors(), ...(state.names?.types ?? [])])] : (state.names?.types ?? []), !stored);
}

export const suggestFact = (text, at) => suggestCall(text, at, true);
