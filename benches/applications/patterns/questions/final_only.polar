# One rule, with a condition on the row.

actor User {}

resource Folder {
  roles = ["viewer"];
}

resource Document {
  permissions = ["read"];
  relations = { owner: User, folder: Folder, shelf: Folder };

  "read" if "viewer" on "folder" and has_status(resource, "final");
}
