//! The examples of the AuthZEN Authorization API 1.0: what is asked is literally the specification's. Of an
//! answer, decisions, results and the ends of pages are compared; its `context` is an example only.

use portcullis_testkit::server::Server;
use serde_json::{Value as Json, json};

const POLICY: &str = r#"
actor user {}
resource account {
  roles = ["reader", "writer"];
  permissions = ["can_read", "can_write"];
  "can_read" if "reader";
  "can_write" if "writer";
}
resource document {
  roles = ["viewer"];
  permissions = ["can_read", "can_edit", "read"];
  "can_read" if "viewer";
  "read" if "viewer";
}
"#;

/// A server with the facts that the examples assume.
fn server() -> Server {
    let server = Server::empty();
    assert_eq!(server.post("/api/policy", &json!({ "src": POLICY })).status, 200);
    server.add(&[
        &["has_role", "user:alice@example.com", "String:reader", "account:123"],
        &["has_role", "user:alice@example.com", "String:reader", "account:456"],
        &["has_role", "user:alice@example.com", "String:writer", "account:123"],
        &["has_role", "user:bob@example.com", "String:reader", "account:123"],
        &["has_role", "user:alice@example.com", "String:viewer", "document:boxcarring.md"],
        &["has_role", "user:alice@example.com", "String:viewer", "document:resource-search.md"],
        &["has_role", "user:alice@example.com", "String:viewer", "document:1"],
        &["has_role", "user:alice@example.com", "String:viewer", "document:3"],
    ]);
    server
}

fn asked(server: &Server, path: &str, request: &str) -> Json {
    let request: Json = serde_json::from_str(request).unwrap();
    let answer = server.post(&format!("/access/v1/{path}"), &request);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.json()
}

const ALICE: &str = r#""subject": { "type": "user", "id": "alice@example.com" }"#;

#[test]
fn a_single_evaluation() {
    let request = r#"{
        "subject": { "type": "user", "id": "alice@example.com" },
        "resource": { "type": "account", "id": "123" },
        "action": { "name": "can_read", "properties": { "method": "GET" } },
        "context": { "time": "1985-10-26T01:22-07:00" }
    }"#;
    assert_eq!(asked(&server(), "evaluation", request), json!({ "decision": true }));
}

/// Requests of `/evaluations`, each with the decisions of its answer.
#[test]
fn evaluations_with_and_without_defaults() {
    let whole = |document: &str| {
        format!(
            r#"{{ {ALICE}, "action": {{ "name": "can_read" }}, "context": {{ "time": "2024-05-31T15:22-07:00" }},
            "resource": {{ "type": "document", "id": "{document}" }} }}"#
        )
    };
    let of_document =
        |document: &str| format!(r#"{{ "resource": {{ "type": "document", "id": "{document}" }} }}"#);
    let documents = ["boxcarring.md", "subject-search.md", "resource-search.md"];
    let [one, two, three] = documents.map(whole);
    let without_defaults = format!(r#"{{ "evaluations": [{one}, {two}, {three}] }}"#);
    let read = |document: &str| {
        format!(
            r#"{{ "action": {{ "name": "can_read" }}, "resource": {{ "type": "document", "id": "{document}" }} }}"#
        )
    };
    let time = r#""context": { "time": "2024-05-31T15:22-07:00" }"#;
    let [one, two, three] = documents.map(read);
    let with_subject = format!(r#"{{ {ALICE}, {time}, "evaluations": [{one}, {two}, {three}] }}"#);
    let [one, two, _] = documents.map(of_document);
    let edit = r#"{ "action": { "name": "can_edit" }, "resource": { "type": "document", "id": "resource-search.md" } }"#;
    let with_action = format!(
        r#"{{ {ALICE}, {time}, "action": {{ "name": "can_read" }}, "evaluations": [{one}, {two}, {edit}] }}"#
    );
    let [one, two, three] = ["1", "2", "3"].map(of_document);
    let with_semantic = |semantic: &str| {
        format!(
            r#"{{ {ALICE}, "action": {{ "name": "read" }}, "options": {{ "evaluations_semantic": "{semantic}" }},
            "evaluations": [{one}, {two}, {three}] }}"#
        )
    };
    let examples: [(String, &[bool]); 6] = [
        (without_defaults, &[true, false, true]),
        (with_subject, &[true, false, true]),
        (with_action, &[true, false, false]),
        (with_semantic("execute_all"), &[true, false, true]),
        (with_semantic("deny_on_first_deny"), &[true, false]),
        (with_semantic("permit_on_first_permit"), &[true]),
    ];
    let server = server();
    for (request, expected) in examples {
        let answer = asked(&server, "evaluations", &request);
        let found: Vec<bool> = answer["evaluations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|evaluation| evaluation["decision"].as_bool().unwrap())
            .collect();
        assert_eq!(found, expected, "{request}");
    }
}

/// Requests of the searches, each with its results.
#[test]
fn searches() {
    let time = r#""context": { "time": "2024-10-26T01:22-07:00" }"#;
    let account = r#""resource": { "type": "account", "id": "123" }"#;
    let read = r#""action": { "name": "can_read" }"#;
    let subjects = format!(r#"{{ "subject": {{ "type": "user" }}, {read}, {account}, {time} }}"#);
    let resources = format!(r#"{{ {ALICE}, {read}, "resource": {{ "type": "account" }} }}"#);
    let actions = format!("{{ {ALICE}, {account}, {time} }}");
    let examples = [
        (
            "search/subject",
            subjects,
            json!([{ "type": "user", "id": "alice@example.com" }, { "type": "user", "id": "bob@example.com" }]),
        ),
        (
            "search/resource",
            resources,
            json!([{ "type": "account", "id": "123" }, { "type": "account", "id": "456" }]),
        ),
        ("search/action", actions, json!([{ "name": "can_read" }, { "name": "can_write" }])),
    ];
    let server = server();
    for (path, request, results) in examples {
        assert_eq!(asked(&server, path, &request)["results"], results, "{request}");
    }
}

#[test]
fn three_results_in_pages_of_two() {
    let server = server();
    server.add(&[&["has_role", "user:alice@example.com", "String:reader", "account:789"]]);
    let page = |page: &str| {
        let request = format!(
            r#"{{ {ALICE}, "action": {{ "name": "can_read" }}, "resource": {{ "type": "account" }}, "page": {page} }}"#
        );
        asked(&server, "search/resource", &request)
    };
    let first = page(r#"{ "limit": 2 }"#);
    assert_eq!(
        first["results"],
        json!([{ "type": "account", "id": "123" }, { "type": "account", "id": "456" }])
    );
    let token = first["page"]["next_token"].as_str().unwrap();
    assert!(!token.is_empty() && first["page"]["count"] == 2, "{first}");
    let second = page(&format!(r#"{{ "token": "{token}" }}"#));
    assert_eq!(second["results"], json!([{ "type": "account", "id": "789" }]));
    assert_eq!((&second["page"]["next_token"], &second["page"]["count"]), (&json!(""), &json!(1)));
}
