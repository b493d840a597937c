# Two relations to folders, the second one optional.

actor User {}

resource Folder {
  roles = ["viewer"];
}

resource Document {
  permissions = ["read"];
  relations = { owner: User, folder: Folder, shelf: Folder };

  "read" if "viewer" on "folder" or "viewer" on "shelf";
}
