//! The OpenAPI document: valid, true, and kept by the server for every request.
//!
//! Two tools that know nothing of this service judge it. One reads the document; the other makes thousands of
//! requests of it, good ones and bad ones, and holds every answer against it. Both are installed by
//! `scripts/setup`.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on should stop where it is"
)]

use portcullis::config::{Config, PublicUrl};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{Answer, bearer};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long all requests of one run may take.
const PATIENCE: Duration = Duration::from_mins(3);

/// A program that `scripts/setup` installs.
fn tool(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/venv/schemathesis/bin").join(name);
    assert!(path.exists(), "{} is missing: run scripts/setup", path.display());
    path
}

/// The document as it is served, without a key.
fn document(server: &Server) -> Json {
    let answer = server.send("GET", "/api/openapi.json", &[], b"");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    answer.json()
}

/// Every operation of the document: method, path, description.
fn operations(document: &Json) -> Vec<(String, String, &Json)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let each = paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (method.to_uppercase(), path.clone(), operation))
    });
    each.collect()
}

/// The operation with this id.
fn operation<'a>(document: &'a Json, id: &str) -> (String, String, &'a Json) {
    let found = operations(document).into_iter().find(|(_, _, operation)| operation["operationId"] == id);
    found.unwrap_or_else(|| panic!("no operation {id}"))
}

/// The example of an operation's body.
fn example(operation: &Json) -> &Json {
    &operation["requestBody"]["content"]["application/json"]["example"]
}

/// Sends the example of an operation; no body if it has none.
fn try_out(server: &Server, document: &Json, id: &str) -> Answer {
    let (method, path, operation) = operation(document, id);
    if operation.get("requestBody").is_none() {
        return server.send(&method, &path, &[&bearer(DEVELOPMENT_KEY)], b"");
    }
    let body = example(operation).to_string();
    let headers = [&*bearer(DEVELOPMENT_KEY), "Content-Type: application/json", "X-Request-ID: 7b3f-42"];
    server.send(&method, &path, &headers, body.as_bytes())
}

/// A server that holds the policy and the facts of the examples.
fn exemplary() -> (Server, Json) {
    let public_url = Some(PublicUrl("https://pdp.example.com".to_owned()));
    let server = Server::with(Config { public_url, ..Config::default() });
    let document = document(&server);
    for id in ["post_policy", "batch"] {
        let answer = try_out(&server, &document, id);
        assert_eq!(answer.status, 200, "{id}: {}", answer.text);
    }
    (server, document)
}

#[test]
fn the_document_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("openapi.json");
    let document = document(&Server::empty());
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    std::fs::write(&path, document.to_string()).unwrap();
    let judged = Command::new(tool("openapi-spec-validator")).arg(&path).output().unwrap();
    let said = String::from_utf8_lossy(&judged.stdout) + String::from_utf8_lossy(&judged.stderr);
    assert!(judged.status.success() && said.contains("OK"), "{said}");
}

#[test]
fn every_example_is_answered_as_the_document_says() {
    let (server, document) = exemplary();
    let mut tried = 0;
    // What clears everything comes last, and reports come after the check that they are about.
    let mut order = operations(&document);
    order.sort_by_key(|(_, path, _)| (path == "/api/clear_data", path == "/api/expect"));
    for (method, path, operation) in order {
        let id = operation["operationId"].as_str().unwrap();
        let has_body = operation.get("requestBody").is_some();
        assert!(!has_body || !example(operation).is_null(), "{method} {path} has a body and no example");
        if path.contains('{') || path.starts_with("/api/docs") || id == "get_openapi" {
            continue;
        }
        let answer = try_out(&server, &document, id);
        assert!([200, 202].contains(&answer.status), "{method} {path}: {}", answer.text);
        let response = &operation["responses"][answer.status.to_string()]["content"]["application/json"];
        if let Some(expected) = response.get("example") {
            assert_eq!(&answer.json(), expected, "{method} {path}");
            tried += 1;
        }
    }
    assert!(tried >= 20, "only {tried} examples of answers");
}

#[test]
fn what_is_deprecated_is_what_the_interface_deprecates() {
    let document = document(&Server::empty());
    let marked =
        operations(&document).into_iter().filter(|(_, _, operation)| operation["deprecated"] == true);
    let mut marked: Vec<String> = marked.map(|(method, path, _)| format!("{method} {path}")).collect();
    marked.sort();
    let expected = [
        "DELETE /api/facts",
        "POST /api/bulk",
        "POST /api/bulk_delete",
        "POST /api/bulk_load",
        "POST /api/facts",
        "POST /api/query",
    ];
    assert_eq!(marked, expected);
}

#[test]
fn the_page_needs_nobody_else() {
    let server = Server::empty();
    let page = server.send("GET", "/api/docs", &[], b"");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none';") && !policy.contains("http") && !policy.contains('*'),
        "{policy}"
    );
    let links: Vec<&str> = ["src=\"", "href=\""]
        .iter()
        .flat_map(|mark| page.text.split(mark).skip(1))
        .map(|rest| rest.split('"').next().unwrap())
        .filter(|link| !link.starts_with("data:"))
        .collect();
    assert_eq!(links.len(), 3, "{links:?}");
    for link in links {
        let headers = format!("GET /api/{link} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let mut stream = server.connect();
        std::io::Write::write_all(&mut stream, headers.as_bytes()).unwrap();
        let mut answer = Vec::new();
        std::io::Read::read_to_end(&mut stream, &mut answer).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n") && answer.len() > 200, "{link}");
    }
    server.send("GET", "/api/docs/index.html", &[], b"").fails(404, "no such file");
    server.send("GET", "/api/docs/%ff", &[], b"").fails(404, "no such file");
}

/// Runs schemathesis over the operations that these arguments choose; fails with all that it says.
fn hold_against_document(chosen: &[&str], n_examples: u32) {
    let (server, _) = exemplary();
    let folder = tempfile::tempdir().unwrap();
    let said = folder.path().join("said");
    let output = std::fs::File::create(&said).unwrap();
    let mut running = Command::new(tool("schemathesis"))
        .arg("run")
        .arg(format!("http://{}/api/openapi.json", server.address))
        .args(["--header", &bearer(DEVELOPMENT_KEY)])
        .args([
            "--phases",
            "examples,coverage,fuzzing",
            "--seed",
            "1",
            "--max-examples",
            &n_examples.to_string(),
        ])
        // Whether a fact or a question is good depends on the policy, which no schema says: 400 is right
        // then.
        .args(["--exclude-checks", "positive_data_acceptance"])
        .args(["--generation-database", "none", "--continue-on-failure", "--warnings", "off", "--no-color"])
        .args(chosen)
        .current_dir(folder.path())
        .stdout(Stdio::from(output.try_clone().unwrap()))
        .stderr(Stdio::from(output))
        .spawn()
        .unwrap();
    let began = Instant::now();
    let ended = loop {
        match running.try_wait().unwrap() {
            Some(ended) => break Some(ended),
            None if began.elapsed() > PATIENCE => {
                running.kill().unwrap();
                running.wait().unwrap();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(100)),
        }
    };
    let said = std::fs::read_to_string(&said).unwrap();
    assert!(ended.is_some_and(|ended| ended.success()), "{said}");
    assert_eq!(server.get("/health").status, 200, "the server serves on");
}

#[test]
fn the_server_keeps_to_the_document() {
    // Without those that would take the policy away from the rest.
    hold_against_document(
        &["--exclude-path-regex", "^/api/clear_data$", "--exclude-operation-id", "post_policy"],
        8,
    );
}

#[test]
fn the_server_keeps_to_the_document_when_the_policy_changes() {
    hold_against_document(&["--include-path-regex", "^/api/(clear_data|policy|policy_metadata|batch)$"], 15);
}
