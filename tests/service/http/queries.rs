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

/// A relation to another type, and a role that was renamed: rules match neither any more, and questions about
/// the predicate itself return what is stored.
#[test]
fn facts_that_are_no_longer_accepted_are_returned_and_permit_nothing() {
    let server = Server::start();
    let policy = |role: &str, parent: &str| {
        let source = format!(
            "actor User {{}}
             resource Org {{ roles = [\"member\"]; }}
             resource Doc {{
               roles = [\"{role}\", \"member\"]; permissions = [\"read\"]; relations = {{ parent: {parent} }};
               \"read\" if \"{role}\";
               \"read\" if \"member\" on \"parent\";
             }}"
        );
        let put = server.post("/api/policy", &json!({ "src": source }));
        assert_eq!(put.status, 200, "{}", put.text);
    };
    let parent: &[&str] = &["has_relation", "Doc:1", "String:parent", "Org:1"];
    let owner: &[&str] = &["has_role", "User:bob", "String:owner", "Doc:1"];
    policy("owner", "Org");
    server.add(&[parent, owner, &["has_role", "User:ada", "String:member", "Org:1"]]);
    let may_read = |actor: &str| {
        let body = json!({ "actor_type": "User", "actor_id": actor, "action": "read", "resource_type": "Doc", "resource_id": "1" });
        server.post("/api/authorize", &body).json()["allowed"] == json!(true)
    };
    assert!(may_read("ada") && may_read("bob"));
    policy("keeper", "Doc");
    assert!(!may_read("ada") && !may_read("bob"));
    for fact in [parent, owner] {
        let fact = fact_json(fact);
        server.post("/api/facts", &fact).fails(400, "not used in policy");
        let pattern = json!({ "predicate": fact["predicate"], "args": [fact["args"][0], null, null] });
        server.post("/api/query", &json!({ "fact": pattern })).is(200, &json!({ "results": [fact] }));
    }
    let body = json!({
        "predicate": ["has_relation", ["doc", "name", "org"]],
        "calls": [],
        "constraints": {
            "doc": { "type": "Doc" }, "name": { "type": "String" }, "org": { "type": "Org", "ids": ["1"] },
        },
    });
    let row = json!({ "doc": "1", "name": "parent", "org": "1" });
    server.post("/api/evaluate_query", &body).is(200, &json!({ "results": [row] }));
    let facts = server.get("/api/facts?predicate=has_relation");
    assert!(facts.text.contains("parent"), "{}", facts.text);
}
