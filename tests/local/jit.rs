//! PostgreSQL compiles no statement that touches few rows, at its default settings.
//!
//! It compiles what it estimates as costly, and that takes seconds. It knows nothing of tables that were
//! never analysed: it assumes thousands of rows in each, and a recursion of ten times its start. Every other
//! test runs without compilation, so that a bad estimate does not slow it down.

use super::catalogue::{DOCUMENT, SCHEMA, patterns};
use super::service::Service;
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::expert::database::Database;
use portcullis_testkit::local::ways::Way;
use serde_json::Value as Json;

/// Groups in groups, folders above folders, and organizations above organizations: each recursion starts from
/// what another one reaches.
const CHAIN: &str = r#"
actor User {}
actor Group { relations = { member: User, parent: Group }; }
resource Org {
  roles = ["editor", "viewer"];
  permissions = ["read", "edit"];
  relations = { parent: Org };
  "viewer" if "editor";
  role if role on "parent";
  "read" if "viewer";
  "edit" if "editor";
}
resource Folder {
  roles = ["editor", "viewer"];
  permissions = ["read", "edit"];
  relations = { parent: Folder, org: Org };
  "viewer" if "editor";
  role if role on "parent";
  role if role on "org";
  "read" if "viewer";
  "edit" if "editor";
}
resource Document {
  permissions = ["read", "edit"];
  relations = { folder: Folder };
  "read" if "read" on "folder";
  "edit" if "edit" on "folder";
}
has_relation(group: Group, "member", user: User) if has_relation(inner, "parent", group) and has_relation(inner, "member", user);
has_role(user: User, role: String, org: Org) if has_relation(group, "member", user) and has_role(group, role, org);
"#;

const CHAIN_DOCUMENT: &str = "
facts:
  has_relation(Group:_, member, User:_):
    query: SELECT group_id, user_id FROM members
  has_relation(Group:_, parent, Group:_):
    query: SELECT group_id, parent_id FROM group_parents
  has_relation(Org:_, parent, Org:_):
    query: SELECT org_id, parent_id FROM org_parents
  has_relation(Folder:_, parent, Folder:_):
    query: SELECT folder_id, parent_id FROM folder_parents
  has_relation(Folder:_, org, Org:_):
    query: SELECT folder_id, org_id FROM folder_orgs
  has_relation(Document:_, folder, Folder:_):
    query: SELECT id, folder_id FROM documents
  has_role(Group:_, String:_, Org:_):
    query: SELECT group_id, role, org_id FROM group_roles
  has_role(User:_, String:_, Org:_):
    query: SELECT user_id, role, org_id FROM user_roles
sql_types: { User: integer, Group: integer, Org: integer, Folder: integer, Document: integer }
tables: { Document: documents.id }
";

const CHAIN_SCHEMA: &str = "
CREATE TABLE members (group_id INTEGER, user_id INTEGER);
CREATE TABLE group_parents (group_id INTEGER, parent_id INTEGER);
CREATE TABLE org_parents (org_id INTEGER, parent_id INTEGER);
CREATE TABLE folder_parents (folder_id INTEGER, parent_id INTEGER);
CREATE TABLE folder_orgs (folder_id INTEGER, org_id INTEGER);
CREATE TABLE documents (id INTEGER, folder_id INTEGER);
CREATE TABLE group_roles (group_id INTEGER, role TEXT, org_id INTEGER);
CREATE TABLE user_roles (user_id INTEGER, role TEXT, org_id INTEGER);
INSERT INTO members VALUES (1, 1);
INSERT INTO group_parents VALUES (1, 2);
INSERT INTO org_parents VALUES (1, 2);
INSERT INTO folder_parents VALUES (1, 2);
INSERT INTO folder_orgs VALUES (2, 1);
INSERT INTO documents VALUES (1, 1);
INSERT INTO group_roles VALUES (2, 'viewer', 2);
INSERT INTO user_roles VALUES (3, 'editor', 2);
";

/// Documents in any number of collections.
const LINKED: &str = r#"
actor User {}
resource Collection {
  roles = ["editor", "viewer"];
  permissions = ["read"];
  relations = { curator: User };
  "viewer" if "editor";
  "editor" if "curator";
  "read" if "viewer" and not hidden(resource);
  "read" if "editor";
}
resource Document {
  permissions = ["read", "copy"];
  relations = { collection: Collection };
  "read" if "read" on "collection";
  "copy" if "editor" on "collection";
}
declare hidden(Collection);
"#;

const LINKED_DOCUMENT: &str = "
facts:
  has_relation(Document:_, collection, Collection:_):
    query: SELECT document_id, collection_id FROM links
  has_relation(Collection:_, curator, User:_):
    query: SELECT id, curator_id FROM collections
  hidden(Collection:_):
    query: SELECT id FROM collections WHERE hidden
  has_role(User:_, String:_, Collection:_):
    query: SELECT user_id, role, collection_id FROM shares
sql_types: { User: integer, Collection: integer, Document: integer }
tables: { Document: documents.id, Collection: collections.id }
";

const LINKED_SCHEMA: &str = "
CREATE TABLE documents (id INTEGER PRIMARY KEY, folder_id INTEGER);
INSERT INTO documents SELECT g, g FROM generate_series(1, 1000) g;
CREATE TABLE collections (id INTEGER PRIMARY KEY, curator_id INTEGER, hidden BOOLEAN);
INSERT INTO collections SELECT g, g, g % 10 = 0 FROM generate_series(1, 20000) g;
CREATE TABLE links (document_id INTEGER, collection_id INTEGER, PRIMARY KEY (document_id, collection_id));
INSERT INTO links SELECT g / 20, g % 20000 FROM generate_series(1, 600000) g;
CREATE TABLE shares (user_id INTEGER, collection_id INTEGER, role TEXT, PRIMARY KEY (user_id, collection_id));
INSERT INTO shares SELECT g % 5000, g, 'viewer' FROM generate_series(1, 80000) g;
";

/// Roles with permissions of their own, given to users and to teams, in a folder or in its organization.
const GIVEN: &str = r#"
actor User {}
actor Team { relations = { parent: Team }; }
resource Role {}
resource Org {}
resource Folder { relations = { org: Org }; }
resource Document { relations = { folder: Folder }; }
in_team(user: User, team: Team) if member(user, team);
in_team(user: User, team: Team) if in_team(user, inner) and has_relation(inner, "parent", team);
given(user: User, role: Role, folder: Folder) if assigned(user, role, folder);
given(user: User, role: Role, folder: Folder) if in_team(user, team) and assigned(team, role, folder);
given(user: User, role: Role, folder: Folder) if has_relation(folder, "org", org) and assigned(user, role, org);
given(user: User, role: Role, folder: Folder) if
  has_relation(folder, "org", org) and in_team(user, team) and assigned(team, role, org);
has_permission(user: User, action: String, folder: Folder) if given(user, role, folder) and grants(role, action);
has_permission(user: User, action: String, document: Document) if
  has_relation(document, "folder", folder) and has_permission(user, action, folder);
allow(user: User, action: String, document: Document) if
  has_permission(user, action, document) and has_relation(document, "folder", folder)
  and has_relation(folder, "org", org) and not suspended(org);
declare suspended(Org);
"#;

const GIVEN_DOCUMENT: &str = "
facts:
  member(User:_, Team:_):
    query: SELECT user_id, team_id FROM members
  has_relation(Team:_, parent, Team:_):
    query: SELECT id, parent_id FROM teams
  assigned(User:_, Role:_, Folder:_):
    query: SELECT user_id, role_id, folder_id FROM assignments
  assigned(Team:_, Role:_, Folder:_):
    query: SELECT team_id, role_id, folder_id FROM assignments
  assigned(User:_, Role:_, Org:_):
    query: SELECT user_id, role_id, org_id FROM assignments
  assigned(Team:_, Role:_, Org:_):
    query: SELECT team_id, role_id, org_id FROM assignments
  grants(Role:_, String:_):
    query: SELECT role_id, permission FROM permissions
  has_relation(Folder:_, org, Org:_):
    query: SELECT id, org_id FROM folders
  has_relation(Document:_, folder, Folder:_):
    query: SELECT id, folder_id FROM documents
  suspended(Org:_):
    query: SELECT id FROM orgs WHERE suspended
sql_types: { User: integer, Team: integer, Role: integer, Org: integer, Folder: integer, Document: integer }
tables: { Team: teams.id, Org: orgs.id, Folder: folders.id, Document: documents.id }
";

const GIVEN_SCHEMA: &str = "
CREATE TABLE orgs (id INTEGER PRIMARY KEY, suspended BOOLEAN);
INSERT INTO orgs SELECT g, g % 40 = 0 FROM generate_series(1, 1000) g;
CREATE TABLE teams (id INTEGER PRIMARY KEY, parent_id INTEGER);
INSERT INTO teams SELECT g, nullif(g / 10, 0) FROM generate_series(1, 12000) g;
CREATE INDEX ON teams (parent_id);
CREATE TABLE members (user_id INTEGER, team_id INTEGER, PRIMARY KEY (user_id, team_id));
INSERT INTO members SELECT g % 20000, g % 12000 FROM generate_series(1, 60000) g;
CREATE INDEX ON members (team_id);
CREATE TABLE permissions (role_id INTEGER, permission TEXT, PRIMARY KEY (role_id, permission));
INSERT INTO permissions SELECT g, p FROM generate_series(1, 3000) g, unnest(ARRAY['read', 'edit', 'share']) p;
CREATE TABLE folders (id INTEGER PRIMARY KEY, org_id INTEGER);
INSERT INTO folders SELECT g, g % 1000 FROM generate_series(1, 60000) g;
CREATE INDEX ON folders (org_id);
CREATE TABLE documents (id INTEGER PRIMARY KEY, folder_id INTEGER);
INSERT INTO documents SELECT g, g % 60000 FROM generate_series(1, 200000) g;
CREATE INDEX ON documents (folder_id);
CREATE TABLE assignments (user_id INTEGER, team_id INTEGER, role_id INTEGER, folder_id INTEGER, org_id INTEGER);
INSERT INTO assignments SELECT g % 20000, NULL, g % 3000, g % 60000, NULL FROM generate_series(1, 80000) g;
INSERT INTO assignments SELECT NULL, g % 12000, g % 3000, g % 60000, NULL FROM generate_series(1, 90000) g;
INSERT INTO assignments SELECT NULL, g % 12000, g % 3000, NULL, g % 1000 FROM generate_series(1, 4000) g;
CREATE INDEX ON assignments (user_id);
CREATE INDEX ON assignments (team_id);
CREATE INDEX ON assignments (folder_id);
CREATE INDEX ON assignments (org_id);
";

/// Documents of a party, for all who are in one of its teams, or in a team below one.
const PARTIES: &str = r#"
actor User {}
resource Party {}
resource Team { relations = { member: User, parent: Team, party: Party }; }
resource Document { permissions = ["read"]; relations = { party: Party }; }
in_team(user: User, team: Team) if has_relation(team, "member", user);
in_team(user: User, team: Team) if has_relation(inner, "parent", team) and in_team(user, inner);
has_permission(user: User, "read", document: Document) if
  has_relation(document, "party", party) and has_relation(team, "party", party) and in_team(user, team);
"#;

const PARTIES_DOCUMENT: &str = "
facts:
  has_relation(Team:_, member, User:_):
    query: SELECT team_id, user_id FROM members
  has_relation(Team:_, parent, Team:_):
    query: SELECT id, parent_id FROM teams
  has_relation(Team:_, party, Party:_):
    query: SELECT id, party_id FROM teams
  has_relation(Document:_, party, Party:_):
    query: SELECT id, party_id FROM documents
sql_types: { User: integer, Team: integer, Party: integer, Document: integer }
tables: { Team: teams.id, Document: documents.id }
";

const PARTIES_SCHEMA: &str = "
CREATE TABLE teams (id INTEGER PRIMARY KEY, parent_id INTEGER, party_id INTEGER);
INSERT INTO teams SELECT g, nullif(g / 10, 0), g % 4000 FROM generate_series(1, 60000) g;
CREATE INDEX ON teams (parent_id);
CREATE INDEX ON teams (party_id);
CREATE TABLE members (user_id INTEGER, team_id INTEGER, PRIMARY KEY (user_id, team_id));
INSERT INTO members SELECT g % 20000, g % 60000 FROM generate_series(1, 60000) g;
CREATE INDEX ON members (team_id);
CREATE TABLE documents (id INTEGER PRIMARY KEY, party_id INTEGER, folder_id INTEGER);
INSERT INTO documents SELECT g, g % 4000, g FROM generate_series(1, 100000) g;
CREATE INDEX ON documents (party_id);
";

/// The indexes that a team has on the tables of the catalogue, apart from those of unique columns.
const INDEXES: &str = "
CREATE INDEX ON documents (owner_id);
CREATE INDEX ON documents (folder_id);
CREATE INDEX ON parents (folder_id);
CREATE INDEX ON parents (parent_id);
CREATE INDEX ON folder_roles (user_id);
CREATE INDEX ON bans (user_id);
CREATE INDEX ON blocks (document_id, user_id);
CREATE INDEX ON quotas (user_id, folder_id);
CREATE INDEX ON deputies (deputy_id);
CREATE INDEX ON limits (user_id);
CREATE INDEX ON loans (user_id);
";

/// A statement.
pub(crate) struct Planned {
    /// What it is called.
    name: String,
    /// Its text.
    sql: String,
    /// What an expert writes instead, which may be as costly.
    expert: Option<String>,
}

#[test]
fn no_pattern_is_compiled_over_tables_without_statistics() {
    let mut statements = Vec::new();
    for pattern in patterns() {
        let without = |section| DOCUMENT.split(section).next().unwrap();
        for (declared, document) in [("all", DOCUMENT), ("types", without("tables:"))] {
            let service = Service::new(&pattern.policy(), "", document);
            statements.extend(of_document(&service, &format!("{}, {declared}", pattern.shape)));
        }
    }
    none_is_compiled(&format!("{}{INDEXES}", SCHEMA.replace("TEMPORARY ", "")), &statements);
}

/// A test of each row counts for all of them. PostgreSQL compiles at a tenth of the usual cost here, and
/// there is a tenth of a million documents. Where the expert's statement is as costly, no text is cheaper.
#[test]
fn no_test_of_a_row_is_costly_over_many_documents() {
    let many = "
SET jit_above_cost = 10000;
INSERT INTO documents SELECT 100 + g, g % 1009, g % 2003, 0, 'final', 1 FROM generate_series(1, 100000) g;
INSERT INTO folders SELECT 100 + g, 100, 0, g % 97 FROM generate_series(1, 2003) g;
INSERT INTO blocks SELECT g, g % 1009 FROM generate_series(1, 20000) g;
";
    let mut statements = Vec::new();
    for pattern in patterns() {
        let service = Service::new(&pattern.policy(), "", DOCUMENT);
        let by_hand = around(&pattern.expert("1", "documents")).map(|(_, sql)| Some(sql));
        let ours = of_filter(&service, pattern.shape).into_iter().zip(by_hand);
        statements.extend(ours.map(|(statement, expert)| Planned { expert, ..statement }));
    }
    none_is_compiled(&format!("{}{INDEXES}{many}", SCHEMA.replace("TEMPORARY ", "")), &statements);
}

#[test]
fn no_chain_of_recursions_is_compiled_over_tables_without_statistics() {
    let service = Service::new(CHAIN, "", CHAIN_DOCUMENT);
    none_is_compiled(CHAIN_SCHEMA, &of_document(&service, "chain"));
}

/// Without statistics, PostgreSQL estimates thousands of links for each document.
#[test]
fn no_look_up_through_a_link_table_is_compiled_over_tables_without_statistics() {
    let service = Service::new(LINKED, "", LINKED_DOCUMENT);
    none_is_compiled(LINKED_SCHEMA, &of_document(&service, "linked"));
}

/// Without statistics, PostgreSQL takes an array for ten values, a recursion for ten times its start, and a
/// user for one with hundreds of assignments, each of which leads to hundreds of folders.
#[test]
fn no_role_of_a_team_is_compiled_over_tables_without_statistics() {
    let service = Service::new(GIVEN, "", GIVEN_DOCUMENT);
    none_is_compiled(GIVEN_SCHEMA, &of_document(&service, "given"));
}

/// A document is found by its key, and leads to its party, of which nothing tells how many teams it has.
#[test]
fn no_recursion_from_what_a_found_row_leads_to_is_compiled_over_tables_without_statistics() {
    let service = Service::new(PARTIES, "", PARTIES_DOCUMENT);
    none_is_compiled(PARTIES_SCHEMA, &of_document(&service, "party"));
}

/// A page, a count, an update, a check and the actions of documents.
fn of_document(service: &Service, name: &str) -> Vec<Planned> {
    let check = service.sql("allow(User:1, \"read\", Document:1)", Way::Authorize, "");
    let actions = service.sql("allow(User:1, String:?, Document:1)", Way::Actions, "");
    let mut all = of_filter(service, name);
    all.extend([("check", check), ("actions", actions)].map(|(kind, sql)| Planned::new(name, kind, sql)));
    all
}

/// A page, a count and an update of documents.
fn of_filter(service: &Service, name: &str) -> Vec<Planned> {
    let filter = service.filter("allow(User:1, \"read\", Document:?)", "documents.id");
    around(&filter).map(|(kind, sql)| Planned::new(name, kind, sql)).into()
}

/// A page, a count and an update of the documents that meet a condition, each with its kind.
fn around(condition: &str) -> [(&'static str, String); 3] {
    [
        ("page", format!("SELECT * FROM documents WHERE {condition} ORDER BY id DESC LIMIT 50")),
        ("count", format!("SELECT count(*) FROM documents WHERE {condition}")),
        ("update", format!("UPDATE documents SET folder_id = folder_id WHERE {condition}")),
    ]
}

impl Planned {
    /// One without an expert's.
    pub(crate) fn new(name: &str, kind: &str, sql: String) -> Self {
        Self { name: format!("{name}, {kind}"), sql, expert: None }
    }
}

/// PostgreSQL must plan these statements, over tables that it knows nothing of, below the cost at which it
/// begins to compile, or at a tenth more than the expert's.
pub(crate) fn none_is_compiled(schema: &str, statements: &[Planned]) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let wrong = runtime.block_on(async {
        let cluster = Cluster::start(&["jit=on", "autovacuum=off"]).unwrap();
        let database =
            Database::connect(&format!("host={} user=postgres dbname=postgres", cluster.folder)).await;
        database.first_column(schema).await;
        let begins = database.first_column("SHOW jit_above_cost").await.concat().parse::<f64>().unwrap();
        let mut wrong = Vec::new();
        for Planned { name, sql, expert } in statements {
            let cost = cost_of(&database, sql).await;
            if cost < begins {
                continue;
            }
            match expert {
                Some(expert) if cost <= 1.1 * cost_of(&database, expert).await => {}
                _ => wrong.push(format!("{name}: costs {cost}")),
            }
        }
        wrong
    });
    assert!(wrong.is_empty(), "compiled:\n{}", wrong.join("\n"));
}

/// What PostgreSQL estimates that a statement costs. It compiles no cheaper one than `jit_above_cost`.
async fn cost_of(database: &Database, sql: &str) -> f64 {
    let json = database.first_column(&format!("EXPLAIN (FORMAT JSON) {sql}")).await;
    let plan: Json = serde_json::from_str(&json.concat()).unwrap();
    plan[0]["Plan"]["Total Cost"].as_f64().unwrap()
}
