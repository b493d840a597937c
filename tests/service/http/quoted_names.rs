//! Names in double quotes in SQL for SQLite, which reads one as a text if there is no such column.

use portcullis_testkit::server::Server;
use rusqlite::Connection;
use serde_json::{Value as Json, json};

const POLICY: &str = "
actor User {}
resource Doc { permissions = [\"read\"]; relations = { owner: User }; }
has_permission(user: User, \"read\", doc: Doc) if has_relation(doc, \"owner\", user) and not locked(doc);
";

fn question(locked: &str, column: &str) -> Json {
    let bindings = format!(
        "dialect: sqlite\nfacts:\n  has_relation(Doc:_, owner, User:_):\n    query: SELECT id, \"owner\" FROM docs\n  \
         locked(Doc:_):\n    query: {locked}\n"
    );
    let query = json!({
        "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Doc", "context_facts": [],
    });
    json!({ "query": query, "column": column, "data_bindings": bindings })
}

#[test]
fn a_misspelt_name_in_quotes_is_an_error_on_sqlite() {
    let server = Server::empty();
    assert_eq!(server.post("/api/policy", &json!({ "src": POLICY })).status, 200);
    let application = Connection::open_in_memory().unwrap();
    let tables = "
        CREATE TABLE docs (id TEXT PRIMARY KEY NOT NULL, owner TEXT NOT NULL);
        CREATE TABLE locked (doc TEXT NOT NULL, active INTEGER NOT NULL);
        INSERT INTO docs VALUES ('1', 'ada'), ('2', 'ada');
        INSERT INTO locked VALUES ('1', 1);
    ";
    application.execute_batch(tables).unwrap();
    // As it is, each of these is accepted.
    let as_text = application.query_row("SELECT \"docc\" FROM locked", [], |row| row.get::<_, String>(0));
    assert_eq!(as_text.unwrap(), "docc");
    for (locked, column, wrong) in [
        ("SELECT \"doc\" FROM locked WHERE \"active\" = 1", "\"id\"", None),
        ("SELECT l.doc FROM \"locked\" AS l, docs WHERE docs.id = \"doc\"", "docs.\"id\"", None),
        ("SELECT \"docc\" FROM locked", "docs.id", Some("docc")),
        ("SELECT doc FROM locked WHERE \"actve\" = 1", "docs.id", Some("actve")),
        ("SELECT l.doc FROM locked AS l, docs WHERE \"dooc\" = docs.id", "docs.id", Some("dooc")),
        ("SELECT doc FROM locked", "\"idd\"", Some("idd")),
    ] {
        let answer = server.post("/api/list_query", &question(locked, column));
        assert_eq!(answer.status, 200, "{}", answer.text);
        let filter = answer.json()["sql"].as_str().unwrap().to_owned();
        let prepared = application.prepare(&format!("SELECT id FROM docs WHERE {filter}"));
        match (prepared, wrong) {
            (Ok(mut statement), None) => {
                let ids = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
                assert_eq!(ids.map(Result::unwrap).collect::<Vec<_>>(), ["2"], "{locked} {column}: {filter}");
            }
            (Err(error), Some(wrong)) => {
                let error = error.to_string();
                assert!(error.contains("no such column") && error.contains(wrong), "{error}: {filter}");
            }
            (prepared, _) => panic!("{locked} {column}: {}: {filter}", prepared.is_ok()),
        }
    }
}
