# Owners and viewers of the folder.

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
