//! SQLite reads no table from end to end only to make a Bloom filter, though it takes a recursion for a
//! million rows.
//!
//! Only 3.38 to 3.40 do so for a recursive table; later versions ask for statistics of every table before.
//! So the recursive tables of a statement become tables of the database here, with statistics that say what
//! every version assumes of them.

use super::service::Service;
use portcullis_compiler::Dialect;
use portcullis_testkit::local::caller::{Caller, printed};
use portcullis_testkit::local::ways::Way;

/// Files in folders, whose roles come from folders above and from groups in groups, unless one is closed.
const POLICY: &str = r#"
actor User {}
actor Group { relations = { member: User, parent: Group }; }
resource Folder {
  roles = ["owner", "reader"];
  permissions = ["list", "share"];
  relations = { parent: Folder, creator: User };
  "owner" if "creator";
  "reader" if "owner";
  role if role on "parent";
  "list" if "reader";
  "share" if "owner";
}
resource File {
  permissions = ["open", "save"];
  relations = { folder: Folder };
  "open" if "list" on "folder";
  "save" if "share" on "folder" and not is_trashed(resource);
}
in_group(user: User, group: Group) if has_relation(group, "member", user);
in_group(user: User, group: Group) if has_relation(inner, "parent", group) and in_group(user, inner);
has_role(user: User, role: String, folder: Folder) if in_group(user, group) and has_role(group, role, folder);
is_open(folder: Folder) if is_public(folder);
is_open(folder: Folder) if has_relation(folder, "parent", parent) and is_open(parent);
has_permission(_: User, "open", file: File) if has_relation(file, "folder", folder) and is_open(folder);
is_closed(user: User, folder: Folder) if is_denied(user, folder);
is_closed(user: User, folder: Folder) if in_group(user, group) and is_denied(group, folder);
is_closed(user: User, folder: Folder) if has_relation(folder, "parent", parent) and is_closed(user, parent);
allow(user: User, action: String, folder: Folder) if has_permission(user, action, folder);
allow(user: User, action: String, file: File) if
  has_permission(user, action, file) and has_relation(file, "folder", folder) and not is_closed(user, folder);
declare is_public(Folder);
declare is_trashed(File);
declare is_denied(User, Folder);
declare is_denied(Group, Folder);
declare has_role(Group, String, Folder);
"#;

const DOCUMENT: &str = "
facts:
  has_relation(Group:_, member, User:_):
    query: SELECT group_id, user_id FROM members
  has_relation(Group:_, parent, Group:_):
    query: SELECT id, parent_id FROM groups
  has_relation(Folder:_, parent, Folder:_):
    query: SELECT id, parent_id FROM folders
  has_relation(Folder:_, creator, User:_):
    query: SELECT id, owner_id FROM folders
  is_public(Folder:_):
    query: SELECT id FROM folders WHERE public
  has_relation(File:_, folder, Folder:_):
    query: SELECT id, folder_id FROM files
  is_trashed(File:_):
    query: SELECT id FROM files WHERE trashed
  has_role(User:_, String:_, Folder:_):
    query: SELECT user_id, level, folder_id FROM grants
  has_role(Group:_, String:_, Folder:_):
    query: SELECT group_id, level, folder_id FROM grants
  is_denied(User:_, Folder:_):
    query: SELECT user_id, folder_id FROM denials
  is_denied(Group:_, Folder:_):
    query: SELECT group_id, folder_id FROM denials
sql_types: { User: integer, Group: integer, Folder: integer, File: integer }
";

const TABLES: &str = "tables: { User: users.id, Group: groups.id, Folder: folders.id, File: files.id }\n";

/// The tables, and what ANALYZE finds in them when they hold a hundred thousand rows each.
const SCHEMA: &str = "
CREATE TABLE users (id INTEGER PRIMARY KEY);
CREATE TABLE groups (id INTEGER PRIMARY KEY, parent_id INTEGER);
CREATE INDEX groups_parent ON groups (parent_id);
CREATE TABLE members (group_id INTEGER, user_id INTEGER, PRIMARY KEY (group_id, user_id));
CREATE INDEX members_user ON members (user_id);
CREATE TABLE folders (id INTEGER PRIMARY KEY, parent_id INTEGER, owner_id INTEGER, public BOOLEAN);
CREATE INDEX folders_parent ON folders (parent_id);
CREATE INDEX folders_owner ON folders (owner_id);
CREATE TABLE files (id INTEGER PRIMARY KEY, folder_id INTEGER, trashed BOOLEAN);
CREATE INDEX files_folder ON files (folder_id);
CREATE TABLE grants (
  id INTEGER PRIMARY KEY, user_id INTEGER, group_id INTEGER, folder_id INTEGER, level TEXT);
CREATE INDEX grants_user ON grants (user_id);
CREATE INDEX grants_group ON grants (group_id);
CREATE INDEX grants_folder ON grants (folder_id);
CREATE TABLE denials (id INTEGER PRIMARY KEY, user_id INTEGER, group_id INTEGER, folder_id INTEGER);
CREATE INDEX denials_user ON denials (user_id);
CREATE INDEX denials_group ON denials (group_id);
CREATE INDEX denials_folder ON denials (folder_id);
ANALYZE;
INSERT INTO sqlite_stat1 SELECT name, NULL, '100000' FROM sqlite_schema
  WHERE type = 'table' AND name NOT LIKE 'sqlite%';
INSERT INTO sqlite_stat1 SELECT tbl_name, name, '100000 3' FROM sqlite_schema
  WHERE type = 'index' AND sql IS NOT NULL;
INSERT INTO sqlite_stat1 VALUES ('members', 'sqlite_autoindex_members_1', '100000 3 1');
";

/// A check, actions, lists by index and by row, and a query.
const QUESTIONS: [(&str, Way, &str); 8] = [
    ("allow(User:1, \"open\", File:1)", Way::Authorize, ""),
    ("allow(User:1, \"save\", File:1)", Way::Authorize, ""),
    ("allow(User:1, \"share\", Folder:1)", Way::Authorize, ""),
    ("allow(User:1, String:?, File:1)", Way::Actions, ""),
    ("allow(User:1, \"open\", File:?)", Way::List, "files.id"),
    ("allow(User:1, \"save\", File:?)", Way::List, "files.id"),
    ("allow(User:1, \"share\", Folder:?)", Way::List, "folders.id"),
    ("allow(User:1, \"list\", Folder:?)", Way::Select, ""),
];

#[test]
fn no_table_is_read_to_make_a_bloom_filter() {
    for document in [DOCUMENT.to_owned(), format!("{DOCUMENT}{TABLES}")] {
        let service = Service::new(POLICY, "", &document);
        for (question, way, column) in QUESTIONS {
            let sql = service.sql_for(Dialect::Sqlite, question, way, column);
            let sql = match column.split_once('.') {
                Some((table, _)) => format!("SELECT count(*) FROM {table} WHERE {sql}"),
                None => sql,
            };
            let made = bloom_filters(&sql);
            assert!(made.is_empty(), "{question}: {}\n{sql}", made.join(", "));
            // The same condition, of which SQLite does not know that it is rare.
            let unaware = sql.replace("likelihood(", "coalesce(");
            assert!(!bloom_filters(&unaware).is_empty(), "{question}: there would be none anyway\n{sql}");
        }
    }
}

/// The Bloom filters that the plan of a statement makes of the caller's tables.
fn bloom_filters(sql: &str) -> Vec<String> {
    let caller = Caller::new(Dialect::Sqlite).unwrap();
    caller.script(SCHEMA).unwrap();
    let mut queries = Vec::new();
    let mut main = sql.to_owned();
    for Recursion { name, columns, body } in recursions(sql) {
        main = main.replace(&format!("{name} ({columns}) AS"), &format!("unread_{name} ({columns}) AS"));
        queries.push(body);
        caller.script(&format!("CREATE TABLE IF NOT EXISTS {name} ({columns})")).unwrap();
        caller.script(&format!("INSERT INTO sqlite_stat1 VALUES ('{name}', NULL, '1048576')")).unwrap();
    }
    caller.script("ANALYZE sqlite_schema").unwrap();
    queries.push(main);
    let plans = queries.iter().map(|query| printed(&caller, &format!("EXPLAIN QUERY PLAN {query}")).unwrap());
    let steps = plans.flatten().filter_map(|row| row[3].clone());
    // Automatic indexes on recursive tables have some, too.
    steps.filter(|step| step.starts_with("BLOOM FILTER ON") && !step.contains("(c")).collect()
}

/// A recursive table of a statement.
struct Recursion {
    name: String,
    columns: String,
    body: String,
}

/// The recursive tables of a printed statement. A definition ends with a bracket below its first letter.
fn recursions(sql: &str) -> Vec<Recursion> {
    let mut found = Vec::new();
    let mut lines = sql.lines();
    while let Some(line) = lines.next() {
        let head = line.trim_start();
        let Some((name, columns)) = head.strip_suffix(") AS (").and_then(|head| head.split_once(" (")) else {
            continue;
        };
        let end = format!("{})", " ".repeat(line.len() - head.len()));
        let body: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with(&end)).collect();
        let body = body.join("\n");
        if body.contains(&format!("FROM {name} AS")) {
            found.push(Recursion { name: name.to_owned(), columns: columns.to_owned(), body });
        }
    }
    found
}
