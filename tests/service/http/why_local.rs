//! Why a local check is answered as it is: statements for the caller's database, and what follows from their
//! rows.

use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{fact_json, question};
use rusqlite::Connection;
use serde_json::{Value as Json, json};

const BINDINGS: &str = "
dialect: sqlite
facts:
  has_relation(Repo:_, org, Org:_):
    query: SELECT id, org FROM repos
  is_public(Repo:_):
    query: SELECT id FROM repos WHERE public
";

/// A service that stores a role, and an application with repositories.
fn populated() -> (Server, Connection) {
    let server = Server::start();
    server.add(&[&["has_role", "User:ada", "String:member", "Org:o"]]);
    let application = Connection::open_in_memory().unwrap();
    let tables = "
        CREATE TABLE repos (id TEXT PRIMARY KEY, org TEXT, public BOOLEAN NOT NULL);
        INSERT INTO repos VALUES ('a', 'o', false), ('b', 'p', false), ('c', NULL, true);
    ";
    application.execute_batch(tables).unwrap();
    (server, application)
}

fn run(application: &Connection, sql: &str) -> Vec<Json> {
    let mut statement = application.prepare(sql).unwrap_or_else(|error| panic!("{error} in {sql}"));
    let n_columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..n_columns).map(|at| row.get::<_, Option<String>>(at)).collect::<Result<Vec<_>, _>>()
    });
    rows.unwrap().map(|row| json!(row.unwrap())).collect()
}

/// The request, with the rows so far.
fn request(asked: &Json, rows: &[Json]) -> Json {
    json!({ "query": asked, "data_bindings": BINDINGS, "rows": rows })
}

/// The explanation, all rows that it needed, and how many statements returned them.
fn explained(server: &Server, application: &Connection, asked: &Json) -> (Json, Vec<Json>, usize) {
    explained_after(server, application, asked, Vec::new())
}

/// The same with some rows known.
fn explained_after(
    server: &Server,
    application: &Connection,
    asked: &Json,
    mut rows: Vec<Json>,
) -> (Json, Vec<Json>, usize) {
    for n_statements in 0..20 {
        let answer = server.post("/api/why_query", &request(asked, &rows));
        assert_eq!(answer.status, 200, "{}", answer.text);
        let body = answer.json();
        let Some(sql) = body["sql"].as_str() else {
            return (body["explanation"].clone(), rows, n_statements);
        };
        assert_eq!(body["explanation"], json!(null));
        rows.extend(run(application, sql));
    }
    panic!("no explanation after {rows:?}");
}

#[test]
fn a_yes_has_a_proof_with_facts_of_both_places() {
    let (server, application) = populated();
    let (why, rows, n_statements) = explained(&server, &application, &question("ada", "read", "a"));
    assert_eq!((&why["allowed"], &why["truncated"]), (&json!(true), &json!(false)), "{why}");
    assert!(n_statements <= 3, "{n_statements}: {rows:?}");
    let facts: Vec<_> = why["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["height"] == 0)
        .map(|step| (step["fact"].clone(), step["source"].clone(), step["binding"].clone()))
        .collect();
    let relation = fact_json(&["has_relation", "Repo:a", "String:org", "Org:o"]);
    let role = fact_json(&["has_role", "User:ada", "String:member", "Org:o"]);
    let key = json!("has_relation(Repo:_, org, Org:_)");
    let bound = (relation.clone(), json!("bound"), key);
    let stored = (role, json!("stored"), json!(null));
    assert!(facts.len() == 2 && facts.contains(&bound) && facts.contains(&stored), "{facts:?}");
    // The same facts in the store have the same proof.
    server.add(&[&["has_relation", "Repo:a", "String:org", "Org:o"]]);
    let hosted = server.post("/api/explain", &question("ada", "read", "a")).json();
    let steps = |why: &Json| {
        let each = why["steps"].as_array().unwrap().iter();
        each.map(|step| (step["fact"].clone(), step["rule"].clone(), step["height"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(steps(&hosted), steps(&why));
}

#[test]
fn a_no_has_reasons_and_what_would_change_it() {
    let (server, application) = populated();
    let (why, ..) = explained(&server, &application, &question("ada", "read", "b"));
    assert_eq!(why["allowed"], json!(false), "{why}");
    let suggestions = why["suggestions"].as_array().unwrap();
    assert!(!suggestions.is_empty(), "{why}");
    for facts in suggestions {
        let mut asked = question("ada", "read", "b");
        asked["context_facts"] = facts.clone();
        let (with, ..) = explained(&server, &application, &asked);
        assert_eq!(with["allowed"], json!(true), "{facts}");
    }
    let asked = json!({
        "predicate": ["has_relation", ["repo", "kind", "org"]],
        "constraints": {
            "repo": { "type": "Repo", "ids": null },
            "kind": { "type": "String", "ids": ["org"] },
            "org": { "type": "Org", "ids": ["p", "q"] },
        },
    });
    let (why, ..) = explained(&server, &application, &asked);
    assert_eq!(
        why["steps"][0]["fact"],
        fact_json(&["has_relation", "Repo:b", "String:org", "Org:p"]),
        "{why}"
    );
    let (public, ..) = explained(&server, &application, &question("eve", "read", "c"));
    assert_eq!(
        (&public["allowed"], &public["steps"][0]["fact"]["args"][0]["id"]),
        (&json!(true), &json!(null))
    );
}

#[test]
fn a_no_says_the_same_wherever_the_facts_are() {
    let (server, application) = populated();
    let asked = question("bob", "read", "a");
    let (local, ..) = explained(&server, &application, &asked);
    let failures = local["failures"].to_string();
    assert!(failures.contains(r#"{"id":"o","type":"Org"}"#), "the member would be one of Org:o: {failures}");
    server.add(&[&["has_relation", "Repo:a", "String:org", "Org:o"]]);
    let hosted = server.post("/api/explain", &asked).json();
    assert_eq!(hosted["failures"], local["failures"]);
}

#[test]
fn what_is_stored_between_two_statements_counts() {
    let (server, application) = populated();
    let asked = question("bob", "read", "a");
    let (no, rows, _) = explained(&server, &application, &asked);
    assert_eq!(no["allowed"], json!(false));
    server.add(&[&["has_role", "User:bob", "String:member", "Org:o"]]);
    let (yes, ..) = explained_after(&server, &application, &asked, rows.clone());
    assert_eq!(yes["allowed"], json!(true), "{yes}");
    let policy = server.get("/api/policy").json()["policy"]["src"].as_str().unwrap().to_owned();
    let stricter = policy.replace(r#""reader" if "member" on "org";"#, "");
    assert_eq!(server.post("/api/policy", &json!({ "src": stricter })).status, 200);
    let (no, ..) = explained_after(&server, &application, &asked, rows);
    assert_eq!(no["allowed"], json!(false), "{no}");
}

#[test]
fn rows_that_contradict_the_answer_are_no_explanation() {
    let (server, application) = populated();
    let asked = question("ada", "read", "a");
    let (_, rows, _) = explained(&server, &application, &asked);
    let contradicts = |rows: &[Json]| {
        let answer = server.post("/api/why_query", &request(&asked, rows));
        answer.fails(400, "the local check answers");
        assert_eq!(answer.code(), "contradictory_rows");
    };
    let is_decision = |row: &&Json| row[1] == "true" || row[1] == "false";
    let changed = |change: &dyn Fn(&Json) -> Json| rows.iter().map(change).collect::<Vec<Json>>();
    let mut denied = changed(&|row| row.clone());
    let place = denied.iter().position(|row| is_decision(&row)).unwrap();
    denied[place][1] = json!("false");
    contradicts(&denied);
    let elsewhere = changed(&|row| if row[1] == "o" { json!([row[0], "p", null]) } else { row.clone() });
    assert_ne!(elsewhere, rows);
    // Its org has no role that the answer could come from, so more is asked for; then nothing is left.
    let mut all = elsewhere;
    for _ in 0..20 {
        let answer = server.post("/api/why_query", &request(&asked, &all));
        if answer.status == 400 {
            break;
        }
        let sql = answer.json()["sql"].as_str().unwrap().to_owned();
        all.extend(run(&application, &sql));
    }
    contradicts(&all);
}

#[test]
fn a_request_that_is_wrong_is_refused() {
    let (server, _) = populated();
    let asked = question("ada", "read", "a");
    for row in [json!([]), json!([null]), json!(["x", "y"]), json!(["[0,64,[null]]"])] {
        let sent = request(&asked, std::slice::from_ref(&row));
        if row[0] == "[0,64,[null]]" {
            assert_eq!(server.post("/api/why_query", &sent).status, 200, "a read without rows");
        } else {
            server.post("/api/why_query", &sent).fails(400, "rows[0] is not a row of a statement");
        }
    }
    server
        .post("/api/why_query", &request(&json!({ "actor_type": "User" }), &[]))
        .fails(400, "missing field");
    let wrong = json!({ "query": asked, "data_bindings": "facts: 7" });
    let answer = server.post("/api/why_query", &wrong);
    assert_eq!((answer.status, answer.code()), (400, "invalid_bindings"));
    let none = json!({ "query": asked });
    assert!(server.post("/api/why_query", &none).json()["sql"].is_string());
    let unanswered = Server::empty().post("/api/why_query", &request(&asked, &[])).json();
    assert_eq!(unanswered["explanation"]["allowed"], json!(false));
}

#[test]
fn more_rows_than_an_explanation_takes_truncate_it() {
    let (server, application) = populated();
    let many = "
        WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 11000)
        INSERT INTO repos SELECT 'r' || n, 'o' || n, false FROM n";
    application.execute_batch(many).unwrap();
    let asked = json!({
        "predicate": ["has_relation", ["repo", "kind", "org"]],
        "calls": [["is_public", ["repo"]]],
        "constraints": {
            "repo": { "type": "Repo", "ids": null },
            "kind": { "type": "String", "ids": ["org"] },
            "org": { "type": "Org", "ids": null },
        },
    });
    let (why, rows, _) = explained(&server, &application, &asked);
    assert_eq!((&why["allowed"], &why["truncated"]), (&json!(false), &json!(true)), "{why}");
    assert!(rows.len() > 10_000 && why["failures"] == json!([]), "{why}");
}
