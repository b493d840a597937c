//! SQL for the caller's own database: the forms that clients send, what the SQL answers, what is refused.

use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{Answer, fact_json, question};
use rusqlite::Connection;
use serde_json::{Value as Json, json};

const BINDINGS: &str = "
dialect: sqlite
facts:
  has_role(User:_, String:_, Repo:_):
    query: SELECT user_id, role, repo_id FROM members
  is_public(Repo:_):
    query: SELECT id FROM repos WHERE public
sql_types: {Repo: integer, User: text}
";

/// A service that stores one role, and an application that has another and a public repository.
fn populated() -> (Server, Connection) {
    let server = Server::start();
    server.add(&[&["has_role", "User:ada", "String:writer", "Repo:1"]]);
    let application = Connection::open_in_memory().unwrap();
    let tables = "
        CREATE TABLE repos (id INTEGER PRIMARY KEY, public BOOLEAN NOT NULL);
        INSERT INTO repos VALUES (1, false), (2, false), (3, true), (4, false);
        CREATE TABLE members (user_id TEXT NOT NULL, role TEXT NOT NULL, repo_id INTEGER NOT NULL);
        INSERT INTO members VALUES ('ada', 'reader', 2), ('bob', 'writer', 4);
    ";
    application.execute_batch(tables).unwrap();
    (server, application)
}

/// The SQL of an answer, which holds nothing else.
#[track_caller]
fn sql(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let body = answer.json();
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    body["sql"].as_str().unwrap().to_owned()
}

/// The names of the columns, and the rows as text.
fn run(application: &Connection, sql: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut statement = application.prepare(sql).unwrap_or_else(|error| panic!("{error} in {sql}"));
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let rows = statement.query_map([], |row| {
        (0..names.len()).map(|at| row.get::<_, rusqlite::types::Value>(at).map(|cell| shown(&cell))).collect()
    });
    let rows = rows.unwrap().collect::<Result<_, _>>().unwrap();
    (names, rows)
}

fn shown(cell: &rusqlite::types::Value) -> String {
    match cell {
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

/// The ids of the repositories for which a condition holds.
fn filtered(application: &Connection, condition: &str) -> Vec<String> {
    let (_, rows) = run(application, &format!("SELECT id FROM repos AS r WHERE {condition} ORDER BY id"));
    rows.into_iter().flatten().collect()
}

/// The actors of a list.
fn who() -> Json {
    json!({ "actor_type": "User", "action": "read", "resource_type": "Repo", "resource_id": "2" })
}

/// A list as the clients send it.
fn list() -> Json {
    json!({
        "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Repo",
        "context_facts": [], "page_size": null, "page_token": null,
    })
}

/// Which repositories may ada read?
fn conjunction() -> Json {
    json!({
        "predicate": ["allow", ["actor", "action", "repo"]],
        "calls": [],
        "constraints": {
            "actor": { "type": "User", "ids": ["ada"] },
            "action": { "type": "String", "ids": ["read"] },
            "repo": { "type": "Repo", "ids": null },
        },
        "context_facts": [],
    })
}

#[test]
fn a_wrong_shape_names_its_field() {
    let server = Server::start();
    let decision = question("ada", "read", "a");
    let mut no_actor = decision.clone();
    no_actor.as_object_mut().unwrap().remove("actor_id");
    let refused = [
        ("authorize_query", json!({}), "missing field `query`"),
        ("authorize_query", json!({ "query": no_actor }), "missing field `actor_id`"),
        ("authorize_query", json!({ "query": ["User", "ada"] }), "`query`"),
        ("authorize_query", json!({ "query": decision, "data_bindings": {} }), "`data_bindings`"),
        ("list_query", json!({ "query": list() }), "missing field `column`"),
        ("list_query", json!({ "query": list(), "column": null }), "`column`"),
        ("list_subjects_query", json!({ "query": who() }), "missing field `column`"),
        ("list_subjects_query", json!({ "query": list(), "column": "id" }), "missing field `resource_id`"),
        ("actions_query", json!({ "query": list() }), "missing field `resource_id`"),
        ("evaluate_query_local", json!({ "query": conjunction() }), "missing field `mode`"),
        ("evaluate_query_local", json!({ "query": conjunction(), "mode": "select" }), "`mode`"),
        ("evaluate_query_local", json!({ "query": conjunction(), "mode": {} }), "`mode`"),
        (
            "evaluate_query_local",
            json!({ "query": conjunction(), "mode": { "mode": "filter", "query_var": "repo" } }),
            "missing field `output_column_name`",
        ),
        (
            "evaluate_query_local",
            json!({ "query": conjunction(), "mode": select(&json!({ "repo": "" })) }),
            "the column of `repo` has an empty name",
        ),
        (
            "evaluate_query_local",
            json!({ "query": conjunction(), "mode": select(&json!({ "repo": "x", "actor": "x" })) }),
            "two columns are named `x`",
        ),
    ];
    for (path, body, part) in refused {
        server.post(&format!("/api/{path}"), &body).fails(400, part);
        // Without what distinguishes them, these are taken for others.
        if !matches!(path, "actions_query" | "list_subjects_query") {
            server.post("/api/explain_query", &body).fails(400, part);
        }
    }
    server.post("/api/explain_query", &json!([])).fails(400, "expected an object");
}

fn select(columns: &Json) -> Json {
    json!({ "mode": "select", "query_vars_to_output_column_names": columns })
}

#[test]
fn a_decision_is_one_row() {
    let (server, application) = populated();
    let allowed = |user: &str, repo: &str| {
        let body = json!({ "query": question(user, "read", repo), "data_bindings": BINDINGS });
        let (names, rows) = run(&application, &sql(&server.post("/api/authorize_query", &body)));
        assert_eq!((names, rows.len()), (vec!["allowed".to_owned()], 1));
        rows[0][0] == "1"
    };
    assert!(allowed("ada", "1") && allowed("ada", "2") && allowed("ada", "3") && !allowed("ada", "4"));
    assert!(allowed("bob", "4") && allowed("eve", "3") && !allowed("eve", "no id of this type"));
}

#[test]
fn a_list_is_a_condition_whatever_page_is_asked_for() {
    let (server, application) = populated();
    for (size, token) in [(json!(null), json!(null)), (json!(10_000), json!("a token"))] {
        let mut query = list();
        query["page_size"] = size;
        query["page_token"] = token;
        let body = json!({ "query": query, "column": "r.id", "data_bindings": BINDINGS });
        let condition = sql(&server.post("/api/list_query", &body));
        assert_eq!(filtered(&application, &condition), ["1", "2", "3"]);
        assert_eq!(filtered(&application, &format!("NOT {condition} AND r.id > 0")), ["4"]);
    }
}

/// Most stored parts are read within the few steps of a brief question. These are not.
#[test]
fn a_stored_part_that_takes_longer_is_read_all_the_same() {
    let (server, application) = populated();
    let add = |ids: std::ops::Range<usize>| {
        let fact = |id: usize| fact_json(&["has_role", "User:ann", "String:reader", &format!("Repo:{id}")]);
        let facts: Vec<Json> = ids.map(fact).collect();
        let answer = server.post("/api/batch", &json!([{ "inserts": facts }]));
        assert_eq!(answer.status, 200, "{}", answer.text);
    };
    let mut query = list();
    query["actor_id"] = json!("ann");
    let body = json!({ "query": query, "column": "r.id", "data_bindings": BINDINGS });
    add(4..9_000);
    let condition = sql(&server.post("/api/list_query", &body));
    assert_eq!(filtered(&application, &condition), ["3", "4"]);
    assert!(condition.contains("8999"), "the ids are not embedded");
    let explained = server.post("/api/explain_query", &body);
    assert_eq!(explained.status, 200, "{}", explained.text);
    add(9_000..10_005);
    server.post("/api/list_query", &body).fails(400, "more than 10000 values of stored facts");
}

#[test]
fn the_actors_are_a_condition() {
    let (server, application) = populated();
    let body = json!({ "query": who(), "column": "who", "data_bindings": BINDINGS });
    let condition = sql(&server.post("/api/list_subjects_query", &body));
    let users = "SELECT who FROM (SELECT 'ada' AS who UNION SELECT 'bob' UNION SELECT 'eve')";
    let (_, rows) = run(&application, &format!("{users} WHERE {condition} ORDER BY 1"));
    assert_eq!(rows.concat(), ["ada"]);
    assert_eq!(server.post("/api/explain_query", &body).json()["sql"], condition);
    let mut abstract_type = body;
    abstract_type["query"]["actor_type"] = json!("Actor");
    server.post("/api/list_subjects_query", &abstract_type).fails(400, "no actor has the type `Actor`");
}

#[test]
fn actions_are_rows_of_one_column() {
    let (server, application) = populated();
    let mut query = question("ada", "read", "1");
    query.as_object_mut().unwrap().remove("action");
    let body = json!({ "query": query, "data_bindings": BINDINGS });
    let (names, rows) = run(&application, &sql(&server.post("/api/actions_query", &body)));
    assert_eq!(
        (names, rows.concat()),
        (vec!["actions".to_owned()], vec!["read".to_owned(), "write".to_owned()])
    );
}

#[test]
fn a_conjunction_is_rows_a_decision_or_a_condition() {
    let (server, application) = populated();
    let ask = |mode: Json| {
        let body = json!({ "query": conjunction(), "data_bindings": BINDINGS, "mode": mode });
        sql(&server.post("/api/evaluate_query_local", &body))
    };
    let columns = json!({ "repo": "Repo id", "action": "what" });
    let (names, mut rows) = run(&application, &ask(select(&columns)));
    rows.sort();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(sorted, ["Repo id", "what"]);
    let repos = names.iter().position(|name| name == "Repo id").unwrap();
    assert_eq!(rows.iter().map(|row| row[repos].as_str()).collect::<Vec<_>>(), ["1", "2", "3"]);
    let (names, rows) = run(&application, &ask(select(&json!({}))));
    assert_eq!((names, rows), (vec!["result".to_owned()], vec![vec!["1".to_owned()]]));
    let filter = json!({ "mode": "filter", "query_var": "repo", "output_column_name": "id" });
    assert_eq!(filtered(&application, &ask(filter)), ["1", "2", "3"]);
}

#[test]
fn without_bindings_stored_facts_and_context_decide() {
    let (server, application) = populated();
    let context = json!([fact_json(&["has_role", "User:ada", "String:reader", "Repo:4"])]);
    let mut query = list();
    query["context_facts"] = context;
    let mut body = json!({ "query": query, "column": "id" });
    for none in [None, Some(json!(null)), Some(json!(""))] {
        if let Some(none) = none {
            body["data_bindings"] = none;
        }
        let condition = sql(&server.post("/api/list_query", &body));
        // Without a document the SQL is PostgreSQL's, and this much of it is the same for all databases.
        assert!(
            condition.contains("'1'") && condition.contains("'4'") && !condition.contains("'2'"),
            "{condition}"
        );
    }
    body["data_bindings"] = json!("dialect: sqlite");
    assert_eq!(filtered(&application, &sql(&server.post("/api/list_query", &body))), ["1", "4"]);
}

#[test]
fn what_the_bindings_the_column_or_the_query_get_wrong_is_400() {
    let (server, _) = populated();
    let refused = [
        ("facts:\n  is_public(Repo:_):\n    query: DELETE FROM repos", "id", "line 3"),
        ("facts: [", "id", "data bindings"),
        ("dialect: db2", "id", "db2"),
        ("", "id) OR (1=1", "column"),
        ("", "", "column"),
        ("", "id; DROP TABLE repos", "column"),
    ];
    for (bindings, column, part) in refused {
        let body = json!({ "query": list(), "column": column, "data_bindings": bindings });
        server.post("/api/list_query", &body).fails(400, part);
        server.post("/api/explain_query", &body).fails(400, part);
    }
    let ask = |mode: Json| {
        let body = json!({ "query": conjunction(), "data_bindings": BINDINGS, "mode": mode });
        server.post("/api/evaluate_query_local", &body)
    };
    ask(select(&json!({ "nobody": "x" }))).fails(400, "`nobody`");
    ask(json!({ "mode": "filter", "query_var": "nobody", "output_column_name": "id" }))
        .fails(400, "`nobody`");
    let mut context = question("ada", "read", "1");
    context["context_facts"] = json!([fact_json(&["likes", "User:ada", "Repo:1"])]);
    server.post("/api/authorize_query", &json!({ "query": context })).fails(400, "not used in policy");
}

#[test]
fn a_sync_configuration_is_called_one() {
    let (server, application) = populated();
    let plain = json!({ "query": list(), "column": "id", "data_bindings": BINDINGS });
    let sync =
        format!("version: 1\nsource: postgres\ndbs: {{main: {{connection_string: $DATABASE}}}}\n{BINDINGS}");
    let body = json!({ "query": list(), "column": "id", "data_bindings": sync });
    let condition = sql(&server.post("/api/list_query", &body));
    assert_eq!(
        filtered(&application, &condition),
        filtered(&application, &sql(&server.post("/api/list_query", &plain)))
    );
    let explained = server.post("/api/explain_query", &body).json();
    let note = explained["notes"][0].as_str().unwrap();
    assert!(note.starts_with("this is a sync configuration") && note.contains("sqlite"), "{note}");
    for ignored in ["`version` (line 1)", "`source` (line 2)", "`dbs` (line 3)"] {
        assert!(note.contains(ignored), "{note}");
    }
    let refused = [
        ("source: mysql\nfacts:\n", "line 1: this is a sync configuration, `source: mysql`"),
        (
            "facts:\n  is_public(Repo:_):\n    collection: repos\n",
            "line 3: `is_public(Repo:_)` has `collection`",
        ),
    ];
    for (bindings, part) in refused {
        let body = json!({ "query": list(), "column": "id", "data_bindings": bindings });
        server.post("/api/list_query", &body).fails(400, part);
    }
}

#[test]
fn an_explanation_says_how_the_sql_came_about() {
    let (server, _) = populated();
    let body = json!({ "query": list(), "column": "id", "data_bindings": BINDINGS });
    let answer = server.post("/api/explain_query", &body);
    assert_eq!(answer.status, 200, "{}", answer.text);
    let explained = answer.json();
    let mut fields: Vec<&str> = explained.as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    let expected = [
        "bindings",
        "dialect",
        "embedded",
        "notes",
        "plan",
        "probes",
        "rules",
        "sets",
        "slow",
        "sql",
        "stored_facts",
    ];
    assert_eq!(fields, expected);
    assert_eq!(explained["sql"], sql(&server.post("/api/list_query", &body)));
    assert_eq!(explained["dialect"], "sqlite");
    assert!(explained["plan"].as_str().is_some_and(|plan| !plan.is_empty()));
    assert!(explained["bindings"].as_array().unwrap().contains(&json!("is_public(Repo:_)")), "{explained}");
    let rules = explained["rules"].as_array().unwrap();
    assert!(rules.iter().any(|rule| rule["line"].as_u64() > Some(1)), "{explained}");
    assert!(
        rules.iter().all(|rule| rule["text"].as_str().is_some_and(|text| !text.is_empty())),
        "{explained}"
    );
    assert!(explained["embedded"].is_array() && explained["notes"].is_array(), "{explained}");
    assert_eq!(explained["sets"][0]["kind"], "subquery");
    assert_eq!(
        explained["sets"][0]["reads"],
        json!(["has_role(User:_, String:_, Repo:_)", "is_public(Repo:_)"])
    );
    assert_eq!(explained["stored_facts"], Json::Null);
    let slow: Vec<&str> =
        explained["slow"].as_array().unwrap().iter().map(|slow| slow["what"].as_str().unwrap()).collect();
    let [unbounded, unpromised] = slow.as_slice() else { panic!("{explained}") };
    assert!(unbounded.ends_with("it is as large as `is_public(Repo:_)`"), "{explained}");
    assert!(unpromised.contains("all ids of Repo that pass"), "{explained}");
}

#[test]
fn an_explanation_says_from_which_end_stored_facts_are_read() {
    let server = Server::start();
    let policy = r#"
        actor User {}
        resource Folder { roles = ["reader"]; relations = { parent: Folder }; role if role on "parent"; }
        resource Doc { permissions = ["read"]; relations = { folder: Folder }; "read" if "reader" on "folder"; }
    "#;
    let uploaded = server.post("/api/policy", &json!({ "src": policy }));
    assert_eq!(uploaded.status, 200, "{}", uploaded.text);
    server.add(&[
        &["has_role", "User:ada", "String:reader", "Folder:1"],
        &["has_relation", "Folder:2", "String:parent", "Folder:1"],
    ]);
    let bindings = "facts:\n  has_relation(Doc:_, folder, Folder:_):\n    query: SELECT id, folder_id FROM docs\n\
                    sql_types: {Doc: bigint, Folder: bigint}\n";
    let query = json!({
        "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Doc", "resource_id": "7",
        "context_facts": [],
    });
    let explained =
        server.post("/api/explain_query", &json!({ "query": query, "data_bindings": bindings })).json();
    assert_eq!(explained["stored_facts"]["from"], "question", "{explained}");
    assert!(explained["stored_facts"]["n_values"].as_u64() >= Some(2), "{explained}");
}
