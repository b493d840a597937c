# A guard in `allow` over another table.

actor User {}

resource Folder {
  roles = ["viewer"];
}

resource Document {
  permissions = ["read"];
  relations = { owner: User, folder: Folder, shelf: Folder };

  "read" if "owner";
  "read" if "viewer" on "folder";
}

allow(user: User, action: String, document: Document) if
  has_permission(user, action, document) and
  has_relation(document, "folder", folder) and
  not is_archived(folder);
