//! Recursion over both sides: from stored ids that the caller's tables lack, over tables with NULLs in them,
//! under a negation, and over a column that the caller casts.

use super::service::{Service, column, decision};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::{Caller, printed};
use portcullis_testkit::local::ways::Way;

const POLICY: &str = r#"
actor User {}
resource Folder {
  roles = ["reader"];
  relations = { parent: Folder };
  "reader" if "reader" on "parent";
}
resource Doc {
  permissions = ["read", "open"];
  relations = { folder: Folder };
  "read" if "reader" on "folder";
  "open" if not is_hidden(resource);
}
is_hidden(doc: Doc) if folder matches Folder and has_relation(doc, "folder", folder) and is_hidden(folder);
is_hidden(folder: Folder) if parent matches Folder and has_relation(folder, "parent", parent) and is_hidden(parent);
is_hidden(folder: Folder) if is_secret(folder);
"#;

const DOCUMENT: &str = "
facts:
  has_relation(Doc:_, folder, Folder:_):
    query: SELECT id, folder_id FROM docs
  has_relation(Folder:_, parent, Folder:_):
    query: SELECT id, parent_id FROM folders
";

const TYPES: &str = "sql_types:\n  Doc: integer\n  Folder: integer\n";

const STORED: &str = r#"
has_role(User:ada, "reader", Folder:1)
has_role(User:ada, "reader", Folder:hr)
has_role(User:ada, "reader", Folder:"02")
is_secret(Folder:3)
is_secret(Folder:hr)
"#;

const SCHEMA: &str = "
CREATE TEMPORARY TABLE docs (id INTEGER, folder_id INTEGER);
INSERT INTO docs VALUES (10, 1), (11, 2), (12, 3), (13, NULL), (NULL, 1);
CREATE TEMPORARY TABLE folders (id INTEGER, parent_id INTEGER);
INSERT INTO folders VALUES (1, NULL), (2, 1), (3, NULL), (NULL, 3), (4, NULL);
";

fn caller(dialect: Dialect) -> Caller {
    let caller = Caller::new(dialect).unwrap();
    caller.script(SCHEMA).unwrap();
    caller
}

fn ids(service: &Service, dialect: Dialect, question: &str, name: &str) -> String {
    let filter = service.sql_for(dialect, question, Way::List, name);
    let caller = caller(dialect);
    let nulls = column(&caller, &format!("SELECT count(*) FROM docs WHERE ({filter}) IS NULL"));
    assert_eq!(nulls, "0", "{filter}");
    column(&caller, &format!("SELECT id FROM docs WHERE {filter} ORDER BY id"))
}

/// A fixpoint that starts from a stored id which is not a literal of its type.
#[test]
fn recursion_from_odd_ids() {
    let service = Service::new(POLICY, STORED, &format!("{DOCUMENT}{TYPES}"));
    for dialect in DIALECTS {
        for name in ["id", "docs.id"] {
            assert_eq!(ids(&service, dialect, "allow(User:ada, \"read\", Doc:?)", name), "10 11");
            assert_eq!(ids(&service, dialect, "allow(User:ada, \"open\", Doc:?)", name), "10 11 13");
        }
    }
}

#[test]
fn rows_of_a_promised_table() {
    let tables = "tables:\n  Doc: docs.id\n";
    let service = Service::new(POLICY, STORED, &format!("{DOCUMENT}{TYPES}{tables}"));
    for dialect in DIALECTS {
        assert_eq!(ids(&service, dialect, "allow(User:ada, \"read\", Doc:?)", "docs.id"), "10 11");
        assert_eq!(ids(&service, dialect, "allow(User:ada, \"open\", Doc:?)", "docs.id"), "10 11 13");
    }
}

#[test]
fn a_promised_table_in_another_spelling() {
    let filter = |promise: &str| {
        let service = Service::new(POLICY, STORED, &format!("{DOCUMENT}{TYPES}tables:\n  Doc: {promise}\n"));
        service.filter("allow(User:ada, \"read\", Doc:?)", "docs.id")
    };
    assert_eq!(filter("Docs.\"id\""), filter("docs.id"));
    assert_ne!(filter("docs.\"ID\""), filter("docs.id"));
}

/// The column is cast by the caller, and `sql_types` has its type.
#[test]
fn a_cast_column_beside_a_type() {
    let service = Service::new(POLICY, STORED, &format!("{DOCUMENT}{TYPES}"));
    for name in ["id::TEXT", "CAST(id AS TEXT)"] {
        for question in ["allow(User:ada, \"read\", Doc:?)", "allow(User:ada, \"open\", Doc:?)"] {
            let found = ids(&service, Dialect::Postgresql, question, name);
            assert!(found.starts_with("10 11"), "{found}");
        }
    }
}

/// Roles that a folder has from its parent, and a document from its folder, held by users and by groups: what
/// lies above the folder is found by one recursion, which all of them read on PostgreSQL.
#[test]
fn a_closure_is_computed_once() {
    const DRIVE: &str = r#"
actor User {}
actor Group { relations = { member: User }; }
resource Folder {
  roles = ["owner", "editor", "viewer"];
  relations = { parent: Folder, creator: User };
  "owner" if "creator";
  "editor" if "owner";
  "viewer" if "editor";
  role if role on "parent";
}
resource Doc {
  roles = ["owner", "editor", "viewer"];
  permissions = ["read", "write", "share"];
  relations = { folder: Folder };
  role if role on "folder";
  "read" if "viewer";
  "write" if "editor";
  "share" if "owner";
}
has_role(user: User, role: String, folder: Folder) if
  has_relation(group, "member", user) and has_role(group, role, folder);
"#;
    let document = "
facts:
  has_relation(Doc:_, folder, Folder:_):
    query: SELECT id, folder_id FROM docs
  has_relation(Folder:_, parent, Folder:_):
    query: SELECT id, parent_id FROM folders
  has_relation(Folder:_, creator, User:_):
    query: SELECT id, creator FROM creators
  has_relation(Group:_, member, User:_):
    query: SELECT team, who FROM members
  has_role(Group:_, String:_, Folder:_):
    query: SELECT team, role, id FROM team_roles
";
    let service = Service::new(DRIVE, "", &format!("{document}{TYPES}  User: integer\n  Group: integer\n"));
    for dialect in DIALECTS {
        let caller = caller(dialect);
        caller
            .script(
                "CREATE TEMPORARY TABLE creators (id INTEGER, creator INTEGER);
                 INSERT INTO creators VALUES (1, 5), (3, 5), (2, NULL);
                 CREATE TEMPORARY TABLE members (team INTEGER, who INTEGER);
                 INSERT INTO members VALUES (7, 6), (8, 6), (NULL, 6);
                 CREATE TEMPORARY TABLE team_roles (team INTEGER, role TEXT, id INTEGER);
                 INSERT INTO team_roles VALUES (7, 'editor', 1), (8, 'viewer', 3), (9, 'owner', 1);",
            )
            .unwrap();
        for (user, doc, expected) in [
            ("5", "11", "read share write"),
            ("6", "11", "read write"),
            ("6", "12", "read"),
            ("5", "13", ""),
            ("9", "11", ""),
        ] {
            let sql = service.sql_for(
                dialect,
                &format!("allow(User:{user}, String:?, Doc:{doc})"),
                Way::Actions,
                "",
            );
            let mut actions: Vec<String> =
                printed(&caller, &sql).unwrap().into_iter().flatten().flatten().collect();
            actions.sort();
            assert_eq!(actions.join(" "), expected, "{sql}");
            if dialect == Dialect::Postgresql {
                assert_eq!(sql.matches(" folders AS ").count(), 1, "{sql}");
            }
        }
    }
}

/// PostgreSQL compares and recurses over texts of one collation only, and the document does not say which a
/// column has.
#[test]
fn another_collation_is_refused_until_the_query_names_the_default() {
    const FOLDERS: &str = r#"
actor User {}
resource Folder {
  roles = ["reader"];
  permissions = ["read"];
  relations = { parent: Folder };
  "reader" if "reader" on "parent";
  "read" if "reader";
}
"#;
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller
        .script(
            "CREATE TEMPORARY TABLE folders (id TEXT COLLATE \"C\", parent_id TEXT COLLATE \"POSIX\");
             INSERT INTO folders VALUES ('a', NULL), ('b', 'a'), ('c', 'b'), ('d', NULL);",
        )
        .unwrap();
    for (query, is_refused) in [
        ("SELECT id, parent_id FROM folders", true),
        (r#"SELECT id COLLATE "default" AS id, parent_id COLLATE "default" AS up FROM folders"#, false),
    ] {
        let document = format!("facts:\n  has_relation(Folder:_, parent, Folder:_):\n    query: {query}\n");
        let service = Service::new(FOLDERS, "has_role(User:ada, \"reader\", Folder:a)\n", &document);
        for (id, answer) in [("c", "true"), ("d", "false")] {
            let question = format!("allow(User:ada, \"read\", Folder:{id})");
            let sql = service.sql_for(Dialect::Postgresql, &question, Way::Authorize, "");
            let refusal = printed(&caller, &sql).err();
            assert_eq!(
                refusal.as_ref().is_some_and(|refusal| refusal.contains("collation")),
                is_refused,
                "{sql}"
            );
            if !is_refused {
                assert_eq!(column(&caller, &sql), answer, "{sql}");
            }
        }
    }
}

const FLAG: &str = r#"
actor User {}
resource Folder { relations = { parent: Folder }; }
resource Doc { permissions = ["read", "tagged"]; relations = { folder: Folder }; }
is_shared(folder: Folder) if is_public(folder);
is_shared(folder: Folder) if has_relation(folder, "parent", parent) and is_shared(parent);
has_permission(_: User, "read", doc: Doc) if has_relation(doc, "folder", folder) and is_shared(folder);
has_permission(_: User, "tagged", doc: Doc) if tag(doc, code) and label(folder, code) and is_shared(folder);
"#;

const FLAG_DOCUMENT: &str = "
  tag(Doc:_, String:_):
    query: SELECT id, code FROM docs
  label(Folder:_, String:_):
    query: SELECT id, code FROM folders
  is_public(Folder:_):
    query: SELECT id FROM folders WHERE public = 1
";

const FLAG_SCHEMA: &str = "
CREATE TEMPORARY TABLE docs (id INTEGER UNIQUE, folder_id INTEGER, code TEXT);
INSERT INTO docs VALUES (10, 3, 'a'), (11, 4, 'b'), (12, 5, 'c'), (13, NULL, NULL), (NULL, 3, 'c');
CREATE TEMPORARY TABLE folders (id INTEGER UNIQUE, parent_id INTEGER, code TEXT, public INTEGER);
INSERT INTO folders VALUES (1, NULL, 'b', 1), (2, 1, 'c', 0), (3, 2, NULL, 0), (4, 5, 'a', 0), (5, 4, 'a', NULL),
  (NULL, 1, 'b', 1);
";

/// The flag starts from the folders that have it where nothing leads to the rows; a check goes up from the
/// folders of its document, whatever column leads to them.
#[test]
fn a_flag_starts_from_its_base_unless_a_row_is_given() {
    let document = format!("{DOCUMENT}{FLAG_DOCUMENT}{TYPES}tables:\n  Doc: docs.id\n  Folder: folders.id\n");
    for dialect in DIALECTS {
        let service = Service::new(FLAG, "", &document);
        let caller = Caller::new(dialect).unwrap();
        caller.script(FLAG_SCHEMA).unwrap();
        for (action, passed) in [("read", "10"), ("tagged", "11 12")] {
            let question = format!("allow(User:ada, \"{action}\", Doc:?)");
            let filter = service.sql_for(dialect, &question, Way::List, "docs.id");
            let ids = column(&caller, &format!("SELECT id FROM docs WHERE {filter} ORDER BY id"));
            assert_eq!(ids, passed, "{filter}");
            assert!(filter.contains(".parent_id = t"), "{filter}");
            for doc in ["10", "11", "12", "13"] {
                let question = format!("allow(User:ada, \"{action}\", Doc:{doc})");
                let check = service.sql_for(dialect, &question, Way::Authorize, "");
                let is_passed = passed.split(' ').any(|id| id == doc);
                let allowed = decision(&caller, &check).unwrap();
                assert_eq!(allowed, is_passed, "{check}");
                assert!(!check.contains(".parent_id = t"), "{check}");
            }
        }
    }
}

/// Two recursions from the user, of which each record needs both.
const TWO: &str = r#"
actor User {}
resource Ward {}
resource Record { permissions = ["review"]; relations = { author: User, ward: Ward }; }
leads(u: User, v: User) if manages(u, v);
leads(u: User, v: User) if manages(u, w) and leads(w, v);
covers(u: User, w: Ward) if works(u, w);
covers(u: User, w: Ward) if has_relation(w, "parent", p) and covers(u, p);
has_permission(u: User, "review", r: Record) if
  has_relation(r, "author", a) and leads(u, a) and has_relation(r, "ward", w) and covers(u, w);
declare manages(User, User);
declare works(User, Ward);
"#;

const OF_TWO: &str = "
facts:
  manages(User:_, User:_):
    query: SELECT boss_id, id FROM staff
  works(User:_, Ward:_):
    query: SELECT staff_id, ward_id FROM shifts
  has_relation(Ward:_, parent, Ward:_):
    query: SELECT id, parent_id FROM wards
  has_relation(Record:_, author, User:_):
    query: SELECT id, author_id FROM records
  has_relation(Record:_, ward, Ward:_):
    query: SELECT id, ward_id FROM records
sql_types:
  User: integer
  Ward: integer
  Record: integer
";

/// Nothing promises that a record has one author and one ward, so the ward is tested in a look-up of its own.
/// Records × wards would be compared if that read the recursion.
#[test]
fn a_second_recursion_is_hashed_where_no_table_is_promised() {
    let service = Service::new(TWO, "", OF_TWO);
    let question = "allow(User:1, \"review\", Record:?)";
    for dialect in DIALECTS {
        let caller = Caller::new(dialect).unwrap();
        caller
            .script(
                "CREATE TEMPORARY TABLE staff (id INTEGER, boss_id INTEGER);
                 INSERT INTO staff VALUES (1, NULL), (2, 1), (3, 2), (4, NULL);
                 CREATE TEMPORARY TABLE shifts (staff_id INTEGER, ward_id INTEGER);
                 INSERT INTO shifts VALUES (1, 10), (4, 20);
                 CREATE TEMPORARY TABLE wards (id INTEGER, parent_id INTEGER);
                 INSERT INTO wards VALUES (10, NULL), (11, 10), (12, 11), (20, NULL);
                 CREATE TEMPORARY TABLE records (id INTEGER, author_id INTEGER, ward_id INTEGER);
                 INSERT INTO records VALUES (100, 2, 12), (101, 3, 10), (102, 3, 20), (103, 4, 11), (104, 3, NULL);",
            )
            .unwrap();
        let filter = service.sql_for(dialect, question, Way::List, "records.id");
        let sql = format!("SELECT id FROM records WHERE {filter} ORDER BY id");
        assert_eq!(column(&caller, &sql), "100 101", "{sql}");
        if dialect == Dialect::Postgresql {
            assert!(filter.contains("ward_id IN (") && !filter.contains("OFFSET 0"), "{filter}");
        }
    }
}
