# A number of the row compared with one of the actor.

actor User {}

resource Folder {
  roles = ["viewer"];
}

resource Document {
  permissions = ["read"];
  relations = { owner: User, folder: Folder, shelf: Folder };

  "read" if "owner";
}

has_permission(user: User, "read", document: Document) if
  has_relation(document, "folder", folder) and
  has_role(user, "viewer", folder) and
  has_size(document, size) and
  has_limit(user, most) and
  size <= most;
