//! What frames every answer.

use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::server::{POLICY, Server};
use portcullis_testkit::wire::{bearer, fact_json, question};
use serde_json::json;

#[test]
fn a_request_id_is_echoed_or_made() {
    let server = Server::empty();
    let with = |id: &str| {
        let answer = server.send("GET", "/health", &[&format!("X-Request-ID: {id}")], b"");
        answer.header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(with("0b1d-42"), "0b1d-42");
    assert_ne!(with(&"x".repeat(1000)), "x".repeat(1000));
    let made = [server.get("/health"), server.get("/nowhere")];
    let made = made.each_ref().map(|answer| answer.header("x-request-id").unwrap());
    assert!(!made[0].is_empty() && made[0] != made[1], "{made:?}");
}

#[test]
fn every_answer_says_how_long_it_took() {
    let server = Server::start();
    let answers = [
        server.get("/health"),
        server.get("/nowhere"),
        server.send("GET", "/api/policy", &[], b""),
        server.post("/api/authorize", &question("ada", "read", "a")),
        server.post("/api/authorize", &json!(7)),
    ];
    for answer in answers {
        let timing = answer.header("server-timing").unwrap();
        let millis: f64 = timing.strip_prefix("oso;dur=").unwrap().parse().unwrap();
        assert!((0.0..10_000.0).contains(&millis), "{timing}");
        assert!(answer.header("x-request-id").is_some());
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
}

#[test]
fn every_mutation_has_an_offset_and_a_read_may_carry_it() {
    let server = Server::start();
    let fact = fact_json(&["is_public", "Repo:a"]);
    let mutations = [
        ("POST", "/api/batch", json!([{ "inserts": [fact] }])),
        ("POST", "/api/bulk", json!({ "delete": [], "tell": [fact] })),
        ("POST", "/api/bulk_load", json!([fact])),
        ("POST", "/api/bulk_delete", json!([fact])),
        ("POST", "/api/facts", fact.clone()),
        ("DELETE", "/api/facts", fact.clone()),
        ("POST", "/api/policy", json!({ "src": format!("{POLICY}\n") })),
        ("POST", "/api/clear_data", json!(null)),
    ];
    for (method, path, body) in mutations {
        let answer = server.call(method, path, &body);
        let offset = answer.header("osooffset").unwrap_or_else(|| panic!("{method} {path}: {}", answer.text));
        assert!(!offset.is_empty());
        let carried = format!("OsoOffset: {offset}");
        let read = server.send("GET", "/api/facts", &[&bearer(DEVELOPMENT_KEY), &carried], b"");
        assert_eq!(read.status, 200);
        assert_eq!(read.header("osooffset"), None);
    }
    let strange = server.send("GET", "/api/facts", &[&bearer(DEVELOPMENT_KEY), "OsoOffset: ?!"], b"");
    assert_eq!(strange.status, 200);
}

#[test]
fn headers_of_clients_are_tolerated() {
    let server = Server::start();
    let headers = [
        &*bearer(DEVELOPMENT_KEY),
        "Content-Type: application/json; charset=utf-8",
        "X-OsoApiVersion: 0",
        "X-Oso-Instance-Id: 8a7c",
        "User-Agent: Oso Cloud (nodejs 22; rv:2.6.0)",
        "Accept: application/json",
    ];
    let body = question("ada", "read", "a").to_string();
    assert_eq!(server.send("POST", "/api/authorize", &headers, body.as_bytes()).status, 200);
}
