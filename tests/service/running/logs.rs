//! What the log of a running service says of a request, and what it never says.

use super::service::{question, role, with_policy};
use portcullis_testkit::program::Service;
use serde_json::{Value as Json, json};

/// Words that occur in facts, questions and keys, and nowhere else.
const SECRETS: &[&str] =
    &["ada-lovelace", "engine-notes", "osotesttoken", "wrongsecret", "steward", "unheard"];

/// Every kind of request that carries ids or keys, the refused ones too.
fn talk(service: &Service) {
    let post = |path: &str, body: &Json| service.post(path, body, &[("X-Request-ID", "req-7")]);
    let fact = role("ada-lovelace", "reader", "engine-notes");
    assert_eq!(post("/api/batch", &json!([{ "inserts": [fact] }])), 200);
    assert_eq!(post("/api/authorize", &question("ada-lovelace", "engine-notes")), 200);
    assert_eq!(post("/api/facts", &role("ada-lovelace", "steward", "engine-notes")), 400);
    assert_eq!(post("/api/authorize", &json!({ "actor_type": "ada-lovelace" })), 400);
    assert_eq!(post("/api/ada-lovelace", &json!({})), 404);
    assert_eq!(post("/api/policy?filename=unheard", &json!({ "src": "allow(ada-lovelace" })), 400);
    let query = json!({ "predicate": ["unheard", []], "calls": [], "constraints": {}, "context_facts": [] });
    assert_eq!(post("/api/evaluate_query", &query), 400);
    assert_eq!(post("/api/expect", &json!({ "request_id": "req-7", "expected": true })), 200);
    let wrong = "e_0123456789_12345_wrongsecret";
    let body = question("ada-lovelace", "engine-notes");
    assert_eq!(service.caller.post(wrong, "authorize", &body).0, 401);
}

#[test]
fn a_request_is_one_line_without_ids_and_keys() {
    let service = with_policy(&[]);
    talk(&service);
    let log = service.stop();
    let answered: Vec<&str> = log.lines().filter(|line| line.contains("answered")).collect();
    assert_eq!(answered.len(), 10, "{log}");
    let of =
        |start: &str| *answered.iter().find(|line| line.contains(start)).unwrap_or_else(|| panic!("{log}"));
    let line = of("path=\"/api/authorize\" status=200");
    for part in ["INFO", "request_id=\"req-7\"", "environment=\"0123456789\"", "method=POST", "took_us="] {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(of("status=404").contains("path=\"unknown\""));
    assert!(!of("status=401").contains("environment"), "no key was recognised");
    for secret in SECRETS {
        assert!(!log.contains(secret), "{secret} in\n{log}");
    }
}

#[test]
fn json_lines_hold_the_same_for_programs() {
    let service = with_policy(&["--log-format", "json"]);
    talk(&service);
    let log = service.stop();
    let lines: Vec<Json> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answered: Vec<&Json> = lines.iter().filter(|line| line["message"] == "answered").collect();
    assert_eq!(answered.len(), 10, "{log}");
    let line = answered.iter().find(|line| line["path"] == "/api/batch").unwrap();
    assert_eq!(
        (&line["method"], &line["status"], &line["level"]),
        (&json!("POST"), &json!(200), &json!("INFO"))
    );
    assert_eq!(line["span"]["request_id"], "req-7");
    assert_eq!(line["span"]["environment"], "0123456789");
    assert!(line["took_us"].as_u64().unwrap() > 0 && line["timestamp"].is_string(), "{line}");
    for secret in SECRETS {
        assert!(!log.contains(secret), "{secret} in\n{log}");
    }
}

#[test]
fn the_lines_of_requests_can_be_left_out() {
    let service = with_policy(&["--log", "info,portcullis::requests=warn"]);
    talk(&service);
    let log = service.stop();
    assert!(!log.contains("answered") && log.contains("expectation"), "{log}");
}
