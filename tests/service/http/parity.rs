//! Reports of what the application itself had decided.

use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{Answer, bearer, question};
use serde_json::{Value as Json, json};

fn authorize(server: &Server, id: Option<&str>, repo: &str) -> Answer {
    let id = id.map(|id| format!("X-Request-ID: {id}"));
    let (key, body) = (bearer(DEVELOPMENT_KEY), question("ada", "read", repo).to_string());
    let headers: Vec<&str> =
        [&*key, "Content-Type: application/json"].into_iter().chain(id.as_deref()).collect();
    server.send("POST", "/api/authorize", &headers, body.as_bytes())
}

fn expect(server: &Server, id: &str, expected: bool) -> Json {
    let answer = server.post("/api/expect", &json!({ "request_id": id, "expected": expected }));
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.json().as_object().unwrap().len(), 1);
    answer.json()["message"].clone()
}

#[test]
fn a_report_is_compared_with_the_decision_of_its_request() {
    let server = Server::start();
    server.add(&[&["has_role", "User:ada", "String:reader", "Repo:a"]]);
    authorize(&server, Some("one"), "a");
    authorize(&server, Some("two"), "b");
    assert_eq!(expect(&server, "one", true), "recorded: agreed");
    assert_eq!(expect(&server, "two", true), "recorded: disagreed");
    assert_eq!(expect(&server, "two", false), "recorded: agreed");
    // An id that the server made is as good as one that the client did.
    for sent in [None, Some("two words")] {
        let answer = authorize(&server, sent, "a");
        let made = answer.header("x-request-id").unwrap();
        assert_eq!(expect(&server, made, true), "recorded: agreed");
    }
}

#[test]
fn a_report_about_an_unknown_request_is_not_recorded() {
    let server = Server::start();
    let message = expect(&server, "never seen", true);
    assert_eq!(message, "not recorded: no decision is known for this request id");
    server.post("/api/expect", &json!({ "request_id": "x" })).fails(400, "missing field `expected`");
    server.post("/api/expect", &json!({ "request_id": "x", "expected": "yes" })).fails(400, "`expected`");
}
