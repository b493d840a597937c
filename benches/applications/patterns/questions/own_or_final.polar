# Two rules, one of them with a condition on the row.

actor User {}

resource Folder {
  roles = ["viewer"];
}

resource Document {
  permissions = ["read"];
  relations = { owner: User, folder: Folder, shelf: Folder };

  "read" if "owner";
  "read" if "viewer" on "folder" and has_status(resource, "final");
}
