# Public documents, and those of the actor's folders.

actor User {}

resource Folder {
  roles = ["viewer"];
}

resource Document {
  permissions = ["read"];
  relations = { owner: User, folder: Folder, shelf: Folder };

  "read" if is_public(resource);
  "read" if "viewer" on "folder";
}
