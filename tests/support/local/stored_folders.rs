//! A policy whose folders, roles and groups the service stores, while the caller's database has the
//! documents. How much of the stored facts is in a text depends on the end from which they are read.

/// The policy.
pub const POLICY: &str = r#"
actor User {}
actor Group {}
resource Folder {
  roles = ["reader", "editor"];
  relations = { parent: Folder };
  "reader" if "editor";
  role if role on "parent";
}
resource Doc {
  permissions = ["read", "edit"];
  relations = { folder: Folder };
  "read" if "reader" on "folder";
  "edit" if "editor" on "folder" and not is_locked(resource);
}
has_role(user: User, role: String, folder: Folder) if
  in_group(user, group) and group matches Group and has_role(group, role, folder);
"#;
