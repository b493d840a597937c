//! Reviews of a running service: pages, keys, environments, and a service that waits, changes or breaks off.

use super::run;
use crate::received;
use portcullis_testkit::server::Server;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// More than a page.
const MANY: usize = 20_050;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("key"), portcullis::http::DEVELOPMENT_KEY).unwrap();
    folder
}

/// Exit code, standard output and standard error of a review of this service.
fn review(url: &str, args: &[&str]) -> (i32, String, String) {
    run(folder().path(), &[&["--url", url, "--key-file", "key"], args].concat())
}

fn url(server: &Server) -> String {
    format!("http://{}", server.address)
}

#[test]
fn lists_of_several_pages_are_complete() {
    let server = Server::start();
    let value = |ty: &str, id: &str| json!({ "type": ty, "id": id });
    let role = |user: &str, repo: &str| {
        let args = json!([value("User", user), value("String", "reader"), value("Repo", repo)]);
        json!({ "predicate": "has_role", "args": args })
    };
    for (from, to) in [(0, 10_000), (10_000, 20_000), (20_000, MANY)] {
        let of_ada = (from..to).map(|n| role("ada", &format!("r{n}")));
        let of_all = (from..to).map(|n| role(&format!("u{n}"), "all"));
        let facts: Vec<Json> = of_ada.chain(of_all).collect();
        assert_eq!(server.post("/api/batch", &json!([{ "inserts": facts }])).status, 200);
    }
    for (args, prefix, more) in
        [(["--actor", "User:ada"], "read,Repo,r", 1), (["--resource", "Repo:all"], "read,User,u", 0)]
    {
        let (code, out, err) = review(&url(&server), &[&args[..], &["--format", "csv"]].concat());
        assert_eq!((code, err.as_str()), (0, ""));
        let rows: BTreeSet<&str> = out.lines().filter(|line| line.starts_with(prefix)).collect();
        // Besides: the header, and the organizations that every user may visit.
        assert_eq!((rows.len(), out.lines().count()), (MANY, MANY + 1 + more), "{args:?}");
    }
}

#[test]
fn a_service_and_files_give_the_same() {
    let server = Server::start();
    server.add(&[
        &["has_role", "User:ada", "String:member", "Org:o"],
        &["has_relation", "Repo:a", "String:org", "Org:o"],
        &["has_role", "User:bob", "String:writer", "Repo:a"],
    ]);
    let folder = folder();
    fs::write(folder.path().join("policy.polar"), portcullis_testkit::server::POLICY).unwrap();
    fs::write(folder.path().join("facts.json"), server.get("/api/facts").text).unwrap();
    let without_end = |out: &str| {
        let lines: Vec<String> = out.lines().map(str::to_owned).collect();
        assert!(lines.last().unwrap().contains(r#""changed":false"#), "{out}");
        lines[..lines.len() - 1].to_vec()
    };
    for about in [["--actor", "User:ada"], ["--resource", "Repo:a"], ["--resource", "Org:o"]] {
        let (code, out, err) = review(&url(&server), &[&about[..], &["--format", "json"]].concat());
        assert_eq!((code, err.as_str()), (0, ""));
        let files = ["policy.polar", "--facts", "facts.json", "--format", "json"];
        let (_, same, _) = run(folder.path(), &[&files[..], &about].concat());
        assert_eq!(without_end(&out), without_end(&same), "{about:?}");
        assert!(out.lines().count() > 1, "{out}");
    }
}

#[test]
fn a_key_that_may_not_read_gets_nothing() {
    let server = Server::start();
    let folder = folder();
    fs::write(folder.path().join("key"), "e_0123456789_none_0000").unwrap();
    let url = url(&server);
    let args = ["--url", url.as_str(), "--key-file", "key", "--actor", "User:ada"];
    let (code, out, err) = run(folder.path(), &args);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("401") && err.contains("unknown or was revoked"), "{err}");
}

#[test]
fn before_a_policy_there_is_nothing() {
    let (code, out, err) = review(&url(&Server::empty()), &["--actor", "User:ada"]);
    let expected = "what User:ada may do, by no policy\n\naction        resource\n\n0 rows.\n";
    assert_eq!((code, out.as_str(), err.as_str()), (0, expected, ""));
}

/// The requests that a service got: their paths and bodies.
type Heard = Arc<Mutex<Vec<(String, Json)>>>;

/// A service that gives these answers in their order, and what it was asked; its thread ends with the
/// process.
fn fake(answers: Vec<(u16, Json)>) -> (String, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Heard::default();
    let heard = Arc::clone(&asked);
    std::thread::spawn(move || {
        for (status, answer) in answers {
            let (mut stream, _) = listener.accept().unwrap();
            heard.lock().unwrap().push(request(&stream));
            let text = answer.to_string();
            let head = format!("HTTP/1.1 {status} X\r\nRetry-After: 0\r\nConnection: close");
            write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        }
    });
    (url, asked)
}

/// The path and the body of a request.
fn request(stream: &TcpStream) -> (String, Json) {
    let (first, body) = received::request(stream);
    (first.split(' ').nth(1).unwrap().to_owned(), serde_json::from_slice(&body).unwrap())
}

fn outline(offset: u64, types: &Json) -> (u16, Json) {
    (200, json!({ "policy_version": 3, "offset": offset, "types": types, "unknown_types": [] }))
}

fn reads() -> Json {
    json!([{ "type": "Repo", "actions": ["read"], "refused": null }])
}

#[test]
fn a_change_between_two_pages_is_said() {
    let (url, asked) = fake(vec![
        outline(7, &reads()),
        (200, json!({ "results": ["a"], "next_page_token": "more" })),
        (503, json!({ "message": "busy", "code": "unavailable" })),
        (200, json!({ "results": ["b"], "next_page_token": null })),
        outline(9, &json!([])),
    ]);
    let (code, out, err) = review(&url, &["--actor", "User:ada"]);
    let expected = "what User:ada may do, by policy 3

action        resource
read          Repo:a
read          Repo:b

2 rows.
Facts or the policy changed in the meantime (offset 7, then 9): the rows may come from different points in time.
";
    assert_eq!((code, out.as_str(), err.as_str()), (0, expected, ""));
    let asked = asked.lock().unwrap();
    let paths: Vec<&str> = asked.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/api/review", "/api/list", "/api/list", "/api/list", "/api/review"]);
    let tokens: Vec<&Json> = asked[1..4].iter().map(|(_, body)| &body["page_token"]).collect();
    assert_eq!(tokens, [&json!(null), &json!("more"), &json!("more")]);
}

#[test]
fn a_refusal_of_a_page_is_a_row_and_a_failure_ends_the_review() {
    let types = json!([
        { "type": "Org", "actions": ["read"], "refused": null },
        { "type": "Repo", "actions": ["read"], "refused": null },
    ]);
    let (url, _) = fake(vec![
        outline(7, &types),
        (400, json!({ "message": "too slow", "code": "timeout" })),
        (200, json!({ "results": [{ "type": "Repo", "id": "*" }], "next_page_token": null })),
        outline(7, &json!([])),
    ]);
    let (code, out, _) = review(&url, &["--resource", "Repo:x", "--format", "json"]);
    let lines: Vec<Json> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let refused = json!({ "message": "too slow", "code": "timeout" });
    assert_eq!(lines[0], json!({ "action": "read", "type": "Org", "refused": refused }));
    assert_eq!(lines[1], json!({ "action": "read", "type": "Repo", "id": "*" }));
    let end = json!({
        "rows": 1, "refusals": 1, "policy_version": 3, "offset": 7, "offset_after": 7, "changed": false,
        "unknown_types": [],
    });
    assert_eq!((code, &lines[2]["end"], lines.len()), (1, &end, 3));

    let (url, _) = fake(vec![
        outline(7, &types),
        (200, json!({ "results": ["a"], "next_page_token": null })),
        (500, json!({ "message": "a fault", "code": "internal_error" })),
    ]);
    let (code, out, err) = review(&url, &["--actor", "User:ada", "--format", "csv"]);
    assert_eq!((code, out.as_str()), (1, "action,type,id,refused\nread,Org,a,\n"));
    assert!(err.contains("500: a fault"), "{err}");
}
