# Files in nested folders, shared with users and with nested groups.

actor User {}

actor Group {
  relations = { member: User, parent: Group };
}

# A member of a group is a member of its parent group.
in_group(user: User, group: Group) if has_relation(group, "member", user);
in_group(user: User, group: Group) if
  has_relation(inner, "parent", group) and
  in_group(user, inner);

resource Folder {
  roles = ["reader", "writer", "owner"];
  permissions = ["read", "write"];
  relations = { parent: Folder, creator: User };

  "owner" if "creator";
  "writer" if "owner";
  "reader" if "writer";
  role if role on "parent";

  "read" if "reader";
  "write" if "writer";
}

resource File {
  roles = ["reader", "writer", "owner"];
  permissions = ["read", "write", "delete"];
  relations = { folder: Folder, creator: User };

  "owner" if "creator";
  "writer" if "owner";
  "reader" if "writer";
  role if role on "folder";

  "reader" if is_public(resource);

  "read" if "reader";
  "write" if "writer" and not is_locked(resource);
  "delete" if "owner" and not is_locked(resource);
}

# Members of a group have its roles.
has_role(user: User, role: String, folder: Folder) if
  in_group(user, group) and has_role(group, role, folder);

has_role(user: User, role: String, file: File) if
  in_group(user, group) and has_role(group, role, file);
