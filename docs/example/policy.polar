actor User {}

resource Folder {
  roles = ["reader", "editor"];
  relations = { parent: Folder };

  "reader" if "editor";
  role if role on "parent";
}

resource Document {
  permissions = ["read", "write"];
  relations = { folder: Folder };

  "read" if "reader" on "folder";
  "write" if "editor" on "folder";
}
