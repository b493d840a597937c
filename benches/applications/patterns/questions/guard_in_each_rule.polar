# The guard of not_deleted, written in each shorthand rule.

actor User {}

resource Folder {
  roles = ["viewer"];
}

resource Document {
  permissions = ["read"];
  relations = { owner: User, folder: Folder, shelf: Folder };

  "read" if "owner" and not is_deleted(resource);
  "read" if "viewer" on "folder" and not is_deleted(resource);
}
