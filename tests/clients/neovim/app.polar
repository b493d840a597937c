actor User {}

resource Repo {
  roles = ["reader"];
  permissions = ["read"];
  relations = { parent: Repo };
  "read" if "raeder";
  # The next rule is typed by the session.
}

test "readers read" {
  setup {
    has_role(User{"ada"}, "reader", Repo{"site"});
  }
  assert allow(User{"ada"}, "read", Repo{"site"});
}
