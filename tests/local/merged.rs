//! Alternatives that look one column of the row up in sets of their own, which a filter makes one set.

use super::service::Service;

/// Documents of folders that the user owns or has a role on: a rule for one role, and one for all roles.
const POLICY: &str = r#"
actor User {}
resource Folder { roles = ["viewer"]; relations = { owner: User }; }
resource Document { permissions = ["read"]; relations = { folder: Folder }; }
gets(user: User, role: String, folder: Folder) if has_role(user, role, folder);
gets(user: User, "viewer", folder: Folder) if has_relation(folder, "owner", user);
has_permission(user: User, "read", document: Document) if
  has_relation(document, "folder", folder) and gets(user, "viewer", folder);
has_permission(user: User, action: String, document: Document) if
  has_relation(document, "folder", folder) and gets(user, role, folder) and permits(role, action);
declare permits(String, String);
"#;

const DOCUMENT: &str = "
facts:
  has_relation(Document:_, folder, Folder:_): { query: 'SELECT id, folder_id FROM papers' }
  has_relation(Folder:_, owner, User:_): { query: 'SELECT id, owner_id FROM files' }
  has_role(User:_, String:_, Folder:_): { query: 'SELECT user_id, role, folder_id FROM file_roles' }
  permits(String:_, String:_): { query: 'SELECT role, permission FROM role_permits' }
tables: { Document: papers.id, Folder: files.id }
";

const SCHEMA: &str = "
CREATE TEMPORARY TABLE files (id INTEGER UNIQUE, owner_id INTEGER);
INSERT INTO files VALUES (1, NULL), (2, 2), (3, 1), (4, 3);
CREATE TEMPORARY TABLE papers (id INTEGER UNIQUE, folder_id INTEGER);
INSERT INTO papers VALUES (10, 1), (20, 2), (30, 3), (40, 4), (50, NULL);
CREATE TEMPORARY TABLE file_roles (user_id INTEGER, role TEXT, folder_id INTEGER);
INSERT INTO file_roles VALUES (1, 'viewer', 2), (2, 'editor', 4), (3, 'editor', 3), (2, 'guest', 3), (1, NULL, 4);
CREATE TEMPORARY TABLE role_permits (role TEXT, permission TEXT);
INSERT INTO role_permits VALUES ('editor', 'read'), ('guest', 'write'), ('viewer', NULL);
";

/// A stored owner adds an alternative, whose set has sources with the same numbers as the row of another.
/// They must be numbered again, or one of them is taken for the row.
#[test]
fn sets_of_one_column_are_merged_without_confusing_their_sources() {
    let stored = "has_relation(Folder:1, \"owner\", User:2)";
    let service = Service::new(POLICY, stored, DOCUMENT);
    let expected = [(1, "20 30"), (2, "10 20 40"), (3, "30 40"), (4, "")]
        .map(|(user, ids)| (format!("allow(User:{user}, \"read\", Document:?)"), ids));
    service.passes(SCHEMA, "papers", &["papers.id", "id"], &expected);
}
