// Small parts that several panes share.

import { useState } from "preact/hooks";
import { goTo } from "./editor.js";
import { visible, writtenFact, written } from "./notation.js";
import { notify } from "./state.js";

/** How many characters of a text are shown before someone asks for more. */
const SHOWN = 160;

/**
 * A text from facts or a policy: isolated, its hidden characters spelled out, and not longer than a line or two.
 * A plain one is inside of a button, and does not offer the rest.
 */
export function Shown({ text, plain, most = SHOWN }) {
  const [all, setAll] = useState(false);
  const full = visible(text);
  if (full.length <= most || all) return <bdi class="shown">{full}</bdi>;
  if (plain) return <bdi class="shown">{full.slice(0, most)}…</bdi>;
  return (
    <span class="shown">
      <bdi>{full.slice(0, most)}…</bdi>
      <button class="link" onClick={() => setAll(true)}>{full.length.toLocaleString("en")} characters</button>
    </span>
  );
}

/** A fact of an explanation. */
export const FactText = ({ fact }) => <code><Shown text={writtenFact(fact)} /></code>;

/** A value. */
export const ValueText = ({ value, plain }) => <code><Shown text={written(value)} plain={plain} /></code>;

/** A rule, which leads to its line in the editor. */
export function RuleLink({ rule }) {
  if (!rule) return null;
  if (rule.line === null) return <span class="chip" title={rule.text}>every policy</span>;
  return (
    <button class="chip line" title={visible(rule.text)} onClick={() => goTo(rule.line)}>line {rule.line}</button>
  );
}

/** What a pane says when it has nothing to show, and what to do. */
export const Empty = ({ title, children }) => (
  <div class="empty">
    <p class="title">{title}</p>
    <p>{children}</p>
  </div>
);

/** A message about something that went wrong. */
export const Failure = ({ text }) => (text ? <p class="note bad" role="alert"><Shown text={text} most={2000} /></p> : null);

/** Copies a text to the clipboard. */
export function Copy({ text, label = "Copy" }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } catch {
      notify("This page may not use the clipboard. Select the text and copy it yourself.");
    }
  };
  return <button class="quiet" onClick={copy}>{done ? "Copied" : label}</button>;
}

/** A button that changes what is stored for everyone, so it asks first. */
export function StoreForEveryone({ onStore }) {
  const [sure, setSure] = useState(false);
  if (!sure) return <button class="quiet" onClick={() => setSure(true)}>Store</button>;
  return (
    <>
      <button class="quiet bad" onClick={() => (setSure(false), onStore())}>Store for everyone</button>
      <button class="quiet" onClick={() => setSure(false)}>Cancel</button>
    </>
  );
}

/**
 * A choice of one of a few options. Arrow keys choose, as in other radio groups.
 * @param {{label: string, options: [string, string][], value: string, onChange: (value: string) => void}} props
 */
export function Switch({ label, options, value, onChange }) {
  const at = options.findIndex(([one]) => one === value);
  const onKeyDown = (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (at + step + options.length) % options.length;
    onChange(options[next][0]);
    event.currentTarget.children[next].focus();
  };
  return (
    <div class="switch" role="radiogroup" aria-label={label} onKeyDown={onKeyDown}>
      {options.map(([one, text]) => (
        <button key={one} role="radio" aria-checked={one === value} tabIndex={one === value ? 0 : -1} onClick={() => onChange(one)}>{text}</button>
      ))}
    </div>
  );
}

/** What a pane shows as long as it has nothing. */
export const Waiting = ({ broken, children }) =>
  broken ? <Empty title="The draft has errors">Correct them to see this.</Empty> : <p class="opening">{children}</p>;

/** A number of things. */
export const counted = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;
