# Who may do what in an application with organizations and their documents.
# `portcullis test policy.polar` runs the tests at the end.

actor User {}

resource Organization {
  roles = ["member", "admin"];
  permissions = ["read", "invite"];

  "member" if "admin";
  "read" if "member";
  "invite" if "admin";
}

resource Document {
  roles = ["reader", "editor"];
  permissions = ["read", "edit"];
  relations = { organization: Organization, owner: User };

  "editor" if "owner";
  "editor" if "admin" on "organization";
  "reader" if "editor";
  "reader" if "member" on "organization";

  "read" if "reader";
  "read" if is_public(resource);
  "edit" if "editor";
}

test "members read the documents of their organization, and admins edit them" {
  setup {
    has_role(User{"1"}, "member", Organization{"1"});
    has_role(User{"2"}, "admin", Organization{"1"});
    has_relation(Document{"10"}, "organization", Organization{"1"});
    has_relation(Document{"20"}, "organization", Organization{"2"});
  }

  assert allow(User{"1"}, "read", Document{"10"});
  assert_not allow(User{"1"}, "edit", Document{"10"});
  assert allow(User{"2"}, "edit", Document{"10"});
  assert_not allow(User{"2"}, "read", Document{"20"});
}

test "owners edit, and everyone reads what is public" {
  setup {
    has_relation(Document{"10"}, "owner", User{"1"});
    is_public(Document{"11"});
  }

  assert allow(User{"1"}, "edit", Document{"10"});
  assert_not allow(User{"2"}, "read", Document{"10"});
  assert allow(User{"2"}, "read", Document{"11"});
  assert_not allow(User{"2"}, "edit", Document{"11"});
}
