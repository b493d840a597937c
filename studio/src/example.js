// Shows a policy to start from.

import { replaceText } from "./editor.js";
import { POLICY } from "./example_policy.js";
import { set } from "./state.js";

const value = (type, id) => ({ type, id });

/** Shows the example, with facts that are not stored and a question. */
export function showExample() {
  replaceText(POLICY);
  set({
    overlay: [
      { predicate: "has_role", args: [value("User", "alice"), value("String", "member"), value("Organization", "acme")] },
      { predicate: "has_relation", args: [value("Repository", "docs"), value("String", "organization"), value("Organization", "acme")] },
    ],
    question: { mode: "access", actor: "User:alice", action: "read", resource: "Repository:docs", text: "" },
  });
}
