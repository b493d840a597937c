//! Rules that ask for the same thing twice: what a pass then leaves out is no lost condition, and what it
//! reads twice has names of its own.

use super::service::{Service, column};
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;

/// Checks which documents user 1 may read.
fn reads(service: &Service, schema: &str, expected: &str) {
    for dialect in DIALECTS {
        let caller = Caller::new(dialect).unwrap();
        caller.script(schema).unwrap();
        let sql = service.sql_for(dialect, "allow(User:1, \"read\", Doc:?)", Way::Select, "");
        assert_eq!(column(&caller, &sql), expected, "{dialect}: {sql}");
    }
}

/// Each of the two equal rules becomes a document that is read under two ids, of which one is left out.
#[test]
fn a_stored_fact_that_a_rule_asks_for_twice() {
    let policy = r#"
actor User {}
resource Org {}
resource Folder { relations = { org: Org }; }
resource Doc { permissions = ["read"]; relations = { folder: Folder, reviewer: User }; }
has_permission(_: User, "read", d: Doc) if near(d) and far(d) and has_relation(d, "reviewer", _);
near(d: Doc) if open(d);
far(d: Doc) if has_relation(d, "folder", f) and has_relation(f, "org", _)
  and has_relation(d, "folder", g) and has_relation(g, "org", _);
declare open(Doc);
"#;
    let document = "
facts:
  has_relation(Doc:_, reviewer, User:_):
    query: SELECT id, reviewer_id FROM docs
  open(Doc:_):
    query: SELECT id FROM docs WHERE open
  has_relation(Folder:_, org, Org:_):
    query: SELECT id, org_id FROM folders
tables: { Folder: folders.id, Doc: docs.id }
";
    let service = Service::new(policy, "has_relation(Doc:d9, \"folder\", Folder:f1)", document);
    let docs = |row: &str| {
        format!(
            "CREATE TEMPORARY TABLE docs (id TEXT UNIQUE, reviewer_id TEXT, open BOOLEAN);
INSERT INTO docs VALUES ('d8', '1', TRUE), {row};
CREATE TEMPORARY TABLE folders (id TEXT UNIQUE, org_id TEXT);
INSERT INTO folders VALUES ('f1', '7'), ('f2', '7');"
        )
    };
    reads(&service, &docs("('d9', '2', TRUE)"), "d9");
    for refused in ["('d9', '2', FALSE)", "('d9', NULL, TRUE)", "('d7', '2', TRUE)"] {
        reads(&service, &docs(refused), "");
    }
}

#[test]
fn a_comparison_that_two_rules_write_from_either_side() {
    let policy = r#"
actor User {}
resource Doc { permissions = ["read"]; }
has_permission(u: User, "read", d: Doc) if cleared(u, d) and open(d);
cleared(u: User, d: Doc) if clearance(u, limit) and level(d, own) and limit >= own;
cleared(u: User, d: Doc) if clearance(u, limit) and level(d, own) and own <= limit;
declare open(Doc);
declare clearance(User, Integer);
declare level(Doc, Integer);
"#;
    let document = "
facts:
  level(Doc:_, Integer:_):
    query: SELECT id, level FROM docs
  clearance(User:_, Integer:_):
    query: SELECT id, clearance FROM users
";
    let service = Service::new(policy, "open(Doc:6)", document);
    for (clearance, expected) in [("3", "6"), ("2", "6"), ("1", ""), ("NULL", "")] {
        let schema = format!(
            "CREATE TEMPORARY TABLE docs (id INTEGER UNIQUE, level INTEGER);
INSERT INTO docs VALUES (6, 2), (7, 0);
CREATE TEMPORARY TABLE users (id INTEGER UNIQUE, clearance INTEGER);
INSERT INTO users VALUES (1, {clearance}), (2, 9);"
        );
        reads(&service, &schema, expected);
    }
}

/// The stored fact keeps `may` a table for the memo, where it is also a condition on the row itself.
#[test]
fn a_rule_about_the_row_and_about_another_document() {
    let policy = r#"
actor User {}
resource Folder { relations = { owner: User }; }
resource Doc {
  permissions = ["read"];
  relations = { folder: Folder, owner: User, reviewer: User, memo: Doc };
}
may(u: User, d: Doc) if has_relation(d, "owner", u);
may(u: User, d: Doc) if has_relation(d, "folder", f) and has_relation(f, "owner", u);
has_permission(u: User, "read", d: Doc) if has_relation(d, "reviewer", u) and urgent(d) and may(u, d);
has_permission(u: User, "read", d: Doc) if has_relation(d, "memo", m) and may(u, m);
declare urgent(Doc);
"#;
    let document = "
facts:
  has_relation(Doc:_, owner, User:_):
    query: SELECT id, owner_id FROM docs
  has_relation(Doc:_, reviewer, User:_):
    query: SELECT id, reviewer_id FROM docs
  has_relation(Doc:_, folder, Folder:_):
    query: SELECT id, folder_id FROM docs
  has_relation(Doc:_, memo, Doc:_):
    query: SELECT id, memo_id FROM docs
  urgent(Doc:_):
    query: SELECT id FROM docs WHERE urgent
  has_relation(Folder:_, owner, User:_):
    query: SELECT id, owner_id FROM folders
sql_types: { User: integer, Doc: integer, Folder: integer }
tables: { Doc: docs.id, Folder: folders.id }
";
    let service = Service::new(policy, "has_relation(Folder:2, \"owner\", User:1)", document);
    let schema = "CREATE TEMPORARY TABLE docs (
  id INTEGER UNIQUE, owner_id INTEGER, reviewer_id INTEGER, folder_id INTEGER, memo_id INTEGER, urgent BOOLEAN);
INSERT INTO docs VALUES
  (1, 1, 1, NULL, NULL, TRUE), (2, 1, 1, NULL, NULL, FALSE), (3, 9, 1, 2, NULL, TRUE), (4, 9, 9, 3, 1, FALSE),
  (5, 9, 1, 4, 3, NULL), (6, 1, NULL, 2, 7, TRUE), (7, NULL, 1, NULL, NULL, TRUE), (NULL, 1, 1, 2, 1, TRUE);
CREATE TEMPORARY TABLE folders (id INTEGER UNIQUE, owner_id INTEGER);
INSERT INTO folders VALUES (2, 9), (3, 1), (4, NULL);";
    let question = "allow(User:1, \"read\", Doc:?)";
    for dialect in DIALECTS {
        let caller = Caller::new(dialect).unwrap();
        caller.script(schema).unwrap();
        let filter = service.sql_for(dialect, question, Way::List, "docs.id");
        let sql = format!("SELECT id FROM docs WHERE {filter} ORDER BY id");
        assert_eq!(column(&caller, &sql), "1 3 4 5", "{dialect}: {sql}");
    }
}

/// Both alternatives ask for the same guard, whose own denial is about the owner. One of them needs an owner,
/// and the other one does not.
#[test]
fn a_denial_inside_a_denial_about_a_row_that_one_alternative_shows() {
    let policy = r#"
actor User {}
resource Folder {}
resource Doc { permissions = ["read"]; relations = { owner: User, author: User, folder: Folder }; }
has_permission(u: User, "read", d: Doc) if
  has_relation(d, "author", u) and has_relation(d, "owner", o) and not suspended(o) and not closed(u, d);
has_permission(u: User, "read", d: Doc) if vip(u, d) and has_relation(d, "folder", _) and not closed(u, d);
closed(u: User, d: Doc) if deleted(d) and u matches User and not keeps(u, d);
keeps(u: User, d: Doc) if has_relation(d, "owner", u);
keeps(u: User, d: Doc) if has_relation(d, "folder", f) and boss(u, f);
declare suspended(User);
declare deleted(Doc);
declare vip(User, Doc);
declare boss(User, Folder);
"#;
    let document = "
facts:
  has_relation(Doc:_, owner, User:_): { query: 'SELECT id, owner_id FROM docs' }
  has_relation(Doc:_, author, User:_): { query: 'SELECT id, author_id FROM docs' }
  has_relation(Doc:_, folder, Folder:_): { query: 'SELECT id, folder_id FROM docs' }
  suspended(User:_): { query: 'SELECT id FROM users WHERE suspended = 1' }
  deleted(Doc:_): { query: 'SELECT id FROM docs WHERE deleted = 1' }
  vip(User:_, Doc:_): { query: 'SELECT user_id, doc_id FROM vips' }
  boss(User:_, Folder:_): { query: 'SELECT user_id, folder_id FROM bosses' }
sql_types: { User: integer, Folder: integer, Doc: integer, String: text }
tables: { Doc: docs.id }
";
    let schema = "
CREATE TEMPORARY TABLE docs (id INTEGER UNIQUE, owner_id INTEGER, author_id INTEGER, folder_id INTEGER, deleted INTEGER);
INSERT INTO docs VALUES
  (1, NULL, 9, 4, 0), (2, NULL, 9, 4, 1), (3, NULL, 9, 5, 1), (4, 1, 9, 5, 1), (5, 2, 9, 5, 1), (6, 2, 1, NULL, 0),
  (7, 2, 1, NULL, 1), (8, 1, 1, NULL, 1), (9, 3, 1, 4, 0), (10, 3, 9, 4, 0), (11, NULL, 1, NULL, 0);
CREATE TEMPORARY TABLE users (id INTEGER, suspended INTEGER);
INSERT INTO users VALUES (3, 1), (1, 0);
CREATE TEMPORARY TABLE vips (user_id INTEGER, doc_id INTEGER);
INSERT INTO vips SELECT 1, id FROM docs WHERE author_id = 9;
CREATE TEMPORARY TABLE bosses (user_id INTEGER, folder_id INTEGER);
INSERT INTO bosses VALUES (1, 4);
";
    let service = Service::new(policy, "", document);
    for dialect in DIALECTS {
        let caller = Caller::new(dialect).unwrap();
        caller.script(schema).unwrap();
        let filter = service.sql_for(dialect, "allow(User:1, \"read\", Doc:?)", Way::List, "docs.id");
        let sql = format!("SELECT id FROM docs WHERE {filter} ORDER BY id");
        assert_eq!(column(&caller, &sql), "1 2 4 6 8 10", "{dialect}: {sql}");
    }
}
