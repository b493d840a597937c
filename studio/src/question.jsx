// The question bar: who may do what to what, or any predicate.

import { accessFields, questionText, typeOf, valueFault, visible } from "./notation.js";
import { Switch } from "./parts.jsx";
import { set, state, useStudio } from "./state.js";
import { Suggest } from "./suggest.jsx";
import { suggestAction, suggestActor, suggestCall, suggestResource } from "./suggestions.js";

const change = (patch) => set({ question: { ...state.question, ...patch } });

const KINDS = [["access", "Access"], ["any", "Any predicate"]];

/** What is wrong with the text of a field; an empty field is fine. */
const faultOf = (text) => (text.trim() ? valueFault(text) : "");

/** Asks another question: a text in the notation. */
export function ask(text) {
  const fields = accessFields(text);
  set({ question: fields ? { mode: "access", ...fields, text: "" } : { ...state.question, mode: "any", text }, pane: "answer" });
}

export function QuestionBar() {
  const { question } = useStudio();
  const { mode, actor, action, resource, text } = question;
  const toAccess = () => change({ mode: "access", ...(accessFields(text) ?? {}) });
  const toAny = () => change({ mode: "any", text: text || questionText(question) });
  return (
    <div class="question">
      <div class="pane-head">
        <h2>Question</h2>
        <Switch label="Kind of question" options={KINDS} value={mode} onChange={(kind) => (kind === "any" ? toAny() : toAccess())} />
        <span class="space" />
        <kbd>Ctrl K</kbd>
      </div>
      {mode === "access" ? (
        <div class="fields">
          <Suggest label="Actor" name="actor" value={actor} placeholder="User:alice" suggest={suggestActor} fault={faultOf(actor)}
            onChange={(value) => change({ actor: value })} />
          <Suggest label="Action" name="action" value={action} placeholder="read" suggest={suggestAction}
            onChange={(value) => change({ action: value })} />
          <Suggest label="Resource" name="resource" value={resource} placeholder="Repository:docs" suggest={suggestResource} fault={faultOf(resource)}
            onChange={(value) => change({ resource: value })} />
        </div>
      ) : (
        <div class="fields one">
          <Suggest label="Question" name="question" value={text} placeholder={'has_role(User:alice, ?, Organization:acme)'}
            suggest={suggestCall} onChange={(value) => change({ text: value })} />
        </div>
      )}
      <Others />
    </div>
  );
}

/** Questions near this one: lists, actions and subjects. */
function Others() {
  const { question } = useStudio();
  const { mode, actor, action, resource } = question;
  if (mode !== "access") return null;
  const [who, on] = [typeOf(actor), typeOf(resource)];
  const isOpen = (part) => /(^|:)\s*[?_]/.test(part);
  const near = [];
  if (actor && on && !isOpen(actor) && action && action !== "?" && !isOpen(resource)) {
    near.push([`Each ${on} it may ${visible(action)}`, { resource: `${on}:?` }]);
  }
  if (actor && resource && !isOpen(actor) && !isOpen(resource) && action !== "?") near.push(["All actions", { action: "?" }]);
  if (who && resource && !isOpen(resource) && action && action !== "?" && !isOpen(actor)) {
    near.push([`Each ${who} who may ${visible(action)}`, { actor: `${who}:?` }]);
  }
  if (!near.length) return null;
  return (
    <div class="near">
      {near.map(([label, patch]) => (
        <button class="link" key={label} onClick={() => (change(patch), set({ pane: "answer" }))}>{label}</button>
      ))}
    </div>
  );
}
