// The policy editor: CodeMirror, with everything that knows the language coming from the language server.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, toggleComment } from "@codemirror/commands";
import { bracketMatching, foldGutter, foldKeymap, foldService } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, StateEffect, StateField, Text } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { LanguageServer } from "./lsp.js";
import { UNSEEN_PATTERN, escape, visible, visibleLines } from "./notation.js";
import { language } from "./polar.js";
import { set, state, subscribe } from "./state.js";
import { theme } from "./theme.js";

/** @type {EditorView | null} */
let view = null;
/** @type {LanguageServer | null} */
let server = null;
let changedAt = 0;

/** Lines that take part in the answer: a map from their number to the class they get. */
const light = StateEffect.define();

const lit = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    let result = marks.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(light)) continue;
      const lines = [...effect.value].filter(([line]) => line >= 1 && line <= transaction.state.doc.lines);
      const mark = ([line, name]) =>
        Decoration.line({ class: name }).range(transaction.state.doc.line(line).from);
      result = Decoration.set(lines.sort(([a], [b]) => a - b).map(mark));
    }
    return result;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** @param {Text} doc @param {{line: number, character: number}} position */
function offset(doc, { line, character }) {
  if (line >= doc.lines) return doc.length;
  const found = doc.line(line + 1);
  return Math.min(found.from + character, found.to);
}

function position(doc, at) {
  const line = doc.lineAt(at);
  return { line: line.number - 1, character: at - line.from };
}

/** Shows what the server found, then the corrections that it offers. */
async function show(found) {
  if (!view) return;
  mark(found, []);
  if (!found.length) return;
  const { doc } = view.state;
  const range = { start: position(doc, 0), end: position(doc, doc.length) };
  const fixes = await server?.ask("codeAction", { range, context: { diagnostics: [] } });
  if (fixes?.length && view?.state.doc === doc) mark(found, fixes);
}

/** The corrections of a diagnostic, as actions of the editor. */
function actions(diagnostic, fixes) {
  const same = (other) =>
    other.message === diagnostic.message && JSON.stringify(other.range) === JSON.stringify(diagnostic.range);
  const own = fixes.filter((fix) => fix.diagnostics?.some(same));
  return own.map((fix) => ({
    name: visible(fix.title),
    apply(editor) {
      const edits = Object.values(fix.edit?.changes ?? {}).flat();
      const { doc } = editor.state;
      const change = ({ range, newText }) => ({
        from: offset(doc, range.start),
        to: offset(doc, range.end),
        insert: newText,
      });
      editor.dispatch({ changes: edits.map(change), userEvent: "input.fix" });
    },
  }));
}

function mark(found, fixes) {
  const { doc } = view.state;
  const shown = found.map((diagnostic) => {
    const from = offset(doc, diagnostic.range.start);
    return {
      from,
      to: Math.max(from, offset(doc, diagnostic.range.end)),
      severity: diagnostic.severity === 1 ? "error" : "warning",
      source: diagnostic.code,
      message: visibleLines(diagnostic.message),
      actions: actions(diagnostic, fixes),
      line: diagnostic.range.start.line + 1,
    };
  });
  view.dispatch(setDiagnostics(view.state, shown));
  set({ problems: shown, ...(fixes.length ? {} : { checkedIn: performance.now() - changedAt }) });
}

/** Hover: what the server says, as text. Code in it keeps its form. */
const hover = hoverTooltip(async (editor, at) => {
  const found = await server?.ask("hover", { position: position(editor.state.doc, at) });
  const text = found?.contents?.value ?? "";
  if (!text) return null;
  const range = found.range;
  return {
    pos: range ? offset(editor.state.doc, range.start) : at,
    create() {
      const dom = document.createElement("div");
      dom.className = "cm-hover";
      for (const part of text.split(/^```\w*$/m)) {
        if (!part.trim()) continue;
        const block = document.createElement("pre");
        block.textContent = visibleLines(part.replace(/^\n|\n$/g, ""));
        dom.append(block);
      }
      return { dom };
    },
  };
});

/** Completion: what the server offers. */
async function complete(context) {
  const word = context.matchBefore(/[\w:]*/);
  if (!context.explicit && !word?.text && !/["]$/.test(context.state.sliceDoc(context.pos - 1, context.pos))) {
    return null;
  }
  const found = await server?.ask("completion", { position: position(context.state.doc, context.pos) });
  const items = Array.isArray(found) ? found : (found?.items ?? []);
  if (!items.length) return null;
  const options = items.map((item) => ({
    label: item.label,
    displayLabel: visible(item.label),
    detail: item.detail,
    apply: item.textEdit?.newText ?? item.insertText ?? item.label,
  }));
  const start = items[0].textEdit?.range?.start;
  const from = start ? offset(context.state.doc, start) : (word?.from ?? context.pos);
  return { from, options, validFor: /^[\w ]*$/ };
}

const folding = foldService.of((editorState, from) => {
  const line = editorState.doc.lineAt(from);
  if (!/\{\s*$/.test(line.text)) return null;
  const indent = /^\s*/.exec(line.text)[0];
  for (let n = line.number + 1; n <= editorState.doc.lines; n++) {
    const below = editorState.doc.line(n);
    if (below.text.startsWith(`${indent}}`)) return { from: line.to, to: below.from + indent.length };
  }
  return null;
});

/** Formats the policy as `portcullis fmt` does. */
export async function format() {
  const edits = await server?.ask("formatting", { options: { tabSize: 2, insertSpaces: true } });
  if (!edits?.length || !view) return;
  const { doc } = view.state;
  const changes = edits.map(({ range, newText }) => ({
    from: offset(doc, range.start),
    to: offset(doc, range.end),
    insert: newText,
  }));
  view.dispatch({ changes, userEvent: "format" });
}

/** Goes to where the name at the cursor is declared. */
async function define(editor) {
  const at = position(editor.state.doc, editor.state.selection.main.head);
  const found = await server?.ask("definition", { position: at });
  const place = Array.isArray(found) ? found[0] : found;
  const range = place?.range ?? place?.targetSelectionRange;
  if (range) goTo(range.start.line + 1);
}

/** Spells out what could hide in a policy, as in all other places of the page. */
const spellOut = highlightSpecialChars({
  addSpecialChars: UNSEEN_PATTERN,
  render(code) {
    const shown = document.createElement("span");
    shown.className = "cm-specialChar";
    shown.textContent = escape(String.fromCodePoint(code));
    return shown;
  },
});

/** Mounts the editor in an element. Its styles stay inside: the page's policy forbids styles in elements. */
export function mount(element) {
  const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(theme);
  const updates = EditorView.updateListener.of((update) => {
    if (!update.docChanged) return;
    changedAt = performance.now();
    server?.sync();
    set({ draft: update.state.doc.toString() });
  });
  view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: state.draft,
      extensions: [
        spellOut,
        lineNumbers(),
        foldGutter(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        bracketMatching(),
        closeBrackets(),
        highlightSelectionMatches(),
        lintGutter(),
        folding,
        hover,
        lit,
        language(),
        autocompletion({ override: [complete], icons: false }),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": "Policy", spellcheck: "false", tabindex: "0" }),
        keymap.of([
          { key: "Shift-Alt-f", run: () => (format(), true), preventDefault: true },
          { key: "F12", run: (editor) => (define(editor), true) },
          { key: "Mod-/", run: toggleComment },
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...lintKeymap,
          ...foldKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...defaultKeymap,
        ]),
        updates,
      ],
    }),
  });
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  changedAt = performance.now();
  server = new LanguageServer({
    text: () => view?.state.doc.toString() ?? "",
    onDiagnostics: show,
    onStatus: (editorOnline, editorTrouble = "") => set({ editorOnline, editorTrouble }),
    mayConnect: () => Boolean(state.session),
  });
  let { session } = state;
  const unsubscribe = subscribe(() => {
    if (session === state.session) return;
    session = state.session;
    server?.connect();
  });
  return () => {
    unsubscribe();
    server?.end();
    view?.destroy();
    view = server = null;
  };
}

/** Replaces the text, as an edit that can be undone. */
export function replaceText(text) {
  if (!view) return set({ draft: text });
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}

/** Adds a text at the end and goes there. */
export function append(text) {
  if (!view) return;
  const at = view.state.doc.length;
  view.dispatch({ changes: { from: at, insert: text }, selection: { anchor: at + text.length } });
  view.dispatch({ effects: EditorView.scrollIntoView(at + text.length, { y: "end" }) });
}

/** Lights lines; `lines` has the class of each. */
export function lightLines(lines) {
  view?.dispatch({ effects: light.of(lines) });
}

/** Goes to a line, from 1. */
export function goTo(line) {
  if (!view || line < 1 || line > view.state.doc.lines) return;
  const { from } = view.state.doc.line(line);
  view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  view.focus();
}
