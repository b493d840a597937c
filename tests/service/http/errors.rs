//! Every status, and always a message.

use portcullis::config::Config;
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{bearer, fact_json, question};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Every path of the interface with the methods it has.
const PATHS: &[(&str, &[&str])] = &[
    ("/api/batch", &["POST"]),
    ("/api/bulk", &["POST"]),
    ("/api/bulk_load", &["POST"]),
    ("/api/bulk_delete", &["POST"]),
    ("/api/facts", &["GET", "POST", "DELETE"]),
    ("/api/clear_data", &["POST"]),
    ("/api/authorize", &["POST"]),
    ("/api/authorize_resources", &["POST"]),
    ("/api/list", &["POST"]),
    ("/api/list_subjects", &["POST"]),
    ("/api/actions", &["POST"]),
    ("/api/bulk_actions", &["POST"]),
    ("/api/query", &["POST"]),
    ("/api/evaluate_query", &["POST"]),
    ("/api/explain", &["POST"]),
    ("/api/review", &["POST"]),
    ("/api/authorize_query", &["POST"]),
    ("/api/list_query", &["POST"]),
    ("/api/list_subjects_query", &["POST"]),
    ("/api/actions_query", &["POST"]),
    ("/api/evaluate_query_local", &["POST"]),
    ("/api/explain_query", &["POST"]),
    ("/api/why_query", &["POST"]),
    ("/api/expect", &["POST"]),
    ("/api/policy", &["GET", "POST"]),
    ("/api/policy_metadata", &["GET"]),
    ("/api/stats", &["GET"]),
    ("/api/healthcheck", &["GET"]),
    ("/access/v1/evaluation", &["POST"]),
    ("/access/v1/evaluations", &["POST"]),
    ("/access/v1/search/subject", &["POST"]),
    ("/access/v1/search/resource", &["POST"]),
    ("/access/v1/search/action", &["POST"]),
    ("/.well-known/authzen-configuration", &["GET"]),
    ("/health", &["GET"]),
    ("/ready", &["GET"]),
    ("/metrics", &["GET"]),
    ("/api/openapi.json", &["GET"]),
    ("/api/docs", &["GET"]),
    ("/api/docs/{file}", &["GET"]),
];

/// Those that take a body.
fn with_body() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = PATHS.iter().flat_map(|(path, methods)| methods.iter().map(move |method| (*path, *method)));
    all.filter(|(path, method)| *method != "GET" && *path != "/api/clear_data")
}

/// Each path is written twice, here and above its handler, so that none is forgotten.
#[test]
fn the_document_has_these_paths_and_no_other() {
    let document = Server::empty().get("/api/openapi.json").json();
    let described = document["paths"].as_object().unwrap().iter();
    let described: BTreeMap<&str, BTreeSet<String>> = described
        .map(|(path, item)| (path.as_str(), item.as_object().unwrap().keys().cloned().collect()))
        .collect();
    let expected: BTreeMap<&str, BTreeSet<String>> = PATHS
        .iter()
        .map(|(path, methods)| (*path, methods.iter().map(|method| method.to_lowercase()).collect()))
        .collect();
    assert_eq!(described, expected);
}

fn sends_json(server: &Server, method: &str, path: &str, body: &[u8]) -> portcullis_testkit::wire::Answer {
    server.send(method, path, &[&bearer(DEVELOPMENT_KEY), "Content-Type: application/json"], body)
}

#[test]
fn a_path_that_does_not_exist_is_404() {
    let server = Server::empty();
    for path in [
        "/",
        "/api",
        "/api/",
        "/api/nothing",
        "/policy",
        "/api/policy/",
        "/api/Policy",
        "/api/../etc/passwd",
        "/%00",
    ] {
        server.get(path).fails(404, "no such path");
    }
}

/// A browser that opens the address of the service gets to what is for people.
#[test]
fn a_browser_is_sent_to_the_documentation() {
    let server = Server::empty();
    for path in ["/", "/api", "/api/"] {
        let answer = server.send("GET", path, &["Accept: text/html,application/xhtml+xml"], b"");
        assert_eq!((answer.status, answer.header("location")), (307, Some("/api/docs")), "{path}");
    }
    assert_eq!(server.send("GET", "/api/nothing", &["Accept: text/html"], b"").status, 404);
}

#[test]
fn another_method_is_405() {
    let server = Server::empty();
    for (path, methods) in PATHS {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"] {
            if !methods.contains(&method) {
                let answer = server.send(method, path, &[&bearer(DEVELOPMENT_KEY)], b"");
                answer.fails(405, "method");
                assert!(answer.header("allow").unwrap().contains(methods[0]), "{path}");
            }
        }
    }
}

#[test]
fn a_body_of_another_type_is_415_or_400_to_authzen() {
    let server = Server::empty();
    for (path, method) in with_body() {
        let status = if path.starts_with("/access/") { 400 } else { 415 };
        let none = server.send(method, path, &[&bearer(DEVELOPMENT_KEY)], b"{}");
        none.fails(status, "application/json");
        let form = "Content-Type: application/x-www-form-urlencoded";
        server
            .send(method, path, &[&bearer(DEVELOPMENT_KEY), form], b"a=b")
            .fails(status, "application/json");
    }
}

#[test]
fn malformed_bodies_are_400_and_say_where() {
    let server = Server::empty();
    let deep = "[".repeat(50_000);
    for (path, method) in with_body() {
        for body in ["", "{", "[{", "nul", "{\"a\":1,}", "\u{feff}{}", "{} {}", "'x'", "\"\\ud800\"", &deep] {
            let answer = sends_json(&server, method, path, body.as_bytes());
            assert_eq!(answer.status, 400, "{method} {path} {body:.20} gave {}", answer.text);
            assert!(!answer.message().is_empty());
        }
        for body in ["7", "\"x\"", "true", "1e400", "[1]", "[[]]"] {
            assert_eq!(
                sends_json(&server, method, path, body.as_bytes()).status,
                400,
                "{method} {path} {body}"
            );
        }
        assert_eq!(sends_json(&server, method, path, b"{\"a\":\"\xff\xfe\"}").status, 400);
    }
    sends_json(&server, "POST", "/api/authorize", b"{\n\"actor_type\":,}").fails(400, "line 2");
}

#[test]
fn a_body_over_the_limit_is_413() {
    let server = Server::with(Config { max_body: 1000, ..Config::default() });
    for (path, method) in with_body() {
        sends_json(&server, method, path, &[b' '; 1001]).fails(413, "1000 bytes");
        assert_eq!(sends_json(&server, method, path, &[b' '; 1000]).status, 400);
    }
}

#[test]
fn eleven_megabytes_are_answered_and_not_reset() {
    let server = Server::empty();
    let body = vec![b'['; 11 << 20];
    for _ in 0..3 {
        sends_json(&server, "POST", "/api/batch", &body).fails(413, "10485760 bytes");
    }
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn a_batch_over_its_limit_is_413() {
    let server = Server::with(Config { max_batch: Some(2), ..Config::default() });
    let pattern = json!({ "predicate": "p", "args": [null] });
    assert_eq!(server.post("/api/bulk_delete", &json!([pattern, pattern])).status, 200);
    server.post("/api/bulk_delete", &json!([pattern, pattern, pattern])).fails(413, "2");
}

#[test]
fn a_deletion_over_its_reach_is_413_and_deletes_nothing() {
    let server = Server::with(Config { max_delete: Some(1), ..Config::default() });
    let policy = json!({ "src": portcullis_testkit::server::POLICY });
    assert_eq!(server.post("/api/policy", &policy).status, 200);
    server.add(&[&["is_public", "Repo:a"], &["is_public", "Repo:b"], &["is_public", "Repo:c"]]);
    let all = json!({ "predicate": "is_public", "args": [null] });
    let one = json!({ "predicate": "is_public", "args": [{ "type": "Repo", "id": "a" }] });
    server.post("/api/bulk_delete", &json!([one, all])).is(
        413,
        &json!({
            "message": "a pattern to delete matches 2 facts, at most 1 are allowed: delete fewer at once, or raise `max_delete`",
            "code": "limit_exceeded",
        }),
    );
    // The counters were put back as well.
    assert_eq!(server.get("/api/stats").json()["facts"]["total"], 3);
    assert_eq!(server.stored().len(), 3);
    // The bound is for each pattern, not for all of a batch together.
    let other = json!({ "predicate": "is_public", "args": [{ "type": "Repo", "id": "b" }] });
    assert_eq!(server.post("/api/bulk_delete", &json!([one, other, all])).status, 200);
    assert_eq!(server.stored(), Vec::<String>::new());
}

#[test]
fn a_policy_over_its_limit_is_413() {
    let server = Server::empty();
    let answer = server.post("/api/policy", &json!({ "src": "#".repeat(1_000_001) }));
    answer.fails(413, "more than the limit of 1000000");
    assert_eq!(answer.json()["error_type"], "Generic");
    assert_eq!(server.post("/api/policy", &json!({ "src": " ".repeat(1_000_000) })).status, 200);
}

#[test]
fn beyond_the_seats_it_is_503_with_a_time_to_come_back() {
    let server = Server::full(Config::default());
    let upload = server.post("/api/policy", &json!({ "src": "" }));
    upload.fails(503, "not available");
    assert_eq!(upload.json()["error_type"], "Generic");
    assert!(server.get("/api/policy").json().get("error_type").is_none());
    let answer = server.get("/health");
    answer.fails(503, "not available");
    let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!(seconds >= 1);
}

#[test]
fn a_slow_body_is_408() {
    use std::io::Write;

    let server = Server::with(Config { body_time: Duration::from_millis(200), ..Config::default() });
    let mut stream = server.connect();
    let head = format!(
        "POST /api/batch HTTP/1.1\r\nHost: localhost\r\n{}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n[",
        bearer(DEVELOPMENT_KEY)
    );
    stream.write_all(head.as_bytes()).unwrap();
    portcullis_testkit::wire::read_answer(&mut stream).fails(408, "0.2 s");
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn a_question_of_any_kind_over_its_time_is_400_and_the_server_serves_on() {
    let server = Server::with(Config { query_time: Duration::ZERO, ..Config::default() });
    let answer = server.post("/api/policy", &json!({ "src": portcullis_testkit::server::POLICY }));
    assert_eq!(answer.status, 200, "{}", answer.text);
    let check = question("ada", "read", "a");
    let [user, action, repo] =
        [("User", "ada"), ("String", "read"), ("Repo", "a")].map(|(ty, id)| json!({ "type": ty, "id": id }));
    let allowed = json!({ "predicate": "allow", "args": [user, action, repo] });
    let constraints = json!({ "r": { "type": "Repo", "ids": null } });
    for (path, body) in [
        ("authorize", check.clone()),
        ("list", check.clone()),
        ("actions", check.clone()),
        ("query", json!({ "fact": allowed })),
        ("evaluate_query", json!({ "predicate": ["is_public", ["r"]], "constraints": constraints })),
        ("explain", check.clone()),
        ("authorize_query", json!({ "query": check, "data_bindings": "" })),
        ("list_query", json!({ "query": check, "column": "id", "data_bindings": "" })),
    ] {
        let answer = server.post(&format!("/api/{path}"), &body);
        answer.fails(400, "the question took longer than 0ns to compile: ask for less at once");
        assert_eq!(answer.code(), "timeout", "{path}");
    }
    assert_eq!(server.get("/health").status, 200);
}

/// Three unrelated variables over three hundred values each: more answers than anybody waits for.
#[test]
fn a_question_that_runs_too_long_is_cut_and_others_are_answered_meanwhile() {
    let server = Server::with(Config { query_time: Duration::from_millis(300), ..Config::default() });
    let slow = "slow(x: Integer) if n(x) and n(y) and n(z) and x < y and y < z and z < x;";
    let policy = json!({ "src": format!("{}{slow}", portcullis_testkit::server::POLICY) });
    assert_eq!(server.post("/api/policy", &policy).status, 200);
    server.add(&[&["is_public", "Repo:7"]]);
    let facts: Vec<_> = (0..10_000).map(|n| fact_json(&["n", &format!("Integer:{n}")])).collect();
    assert_eq!(server.post("/api/bulk_load", &json!(facts)).status, 200);
    let long = json!({
        "predicate": ["slow", ["x"]], "constraints": { "x": { "type": "Integer", "ids": null } },
    });
    let began = Instant::now();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| server.post("/api/evaluate_query", &long));
        while !asked.is_finished() {
            assert!(server.may("ada", "read", "7"));
        }
        asked.join().unwrap().fails(400, "the question took longer than");
    });
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn a_request_over_its_time_is_503_and_is_counted() {
    use std::io::Write;

    let config = Config { request_time: Duration::from_millis(200), ..Config::default() };
    let server = Server::with(config);
    let mut stream = server.connect();
    let head = format!(
        "POST /api/batch HTTP/1.1\r\nHost: localhost\r\n{}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n[",
        bearer(DEVELOPMENT_KEY)
    );
    stream.write_all(head.as_bytes()).unwrap();
    let answer = portcullis_testkit::wire::read_answer(&mut stream);
    answer.fails(503, "not available");
    assert!(answer.header("retry-after").is_some());
    assert!(server.get("/metrics").text.contains("portcullis_http_refused_total{reason=\"time\"} 1\n"));
}

#[test]
fn head_is_get_without_a_body() {
    use std::io::{Read, Write};

    let server = Server::empty();
    let mut stream = server.connect();
    stream.write_all(b"HEAD /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n"), "{answer}");
}
