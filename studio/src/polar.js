// The colours of Polar in the editor.

import { HighlightStyle, LanguageSupport, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";

const KEYWORDS = new Set(
  "if iff and or not in on matches assert assert_not setup fixture test declare extends".split(" "),
);
const BLOCKS = new Set(
  "actor resource global roles permissions relations role permission relation".split(" "),
);

const polar = StreamLanguage.define({
  name: "polar",
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.match(/^@\w+/)) return "atom";
    if (stream.match(/^-?\d+\b/)) return "number";
    const word = stream.match(/^[A-Za-z_][\w]*(?:::[A-Za-z_]\w*)*/);
    if (!word) {
      stream.next();
      return "punctuation";
    }
    const text = word[0];
    if (text === "true" || text === "false") return "atom";
    if (KEYWORDS.has(text)) return "keyword";
    if (BLOCKS.has(text)) return "definitionKeyword";
    if (/^[A-Z]/.test(text)) return "typeName";
    if (/^\s*\(/.test(stream.string.slice(stream.pos))) return "function";
    return "variableName";
  },
  tokenTable: { function: tags.function(tags.variableName) },
});

const colours = HighlightStyle.define([
  { tag: tags.comment, class: "tok-comment" },
  { tag: tags.string, class: "tok-string" },
  { tag: [tags.number, tags.atom], class: "tok-atom" },
  { tag: [tags.keyword, tags.definitionKeyword], class: "tok-keyword" },
  { tag: tags.typeName, class: "tok-type" },
  { tag: tags.function(tags.variableName), class: "tok-function" },
]);

/** The language of the editor. */
export const language = () => new LanguageSupport(polar, syntaxHighlighting(colours));
