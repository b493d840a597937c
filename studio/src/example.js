// A policy to start from.

import { replaceText } from "./editor.js";
import { set } from "./state.js";

const POLICY = `actor User {}

resource Organization {
  roles = ["member", "admin"];
  permissions = ["read", "invite"];

  "member" if "admin";
  "read" if "member";
  "invite" if "admin";
}

resource Repository {
  roles = ["reader", "maintainer"];
  permissions = ["read", "push"];
  relations = { organization: Organization };

  "reader" if "maintainer";
  "reader" if "member" on "organization";
  "maintainer" if "admin" on "organization";

  "read" if "reader";
  "push" if "maintainer";
}

test "members read, and admins push" {
  setup {
    has_role(User{"alice"}, "member", Organization{"acme"});
    has_relation(Repository{"docs"}, "organization", Organization{"acme"});
  }

  assert allow(User{"alice"}, "read", Repository{"docs"});
  assert_not allow(User{"alice"}, "push", Repository{"docs"});
}
`;

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
