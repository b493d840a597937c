//! What each kind of rule becomes in a filter over a table's rows, next to what an expert writes.
//!
//! Both texts must pass the same rows for every user on every database, with all declarations, without
//! `tables`, and without any. The text of each pattern is a snapshot: a fact about the row is a column of it,
//! what starts from the actor is an array, and a guard tests the array's values.

use super::catalogue::{DOCUMENT, POLICY, SCHEMA, at_fixed_time, patterns};
use super::service::{Service, column, shape};
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;

#[test]
fn every_pattern_passes_the_rows_that_an_expert_passes() {
    for pattern in patterns() {
        let policy = pattern.policy();
        let without = |section| DOCUMENT.split(section).next().unwrap();
        for document in [DOCUMENT, without("tables:"), without("sql_types:")] {
            let service = Service::new(&policy, "", document);
            for dialect in DIALECTS {
                let caller = Caller::new(dialect).unwrap();
                caller.script(SCHEMA).unwrap();
                for user in ["1", "2", "3", "4"] {
                    let question = format!("allow(User:{user}, \"read\", Document:?)");
                    let filter = service.sql_for(dialect, &question, Way::List, "documents.id");
                    let of_alias = service.sql_for(dialect, &question, Way::List, "listed.id");
                    let expert = pattern.expert(user, "d");
                    let rows = |from: &str, condition: &str| {
                        let sql = format!(
                            "SELECT id FROM {from} WHERE ({condition}) AND id IS NOT NULL ORDER BY id"
                        );
                        (column(&caller, &sql), sql)
                    };
                    let (ours, sql) = rows("documents", &filter);
                    assert_eq!(ours, rows("documents d", &expert).0, "{}: {sql}", pattern.shape);
                    let (same, sql) = rows("documents AS listed", &of_alias);
                    assert_eq!(same, ours, "{}: {sql}", pattern.shape);
                    let unknown = format!("SELECT COUNT(*) FROM documents WHERE ({filter}) IS NULL");
                    assert_eq!(column(&caller, &unknown), "0", "{}: {filter}", pattern.shape);
                }
            }
        }
        let service = Service::new(&policy, "", DOCUMENT);
        let filter = service.filter("allow(User:1, \"read\", Document:?)", "documents.id");
        shape(pattern.shape, &at_fixed_time(&filter));
    }
}

/// Where nothing promises a key, documents of the owner are looked up by their ids among those in the
/// folders: a list of all documents in the folders may be long.
#[test]
fn two_relations_are_joined_where_no_key_is_promised() {
    let pattern = patterns().find(|pattern| pattern.shape == "pattern-two-relations-at-once").unwrap();
    let document = DOCUMENT.split("tables:").next().unwrap();
    let service = Service::new(&pattern.policy(), "", document);
    let filter = service.filter("allow(User:1, \"read\", Document:?)", "documents.id");
    shape("two-relations-without-tables", &filter);
}

/// A column with a document's id in another table, where the document may be gone: what is granted on the id
/// itself still passes, and what needs the document's row does not.
#[test]
fn a_column_may_name_things_without_a_row() {
    let own_or_viewed = r#""read" if "owner"; "read" if "read" on "folder";"#;
    let shorthand = format!("roles = [\"reader\"]; {own_or_viewed}");
    // A guard applies only to its own alternative.
    let rule =
        "has_permission(u: User, \"read\", d: Document) if has_role(u, \"reader\", d) and limit(u, 10);";
    let policy = POLICY.replace("SHORTHAND", &shorthand).replace("RULE", rule);
    let facts = [
        "User:1, \"reader\", Document:99",
        "User:1, \"reader\", Document:8",
        "User:2, \"reader\", Document:99",
    ]
    .map(|role| format!("has_role({role})"));
    let service = Service::new(&policy, &facts.join("\n"), DOCUMENT);
    for dialect in DIALECTS {
        let caller = Caller::new(dialect).unwrap();
        caller.script(SCHEMA).unwrap();
        caller.script("INSERT INTO blocks VALUES (99, 5), (98, 5), (8, 5), (4, 5);").unwrap();
        for (user, expected) in [("1", "1 3 8 9 99"), ("2", "3 4 9"), ("3", "8"), ("4", "")] {
            let question = format!("allow(User:{user}, \"read\", Document:?)");
            let filter = service.sql_for(dialect, &question, Way::List, "blocks.document_id");
            let sql = format!("SELECT DISTINCT document_id FROM blocks WHERE {filter} ORDER BY document_id");
            assert_eq!(column(&caller, &sql), expected, "{sql}");
            // A column that does not name its table means no other one inside the filter's queries.
            caller.script("CREATE TEMPORARY TABLE listed AS SELECT document_id AS id FROM blocks;").unwrap();
            for name in ["id", "listed.id", "l.id"] {
                let filter = service.sql_for(dialect, &question, Way::List, name);
                let alias = name.split_once('.').map_or("l", |(alias, _)| alias);
                let sql = format!("SELECT DISTINCT id FROM listed AS {alias} WHERE {filter} ORDER BY id");
                assert_eq!(column(&caller, &sql), expected, "{sql}");
            }
            caller.script("DROP TABLE listed;").unwrap();
        }
    }
}

/// A column that is not named with its table would be another one inside a query of two tables, of which one
/// has a column of that name. So no query of a filter reads it.
#[test]
fn a_column_without_its_table_is_not_read_inside_a_query() {
    let policy = r#"
        actor User {}
        resource Folder { roles = ["reader", "member"]; }
        resource Document {
          permissions = ["read"];
          relations = { author: User, folder: Folder };
          "read" if "author";
        }
        has_permission(_: User, "read", d: Document) if public(d);
        allow(u: User, a: String, d: Document) if has_permission(u, a, d) and f matches Folder
          and has_relation(d, "folder", f) and has_role(u, "reader", f) and has_role(u, "member", f);
    "#;
    let document = "
facts:
  has_relation(Document:_, folder, Folder:_):
    query: SELECT id, folder_id FROM papers
  has_relation(Document:_, author, User:_):
    query: SELECT id, author_id FROM papers
  has_role(User:_, String:_, Folder:_):
    query: SELECT user_id, role, folder_id FROM roles
  public(Document:_):
    query: SELECT id FROM papers WHERE is_public = 1
sql_types: {Document: integer, Folder: integer, User: integer}
tables: {Document: papers.id, Folder: shelves.id, User: people.id}
";
    let script = "
CREATE TEMPORARY TABLE people (id INTEGER UNIQUE); INSERT INTO people VALUES (1), (2), (3);
CREATE TEMPORARY TABLE shelves (id INTEGER UNIQUE); INSERT INTO shelves VALUES (5);
CREATE TEMPORARY TABLE papers (id INTEGER UNIQUE, folder_id INTEGER, author_id INTEGER, is_public INTEGER);
INSERT INTO papers VALUES (2, 5, NULL, 1);
CREATE TEMPORARY TABLE roles (user_id INTEGER, role TEXT, folder_id INTEGER);
INSERT INTO roles VALUES (2, 'reader', 5), (2, 'member', 5), (1, 'reader', 5);";
    let service = Service::new(policy, "", document);
    for dialect in DIALECTS {
        let caller = Caller::new(dialect).unwrap();
        caller.script(script).unwrap();
        for name in ["people.id", "id"] {
            let filter = service.sql_for(dialect, "allow(User:?, \"read\", Document:2)", Way::Subjects, name);
            let sql = format!("SELECT id FROM people WHERE {filter} ORDER BY id");
            assert_eq!(column(&caller, &sql), "2", "{sql}");
        }
    }
}

/// A row that is looked up twice is read once also where a row that it leads to was replaced by it
/// before: the same folder comes from the document's own condition and from what the document inherits.
/// Two facts about one row are connected with a set by the row's key once. If they were connected twice,
/// the set would also be asked for each of its rows.
#[test]
fn facts_about_one_row_are_connected_with_a_set_once() {
    let policy = r#"
        actor User {}
        resource Site { permissions = ["sign"]; }
        resource Company {}
        assigned(u: User, r: String, s: Site) if assignment(u, r, s, _, _);
        has_permission(u: User, a: String, s: Site) if assigned(u, r, s) and grants(r, a);
        resource Shipment {
          permissions = ["sign"];
          relations = { site: Site, company: Company };
          "sign" if "sign" on "site";
        }
        embargoed(k: Shipment) if has_relation(k, "company", c) and embargo(c);
        allow(u: User, a: String, k: Shipment) if
          has_permission(u, a, k) and sensitivity(k, l) and clearance(u, c) and l <= c and not embargoed(k);
        resource Paper {
          permissions = ["sign"];
          relations = { shipment: Shipment, uploader: User, signer: User };
        }
        signed(p: Paper) if has_relation(p, "signer", v) and v matches User;
        allow(u: User, "sign", p: Paper) if
          has_relation(p, "shipment", k) and allow(u, "sign", k) and has_relation(p, "uploader", o) and o != u
          and not signed(p);"#;
    let document = "
facts:
  assignment(User:_, String:_, Site:_, Integer:_, Integer:_):
    query: SELECT login, role, site, valid_from, valid_until FROM assignments
  grants(String:_, String:_):
    query: SELECT role, action FROM role_grants
  embargo(Company:_):
    query: SELECT code FROM companies WHERE embargo
  clearance(User:_, Integer:_):
    query: SELECT login, clearance FROM staff
  sensitivity(Shipment:_, Integer:_):
    query: SELECT number, sensitivity FROM shipments
  has_relation(Shipment:_, site, Site:_):
    query: SELECT number, site FROM shipments
  has_relation(Shipment:_, company, Company:_):
    query: SELECT number, company FROM shipments
  has_relation(Paper:_, shipment, Shipment:_):
    query: SELECT id, shipment FROM papers
  has_relation(Paper:_, uploader, User:_):
    query: SELECT id, uploaded_by FROM papers
  has_relation(Paper:_, signer, User:_):
    query: SELECT id, signed_by FROM papers
sql_types: { User: text, Site: text, Company: text, Shipment: text, Paper: bigint, Integer: integer }
tables: { Company: companies.code, Shipment: shipments.number, Paper: papers.id }
";
    let service = Service::new(policy, "", document);
    let filter = service.filter(r#"allow(User:ann, "sign", Paper:?)"#, "papers.id");
    assert_eq!(filter.matches("shipments AS").count(), 1, "{filter}");
}

#[test]
fn a_row_that_another_source_sees_is_still_read() {
    let policy = r#"
        actor User {}
        actor Team { roles = ["reader"]; "reader" if member(User{"2"}, resource) and not member(actor, resource); }
        resource Folder { roles = ["reader"]; relations = { team: Team }; "reader" if "reader" on "team"; }
        resource Document {
          roles = ["reader"];
          permissions = ["write"];
          relations = { folder: Folder };
          "write" if role on "folder" and "reader";
          role if role on "folder";
        }"#;
    let document = "
facts:
  member(User:_, Team:_):
    query: SELECT user_id, team_id FROM members
  has_relation(Document:_, folder, Folder:_):
    query: SELECT id, folder_id FROM documents
  has_relation(Folder:_, team, Team:_):
    query: SELECT id, tenant_id FROM folders
tables:
  Document: documents.id
  Folder: folders.id
";
    let service = Service::new(policy, "", document);
    for dialect in DIALECTS {
        let caller = Caller::new(dialect).unwrap();
        caller.script(SCHEMA).unwrap();
        caller.script("CREATE TEMPORARY TABLE members (user_id INTEGER, team_id INTEGER);").unwrap();
        caller.script("INSERT INTO members VALUES (2, 100), (1, 100), (2, 101), (3, NULL);").unwrap();
        for (user, expected) in [("1", "8"), ("2", ""), ("3", "1 2 3 4 5 8 9")] {
            let question = format!("allow(User:{user}, \"write\", Document:?)");
            let filter = service.sql_for(dialect, &question, Way::List, "documents.id");
            let sql = format!("SELECT id FROM documents WHERE {filter} ORDER BY id");
            assert_eq!(column(&caller, &sql), expected, "{sql}");
        }
    }
}
