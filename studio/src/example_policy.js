// The policy to start from. The tests of the studio use it, too.

export const POLICY = `actor User {}

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
  "read" if is_public(resource);
  "push" if "maintainer";
}

test "members read, and admins push" {
  setup {
    has_role(User{"alice"}, "member", Organization{"acme"});
    has_role(User{"bob"}, "admin", Organization{"acme"});
    has_relation(Repository{"docs"}, "organization", Organization{"acme"});
  }

  assert allow(User{"alice"}, "read", Repository{"docs"});
  assert_not allow(User{"alice"}, "push", Repository{"docs"});
  assert allow(User{"bob"}, "push", Repository{"docs"});
}
`;
