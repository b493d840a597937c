# A code host: organizations with nested folders, repositories and issues; nested groups; bans.

# Banned users may do nothing, regardless of other grants.
allow(user: User, action: String, resource: Resource) if
  has_permission(user, action, resource) and not is_banned(user);

actor User {}

actor Group {
  relations = { member: User, parent: Group };
}

# A member of a group is a member of its parent group.
in_group(user: User, group: Group) if has_relation(group, "member", user);
in_group(user: User, group: Group) if
  has_relation(inner, "parent", group) and
  in_group(user, inner);

resource Organization {
  roles = ["admin", "maintainer", "reader"];
  permissions = ["read", "invite"];

  "maintainer" if "admin";
  "reader" if "maintainer";

  "read" if "reader";
  "invite" if "admin";
}

resource Folder {
  roles = ["admin", "maintainer", "reader"];
  permissions = ["read", "create_repository"];
  relations = { parent: Folder, organization: Organization };

  "maintainer" if "admin";
  "reader" if "maintainer";
  role if role on "parent";
  role if role on "organization";

  "read" if "reader";
  "create_repository" if "maintainer";
}

resource Repository {
  roles = ["admin", "maintainer", "reader"];
  permissions = ["read", "write", "manage"];
  relations = { folder: Folder, organization: Organization };

  "maintainer" if "admin";
  "reader" if "maintainer";
  role if role on "folder";
  role if role on "organization";

  "read" if "reader";
  "read" if is_public(resource);
  "write" if "maintainer";
  "manage" if "admin";
}

# Members of a group have its permissions.
has_role(user: User, role: String, folder: Folder) if
  in_group(user, group) and has_role(group, role, folder);
has_role(user: User, role: String, repository: Repository) if
  in_group(user, group) and has_role(group, role, repository);

declare has_role(Group, String, Folder);
declare has_role(Group, String, Repository);

resource Issue {
  permissions = ["read", "comment", "edit", "close", "delete"];
  relations = { repository: Repository, creator: User };

  "read" if "read" on "repository";
  "comment" if "read" on "repository";
  "edit" if "write" on "repository";
  "edit" if "creator";
  "close" if "write" on "repository";
  "close" if "creator";
  "delete" if "manage" on "repository";
}

test "roles flow from the organization to an issue in a nested folder" {
  setup {
    has_role(User{"1"}, "maintainer", Organization{"acme"});
    has_relation(Folder{"1"}, "organization", Organization{"acme"});
    has_relation(Folder{"2"}, "parent", Folder{"1"});
    has_relation(Repository{"7"}, "folder", Folder{"2"});
    has_relation(Issue{"100"}, "repository", Repository{"7"});
  }
  assert allow(User{"1"}, action: String, Issue{"100"}) iff
    action in ["read", "comment", "edit", "close"];
  assert_not allow(User{"2"}, "read", Issue{"100"});
}

test "a member of an inner group has the roles of the outer one" {
  setup {
    has_relation(Group{"writers"}, "member", User{"1"});
    has_relation(Group{"writers"}, "parent", Group{"staff"});
    has_role(Group{"staff"}, "reader", Folder{"1"});
    has_relation(Repository{"7"}, "folder", Folder{"1"});
  }
  assert allow(User{"1"}, "read", Repository{"7"});
  assert_not allow(User{"1"}, "write", Repository{"7"});
}

test "everybody reads what is public, and closes what they opened, unless banned" {
  setup {
    is_public(Repository{"7"});
    has_relation(Issue{"100"}, "repository", Repository{"7"});
    has_relation(Issue{"100"}, "creator", User{"1"});
    has_relation(Issue{"101"}, "repository", Repository{"7"});
    has_relation(Issue{"101"}, "creator", User{"2"});
    is_banned(User{"2"});
  }
  assert allow(User{"1"}, "close", Issue{"100"});
  assert allow(User{"3"}, "comment", Issue{"100"});
  assert_not allow(User{"3"}, "close", Issue{"100"});
  assert_not allow(User{"2"}, "close", Issue{"101"});
  assert_not allow(User{"2"}, "read", Repository{"7"});
}
