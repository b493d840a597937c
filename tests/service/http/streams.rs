//! Long lists of facts, which are read while they are sent: whole, of one moment, and visibly cut if they are
//! cut.

use super::connections::wire;
use portcullis::config::Config;
use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{Answer, fact_json, read_answer, try_read_answer};
use serde_json::{Value as Json, json};
use std::io::{Read, Write};
use std::time::Duration;

/// A server with `n` public repositories, and one fact of each other kind.
fn populated(n: usize) -> Server {
    let server = Server::start();
    fill(&server, n);
    server.add(&[
        &["has_role", "User:ada", "String:reader", "Repo:a"],
        &["has_role", "User:ada", "String:member", "Org:o"],
        &["age", "User:ada", "Integer:-7"],
    ]);
    server
}

fn fill(server: &Server, n: usize) {
    let facts: Vec<Json> = (0..n).map(|n| fact_json(&["is_public", &format!("Repo:{}", id(n))])).collect();
    for part in facts.chunks(20_000) {
        assert_eq!(server.post("/api/batch", &json!([{ "inserts": part }])).status, 200);
    }
}

/// A server with more facts than the buffers of a connection hold: 30 MB of text.
fn full() -> Server {
    let server = Server::start();
    let facts: Vec<Json> =
        (0..N_FULL).map(|n| fact_json(&["is_public", &format!("Repo:{n:0370}")])).collect();
    for part in facts.chunks(20_000) {
        assert_eq!(server.post("/api/batch", &json!([{ "inserts": part }])).status, 200);
    }
    server
}

const N_FULL: usize = 70_000;

/// Ids that a careless writer of JSON or SQL would spoil, numbers among them.
fn id(n: usize) -> String {
    match n % 4 {
        0 => n.to_string(),
        1 => format!("'{n}\" \\ \u{1}"),
        2 => format!("ümläut\u{202e}{n}\u{1F9CC}"),
        _ => format!("{n:064}"),
    }
}

fn is_streamed(answer: &Answer) -> bool {
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    answer.header("transfer-encoding") == Some("chunked")
}

#[test]
fn a_long_list_holds_every_fact_once_and_in_order() {
    let server = populated(12_000);
    let answer = server.get("/api/facts");
    assert!(is_streamed(&answer));
    let listed = answer.json();
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 12_003);
    // What is asked for singly comes at once, in the same words.
    let mut singly: Vec<Json> = Vec::new();
    for predicate in ["age", "has_role"] {
        let few = server.get(&format!("/api/facts?predicate={predicate}"));
        assert!(!is_streamed(&few));
        singly.extend(few.json().as_array().unwrap().iter().cloned());
    }
    assert_eq!(listed[..3], singly);
    let mut ids: Vec<&str> = listed[3..].iter().map(|fact| fact["args"][0]["id"].as_str().unwrap()).collect();
    for (at, fact) in listed[3..].iter().enumerate().step_by(997) {
        assert_eq!(fact, &fact_json(&["is_public", &format!("Repo:{}", ids[at])]));
    }
    let mut expected: Vec<String> = (0..12_000).map(id).collect();
    ids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ids, expected);
    // The text is that of a list which is encoded at once.
    assert_eq!(answer.text, serde_json::to_string(&Ordered(listed)).unwrap());
}

/// Facts with their fields in the order in which the service writes them.
struct Ordered<'a>(&'a [Json]);

impl serde::Serialize for Ordered<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Value<'a> {
            r#type: &'a Json,
            id: &'a Json,
        }
        #[derive(serde::Serialize)]
        struct Fact<'a> {
            predicate: &'a Json,
            args: Vec<Value<'a>>,
        }
        serializer.collect_seq(self.0.iter().map(|fact| {
            Fact {
                predicate: &fact["predicate"],
                args: fact["args"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|arg| Value { r#type: &arg["type"], id: &arg["id"] })
                    .collect(),
            }
        }))
    }
}

#[test]
fn a_pattern_leaves_the_same_facts_in_a_long_list() {
    let server = Server::start();
    let users: Vec<Json> = (0..3_000)
        .flat_map(|n| {
            let user = format!("User:{}", id(n));
            [
                fact_json(&["has_role", &user, "String:reader", &format!("Repo:{}", n % 3)]),
                fact_json(&["has_role", &user, "String:writer", "Repo:0"]),
                fact_json(&["has_role", &user, "String:member", "Org:o"]),
            ]
        })
        .collect();
    assert_eq!(server.post("/api/batch", &json!([{ "inserts": users }])).status, 200);
    for (query, n, streams) in [
        ("predicate=has_role", 9_000, true),
        ("args.1.type=String&args.1.id=reader", 3_000, true),
        ("args.1.type=String&args.1.id=reader&args.2.type=Repo&args.2.id=1", 1_000, false),
        ("args.2.type=Repo", 6_000, true),
        ("args.2.type=Repo&args.2.id=0", 4_000, true),
        ("args.0.type=User&args.0.id=0", 3, false),
        ("predicate=nothing", 0, false),
    ] {
        let answer = server.get(&format!("/api/facts?{query}"));
        assert_eq!(is_streamed(&answer), streams, "{query}");
        let listed = answer.json();
        let listed = listed.as_array().unwrap();
        let mut distinct: Vec<String> = listed.iter().map(Json::to_string).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!((listed.len(), distinct.len()), (n, n), "{query}");
    }
}

#[test]
fn a_long_list_is_of_the_moment_at_which_it_was_asked_for() {
    let server = populated(100_000);
    let mut slow = server.connect();
    slow.write_all(wire("GET", "/api/facts", "").as_bytes()).unwrap();
    let mut first = [0; 1];
    slow.read_exact(&mut first).unwrap();
    // Everything is cleared while the list is on its way.
    assert_eq!(server.post("/api/clear_data", &json!(null)).status, 200);
    assert_eq!(server.stored(), Vec::<String>::new());
    let answer = read_answer(&mut first.chain(slow));
    assert_eq!(answer.json().as_array().unwrap().len(), 100_003);
}

#[test]
fn a_list_that_is_cut_does_not_look_whole() {
    let config = Config { answer_time: Duration::from_millis(200), dev: true, ..Config::default() };
    let server = Server::over(config, full().into_folder());
    let mut slow = server.connect();
    slow.write_all(wire("GET", "/api/facts", "").as_bytes()).unwrap();
    let mut first = [0; 1];
    slow.read_exact(&mut first).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert!(try_read_answer(&mut first.chain(slow)).is_none(), "the last chunk is missing");
    // Nothing of it stays behind.
    assert_eq!(server.get("/api/facts").json().as_array().unwrap().len(), N_FULL);
}

#[test]
fn slow_readers_leave_lists_and_writes_to_others() {
    let server = full();
    let mut slow: Vec<_> = (0..12).map(|_| server.connect()).collect();
    let mut statuses = Vec::new();
    for stream in &mut slow {
        stream.write_all(wire("GET", "/api/facts", "").as_bytes()).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        statuses.push(String::from_utf8_lossy(&status[9..]).into_owned());
    }
    let n_answered = statuses.iter().filter(|status| *status == "200").count();
    let n_refused = statuses.iter().filter(|status| *status == "503").count();
    assert_eq!((n_answered, n_refused), (8, 4), "one key has half of the lists that may be sent at once");
    server.add(&[&["is_public", "Repo:new"]]);
    assert!(server.may("eve", "read", "new"));
    assert_eq!(server.get("/api/facts?predicate=has_role").json(), json!([]));
}
