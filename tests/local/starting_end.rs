//! Policies in which stored facts select the caller's rows. The tests check how many facts a statement
//! embeds, and whether the service reads them from the actor's end or from the row's.

use super::service::{Service, column, facts, rows};
use portcullis::engine::StartingEnd;
use portcullis_compiler::Dialect;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::stored_folders;
use portcullis_testkit::local::ways::Way;
use portcullis_testkit::notation::{Fact, Value};

const TENANTS: &str = r#"
actor User {}
resource Tenant { roles = ["member"]; }
resource Doc { permissions = ["read"]; relations = { tenant: Tenant }; }
has_permission(u: User, "read", d: Doc) if
  has_relation(d, "tenant", t) and has_role(u, "member", t) and not is_suspended(t);
"#;

/// The guard looks the document's tenant up by itself. Only a key says that it is the tenant of the role.
const GUARDED: &str = r#"
actor User {}
resource Tenant { roles = ["member", "owner"]; }
resource Doc {
  permissions = ["read", "edit"];
  relations = { tenant: Tenant };
  "read" if "member" on "tenant";
  "edit" if "owner" on "tenant";
  "read" if "edit";
}
allow(u: User, action: String, d: Doc) if
  has_permission(u, action, d) and has_relation(d, "tenant", t) and not is_suspended(t);
"#;

const DOCUMENT: &str = "
facts:
  has_relation(Doc:_, tenant, Tenant:_):
    query: SELECT id, place FROM docs
  has_relation(Doc:_, folder, Folder:_):
    query: SELECT id, place FROM docs
sql_types:
  Doc: integer
  Tenant: integer
  Folder: integer
";

/// Document 1 is in place 20000, document 2 in 7, document 3 in none.
fn caller() -> Caller {
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller.script("CREATE TEMPORARY TABLE docs (id INTEGER UNIQUE, place INTEGER)").unwrap();
    caller.script("INSERT INTO docs VALUES (1, 20000), (2, 7), (3, NULL)").unwrap();
    caller
}

fn fact(predicate: &str, args: &[(&str, &str)]) -> Fact {
    let args = args.iter().map(|(ty, id)| Value::new(ty, id)).collect();
    Fact { predicate: predicate.into(), args }
}

fn suspended(from: usize, to: usize) -> Vec<Fact> {
    (from..=to).map(|n| fact("is_suspended", &[("Tenant", &n.to_string())])).collect()
}

/// Folder `n` is in folder `n / 4`.
fn parents(most: usize) -> Vec<Fact> {
    let parent = |n: usize| {
        let (child, parent) = (n.to_string(), (n / 4).to_string());
        fact("has_relation", &[("Folder", &child), ("String", "parent"), ("Folder", &parent)])
    };
    (1..=most).map(parent).collect()
}

/// What is suspended is taken from what the user has, in the store: the text has her tenants only.
#[test]
fn stored_negation_is_subtracted_in_the_store() {
    let service = Service::new(TENANTS, "has_role(User:ada, \"member\", Tenant:20000)", DOCUMENT);
    service.store(&facts("has_role(User:ada, \"member\", Tenant:7)"));
    let caller = caller();
    for (from, to) in [(0, 8_999), (9_000, 10_000)] {
        service.store(&suspended(from, to));
        let sql = service.sql("allow(User:ada, \"read\", Doc:1)", Way::Authorize, "");
        assert!(sql.len() < 140, "{} bytes\n{sql}", sql.len());
        assert_eq!(column(&caller, &sql), "true");
        let sql = service.sql("allow(User:ada, \"read\", Doc:2)", Way::Authorize, "");
        assert_eq!(column(&caller, &sql), "false");
        let sql = service.sql("allow(User:ada, String:?, Doc:1)", Way::Actions, "");
        assert!(sql.len() < 260, "{} bytes\n{sql}", sql.len());
        assert_eq!(column(&caller, &sql), "read");
        let filter = service.sql("allow(User:ada, \"read\", Doc:?)", Way::List, "id");
        assert!(filter.len() < 140, "{} bytes\n{filter}", filter.len());
        assert_eq!(column(&caller, &format!("SELECT id FROM docs WHERE {filter}")), "1");
        let sql = service.sql("allow(User:ada, \"read\", Doc:1)", Way::Select, "");
        assert!(sql.len() < 140, "{} bytes\n{sql}", sql.len());
        assert_eq!(column(&caller, &sql), "true");
    }
}

/// The same where a guard of its own asks about the tenant.
#[test]
fn a_guard_is_subtracted_in_the_store_from_the_row_that_a_key_finds() {
    let document = format!("{DOCUMENT}tables:\n  Doc: docs.id\n");
    let service = Service::new(GUARDED, "has_role(User:ada, \"owner\", Tenant:20000)", &document);
    service.store(&facts("has_role(User:ada, \"member\", Tenant:7)"));
    let caller = caller();
    for (from, to) in [(0, 8_999), (9_000, 19_999)] {
        service.store(&suspended(from, to));
        let ask = |question: &str, way: Way| {
            let sql = service.sql(question, way, "id");
            assert!(sql.len() < 500, "{question} {way:?}: {} bytes\n{sql}", sql.len());
            let sql = if way == Way::List { format!("SELECT id FROM docs WHERE {sql}") } else { sql };
            column(&caller, &sql)
        };
        for way in [Way::Authorize, Way::Select] {
            assert_eq!(ask("allow(User:ada, \"read\", Doc:1)", way), "true");
            assert_eq!(ask("allow(User:ada, \"read\", Doc:2)", way), "false");
        }
        assert_eq!(ask("allow(User:ada, String:?, Doc:1)", Way::Actions), "edit read");
        assert_eq!(ask("allow(User:ada, String:?, Doc:2)", Way::Actions), "");
        assert_eq!(ask("allow(User:ada, \"read\", Doc:?)", Way::List), "1");
    }
}

/// The folders that a user may see are found in the store, and the document's folder picks from them.
#[test]
fn a_stored_hierarchy_is_read_from_the_actor() {
    let roles = "has_role(User:ada, \"reader\", Folder:313)\nhas_role(User:ada, \"editor\", Folder:5000)
has_role(Group:staff, \"editor\", Folder:1)\nin_group(User:bob, Group:staff)\nhas_role(User:root, \"reader\", Folder:0)";
    let service = Service::new(stored_folders::POLICY, roles, DOCUMENT);
    service.store(&parents(20_000));
    let caller = caller();
    let ask = |question: &str, way: Way| {
        let sql = service.sql(question, way, "id");
        assert!(sql.len() < 4_096, "{question} {way:?}: {} bytes\n{sql}", sql.len());
        let sql = if way == Way::List { format!("SELECT id FROM docs WHERE {sql} ORDER BY id") } else { sql };
        column(&caller, &sql)
    };
    // 20000 is in 5000, in 1250, in 312; 5000 is where ada edits.
    assert_eq!(ask("allow(User:ada, \"read\", Doc:1)", Way::Authorize), "true");
    assert_eq!(ask("allow(User:ada, \"edit\", Doc:1)", Way::Select), "true");
    assert_eq!(ask("allow(User:ada, \"read\", Doc:2)", Way::Authorize), "false");
    assert_eq!(ask("allow(User:ada, String:?, Doc:1)", Way::Actions), "edit read");
    assert_eq!(ask("allow(User:ada, \"edit\", Doc:?)", Way::List), "1");
    assert_eq!(ask("allow(User:eve, \"read\", Doc:1)", Way::Authorize), "false");
    // A user who sees all of them is too much from either end.
    for way in [Way::Authorize, Way::Select] {
        let message = service.refusal("allow(User:root, \"read\", Doc:1)", way, "");
        assert!(message.contains("has_relation") && message.contains("10000"), "{message}");
    }
}

/// Of two ends the one with fewer values is taken, and the explanation says which.
#[test]
fn the_smaller_end_is_taken() {
    let service = Service::new(stored_folders::POLICY, "has_role(User:ada, \"reader\", Folder:7)", DOCUMENT);
    service.store(&parents(100));
    let readers = |n: usize| facts(&format!("has_role(User:u{n}, \"reader\", Folder:1)")).remove(0);
    service.store(&(10..40).map(readers).collect::<Vec<_>>());
    let told = |question: &str, way: Way| {
        let explained = service.explain(question, way);
        let note = explained.notes.into_iter().find(|note| note.starts_with("stored facts are followed"));
        (rows(&caller(), &explained.sql).len(), note.unwrap(), explained.stored_facts.unwrap())
    };
    // Each of 30 readers with each folder below, or the parents of all folders.
    let (n_rows, note, end) = told("allow(User:?, \"read\", Doc:2)", Way::Select);
    assert_eq!(n_rows, 31);
    assert!(note.starts_with("stored facts are followed from the rows of your tables"), "{note}");
    assert!(
        end.from == StartingEnd::Demanded && end.n_values_otherwise.is_none_or(|other| other > end.n_values),
        "{end:?}"
    );
    let (_, note, end) = told("allow(User:u11, \"read\", Doc:2)", Way::Authorize);
    assert!(note.starts_with("stored facts are followed from the question's own values"), "{note}");
    assert_eq!(end.from, StartingEnd::Stored, "{end:?}");
}
