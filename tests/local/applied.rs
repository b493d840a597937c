//! What another user may, where that depends on several columns of the row: PostgreSQL lists the rows for
//! each such user.

use super::service::Service;

/// Staff who see what the users may whom they help.
const POLICY: &str = r#"
actor User {}
resource Folder { roles = ["viewer", "reviewer"]; relations = { parent: Folder }; "reviewer" if "reviewer" on "parent"; }
resource Page { permissions = ["view", "publish", "flag"]; relations = { folder: Folder, author: User }; }
allow(u: User, action: String, p: Page) if has_permission(u, action, p);
allow(u: User, action: String, p: Page) if helps(u, v, until) and until > 100 and has_permission(v, action, p)
  and not left(u);
has_permission(u: User, "view", p: Page) if sees(u, p) and readable(u, p);
sees(u: User, p: Page) if has_relation(p, "author", u);
sees(u: User, p: Page) if has_relation(p, "folder", f) and has_role(u, "viewer", f);
readable(_: User, p: Page) if open(p);
readable(u: User, p: Page) if cleared(u, p);
readable(u: User, p: Page) if has_relation(p, "folder", f) and has_role(u, "reviewer", f);
has_permission(u: User, "publish", p: Page) if has_relation(p, "folder", f) and has_role(u, "reviewer", f)
  and not has_relation(p, "author", u);
# Two other users: nobody's sets alone decide.
has_permission(u: User, "flag", p: Page) if helps(u, v, _) and helps(u, w, _) and sees(v, p) and readable(w, p);
declare helps(User, User, Integer);
declare left(User);
declare open(Page);
declare cleared(User, Page);
"#;

const DOCUMENT: &str = "
facts:
  helps(User:_, User:_, Integer:_):
    query: SELECT staff_id, user_id, until FROM helpers
  left(User:_):
    query: SELECT id FROM users WHERE gone
  open(Page:_):
    query: SELECT id FROM pages WHERE open
  cleared(User:_, Page:_):
    query: SELECT user_id, page_id FROM clearances
  has_role(User:_, String:_, Folder:_):
    query: SELECT user_id, role, folder_id FROM folder_roles
  has_relation(Folder:_, parent, Folder:_):
    query: SELECT id, parent_id FROM folders
  has_relation(Page:_, folder, Folder:_):
    query: SELECT id, folder_id FROM pages
  has_relation(Page:_, author, User:_):
    query: SELECT id, author_id FROM pages
sql_types: { User: integer, Folder: integer, Page: integer, String: text, Integer: bigint }
tables: { Folder: folders.id, Page: pages.id }
";

const SCHEMA: &str = "
CREATE TEMPORARY TABLE users (id INTEGER, gone BOOLEAN);
INSERT INTO users VALUES (9, TRUE), (8, FALSE), (7, NULL), (NULL, TRUE);
CREATE TEMPORARY TABLE helpers (staff_id INTEGER, user_id INTEGER, until BIGINT);
INSERT INTO helpers VALUES
  (8, 1, 200), (8, 2, 200), (8, 2, 300), (8, 4, 50), (9, 1, 200), (7, 3, 200), (7, 4, 200), (7, NULL, 200), (NULL, 1, 200), (6, 1, NULL),
  (5, 3, 200);
CREATE TEMPORARY TABLE folders (id INTEGER UNIQUE, parent_id INTEGER);
INSERT INTO folders VALUES (10, NULL), (11, 10), (12, 11), (13, 13), (NULL, 10);
CREATE TEMPORARY TABLE folder_roles (user_id INTEGER, role TEXT, folder_id INTEGER);
INSERT INTO folder_roles VALUES
  (1, 'viewer', 10), (1, 'reviewer', 11), (2, 'viewer', 12), (2, 'viewer', 12), (2, 'other', 13), (3, 'reviewer', 10), (3, 'viewer', 13),
  (4, NULL, 10), (4, 'viewer', NULL), (NULL, 'viewer', 10);
CREATE TEMPORARY TABLE pages (id INTEGER UNIQUE, folder_id INTEGER, author_id INTEGER, open BOOLEAN);
INSERT INTO pages VALUES
  (1, 10, 3, TRUE), (2, 10, 1, FALSE), (3, 11, NULL, FALSE), (4, 12, 2, NULL), (5, 12, 1, FALSE), (6, 13, 3, FALSE), (7, NULL, 2, TRUE),
  (8, NULL, NULL, TRUE), (9, 13, 2, FALSE), (NULL, 10, 1, TRUE);
CREATE TEMPORARY TABLE clearances (user_id INTEGER, page_id INTEGER);
INSERT INTO clearances VALUES (1, 2), (1, 2), (2, 4), (2, 3), (3, 6), (3, NULL), (NULL, 5), (4, 1);
";

/// Who may do what to which pages, by hand.
const EXPECTED: [(&str, u8, &str); 18] = [
    // Users on their own behalf.
    ("view", 1, "1 2 5"),
    ("view", 2, "4 7"),
    ("view", 3, "1 6"),
    ("view", 4, ""),
    ("publish", 1, "3 4"),
    ("publish", 2, ""),
    ("publish", 3, "2 3 4 5"),
    // 8 helps 1 and 2; 9 has left; 7 helps 3 and 4; 6 helps for no time; 5 helps 3.
    ("view", 8, "1 2 4 5 7"),
    ("view", 9, ""),
    ("view", 7, "1 6"),
    ("view", 6, ""),
    ("view", 5, "1 6"),
    ("publish", 8, "3 4"),
    ("publish", 9, ""),
    ("publish", 7, "2 3 4 5"),
    ("publish", 6, ""),
    ("flag", 8, "1 2 4 5 7"),
    ("flag", 5, "1 6"),
];

fn question(action: &str, user: u8) -> String {
    format!("allow(User:{user}, {action:?}, Page:?)")
}

#[test]
fn the_same_rows_pass() {
    let expected = EXPECTED.map(|(action, user, ids)| (question(action, user), ids));
    let untyped = DOCUMENT.split("sql_types").next().unwrap();
    for document in [DOCUMENT, untyped] {
        Service::new(POLICY, "", document).passes(SCHEMA, "pages", &["pages.id", "id"], &expected);
    }
}

/// The sets of another user are made once for each of these users, and not for each row.
#[test]
fn the_rows_of_each_other_user_are_listed() {
    let service = Service::new(POLICY, "", DOCUMENT);
    for action in ["view", "publish"] {
        let filter = service.filter(&question(action, 8), "pages.id");
        assert!(filter.contains("CROSS JOIN LATERAL (\n"), "{filter}");
        // No condition on the row is inside a set or a test.
        let inside: Vec<&str> = filter.lines().filter(|line| line.starts_with("      ")).collect();
        assert!(!inside.iter().any(|line| line.contains("pages.")), "{filter}");
    }
}

/// One user decides which rows are listed: with two, each row is tested.
#[test]
fn rows_of_two_other_users_are_tested() {
    let filter = Service::new(POLICY, "", DOCUMENT).filter(&question("flag", 5), "pages.id");
    assert!(filter.contains("EXISTS ("), "{filter}");
}

/// A test that looks few rows up stays one: a page of the rows stops early.
#[test]
fn a_denial_beside_a_role_that_is_not_inherited_is_tested() {
    let policy = POLICY.replace("\"reviewer\" if \"reviewer\" on \"parent\";", "");
    let filter = Service::new(&policy, "", DOCUMENT).filter(&question("publish", 8), "pages.id");
    assert!(filter.contains("EXISTS (") && !filter.contains("LATERAL"), "{filter}");
    assert!(filter.contains("pages.folder_id = ANY(ARRAY("), "{filter}");
}

/// Stored facts make two alternatives of a rule. Each reads the page again for itself, and both look its
/// folder up in the same set.
#[test]
fn alternatives_that_read_the_row_again_share_a_set() {
    let rules = r#"
has_permission(u: User, "rate", p: Page) if helps(u, v, _) and rates(v, p) and has_relation(p, "author", v);
rates(u: User, p: Page) if expert(u, f, limit) and has_relation(p, "folder", f) and level(p, n) and n <= limit;
rates(u: User, p: Page) if expert(u, f, limit) and has_relation(p, "folder", f) and size(p, n) and n <= limit;
declare expert(User, Folder, Integer);
declare level(Page, Integer);
declare size(Page, Integer);
"#;
    let facts = "
  expert(User:_, Folder:_, Integer:_):
    query: SELECT user_id, folder_id, level FROM experts
  level(Page:_, Integer:_):
    query: SELECT id, level FROM pages
  size(Page:_, Integer:_):
    query: SELECT id, size FROM pages
sql_types";
    let policy = POLICY.replace("\"flag\"]", "\"flag\", \"rate\"]") + rules;
    let document = DOCUMENT.replace("\nsql_types", facts);
    let service = Service::new(&policy, "level(Page:4, 1)\nlevel(Page:5, 9)", &document);
    let schema = format!(
        "{SCHEMA}
ALTER TABLE pages ADD COLUMN level BIGINT;
ALTER TABLE pages ADD COLUMN size BIGINT;
UPDATE pages SET level = id, size = 10 - id;
CREATE TEMPORARY TABLE experts (user_id INTEGER, folder_id INTEGER, level BIGINT);
INSERT INTO experts VALUES (1, 10, 2), (1, 12, 4), (2, 12, 1), (3, 10, 0), (3, 13, 5), (4, NULL, 9), (2, 13, NULL);"
    );
    // By the level of the row and by a stored one; by the size.
    let expected =
        [(8, "2 4"), (9, "2"), (7, "6"), (5, "6"), (6, "")].map(|(user, ids)| (question("rate", user), ids));
    service.passes(&schema, "pages", &["pages.id", "id"], &expected);
    let filter = service.filter(&question("rate", 8), "pages.id");
    assert!(filter.contains("CROSS JOIN LATERAL (\n"), "{filter}");
}
