//! Connections that are slow, half closed, pipelined or cut, and a shutdown that loses nothing.

use portcullis::config::Config;
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::server::{Server, count};
use portcullis_testkit::wire::{bearer, fact_json, question, read_answer, try_read_answer};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// A request as it is on the wire, on a connection that stays open.
pub(crate) fn wire(method: &str, path: &str, body: &str) -> String {
    let key = bearer(DEVELOPMENT_KEY);
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{key}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

#[test]
fn a_connection_answers_many_requests() {
    let server = Server::empty();
    let mut stream = server.connect();
    for i in 0..100 {
        let path = if i % 10 == 9 { "/api/nothing" } else { "/api/healthcheck" };
        stream.write_all(wire("GET", path, "").as_bytes()).unwrap();
        assert_eq!(read_answer(&mut stream).status, if i % 10 == 9 { 404 } else { 200 });
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Server::start();
    let mut stream = server.connect();
    let mut sent = String::new();
    for i in 0..50 {
        let fact = fact_json(&["is_public", &format!("Repo:{i}")]);
        sent.push_str(&wire("POST", "/api/facts", &fact.to_string()));
        sent.push_str(&wire("POST", "/api/authorize", &question("ada", "read", &i.to_string()).to_string()));
    }
    stream.write_all(sent.as_bytes()).unwrap();
    for i in 0..50 {
        read_answer(&mut stream).is(200, &fact_json(&["is_public", &format!("Repo:{i}")]));
        read_answer(&mut stream).is(200, &json!({ "allowed": true }));
    }
}

#[test]
fn a_half_closed_connection_gets_its_answer() {
    let server = Server::empty();
    let mut stream = server.connect();
    stream
        .write_all(wire("POST", "/api/authorize", &question("a", "b", "c").to_string()).as_bytes())
        .unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    read_answer(&mut stream).is(200, &json!({ "allowed": false }));
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn a_body_that_breaks_off_changes_nothing() {
    let server = Server::start();
    let body = json!([{ "inserts": [fact_json(&["is_public", "Repo:a"])] }]).to_string();
    let whole = wire("POST", "/api/batch", &body);
    for cut in [whole.len() - 1, whole.len() - 10] {
        let mut stream = server.connect();
        stream.write_all(&whole.as_bytes()[..cut]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        if let Some(answer) = try_read_answer(&mut stream) {
            assert_eq!(answer.status, 400, "{}", answer.text);
        }
        drop(server.connect());
    }
    assert_eq!(server.stored(), Vec::<String>::new());
}

#[test]
fn a_slow_head_holds_nothing() {
    let server = Server::with(Config {
        header_time: Duration::from_millis(300),
        max_connections: count(4),
        ..Config::default()
    });
    // All seats are taken by clients that never finish a head.
    let mut slow: Vec<TcpStream> = (0..4).map(|_| server.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /health HTTP/1.1\r\nX-Slow: ").unwrap();
    }
    let began = Instant::now();
    assert_eq!(server.get("/health").status, 200);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    for mut stream in slow {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
}

/// With all seats taken by heads that never end and by connections at rest, a client with a request gets one.
#[test]
fn idle_connections_and_slow_heads_give_way() {
    let server = Server::with(Config { max_connections: count(4), ..Config::default() });
    let begin = b"GET /health HTTP/1.1\r\nX-Slow: ";
    let heard = || {
        let mut stream = server.connect();
        stream.write_all(wire("GET", "/health", "").as_bytes()).unwrap();
        assert_eq!(read_answer(&mut stream).status, 200);
        stream
    };
    let has_ended = |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        match stream.read(&mut [0; 8]) {
            Ok(n) => n == 0,
            // It was closed before its first bytes were looked at.
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    };
    let began = Instant::now();
    let mut at_rest = [heard(), heard()];
    // A request whose body is on its way is at work, and keeps its seat.
    let body = question("a", "b", "c").to_string();
    let whole = wire("POST", "/api/authorize", &body);
    let (head, rest) = whole.split_at(whole.len() - 5);
    let mut busy = server.connect();
    busy.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let mut slow: Vec<TcpStream> = Vec::new();
    for _ in 0..30 {
        let mut stream = server.connect();
        stream.write_all(begin).unwrap();
        slow.push(stream);
    }
    std::thread::sleep(Duration::from_millis(300));
    let (oldest, newest) = slow.split_at_mut(29);
    let ended: Vec<bool> = oldest.iter_mut().map(has_ended).collect();
    assert!(!ended.contains(&false), "the oldest that never sent a request go first: {ended:?}");
    assert!(!has_ended(&mut newest[0]) && !has_ended(&mut at_rest[0]) && !has_ended(&mut at_rest[1]));
    // Then those at rest, the oldest first.
    let newer: Vec<TcpStream> = (0..2).map(|_| heard()).collect();
    assert!(has_ended(&mut newest[0]) && has_ended(&mut at_rest[0]) && !has_ended(&mut at_rest[1]));
    busy.write_all(rest.as_bytes()).unwrap();
    assert_eq!(read_answer(&mut busy).status, 200);
    assert!(
        began.elapsed() < Duration::from_secs(14),
        "no connection waited for the time of a head: {:?}",
        began.elapsed()
    );
    drop(newer);
}

#[test]
fn a_client_that_does_not_read_holds_nothing() {
    let config =
        Config { answer_time: Duration::from_millis(300), max_connections: count(1), ..Config::default() };
    let server = Server::with(config);
    let policy = json!({ "src": portcullis_testkit::server::POLICY });
    assert_eq!(server.post("/api/policy", &policy).status, 200);
    let facts: Vec<_> = (0..20_000).map(|i| fact_json(&["is_public", &format!("Repo:{i:064}")])).collect();
    assert_eq!(server.post("/api/bulk_load", &json!(facts)).status, 200);

    // More answers than the buffers of both sides can hold, and the client does not read them.
    let mut deaf = server.connect();
    deaf.write_all(wire("GET", "/api/facts", "").repeat(20).as_bytes()).unwrap();
    let began = Instant::now();
    assert_eq!(server.get("/health").status, 200);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    drop(deaf);
}

#[test]
fn a_connection_at_rest_is_closed() {
    let server = Server::with(Config { header_time: Duration::from_millis(200), ..Config::default() });
    let mut stream = server.connect();
    stream.write_all(wire("GET", "/health", "").as_bytes()).unwrap();
    assert_eq!(read_answer(&mut stream).status, 200);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
}

#[test]
fn noise_is_refused_and_the_server_serves_on() {
    let server = Server::empty();
    for noise in [
        &b"\x16\x03\x01\x02\x00\x01"[..],
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"\0\0\0\0",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut stream = server.connect();
        stream.write_all(noise).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert_eq!(server.get("/health").status, 200, "{noise:?}");
    }
}

#[test]
fn a_chunked_body_is_a_body() {
    let server = Server::empty();
    let body = question("a", "b", "c").to_string();
    let (one, two) = body.split_at(10);
    let mut stream = server.connect();
    let head = wire("POST", "/api/authorize", "").replace("Content-Length: 0", "Transfer-Encoding: chunked");
    write!(stream, "{head}{:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len()).unwrap();
    read_answer(&mut stream).is(200, &json!({ "allowed": false }));
    // Without a length, the limit is noticed while reading.
    let mut stream = server.connect();
    let chunk = "a".repeat(1 << 20);
    write!(stream, "{head}").unwrap();
    for _ in 0..11 {
        write!(stream, "{:x}\r\n{chunk}\r\n", chunk.len()).unwrap();
    }
    let refused = read_answer(&mut stream);
    refused.fails(413, "10485760");
    // What was not read ends the connection, and a client must not send its next request there.
    assert_eq!(refused.header("connection"), Some("close"));
}

#[test]
fn an_expectation_is_met_only_for_a_good_key() {
    let server = Server::empty();
    let body = question("a", "b", "c").to_string();
    let good = wire("POST", "/api/authorize", &body)
        .replace("Host: localhost", "Host: localhost\r\nExpect: 100-continue");
    let (head, body) = good.split_at(good.len() - body.len());
    let mut stream = server.connect();
    stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(read_answer(&mut stream).status, 100);
    stream.write_all(body.as_bytes()).unwrap();
    assert_eq!(read_answer(&mut stream).status, 200);

    let mut stream = server.connect();
    stream.write_all(head.replace("Bearer e_", "Bearer x_").as_bytes()).unwrap();
    let refused = read_answer(&mut stream);
    // The client may send the body or not, so what comes next could be either.
    assert_eq!((refused.status, refused.header("connection")), (401, Some("close")));
}

#[test]
fn a_shutdown_finishes_what_it_accepted() {
    let mut server = Server::start();
    let mut idle = server.connect();
    idle.write_all(wire("GET", "/health", "").as_bytes()).unwrap();
    assert_eq!(read_answer(&mut idle).status, 200);

    // A request whose body is still on its way when the shutdown begins.
    let body = json!([{ "inserts": [fact_json(&["is_public", "Repo:a"])] }]).to_string();
    let whole = wire("POST", "/api/batch", &body);
    let (begin, end) = whole.split_at(whole.len() - 5);
    let mut busy = server.connect();
    busy.write_all(begin.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    server.begin_stop();
    std::thread::sleep(Duration::from_millis(200));

    assert_eq!(idle.read(&mut [0; 8]).unwrap(), 0, "a connection at rest is closed at once");
    assert!(TcpStream::connect(server.address).is_err(), "nothing new is accepted");
    busy.write_all(end.as_bytes()).unwrap();
    assert_eq!(read_answer(&mut busy).status, 200);
    server.finish_stop();
    let server = server.restart();
    assert_eq!(server.stored(), ["is_public(Repo:a)"]);
}

#[test]
fn a_shutdown_does_not_wait_for_ever() {
    let mut server = Server::with(Config { shutdown_time: Duration::from_millis(300), ..Config::default() });
    let mut stuck = server.connect();
    stuck.write_all(b"POST /api/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let began = Instant::now();
    server.finish_stop();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
