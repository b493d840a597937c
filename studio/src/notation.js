// The notation of questions and facts, `allow(User:alice, "read", Repository:?)`, and Polar's own literals.

/** Blanks that look like a space, or like nothing. */
const BLANKS = "\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u2800\\u3000";
/** Characters that show nothing, or turn or place the text around them. */
const UNSEEN =
  `${BLANKS}\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f` +
  "\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb\\u{13430}-\\u{1343f}\\u{1bca0}-\\u{1bca3}\\u{1d159}" +
  "\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}";
const HIDDEN_SET = `\\u0000-\\u001f\\u007f-\\u009f${UNSEEN}`;

export const UNSEEN_PATTERN = new RegExp(`[${UNSEEN}]`, "gu");
const HIDDEN = new RegExp(`[${HIDDEN_SET}]`, "gu");
/** An id that needs no quotes. */
const PLAIN = new RegExp(`^[^\\s,()"?_:{}${HIDDEN_SET}][^\\s,()"?{}${HIDDEN_SET}]*$`, "u");

export const escape = (char) => `\\u{${char.codePointAt(0).toString(16)}}`;

/** A text in quotes. */
export const quoted = (text) =>
  `"${text.replace(/[\\"]/g, (char) => `\\${char}`).replace(HIDDEN, escape)}"`;

/** A text with its hidden characters spelled out, so that nobody is misled by them. */
export const visible = (text) => text.replace(HIDDEN, escape);

/** The same for a text of several lines, which stay lines. */
export const visibleLines = (text) => text.split("\n").map(visible).join("\n");

/** A type as a question names it. */
const TYPE = /^[\p{L}\p{N}_]+(?:::[\p{L}\p{N}_]+)*$/u;

/** A value as it is written in a question. A type that no question can name is in quotes: `User:a` is not a type. */
export function written({ type, id }) {
  if (type === null || type === undefined) return "_";
  const name = TYPE.test(type) ? type : quoted(type);
  if (id === null || id === undefined) return `${name}:_`;
  if (type === "String") return quoted(id);
  if (type === "Integer" || type === "Boolean") return id;
  return `${name}:${PLAIN.test(id) ? id : quoted(id)}`;
}

/** A fact as it is written in a question. */
export const writtenFact = ({ predicate, args }) => `${predicate}(${args.map(written).join(", ")})`;

const polarText = (text) =>
  `"${text.replace(/[\\"]/g, (char) => `\\${char}`).replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t")}"`;

/** A value as it is written in a policy. */
function polarValue({ type, id }) {
  if (type === "String") return polarText(id);
  if (type === "Integer" || type === "Boolean") return id;
  return `${type}{${polarText(id)}}`;
}

/** A fact as it is written in a policy. */
export const polarFact = ({ predicate, args }) => `${predicate}(${args.map(polarValue).join(", ")})`;

/** What is wrong with a text, for people. */
class NotationError extends Error {}

/** Reads a fact or a call: its predicate and arguments, in which `?` and `_` have no id. */
export function parseCall(text) {
  let rest = text;
  const blank = () => {
    rest = rest.replace(/^\s+/, "");
  };
  const fail = (expected) => {
    throw new NotationError(`at character ${text.length - rest.length + 1}, ${expected} is expected`);
  };
  const take = (pattern) => {
    const found = pattern.exec(rest);
    if (found) rest = rest.slice(found[0].length);
    return found?.[0];
  };
  const string = () => {
    const found = take(/^"(?:[^"\\]|\\u\{[0-9a-fA-F]{1,6}\}|\\.)*"/);
    if (!found) fail("a text in quotes");
    return found.slice(1, -1).replace(/\\(u\{([0-9a-fA-F]+)\}|.)/g, (_, all, hex) => {
      if (hex) {
        const code = parseInt(hex, 16);
        if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
          throw new NotationError(`there is no character \\u{${hex}}`);
        }
        return String.fromCodePoint(code);
      }
      return { n: "\n", r: "\r", t: "\t", 0: "\0" }[all] ?? all;
    });
  };
  const arg = () => {
    blank();
    if (rest.startsWith('"')) return { type: "String", id: string() };
    const literal = take(/^(-?\d+|true|false)(?=\s*[,)])/);
    if (literal) return { type: /\d/.test(literal) ? "Integer" : "Boolean", id: literal };
    if (take(/^[?_]\w*/) !== undefined) return { type: null, id: null };
    const type = take(/^[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*(?=:)/);
    if (!type) fail("a value like User:alice or \"read\"");
    take(/^:/);
    if (rest.startsWith('"')) return { type, id: string() };
    if (take(/^[?_]\w*/) !== undefined) return { type, id: null };
    const id = take(/^[^\s,()"]+/);
    if (id === undefined) fail("an id");
    return { type, id };
  };
  blank();
  const predicate = take(/^[A-Za-z_]\w*/);
  if (!predicate) fail("the name of a predicate");
  blank();
  if (!take(/^\(/)) fail("`(`");
  const args = [];
  blank();
  while (!take(/^\)/)) {
    if (args.length) {
      if (!take(/^,/)) fail("`,` or `)`");
    }
    args.push(arg());
    blank();
  }
  blank();
  take(/^;/);
  blank();
  if (rest) fail("the end");
  return { predicate, args };
}

/** Reads a fact. */
export function parseFact(text) {
  const fact = parseCall(text);
  if (fact.args.some(({ type, id }) => type === null || id === null)) {
    throw new NotationError("a fact has a value in each place, not `?` or `_`");
  }
  return fact;
}

/** What is wrong with a text that should be a value or `?`; empty if it is right. */
export function valueFault(text) {
  const shape = /[\s,()]/.test(text.trim()) ? 'Put quotes around this id, as in User:"a b"' : "Write it as Type:id, like User:alice";
  try {
    const { args } = parseCall(`x(${text})`);
    const [value] = args;
    if (args.length !== 1) return shape;
    return value.type === null || value.id === null || !["String", "Integer", "Boolean"].includes(value.type) ? "" : shape;
  } catch (error) {
    if (error instanceof NotationError) return shape;
    throw error;
  }
}

/** The text of a question; empty if a part is missing. */
export function questionText({ mode, actor, action, resource, text }) {
  if (mode === "any") return text.trim();
  const [who, what, on] = [actor, action, resource].map((part) => part.trim());
  // A value whose id is still missing is not asked about.
  if (!who || !what || !on || valueFault(who) || valueFault(on)) return "";
  const act = /^[?_]$/.test(what) ? what : /^".*"$/s.test(what) ? what : quoted(what);
  return `allow(${who}, ${act}, ${on})`;
}

/** Reads a text as the fields of a question about access, if it is one. */
export function accessFields(text) {
  let call;
  try {
    call = parseCall(text);
  } catch {
    return null;
  }
  if (call.predicate !== "allow" || call.args.length !== 3) return null;
  const shown = (arg) => (arg.id !== null ? written(arg) : arg.type === null ? "?" : `${arg.type}:?`);
  const action = call.args[1];
  return { actor: shown(call.args[0]), action: action.id ?? "?", resource: shown(call.args[2]) };
}

/** The type in front of an id that may not be complete, as in `User:al`. */
export const typeOf = (text) => /^([A-Za-z_][\w:]*?):/.exec(text.trim())?.[1];
