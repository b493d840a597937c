//! Large bodies and answers share a bounded memory, and brief checks pass even when it is full.

use portcullis::config::Config;
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{bearer, fact_json, question, read_answer};
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A server whose requests may hold this many bytes together.
fn with_memory(max_memory: usize) -> Server {
    let server = Server::with(Config { max_memory, ..Config::default() });
    let answer = server.post("/api/policy", &json!({ "src": portcullis_testkit::server::POLICY }));
    assert_eq!(answer.status, 200, "{}", answer.text);
    server
}

/// What requests hold, and how often there was no room.
fn held(server: &Server) -> (u64, u64) {
    let text = server.get("/metrics").text;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse::<u64>().unwrap()
    };
    (of("portcullis_memory_bytes "), of("portcullis_memory_refused_total "))
}

#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A batch whose body has about `bytes` bytes.
fn batch(bytes: usize) -> String {
    let facts: Vec<_> =
        (0..bytes / 120).map(|n| fact_json(&["is_public", &format!("Repo:{n:064}")])).collect();
    json!([{ "inserts": facts }]).to_string()
}

/// Sends the head of a batch and `sent` bytes of its body.
fn begin(server: &Server, body: &str, sent: usize) -> TcpStream {
    let mut stream = server.connect();
    let (key, length) = (bearer(DEVELOPMENT_KEY), body.len());
    let head = format!(
        "POST /api/batch HTTP/1.1\r\nHost: localhost\r\n{key}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body.as_bytes()[..sent]).unwrap();
    stream
}

#[test]
fn bodies_that_do_not_end_leave_room_for_checks_and_give_theirs_back() {
    let server = with_memory(96 << 20);
    let body = batch(2 << 20);
    let sent = body.len() - 1;
    // One key gets half of the memory, however many requests it begins; a body counts for about six times its
    // length before it is read.
    let unfinished: Vec<TcpStream> = (0..7).map(|_| begin(&server, &body, sent)).collect();
    wait_until("what arrived is held", || held(&server).0 >= 7 * sent as u64);
    let refused = server.send(
        "POST",
        "/api/batch",
        &[&bearer(DEVELOPMENT_KEY), "Content-Type: application/json"],
        batch(8 << 20).as_bytes(),
    );
    refused.fails(503, "not available at the moment");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(held(&server).1 >= 1);
    assert!(!server.may("ada", "read", "a"), "a check is answered");
    server.add(&[&["is_public", "Repo:a"]]);

    drop(unfinished);
    wait_until("what was held is free", || held(&server).0 == 0);
    let mut whole = begin(&server, &body, sent);
    whole.write_all(&body.as_bytes()[sent..]).unwrap();
    assert_eq!(read_answer(&mut whole).status, 200);
    wait_until("an answered request holds nothing", || held(&server).0 == 0);
}

#[test]
fn a_length_that_is_only_announced_holds_nothing() {
    let server = with_memory(16 << 20);
    let body = batch(7 << 20);
    let announced: Vec<TcpStream> = (0..50).map(|_| begin(&server, &body, 10)).collect();
    let mut small = server.connect();
    let asked = question("ada", "read", "a").to_string();
    small.write_all(super::connections::wire("POST", "/api/authorize", &asked).as_bytes()).unwrap();
    read_answer(&mut small).is(200, &json!({ "allowed": false }));
    assert_eq!(held(&server), (0, 0));
    drop(announced);
}

#[test]
fn what_never_finds_room_is_413() {
    let server = with_memory(4 << 20);
    let headers = [&*bearer(DEVELOPMENT_KEY), "Content-Type: application/json"];
    // Its text would have room, and what it decodes to would not.
    let answer = server.send("POST", "/api/batch", &headers, batch(3 << 19).as_bytes());
    answer.fails(413, "more than the 2097152 bytes of memory");
    wait_until("a refused request holds nothing", || held(&server).0 == 0);
    assert_eq!(server.send("POST", "/api/batch", &headers, batch(200_000).as_bytes()).status, 200);
}

#[test]
fn a_large_answer_is_the_same_as_a_small_one() {
    let server = with_memory(16 << 20);
    let ids: Vec<String> = (0..5_000).map(|n| format!("ü\"{n:05}\u{1F9CC}")).collect();
    let facts: Vec<_> = ids.iter().map(|id| fact_json(&["is_public", &format!("Repo:{id}")])).collect();
    assert_eq!(server.post("/api/batch", &json!([{ "inserts": facts }])).status, 200);
    let list = json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Repo" });
    let answer = server.post("/api/list", &list);
    assert!(answer.text.len() > 64 * 1024 && answer.header("content-length").is_some());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    answer.is(200, &json!({ "results": ids }));
    let query = server.post("/api/query", &json!({ "fact": { "predicate": "is_public", "args": [null] } }));
    assert_eq!(query.json()["results"].as_array().unwrap().len(), ids.len());
    wait_until("an answer that was sent holds nothing", || held(&server).0 == 0);
}

#[test]
fn an_answer_without_room_is_refused_as_a_whole() {
    let server = with_memory(3 << 20);
    for part in 0..10 {
        let facts: Vec<_> =
            (0..2_000).map(|n| fact_json(&["is_public", &format!("Repo:{part}-{n:064}")])).collect();
        assert_eq!(server.post("/api/batch", &json!([{ "inserts": facts }])).status, 200);
    }
    let list = json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Repo" });
    server.post("/api/list", &list).fails(413, "1572864 bytes");
    assert!(server.may("ada", "read", &format!("3-{:064}", 7)));
    wait_until("a refused answer holds nothing", || held(&server).0 == 0);
}
