//! Policies go in, are refused with reasons, and can be read back.

use portcullis_testkit::server::{POLICY, Server};
use serde_json::json;

#[test]
fn a_policy_is_stored_and_read_back() {
    let server = Server::empty();
    server.get("/api/policy").is(200, &json!({ "policy": null }));
    server.get("/api/policy_metadata").fails(404, "policy");
    let body = json!({ "src": POLICY, "filename": "main.polar" });
    server.post("/api/policy", &body).is(200, &json!({ "message": "The policy was updated." }));
    server
        .post("/api/policy", &body)
        .is(202, &json!({ "message": "The policy was not updated because it is unchanged." }));
    server.get("/api/policy").is(200, &json!({ "policy": { "src": POLICY, "filename": "main.polar" } }));
}

/// The clients send an empty name with every policy.
#[test]
fn a_policy_without_a_name_gets_one() {
    let server = Server::empty();
    let wrong = server.post("/api/policy", &json!({ "src": "actor User {", "filename": "" }));
    assert!(wrong.message().contains("policy.polar:1:"), "{}", wrong.message());
    server
        .post("/api/policy", &json!({ "src": POLICY, "filename": "" }))
        .is(200, &json!({ "message": "The policy was updated." }));
    for body in [json!({ "src": POLICY }), json!({ "src": POLICY, "filename": null })] {
        assert_eq!(server.post("/api/policy", &body).status, 202);
    }
    server.get("/api/policy").is(200, &json!({ "policy": { "src": POLICY, "filename": "policy.polar" } }));
}

#[test]
fn older_versions_can_be_read() {
    let server = Server::empty();
    let first = "actor User {}";
    assert_eq!(server.post("/api/policy", &json!({ "src": first, "filename": "a" })).status, 200);
    let id = server.get("/api/stats").json()["policy"]["versions"][0].as_str().unwrap().to_owned();
    assert_eq!(server.post("/api/policy", &json!({ "src": POLICY })).status, 200);
    server
        .get(&format!("/api/policy?id={id}"))
        .is(200, &json!({ "policy": { "src": first, "filename": "a" } }));
    for name in ["id", "version"] {
        let old = server.get(&format!("/api/policy_metadata?{name}={id}")).json();
        assert_eq!(old["metadata"]["resources"].as_object().unwrap().len(), 2, "{old}");
    }
    server.get("/api/policy?id=4711").fails(404, "4711");
    server.get("/api/policy_metadata?id=4711").fails(404, "4711");
    server.get("/api/policy?id=latest").fails(400, "`id`");
}

#[test]
fn metadata_lists_every_block_and_global() {
    let server = Server::start();
    let metadata = json!({ "metadata": { "resources": {
        "User": { "roles": [], "permissions": [], "relations": {} },
        "Org": { "roles": ["member"], "permissions": ["invite"], "relations": {} },
        "Repo": { "roles": ["reader", "writer"], "permissions": ["read", "write"], "relations": { "org": "Org" } },
        "global": { "roles": ["auditor"], "permissions": ["audit"], "relations": {} },
    } } });
    server.get("/api/policy_metadata").is(200, &metadata);
    let empty = Server::empty();
    assert_eq!(empty.post("/api/policy", &json!({ "src": "" })).status, 200);
    let nothing = json!({ "roles": [], "permissions": [], "relations": {} });
    empty.get("/api/policy_metadata").is(200, &json!({ "metadata": { "resources": { "global": nothing } } }));
}

#[test]
fn a_policy_that_does_not_validate_is_refused_and_the_old_one_answers_on() {
    let server = Server::start();
    server.add(&[&["is_public", "Repo:a"]]);
    let wrong = r#"resource Repo { permissions = ["read"]; "read" if "raeder"; }"#;
    for query in ["", "?force=true"] {
        let answer = server.post(&format!("/api/policy{query}"), &json!({ "src": wrong }));
        assert_eq!(answer.status, 400, "{}", answer.text);
        let body = answer.json();
        assert_eq!(body["error_type"], "Validation");
        assert!(body["message"].as_str().unwrap().contains("raeder"), "{body}");
        assert_eq!(body["errors"][0]["error_type"], "ValidationFailed");
        assert!(body["errors"][0]["message"].as_str().unwrap().contains("raeder"));
        assert_eq!(body["code"], "invalid_policy");
        assert_eq!(body.as_object().unwrap().len(), 4);
        assert!(server.may("eve", "read", "a"));
    }
}

#[test]
fn a_policy_whose_tests_fail_is_stored_only_by_force() {
    let server = Server::empty();
    let failing = r#"
actor User {}
resource Repo { permissions = ["read"]; }
has_permission(_: User, "read", r: Repo) if is_public(r);
test "public" {
  setup { is_public(Repo{"a"}); }
  assert allow(User{"ada"}, "read", Repo{"a"});
  assert allow(User{"ada"}, "read", Repo{"b"});
}
test "again" { assert allow(User{"ada"}, "read", Repo{"b"}); }
"#;
    let answer = server.post("/api/policy", &json!({ "src": failing }));
    assert_eq!(answer.status, 400, "{}", answer.text);
    let body = answer.json();
    assert_eq!(body["error_type"], "TestsFailed");
    assert!(body["message"].is_string());
    assert_eq!(body["test_results"]["success"], false);
    assert_eq!(body["test_results"]["errors"].as_array().unwrap().len(), 2);
    assert_eq!(
        body["test_results"]["tests"],
        json!([{ "name": "public", "passed": 1, "total": 2 }, { "name": "again", "passed": 0, "total": 1 }])
    );
    let fast = server.post("/api/policy?fail_fast=true", &json!({ "src": failing })).json();
    assert_eq!(fast["test_results"]["tests"].as_array().unwrap().len(), 1);
    server.get("/api/policy").is(200, &json!({ "policy": null }));
    assert_eq!(server.post("/api/policy?force=true", &json!({ "src": failing })).status, 200);
}

#[test]
fn suggestions_come_when_asked_for() {
    let server = Server::empty();
    let answer = server.post("/api/policy?show_suggestions=true", &json!({ "src": POLICY }));
    assert!(answer.message().starts_with("The policy was updated."), "{}", answer.text);
}

#[test]
fn every_failure_of_the_endpoint_has_its_form() {
    let server = Server::start();
    for body in [json!({}), json!({ "src": 7 }), json!([POLICY]), json!(null)] {
        let answer = server.post("/api/policy", &body);
        assert_eq!((answer.status, &answer.json()["error_type"]), (400, &json!("Generic")), "{body}");
        assert!(!answer.message().is_empty());
    }
    let answer = server.post("/api/policy?force=perhaps", &json!({ "src": POLICY }));
    assert_eq!((answer.status, &answer.json()["error_type"]), (400, &json!("Generic")));
    let key = portcullis_testkit::wire::bearer(portcullis::http::DEVELOPMENT_KEY);
    let answer = server.send("POST", "/api/policy", &[&key, "Content-Type: text/plain"], POLICY.as_bytes());
    assert_eq!((answer.status, &answer.json()["error_type"]), (415, &json!("Generic")));
}

#[test]
fn hostile_policies_are_refused_and_the_server_serves_on() {
    let server = Server::start();
    let sources = [
        "(".repeat(100_000),
        format!("allow(a: User, \"read\", b: Repo) if {}x(a){};", "(".repeat(100_000), ")".repeat(100_000)),
        "not ".repeat(200_000),
        "é\u{0}\u{202e}\u{feff}".repeat(1_000),
        "\"".to_owned(),
        "x".repeat(9_000_000),
    ];
    for src in sources {
        let answer = server.post("/api/policy", &json!({ "src": src }));
        assert!(matches!(answer.status, 400 | 413), "{} gave {}", src.len(), answer.text);
        assert!(!answer.message().is_empty());
        assert_eq!(server.get("/health").status, 200);
    }
    server.get("/api/policy").is(200, &json!({ "policy": { "src": POLICY, "filename": "policy.polar" } }));
}
