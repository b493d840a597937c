// A text field that suggests how to go on.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { visible } from "./notation.js";
import { useStudio } from "./state.js";

/**
 * @typedef {{from: number, text: string, detail?: string, more?: boolean}} Suggestion
 * The text replaces what is between `from` and the cursor; with `more` the field goes on suggesting.
 *
 * @param {{label: string, value: string, onChange: (value: string) => void, onEnter?: () => void,
 *   suggest: (value: string, at: number) => Promise<Suggestion[]>, placeholder?: string, hidden?: boolean,
 *   name?: string, invalid?: boolean, fault?: string}} props
 * A `fault` is shown once the user has left the field.
 */
export function Suggest({ label, value, onChange, onEnter, suggest, placeholder, hidden, name, invalid, fault }) {
  const [found, setFound] = useState([]);
  // The text of the option that the arrow keys marked. The option stays marked when a later answer still has it.
  const [marked, setMarked] = useState(null);
  const at = found.findIndex(({ text }) => text === marked);
  const field = useRef(null);
  const asked = useRef(0);
  const [left, setLeft] = useState(true);
  const id = useId();
  const wrong = left ? fault : "";
  const close = () => {
    asked.current++;
    setFound([]);
    setMarked(null);
  };
  const look = async () => {
    const number = ++asked.current;
    const cursor = field.current?.selectionStart ?? 0;
    const suggestions = await suggest(field.current?.value ?? "", cursor).catch(() => []);
    if (number !== asked.current || document.activeElement !== field.current) return;
    const written = (field.current?.value ?? "").slice(0, cursor);
    const shown = suggestions.filter(({ from, text }) => written.slice(from) !== text).slice(0, 12);
    setFound(shown);
    setMarked((text) => (shown.some((option) => option.text === text) ? text : null));
  };
  useEffect(() => () => void asked.current++, []);
  // Who types before the names of the policy are there gets their suggestions once they are.
  const isKnown = Boolean(useStudio().names);
  useEffect(() => {
    if (isKnown && document.activeElement === field.current) look();
  }, [isKnown]);
  const choose = ({ from, text, more }) => {
    const input = field.current;
    const cursor = input.selectionStart ?? input.value.length;
    const next = input.value.slice(0, from) + text + input.value.slice(cursor);
    input.value = next;
    input.setSelectionRange(from + text.length, from + text.length);
    onChange(next);
    close();
    if (more) look();
  };
  const onKeyDown = (event) => {
    const open = found.length > 0;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) return void look();
      const step = event.key === "ArrowDown" ? 1 : -1;
      setMarked(found[(at + step + found.length + (at < 0 && step < 0 ? 1 : 0)) % found.length].text);
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (open && at >= 0) choose(found[at]);
      else {
        close();
        onEnter?.();
      }
    } else if (event.key === "Tab" && open && at >= 0) {
      event.preventDefault();
      choose(found[at]);
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  };
  return (
    <div class="suggest">
      <label for={id} class={hidden ? "unseen" : ""}>{label}</label>
      <input id={id} ref={field} name={name} value={value} placeholder={placeholder} role="combobox"
        aria-expanded={found.length > 0} aria-controls={`${id}-list`} aria-autocomplete="list" spellcheck={false}
        aria-invalid={invalid || wrong ? "true" : undefined} aria-describedby={wrong ? `${id}-fault` : undefined}
        aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined} autocomplete="off" autocapitalize="off"
        onInput={(event) => (setMarked(null), onChange(event.currentTarget.value), look())}
        onFocus={() => (setLeft(false), look())} onBlur={() => (setLeft(true), close())} onKeyDown={onKeyDown} />
      {wrong && <p class="fault" id={`${id}-fault`}>{wrong}</p>}
      <ul id={`${id}-list`} role="listbox" aria-label={`Suggestions for ${label}`} hidden={found.length === 0}>
        {found.map((suggestion, n) => (
          <li key={suggestion.text} id={`${id}-${n}`} role="option" aria-selected={n === at}
            onMouseDown={(event) => (event.preventDefault(), choose(suggestion))}>
            <bdi>{visible(suggestion.text)}</bdi>
            {suggestion.detail && <small>{suggestion.detail}</small>}
          </li>
        ))}
      </ul>
    </div>
  );
}
