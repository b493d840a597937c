//! Filters over the users who may open a document, under a guard about the document's folder.

use super::jit::{Planned, none_is_compiled};
use super::service::{Service, column};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;

/// Users and groups are let in, and kept out, by a folder and all below it.
const POLICY: &str = r#"
actor User {}
actor Group { relations = { parent: Group }; }
resource Org {}
resource Team {}
resource Folder { relations = { parent: Folder }; }
resource Document { relations = { folder: Folder, org: Org, team: Team, author: User }; }
in_group(user: User, group: Group) if member(user, group);
in_group(user: User, group: Group) if in_group(user, inner) and has_relation(inner, "parent", group);
may_enter(user: User, folder: Folder) if granted(user, folder);
may_enter(user: User, folder: Folder) if in_group(user, group) and granted(group, folder);
may_enter(user: User, folder: Folder) if has_relation(folder, "parent", parent) and may_enter(user, parent);
is_denied(user: User, folder: Folder) if denied(user, folder);
is_denied(user: User, folder: Folder) if in_group(user, group) and denied(group, folder);
is_denied(user: User, folder: Folder) if has_relation(folder, "parent", parent) and is_denied(user, parent);
has_permission(user: User, "read", document: Document) if
  has_relation(document, "folder", folder) and may_enter(user, folder);
has_permission(user: User, "read", document: Document) if has_relation(document, "author", user);
has_permission(user: User, "read", _: Document) if is_admin(user);
has_permission(user: User, "edit", document: Document) if has_relation(document, "author", user);
has_permission(_: User, "edit", document: Document) if is_draft(document);
allow(user: User, "read", document: Document) if
  has_permission(user, "read", document) and has_relation(document, "folder", folder)
  and not is_denied(user, folder);
allow(user: User, "enter", folder: Folder) if may_enter(user, folder) and not is_denied(user, folder);
allow(user: User, "edit", document: Document) if
  has_permission(user, "edit", document) and has_relation(document, "org", org) and not is_banned(user, org);
allow(user: User, "comment", document: Document) if
  is_admin(user) and has_relation(document, "team", team) and not is_muted(user, team);
declare is_draft(Document);
declare is_muted(User, Team);
declare is_banned(User, Org);
"#;

const DOCUMENT: &str = "
facts:
  member(User:_, Group:_):
    query: SELECT user_id, group_id FROM members
  has_relation(Group:_, parent, Group:_):
    query: SELECT id, parent_id FROM groups
  granted(User:_, Folder:_):
    query: SELECT user_id, folder_id FROM grants
  granted(Group:_, Folder:_):
    query: SELECT group_id, folder_id FROM grants
  denied(User:_, Folder:_):
    query: SELECT user_id, folder_id FROM denials
  denied(Group:_, Folder:_):
    query: SELECT group_id, folder_id FROM denials
  has_relation(Folder:_, parent, Folder:_):
    query: SELECT id, parent_id FROM folders
  has_relation(Document:_, folder, Folder:_):
    query: SELECT id, folder_id FROM documents
  has_relation(Document:_, org, Org:_):
    query: SELECT id, org_id FROM documents
  has_relation(Document:_, team, Team:_):
    query: SELECT document_id, team_id FROM team_documents
  is_muted(User:_, Team:_):
    query: SELECT user_id, team_id FROM mutes
  has_relation(Document:_, author, User:_):
    query: SELECT id, author_id FROM documents
  is_draft(Document:_):
    query: SELECT id FROM documents WHERE draft = 1
  is_admin(User:_):
    query: SELECT id FROM users WHERE admin = 1
  is_banned(User:_, Org:_):
    query: SELECT user_id, org_id FROM bans
sql_types: { User: integer, Group: integer, Org: integer, Team: integer, Folder: integer, Document: integer }
";

const TABLES: &str =
    "tables: { User: users.id, Group: groups.id, Folder: folders.id, Document: documents.id }\n";

/// Folder 3 is below 2, and that below 1. Group 2 is below group 1. Document 12 is in no folder. Document 10
/// is of two teams: user 5 is muted in one of them, and user 6 in both.
const SCHEMA: &str = "
CREATE TABLE users (id INTEGER PRIMARY KEY, admin INTEGER);
INSERT INTO users VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 1), (6, 1), (7, NULL);
CREATE TABLE groups (id INTEGER PRIMARY KEY, parent_id INTEGER);
INSERT INTO groups VALUES (1, NULL), (2, 1), (3, NULL);
CREATE TABLE members (user_id INTEGER, group_id INTEGER);
INSERT INTO members VALUES (2, 2), (3, 1), (4, 3), (5, 3), (NULL, 3);
CREATE TABLE folders (id INTEGER PRIMARY KEY, parent_id INTEGER);
INSERT INTO folders VALUES (1, NULL), (2, 1), (3, 2), (4, NULL);
CREATE TABLE grants (user_id INTEGER, group_id INTEGER, folder_id INTEGER);
INSERT INTO grants VALUES (1, NULL, 1), (NULL, 1, 2), (4, NULL, 3), (7, NULL, 4);
CREATE TABLE denials (user_id INTEGER, group_id INTEGER, folder_id INTEGER);
INSERT INTO denials VALUES (1, NULL, 3), (NULL, 3, 2), (6, NULL, NULL), (NULL, 2, 4);
CREATE TABLE documents (id INTEGER PRIMARY KEY, folder_id INTEGER, org_id INTEGER, author_id INTEGER, draft INTEGER);
INSERT INTO documents VALUES (10, 3, 1, 7, 0), (11, 4, 1, 2, 1), (12, NULL, 2, 1, 0), (13, 1, NULL, 1, 1);
CREATE TABLE team_documents (document_id INTEGER, team_id INTEGER);
INSERT INTO team_documents VALUES (10, 1), (10, 2), (11, 1), (12, NULL), (13, 2);
CREATE TABLE mutes (user_id INTEGER, team_id INTEGER);
INSERT INTO mutes VALUES (5, 1), (6, 1), (6, 2), (5, NULL);
CREATE TABLE bans (user_id INTEGER, org_id INTEGER);
INSERT INTO bans VALUES (7, 1), (3, 1), (2, NULL);
";

/// Who may do this, by hand.
const EXPECTED: [(&str, &str, &str); 13] = [
    ("read", "Document:10", "2 3 6 7"),
    ("read", "Document:11", "5 6 7"),
    ("read", "Document:12", ""),
    ("read", "Document:13", "1 5 6"),
    ("enter", "Folder:3", "2 3"),
    ("enter", "Folder:1", "1"),
    ("edit", "Document:10", ""),
    ("edit", "Document:11", "1 2 4 5 6"),
    ("edit", "Document:12", "1"),
    ("edit", "Document:13", ""),
    ("comment", "Document:10", "5"),
    ("comment", "Document:11", ""),
    ("comment", "Document:13", "5"),
];

fn subjects(service: &Service, dialect: Dialect, action: &str, resource: &str) -> String {
    service.sql_for(dialect, &format!("allow(User:?, \"{action}\", {resource})"), Way::Subjects, "users.id")
}

#[test]
fn who_is_denied_is_no_subject() {
    for tables in ["", TABLES] {
        let service = Service::new(POLICY, "", &format!("{DOCUMENT}{tables}"));
        for dialect in DIALECTS {
            let caller = Caller::new(dialect).unwrap();
            caller.script(&SCHEMA.replace("CREATE TABLE", "CREATE TEMPORARY TABLE")).unwrap();
            for (action, resource, expected) in EXPECTED {
                let filter = subjects(&service, dialect, action, resource);
                let ids = column(&caller, &format!("SELECT id FROM users WHERE {filter} ORDER BY id"));
                assert_eq!(ids, expected, "{action} {resource} {dialect} {tables}: {filter}");
            }
        }
    }
}

/// A set of all who are denied is made once. A recursion inside a test of each user would count for each.
#[test]
fn the_denied_are_a_set_that_is_made_once() {
    let service = Service::new(POLICY, "", &format!("{DOCUMENT}{TABLES}"));
    let statements: Vec<Planned> = EXPECTED
        .map(|(action, resource, _)| {
            let filter = subjects(&service, Dialect::Postgresql, action, resource);
            let n_times = filter.matches("FROM denials").count();
            assert!(n_times <= 4, "{n_times} times: {filter}");
            Planned::new(resource, action, format!("SELECT count(*) FROM users WHERE {filter}"))
        })
        .into();
    none_is_compiled(SCHEMA, &statements);
}

/// Many sources read one relation, under several denials about what they lead to: the verifier cannot tell
/// whether the denials are still the same, and they stay as they are. User 1 is denied on some organization.
#[test]
fn denials_that_the_verifier_cannot_follow_stay() {
    const CHAIN: &str = r#"
actor User { relations = { team: Team }; }
resource Team {}
resource Org { relations = { parent: Org }; }
resource Doc { relations = { org: Org }; }
declare suspended(Org);
is_denied(user: User, org: Org) if has_relation(user, "team", _) and suspended(org);
allow(user: User, "edit", doc: Doc) if has_relation(doc, "org", a) and has_relation(a, "parent", b) and not is_denied(user, b)
  and not is_denied(user, any) and has_relation(doc, "org", c) and has_relation(c, "parent", d) and not is_denied(user, d)
  and not suspended(d) and has_relation(doc, "org", e) and has_relation(e, "parent", f) and has_relation(f, "parent", g)
  and suspended(g);
"#;
    let document = "
facts:
  has_relation(Doc:_, org, Org:_):
    query: SELECT id, org_id FROM docs
  has_relation(Org:_, parent, Org:_):
    query: SELECT id, parent_id FROM orgs
  has_relation(User:_, team, Team:_):
    query: SELECT id, team_id FROM users
  suspended(Org:_):
    query: SELECT id FROM orgs WHERE suspended = 1
tables: { User: users.id, Doc: docs.id, Org: orgs.id, Team: teams.id }
";
    let service = Service::new(CHAIN, "suspended(Org:9)", document);
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller
        .script(
            "CREATE TEMPORARY TABLE users (id TEXT, team_id TEXT);
             INSERT INTO users VALUES ('1', '5'), ('2', NULL);
             CREATE TEMPORARY TABLE docs (id TEXT, org_id TEXT);
             INSERT INTO docs VALUES ('6', '7'), ('66', '8');
             CREATE TEMPORARY TABLE orgs (id TEXT, parent_id TEXT, suspended INTEGER);
             INSERT INTO orgs VALUES ('7', '77', 0), ('77', '9', 0), ('8', '9', 0), ('9', '9', 0);",
        )
        .unwrap();
    for (doc, expected) in [("Doc:6", "2"), ("Doc:66", "")] {
        let filter = subjects(&service, Dialect::Postgresql, "edit", doc);
        let ids = column(&caller, &format!("SELECT id FROM users WHERE {filter} ORDER BY id"));
        assert_eq!(ids, expected, "{filter}");
    }
}
