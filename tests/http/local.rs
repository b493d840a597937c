//! SQL for the caller's own database: the forms that clients send, and what is refused.

use serde_json::{Value as Json, json};

use crate::server::{Server, question};

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
        if path != "actions_query" {
            server.post("/api/explain_query", &body).fails(400, part);
        }
    }
    server.post("/api/explain_query", &json!([])).fails(400, "expected an object");
}

fn select(columns: &Json) -> Json {
    json!({ "mode": "select", "query_vars_to_output_column_names": columns })
}
