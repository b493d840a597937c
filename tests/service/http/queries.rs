//! Questions over any predicate of the policy.

use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{fact_json, value_json};
use serde_json::{Value as Json, json};

fn populated() -> Server {
    let server = Server::start();
    server.add(&[
        &["has_role", "User:ada", "String:writer", "Repo:b"],
        &["has_role", "User:bob", "String:reader", "Repo:b"],
        &["is_public", "Repo:c"],
    ]);
    server
}

#[test]
fn a_query_answers_with_derived_facts() {
    let server = populated();
    let ask = |args: Json| json!({ "fact": { "predicate": "has_role", "args": args } });
    let roles = |role: &str| fact_json(&["has_role", "User:ada", &format!("String:{role}"), "Repo:b"]);
    for any in [json!(null), json!({}), json!({ "type": null, "id": null }), json!({ "type": "String" })] {
        let body = ask(json!([value_json("User:ada"), any, value_json("Repo:b")]));
        server.post("/api/query", &body).is(200, &json!({ "results": [roles("reader"), roles("writer")] }));
    }
    let body = ask(json!([value_json("User:ada"), value_json("String:reader"), value_json("Repo:b")]));
    server.post("/api/query", &body).is(200, &json!({ "results": [roles("reader")] }));
    let body = ask(json!([value_json("User:eve"), null, { "type": "Repo" }]));
    server.post("/api/query", &body).is(200, &json!({ "results": [] }));
}

/// The clients read `type` and `id` of every argument, also of one that may be anything.
#[test]
fn what_holds_for_every_value_is_a_wildcard_with_both_keys() {
    let server = populated();
    let any = json!({ "type": null, "id": null });
    let any_org = json!({ "type": "Org", "id": null });
    for (sent, answered) in [(json!({ "type": "Org" }), &any_org), (json!(null), &any_org)] {
        let fact = |org: &Json| json!({ "predicate": "has_permission", "args": [value_json("User:eve"), value_json("String:visit"), org] });
        let answer = server.post("/api/query", &json!({ "fact": fact(&sent) }));
        answer.is(200, &json!({ "results": [fact(answered)] }));
    }
    let fact = |whatever: Json| json!({ "predicate": "trusts", "args": [value_json("User:ada"), whatever] });
    server.add(&[&["is_trusting", "User:ada"]]);
    server
        .post("/api/query", &json!({ "fact": fact(json!(null)) }))
        .is(200, &json!({ "results": [fact(any)] }));
}

#[test]
fn a_query_takes_context() {
    let server = populated();
    let body = json!({
        "fact": { "predicate": "is_public", "args": [null] },
        "context_facts": [fact_json(&["is_public", "Repo:x"])],
    });
    let expected = ["Repo:c", "Repo:x"].map(|repo| fact_json(&["is_public", repo]));
    server.post("/api/query", &body).is(200, &json!({ "results": expected }));
}

#[test]
fn evaluate_binds_variables() {
    let server = populated();
    let body = json!({
        "predicate": ["allow", ["actor", "action", "repo"]],
        "calls": [["has_role", ["actor", "role", "repo"]]],
        "constraints": {
            "actor": { "type": "User", "ids": ["ada", "bob"] },
            "action": { "type": "String", "ids": ["read"] },
            "role": { "type": "String", "ids": ["writer"] },
            "repo": { "type": "Repo", "ids": null },
        },
        "context_facts": [],
    });
    let row = json!({ "actor": "ada", "action": "read", "role": "writer", "repo": "b" });
    server.post("/api/evaluate_query", &body).is(200, &json!({ "results": [row] }));
}

#[test]
fn evaluate_answers_null_for_any_value() {
    let server = populated();
    let body = json!({
        "predicate": ["allow", ["actor", "action", "org"]],
        "calls": [],
        "constraints": {
            "actor": { "type": "User", "ids": ["ada"] },
            "action": { "type": "String", "ids": ["visit"] },
            "org": { "type": "Org" },
        },
    });
    let row = json!({ "actor": "ada", "action": "visit", "org": null });
    server.post("/api/evaluate_query", &body).is(200, &json!({ "results": [row] }));
}

#[test]
fn a_malformed_evaluation_says_what_is_wrong() {
    let server = populated();
    let with = |constraints: Json| json!({ "predicate": ["allow", ["a", "b", "c"]], "calls": [], "constraints": constraints, "context_facts": [] });
    let user = json!({ "type": "User", "ids": null });
    server.post("/api/evaluate_query", &with(json!({ "a": user }))).fails(400, "`b`");
    let actor = json!({ "a": { "type": "Actor" }, "b": { "type": "String" }, "c": { "type": "Repo" } });
    server.post("/api/evaluate_query", &with(actor)).fails(400, "Actor");
    let number = json!({ "a": { "type": "User", "ids": [7] } });
    server.post("/api/evaluate_query", &with(number)).fails(400, "`constraints.a.ids[0]`");
    let misspelt =
        json!({ "a": { "type": "User", "id": ["ada"] }, "b": { "type": "String" }, "c": { "type": "Repo" } });
    server.post("/api/evaluate_query", &with(misspelt)).fails(400, "`constraints.a.id`: unknown field `id`");
    server.post("/api/evaluate_query", &json!({ "predicate": ["allow"] })).fails(400, "`predicate`");
    server.post("/api/evaluate_query", &json!({ "predicate": "allow" })).fails(400, "`predicate`");
}
