//! `portcullis why`: the tree that a person reads, from files and from a service.

#![expect(clippy::unwrap_used, reason = "a test that cannot start its program has failed")]

use portcullis_testkit::program::{Program, portcullis};
use portcullis_testkit::server::{POLICY, Server};
use portcullis_testkit::wire::fact_json;
use serde_json::{Value as Json, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use tempfile::TempDir;

const FACTS: &str = "has_role(User:ada, \"member\", Org:o)\nhas_relation(Repo:a, \"org\", Org:o)\n";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.polar"), POLICY).unwrap();
    fs::write(folder.path().join("facts.txt"), FACTS).unwrap();
    folder
}

/// Exit code, standard output, standard error.
fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output = portcullis(folder).arg("why").args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_proof_is_a_tree() {
    let folder = folder();
    let question = r#"allow(User:ada, "read", Repo:a)"#;
    let (code, out, err) = run(folder.path(), &["policy.polar", question, "--facts", "facts.txt"]);
    let expected = r#"yes: allow(User:ada, "read", Repo:a)
line numbers refer to policy.polar

allow(User:ada, "read", Repo:a)  implied rule: allow(actor, action: String, resource) :- has_permission(actor, action, resource)
└─ has_permission(User:ada, "read", Repo:a)  line 22: "read" if "reader";
   └─ has_role(User:ada, "reader", Repo:a)  line 21: "reader" if "member" on "org";
      ├─ has_relation(Repo:a, "org", Org:o)  stored
      └─ has_role(User:ada, "member", Org:o)  stored
"#;
    assert_eq!((code, out.as_str(), err.as_str()), (0, expected, ""));
}

#[test]
fn a_no_is_a_tree_of_what_is_missing() {
    let folder = folder();
    let question = r#"allow(User:bob, "write", Repo:a)"#;
    let (code, out, err) = run(folder.path(), &["policy.polar", question, "--facts", "facts.txt"]);
    let expected = r#"no: allow(User:bob, "write", Repo:a)
line numbers refer to policy.polar

allow(User:bob, "write", Repo:a)
├─ no such fact
└─ implied rule: allow(actor, action: String, resource) :- has_permission(actor, action, resource)
   └─ ✗ has_permission(User:bob, "write", Repo:a)
      ├─ no such fact
      └─ line 23: "write" if "writer";
         └─ ✗ has_role(User:bob, "writer", Repo:a)  no such fact

The answer would be yes with any of
  has_role(User:bob, "writer", Repo:a)
    which would also allow "read"
"#;
    assert_eq!((code, out.as_str(), err.as_str()), (0, expected, ""));
}

/// A rule for one resource makes the question a clause of its own. Where the limit ended the search in the
/// general clause, that one told about its own resource.
#[test]
fn what_a_question_lacks_is_about_the_resource_that_it_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let types = ["R0", "R1", "R2", "R3", "R4"].map(|name| format!("resource {name} {{}}")).join("\n");
    let rules = r#"
has_permission(u: User, "read", R0{"b"}) if has_role(e, _, d) and u != User{"b"} and has_relation(d, "any", u);
covers(d: R0, e: R0) if drawn(_, d, _) and edited(e, _, _, _);
has_permission(_: User, "read", d: R0) if covers(d, R0{"b"});"#;
    let policy = format!("actor User {{}}\nactor Group {{}}\n{types}\n{rules}\n");
    fs::write(folder.path().join("policy.polar"), policy).unwrap();
    let facts = "has_relation(R0:c, \"any\", User:c)\nhas_role(R0:c, R0:c, R0:c)\n";
    fs::write(folder.path().join("facts.txt"), facts).unwrap();
    let question = "allow(User:b, String:?, R0:a)";
    let (code, out, err) = run(folder.path(), &["policy.polar", question, "--facts", "facts.txt"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains(r#"allow(User:b, "read", R0:a)"#), "{out}");
    assert!(!out.contains(r#"allow(User:b, "read", R0:b)"#), "{out}");
    assert!(out.contains("The explanation ended at its limit"), "{out}");
}

#[test]
fn a_policy_and_a_question_may_stand_on_both_sides_of_an_option() {
    let folder = folder();
    let question = r#"allow(User:ada, "read", Repo:a)"#;
    for args in [
        ["policy.polar", "--facts", "facts.txt", "--json", question],
        ["--facts", "facts.txt", "policy.polar", "--json", question],
        ["--json", "policy.polar", question, "--facts", "facts.txt"],
    ] {
        let (code, out, err) = run(folder.path(), &args);
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        assert_eq!(serde_json::from_str::<Json>(&out).unwrap()["allowed"], true);
    }
    let (code, _, err) = run(folder.path(), &["policy.polar", question, "--facts", "facts.txt", "more"]);
    assert!(code == 2 && err.contains("`more` is too much"), "{err}");
}

#[test]
fn a_service_is_asked_and_gives_the_same() {
    let folder = folder();
    let server = Server::start();
    server.add(&[
        &["has_role", "User:ada", "String:member", "Org:o"],
        &["has_relation", "Repo:a", "String:org", "Org:o"],
    ]);
    fs::write(folder.path().join("key"), portcullis::http::DEVELOPMENT_KEY).unwrap();
    let url = format!("http://{}", server.address);
    let place = ["--url", url.as_str(), "--key-file", "key", "--format", "json"];
    for question in [r#"allow(User:ada, "read", Repo:a)"#, r#"has_role(User:ada, "reader", Repo:_)"#] {
        let asked: Vec<&str> = [question].into_iter().chain(place).collect();
        let (code, out, err) = run(folder.path(), &asked);
        assert_eq!((code, err.as_str()), (0, ""));
        let files = ["policy.polar", question, "--facts", "facts.txt", "--format", "json"];
        let json = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        assert_eq!(json(&out), json(&run(folder.path(), &files).1));
    }
    let asked: Vec<&str> = ["p(User:a)"].into_iter().chain(place).collect();
    let (code, out, err) = run(folder.path(), &asked);
    assert!(code == 1 && out.contains("no predicate `p`") && err.is_empty(), "{out} {err}");
}

#[test]
fn without_a_policy_the_usual_service_is_asked() {
    let folder = folder();
    let server = Server::start();
    server.add(&[&["has_role", "User:ada", "String:writer", "Repo:a"]]);
    fs::write(folder.path().join("key"), portcullis::http::DEVELOPMENT_KEY).unwrap();
    let question = r#"allow(User:ada, "write", Repo:a)"#;
    let output = portcullis(folder.path())
        .args(["why", question, "--key-file", "key"])
        .env("PORTCULLIS_LISTEN", server.address.to_string())
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && out.starts_with(&format!("yes: {question}\n")), "{out}");
    let (code, _, err) = run(folder.path(), &[question, "--facts", "facts.txt"]);
    assert!(code == 2 && err.contains("<POLICY>"), "{err}");
}

/// A service that is busy once, and then answers with this.
fn busy_once(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for status in ["503 Service Unavailable", "200 OK"] {
            let mut stream = listener.accept().unwrap().0;
            let mut read = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while line != "\r\n" {
                line.clear();
                read.read_line(&mut line).unwrap();
                let lower = line.to_lowercase();
                length = lower.strip_prefix("content-length: ").map_or(length, |n| n.trim().parse().unwrap());
            }
            read.read_exact(&mut vec![0; length]).unwrap();
            let n = answer.len();
            let head =
                format!("HTTP/1.1 {status}\r\nRetry-After: 0\r\nConnection: close\r\nContent-Length: {n}");
            write!(stream, "{head}\r\n\r\n{answer}").unwrap();
        }
    });
    url
}

#[test]
fn a_busy_service_is_asked_again() {
    let folder = folder();
    let answer = r#"{"allowed":false,"truncated":false,"policy":null,"policy_version":null,"offset":0,"proof":[],
        "steps":[],"failures":[],"suggestions":[],"suggestions_truncated":false}"#;
    let question = r#"allow(User:ada, "read", Repo:a)"#;
    let (code, out, err) = run(folder.path(), &[question, "--url", &busy_once(answer)]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("no: allow("), "{out}");
}

#[test]
fn a_data_folder_answers_while_its_service_runs() {
    let folder = tempfile::tempdir().unwrap();
    let service = Program::spawn(folder.path(), "d", &["--dev"]).answering().unwrap();
    let key = portcullis::http::DEVELOPMENT_KEY;
    let post = |path: &str, body: Json| assert_eq!(service.caller.post(key, path, &body).0, 200, "{path}");
    post("policy", json!({ "src": POLICY }));
    let fact = fact_json(&["has_role", "User:ada", "String:writer", "Repo:a"]);
    post("batch", json!([{ "inserts": [fact, fact_json(&["is_trusting", "User:ada"])] }]));
    // The trust is not used any more, and stays stored.
    post(
        "policy",
        json!({ "src": POLICY.replace("trusts(user: User, _anybody) if is_trusting(user);", "") }),
    );
    let question = r#"allow(User:ada, "read", Repo:a)"#;
    let (code, out, err) = run(folder.path(), &["--data", "d", question, "--format", "json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let body = json!({
        "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Repo", "resource_id": "a",
    });
    let answer = service.caller.post(key, "explain?effects=true", &body).1;
    assert_eq!(serde_json::from_str::<Json>(&out).unwrap(), answer);
    assert_eq!((&answer["allowed"], &answer["policy_version"]), (&json!(true), &json!(2)));
    let output = portcullis(folder.path()).args(["review", "--data", "d", "--actor", "User:ada"]).output();
    let out = String::from_utf8(output.unwrap().stdout).unwrap();
    let expected = "what User:ada may do, by policy 2

action        resource
visit         every Org
read          Repo:a
write         Repo:a

3 rows.
";
    assert_eq!(out, expected);
    let (code, _, err) = run(folder.path(), &["--data", "d", "--environment", "other", question]);
    assert!(code == 1 && err.contains("other"), "{err}");
    assert_eq!(run(folder.path(), &["policy.polar", question, "--data", "d"]).0, 2);
}

#[test]
fn a_context_fact_counts_for_one_question() {
    let folder = folder();
    let question = r#"allow(User:bob, "write", Repo:a)"#;
    let writer = r#"has_role(User:bob, "writer", Repo:a)"#;
    let asked = ["policy.polar", question, "--facts", "facts.txt", "--context", writer];
    let (code, out, err) = run(folder.path(), &asked);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("yes: ") && out.contains(&format!("{writer}  of the request")), "{out}");
    let server = Server::start();
    fs::write(folder.path().join("key"), portcullis::http::DEVELOPMENT_KEY).unwrap();
    let url = format!("http://{}", server.address);
    let asked = [question, "--url", url.as_str(), "--key-file", "key", "--context", writer, "--json"];
    let (code, out, err) = run(folder.path(), &asked);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(serde_json::from_str::<Json>(&out).unwrap()["allowed"], true);
    let (code, _, err) = run(folder.path(), &["policy.polar", question, "--context", "p(User:?)"]);
    assert!(code == 2 && err.contains("a fact must have values"), "{err}");
}

#[test]
fn wrong_arguments_are_refused() {
    let folder = folder();
    assert_eq!(run(folder.path(), &["policy.polar"]).0, 2);
    assert_eq!(run(folder.path(), &["policy.polar", "p()", "--url", "http://x"]).0, 2);
    assert_eq!(run(folder.path(), &["policy.polar", "p()", "--key-file", "key"]).0, 2);
    let (code, _, err) = run(folder.path(), &["policy.polar", "p(_)"]);
    assert!(code == 1 && err.contains("needs a type"), "{err}");
}
