//! What there is to review: the types and actions between an actor, or a resource, and everything else.

use portcullis_testkit::server::Server;
use serde_json::{Value as Json, json};

fn actor(id: &str) -> Json {
    json!({ "actor_type": "User", "actor_id": id })
}

fn with(mut body: Json, field: &str, value: Json) -> Json {
    body[field] = value;
    body
}

/// The types with actions, as `Type: action, action`.
fn found(server: &Server, body: &Json) -> Vec<String> {
    let answer = server.post("/api/review", body);
    assert_eq!(answer.status, 200, "{}", answer.text);
    let types = answer.json()["types"].as_array().unwrap().clone();
    let shown = types.iter().filter(|found| found["actions"] != json!([])).map(|found| {
        assert_eq!(found["refused"], json!(null));
        let ty = found["type"].as_str().unwrap_or("nothing");
        let actions: Vec<&str> =
            found["actions"].as_array().unwrap().iter().map(|action| action.as_str().unwrap()).collect();
        format!("{ty}: {}", actions.join(", "))
    });
    shown.collect()
}

#[test]
fn types_come_with_the_actions_that_something_grants() {
    let server = Server::start();
    server.add(&[
        &["has_role", "User:ada", "String:auditor"],
        &["has_role", "User:ada", "String:writer", "Repo:a"],
        &["has_permission", "User:bob", "String:visit", "Org:o"],
    ]);
    assert_eq!(found(&server, &actor("ada")), ["nothing: audit", "Org: visit", "Repo: read, write"]);
    let only = with(actor("ada"), "types", json!(["Repo", "User"]));
    assert_eq!(found(&server, &only), ["Repo: read, write"]);
    let resource = |ty: &str, id: &str| json!({ "resource_type": ty, "resource_id": id });
    assert_eq!(found(&server, &resource("Repo", "a")), ["User: read, write"]);
    assert_eq!(found(&server, &resource("Org", "o")), ["User: visit"]);
    assert_eq!(found(&server, &resource("Repo", "b")), [""; 0]);
}

#[test]
fn the_offset_moves_with_every_change() {
    let server = Server::start();
    let offset = || server.post("/api/review", &actor("ada")).json()["offset"].as_u64().unwrap();
    let first = offset();
    assert_eq!(offset(), first);
    server.add(&[&["is_public", "Repo:a"]]);
    let second = offset();
    assert!(second > first);
    let answer = server.post("/api/policy", &json!({ "src": "actor User {}" }));
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(offset() > second, "a policy is a change, too");
}

#[test]
fn unknown_types_are_named() {
    let server = Server::start();
    let body = json!({ "actor_type": "Martian", "actor_id": "x", "types": ["Crater", "*", "Repo"] });
    let answer = server.post("/api/review", &body).json();
    assert_eq!(answer["unknown_types"], json!(["Crater", "Martian"]));
    assert_eq!(answer["types"].as_array().unwrap().len(), 3);
    let before = Server::empty().post("/api/review", &actor("ada")).json();
    assert_eq!((&before["policy_version"], &before["types"]), (&json!(null), &json!([])));
}

#[test]
fn wrong_questions_are_refused() {
    let server = Server::start();
    let both = json!({ "actor_type": "User", "actor_id": "a", "resource_type": "Repo", "resource_id": "r" });
    for body in [
        json!({}),
        both,
        json!({ "actor_type": "User" }),
        json!({ "actor_type": "User", "resource_id": "r" }),
    ] {
        server.post("/api/review", &body).fails(400, "give `actor_type` and `actor_id`, or");
    }
    for (body, part) in [
        (actor(""), "the actor has an empty id"),
        (actor("a\0"), "NUL"),
        (with(actor("a"), "actor_type", json!("Actor")), "no actor has the type `Actor`"),
        (with(actor("a"), "types", json!([])), "the list of types is empty"),
        (with(actor("a"), "types", json!(["Resource"])), "no resource has the type `Resource`"),
        (with(actor("a"), "types", json!([""])), "empty type"),
        (with(actor("a"), "types", json!("Repo")), "`types`: invalid type"),
    ] {
        server.post("/api/review", &body).fails(400, part);
    }
    let many: Vec<String> = (0..101).map(|n| format!("T{n}")).collect();
    server.post("/api/review", &with(actor("a"), "types", json!(many))).fails(413, "at most 100");
}
