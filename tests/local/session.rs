//! What an answer depends on beyond the statement: the settings of the session that runs it, the names that
//! the session resolves, the promises that the tables keep, and when the statement was generated. Each test
//! shows what `docs/local-checks/assumptions.md` says of the case in which the assumption does not hold.

use super::service::{Service, column, decision};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const POLICY: &str = r#"
actor User {}
resource Folder { roles = ["reader"]; }
resource Doc {
  permissions = ["read"];
  roles = ["reader", "banned"];
  relations = { folder: Folder };
  "read" if "reader" and not "banned";
  "read" if "reader" on "folder";
}
has_role(user: User, "reader", doc: Doc) if
  lent(user, doc, until) and @current_unix_time < until;
"#;

fn caller(dialect: Dialect, script: &str) -> Caller {
    let caller = Caller::new(dialect).unwrap();
    caller.script(script).unwrap();
    caller
}

/// Whether the check is answered yes.
fn holds(service: &Service, caller: &Caller, question: &str) -> bool {
    decision(caller, &service.sql_for(caller.dialect(), question, Way::Authorize, "")).unwrap()
}

/// A date is compared by its text, which `DateStyle` changes: then the grant is missed, and so is the ban.
#[test]
fn a_date_is_the_text_that_the_session_prints() {
    let document = "
facts:
  has_role(User:_, reader, Doc:_):
    query: SELECT who, day FROM dated WHERE role = 'reader'
  has_role(User:_, banned, Doc:_):
    query: SELECT who, day FROM dated WHERE role = 'banned'
";
    let stored = r#"has_role(User:eve, "reader", Doc:"2024-01-31")"#;
    let service = Service::new(POLICY, stored, document);
    let caller = caller(
        Dialect::Postgresql,
        "CREATE TEMPORARY TABLE dated (who TEXT, role TEXT, day DATE);
         INSERT INTO dated VALUES ('ada', 'reader', '2024-01-31'), ('eve', 'banned', '2024-01-31')",
    );
    for (style, found) in [("ISO", [true, false]), ("German", [false, true])] {
        caller.script(&format!("SET DateStyle = {style}")).unwrap();
        let asked = ["ada", "eve"].map(|who| format!("allow(User:{who}, \"read\", Doc:\"2024-01-31\")"));
        assert_eq!(asked.map(|asked| holds(&service, &caller, &asked)), found, "{style}");
    }
}

/// A table without its schema is the one that the session finds first.
#[test]
fn a_name_without_a_schema_is_what_the_session_finds() {
    let document = |table: &str| {
        format!("\nfacts:\n  has_role(User:_, reader, Doc:_):\n    query: SELECT who, doc FROM {table}\n")
    };
    let (plain, named) = ("session_readers", "session_b.session_readers");
    let caller = caller(
        Dialect::Postgresql,
        "CREATE SCHEMA session_a; CREATE SCHEMA session_b;
         CREATE TABLE session_a.session_readers (who TEXT, doc TEXT);
         CREATE TABLE session_b.session_readers (who TEXT, doc TEXT);
         INSERT INTO session_b.session_readers VALUES ('ada', 'a')",
    );
    let found = |path: &str| {
        caller.script(&format!("SET search_path = {path}")).unwrap();
        [plain, named].map(|table| {
            let service = Service::new(POLICY, "", &document(table));
            holds(&service, &caller, r#"allow(User:ada, "read", Doc:a)"#)
        })
    };
    let (first, second) = (found("session_a, session_b"), found("session_b, session_a"));
    caller.script("RESET search_path; DROP SCHEMA session_a CASCADE; DROP SCHEMA session_b CASCADE").unwrap();
    assert_eq!((first, second), ([false, true], [true, true]));
}

/// In a filter, a name that none of the bound query's tables has may be a column of the query around it. The
/// bound query alone is refused by the database, and so by `bindings check`.
#[test]
fn a_misspelt_name_is_that_of_the_query_around_it() {
    let query = "SELECT who, doc FROM grants, roles WHERE role = name AND hiden = 0";
    let document = format!("\nfacts:\n  has_role(User:_, reader, Doc:_):\n    query: {query}\n");
    let service = Service::new(POLICY, "", &document);
    let script = "
        CREATE TEMPORARY TABLE grants (who TEXT, doc TEXT, role TEXT);
        CREATE TEMPORARY TABLE roles (name TEXT, hidden INTEGER);
        INSERT INTO grants VALUES ('ada', 'a', 'reader'), ('ada', 'b', 'reader');
        INSERT INTO roles VALUES ('reader', 1);
        CREATE TEMPORARY TABLE docs (id TEXT, hiden INTEGER);
        INSERT INTO docs VALUES ('a', 0), ('b', 1)";
    for dialect in DIALECTS {
        let caller = caller(dialect, script);
        let error = caller.run(query).unwrap_err();
        assert!(error.contains("hiden"), "{error}");
        let filter = service.sql_for(dialect, r#"allow(User:ada, "read", Doc:?)"#, Way::List, "docs.id");
        let rows = column(&caller, &format!("SELECT id FROM docs WHERE {filter} ORDER BY id"));
        assert_eq!(rows, "a", "{dialect}: the role is hidden, so no row is readable\n{filter}");
    }
}

/// Two rows with one key under a promise that it is unique: a filter decides each row by its own columns.
#[test]
fn a_row_is_decided_by_itself_where_a_key_is_not_unique() {
    let document = "
facts:
  has_relation(Doc:_, folder, Folder:_):
    query: SELECT id, folder FROM docs
sql_types: { Doc: integer, Folder: integer }
tables: { Doc: docs.id }
";
    let service = Service::new(POLICY, r#"has_role(User:ada, "reader", Folder:2)"#, document);
    let script = "
        CREATE TEMPORARY TABLE docs (id INTEGER, folder INTEGER);
        INSERT INTO docs VALUES (5, 1), (5, 2), (6, 1)";
    for dialect in DIALECTS {
        let caller = caller(dialect, script);
        let filter = service.sql_for(dialect, r#"allow(User:ada, "read", Doc:?)"#, Way::List, "docs.id");
        let rows = column(&caller, &format!("SELECT folder FROM docs WHERE {filter}"));
        assert_eq!(rows, "2", "{dialect}\n{filter}");
        assert!(holds(&service, &caller, r#"allow(User:ada, "read", Doc:5)"#), "{dialect}");
    }
}

/// A cached statement has the time at which it was generated.
#[test]
fn a_statement_keeps_its_time() {
    let document =
        "\nfacts:\n  lent(User:_, Doc:_, Integer:_):\n    query: SELECT who, doc, until FROM loans\n";
    let service = Service::new(POLICY, "", document);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let script = "CREATE TEMPORARY TABLE loans (who TEXT, doc TEXT, until BIGINT)";
    let callers = DIALECTS.map(|dialect| caller(dialect, script));
    let question = r#"allow(User:ada, "read", Doc:a)"#;
    let old = DIALECTS.map(|dialect| service.sql_for(dialect, question, Way::Authorize, ""));
    // The loan ends after the statements were generated, and before the next ones are.
    for caller in &callers {
        caller.script(&format!("INSERT INTO loans VALUES ('ada', 'a', {})", now + 2)).unwrap();
    }
    std::thread::sleep(Duration::from_secs(3));
    for (caller, old) in callers.iter().zip(&old) {
        assert_eq!(decision(caller, old), Ok(true), "{old}");
        assert!(!holds(&service, caller, question), "{}", caller.dialect());
    }
}
