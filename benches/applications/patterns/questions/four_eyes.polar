# Viewers of the folder, except for the owner.

actor User {}

resource Folder {
  roles = ["viewer"];
}

resource Document {
  permissions = ["read"];
  relations = { owner: User, folder: Folder, shelf: Folder };
}

has_permission(user: User, "read", document: Document) if
  has_relation(document, "folder", folder) and
  has_role(user, "viewer", folder) and
  has_relation(document, "owner", owner) and
  owner != user;
