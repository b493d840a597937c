//! What an actor may do: the decisions and the exact bodies that carry them.

use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{fact_json, question, value_json};
use serde_json::json;

fn populated() -> Server {
    let server = Server::start();
    server.add(&[
        &["has_role", "User:ada", "String:writer", "Repo:b"],
        &["has_role", "User:ada", "String:member", "Org:o"],
        &["has_relation", "Repo:a", "String:org", "Org:o"],
        &["is_public", "Repo:c"],
    ]);
    server
}

#[test]
fn authorize_answers_yes_or_no() {
    let server = populated();
    server.post("/api/authorize", &question("ada", "read", "a")).is(200, &json!({ "allowed": true }));
    server.post("/api/authorize", &question("bob", "read", "a")).is(200, &json!({ "allowed": false }));
    assert!(server.may("ada", "write", "b"));
    assert!(!server.may("ada", "write", "a"));
    assert!(server.may("nobody", "read", "c"));
    // A value that was never mentioned is not an error.
    assert!(!server.may("ada", "fly", "a"));
    let strange = json!({ "actor_type": "Martian", "actor_id": "x", "action": "read", "resource_type": "Crater", "resource_id": "y" });
    server.post("/api/authorize", &strange).is(200, &json!({ "allowed": false }));
}

#[test]
fn a_question_misses_no_field() {
    let server = populated();
    for field in ["actor_type", "actor_id", "action", "resource_type", "resource_id"] {
        let mut body = question("ada", "read", "a");
        body.as_object_mut().unwrap().remove(field);
        server.post("/api/authorize", &body).fails(400, &format!("missing field `{field}`"));
        body[field] = json!(7);
        server.post("/api/authorize", &body).fails(400, &format!("`{field}`: invalid type"));
        body[field] = json!(null);
        assert_eq!(server.post("/api/authorize", &body).status, 400);
    }
    server
        .post("/api/authorize", &json!(["User", "ada", "read", "Repo", "a"]))
        .fails(400, "expected an object");
    let mut body = question("ada", "read", "a");
    body["newer"] = json!({ "field": [] });
    assert_eq!(server.post("/api/authorize", &body).status, 200);
}

#[test]
fn context_facts_count_for_their_request_only() {
    let server = populated();
    let mut body = question("bob", "write", "a");
    body["context_facts"] = json!([fact_json(&["has_role", "User:bob", "String:writer", "Repo:a"])]);
    server.post("/api/authorize", &body).is(200, &json!({ "allowed": true }));
    assert!(!server.may("bob", "write", "a"));
    assert_eq!(server.stored().len(), 4);
    for none in [json!(null), json!([])] {
        body["context_facts"] = none;
        server.post("/api/authorize", &body).is(200, &json!({ "allowed": false }));
    }
    body["context_facts"] = json!([{ "predicate": "is_public", "args": [null] }]);
    server.post("/api/authorize", &body).fails(400, "`context_facts[0].args[0]`");
    body["context_facts"] = json!([fact_json(&["unheard_of", "Repo:a"])]);
    server.post("/api/authorize", &body).fails(400, "not used in policy");
    let many: Vec<_> = (0..101).map(|i| fact_json(&["is_public", &format!("Repo:{i}")])).collect();
    body["context_facts"] = json!(many[..100]);
    assert_eq!(server.post("/api/authorize", &body).status, 200);
    body["context_facts"] = json!(many);
    server.post("/api/authorize", &body).fails(413, "100");
}

#[test]
fn authorize_resources_keeps_order_and_duplicates() {
    let server = populated();
    let resources: Vec<_> = ["Repo:c", "Repo:x", "Repo:a", "Repo:c", "Org:o"].map(value_json).into();
    let body = json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resources": resources });
    let allowed: Vec<_> = ["Repo:c", "Repo:a", "Repo:c"].map(value_json).into();
    server.post("/api/authorize_resources", &body).is(200, &json!({ "results": allowed }));
    let body = json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resources": [] });
    server.post("/api/authorize_resources", &body).is(200, &json!({ "results": [] }));
    let body = json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resources": [null] });
    server.post("/api/authorize_resources", &body).fails(400, "`resources[0]`");
}

#[test]
fn a_list_is_whole_unless_pages_are_asked_for() {
    let server = populated();
    let mut body =
        json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Repo" });
    server.post("/api/list", &body).is(200, &json!({ "results": ["a", "b", "c"] }));
    body["page_size"] = json!(10_000);
    server.post("/api/list", &body).is(200, &json!({ "results": ["a", "b", "c"], "next_page_token": null }));
    body["resource_type"] = json!("Org");
    body["action"] = json!("visit");
    server.post("/api/list", &body).is(200, &json!({ "results": ["*"], "next_page_token": null }));
    body["resource_type"] = json!("Crater");
    server.post("/api/list", &body).is(200, &json!({ "results": [], "next_page_token": null }));
}

#[test]
fn actions_are_sorted_names() {
    let server = populated();
    let body =
        json!({ "actor_type": "User", "actor_id": "ada", "resource_type": "Repo", "resource_id": "b" });
    server.post("/api/actions", &body).is(200, &json!({ "results": ["read", "write"] }));
    let org = json!({ "actor_type": "User", "actor_id": "ada", "resource_type": "Org", "resource_id": "o" });
    server.post("/api/actions", &org).is(200, &json!({ "results": ["invite", "visit"] }));
    let stranger =
        json!({ "actor_type": "User", "actor_id": "bob", "resource_type": "Repo", "resource_id": "b" });
    server.post("/api/actions", &stranger).is(200, &json!({ "results": [] }));
    server.post("/api/bulk_actions", &json!([org, stranger, body])).is(
        200,
        &json!([{ "results": ["invite", "visit"] }, { "results": [] }, { "results": ["read", "write"] }]),
    );
    server.post("/api/bulk_actions", &json!([])).is(200, &json!([]));
}

#[test]
fn the_context_of_the_first_counts_for_all_of_a_bulk() {
    let server = populated();
    let ask = |repo: &str, context: &[&str]| {
        let context: Vec<_> = context.iter().map(|repo| fact_json(&["is_public", repo])).collect();
        json!({ "actor_type": "User", "actor_id": "bob", "resource_type": "Repo", "resource_id": repo, "context_facts": context })
    };
    let bulk = json!([ask("x", &["Repo:x", "Repo:y"]), ask("y", &[]), ask("z", &["Repo:z"])]);
    server
        .post("/api/bulk_actions", &bulk)
        .is(200, &json!([{ "results": ["read"] }, { "results": ["read"] }, { "results": [] }]));
}

#[test]
fn before_the_first_policy_nothing_is_allowed() {
    let server = Server::empty();
    assert!(!server.may("ada", "read", "a"));
    let body = json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Repo" });
    server.post("/api/list", &body).is(200, &json!({ "results": [] }));
}
