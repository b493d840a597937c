//! Bytes that are not a proper request: an answer with a message, and a server that serves on.

use portcullis::config::Config;
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{Answer, bearer, question, read_answer, try_read_answer};
use serde_json::json;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::Duration;

/// The head of an authorize request with these headers besides the key.
fn head(headers: &str) -> String {
    let key = bearer(DEVELOPMENT_KEY);
    format!(
        "POST /api/authorize HTTP/1.1\r\nHost: localhost\r\n{key}\r\nContent-Type: application/json\r\n{headers}\r\n"
    )
}

/// What is answered to these bytes, after which the client says no more.
fn answered(server: &Server, bytes: &[u8]) -> Option<Answer> {
    let mut stream = server.connect();
    // A server that has heard enough may hang up before all is sent.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let answer = try_read_answer(&mut stream);
    assert_eq!(server.get("/health").status, 200, "the server serves on");
    answer
}

/// Checks that these bytes get this status, with a message and the headers of every answer.
fn refused(server: &Server, bytes: &[u8], status: u16) {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    let answer = answered(server, bytes).unwrap_or_else(|| panic!("no answer to {shown:?}"));
    assert_eq!(answer.status, status, "{shown:?} gave {}", answer.text);
    assert!(!answer.message().is_empty() && !answer.code().is_empty());
    assert_eq!(answer.header("content-type"), Some("application/json"), "{shown:?}");
    assert!(answer.header("x-request-id").is_some_and(|id| !id.is_empty()), "{shown:?}");
    assert!(answer.header("server-timing").is_some_and(|timing| timing.starts_with("oso;dur=")), "{shown:?}");
}

#[test]
fn malformed_http_is_400() {
    let server = Server::empty();
    for bytes in [
        &b"GET\r\n\r\n"[..],
        b"G\0T /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/9.9\r\n\r\n",
        b"GET /he alth HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nNo Colon\r\n\r\n",
        b"GET /health HTTP/1.1\r\nName : space\r\n\r\n",
        b"GET /health HTTP/1.1\r\nX: a\0b\r\n\r\n",
        b"\0\0\0\0",
    ] {
        refused(&server, bytes, 400);
    }
}

#[test]
fn a_head_without_measure_is_431_or_414() {
    let server = Server::empty();
    let many = "X: y\r\n".repeat(10_000);
    refused(&server, head(&many).as_bytes(), 431);
    let long = format!("X: {}\r\n", "y".repeat(2 << 20));
    refused(&server, head(&long).as_bytes(), 431);
    let path = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "y".repeat(70_000));
    refused(&server, path.as_bytes(), 414);
    // What a client with many proxies before it might still send is fine.
    let some = format!("X: {}\r\n", "y".repeat(200)).repeat(60);
    let fine = format!("GET /health HTTP/1.1\r\nHost: localhost\r\n{some}\r\n");
    assert_eq!(answered(&server, fine.as_bytes()).unwrap().status, 200);
}

#[test]
fn a_wrong_length_is_400() {
    let server = Server::empty();
    for length in ["-1", "x", "1, 2", "18446744073709551616", "0x10", ""] {
        refused(&server, head(&format!("Content-Length: {length}\r\n")).as_bytes(), 400);
    }
    refused(&server, head("Content-Length: 1\r\nContent-Length: 2\r\n").as_bytes(), 400);
    refused(&server, head("Transfer-Encoding: gzip\r\n").as_bytes(), 400);
}

#[test]
fn bad_chunks_are_400() {
    let server = Server::empty();
    let head = head("Transfer-Encoding: chunked\r\n");
    for chunks in [
        "x\r\n",
        "-1\r\n\r\n",
        "2\r\n{}{}\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\n{",
        "2\r\n{}",
        "2;\0\r\n{}\r\n",
    ] {
        refused(&server, format!("{head}{chunks}").as_bytes(), 400);
    }
}

#[test]
fn slow_chunks_are_408() {
    let server = Server::with(Config { body_time: Duration::from_millis(300), ..Config::default() });
    let mut stream = server.connect();
    write!(stream, "{}", head("Transfer-Encoding: chunked\r\n")).unwrap();
    for _ in 0..20 {
        // Each chunk is in time, all of them together are not.
        if write!(stream, "1\r\n \r\n").is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(30));
    }
    read_answer(&mut stream).fails(408, "0.3 s");
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn a_refusal_comes_after_the_answers_before_it() {
    let server = Server::empty();
    let body = question("a", "b", "c").to_string();
    let good = format!("{}{body}", head(&format!("Content-Length: {}\r\n", body.len())));
    let mut stream = server.connect();
    stream.write_all(format!("{good}{good}nonsense\r\n\r\n{good}").as_bytes()).unwrap();
    for _ in 0..2 {
        read_answer(&mut stream).is(200, &json!({ "allowed": false }));
    }
    read_answer(&mut stream).fails(400, "not valid HTTP");
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.is_empty(), "nothing is answered behind what could not be read");
}

#[test]
fn an_error_does_not_end_a_connection() {
    let server = Server::empty();
    let mut stream = server.connect();
    let body = question("a", "b", "c").to_string();
    let good = format!("{}{body}", head(&format!("Content-Length: {}\r\n", body.len())));
    let malformed = format!("{}{{\"a\":", head("Content-Length: 5\r\n"));
    let nowhere = "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let method = "PUT /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(format!("{malformed}{nowhere}{method}{good}").as_bytes()).unwrap();
    for status in [400, 404, 405] {
        let answer = read_answer(&mut stream);
        assert_eq!(answer.status, status);
        assert!(!answer.message().is_empty());
    }
    read_answer(&mut stream).is(200, &json!({ "allowed": false }));
}

#[test]
fn a_client_of_http_1_0_is_answered_and_disconnected() {
    let server = Server::empty();
    let body = question("a", "b", "c").to_string();
    let request = head(&format!("Content-Length: {}\r\n", body.len())).replace("HTTP/1.1", "HTTP/1.0");
    let mut stream = server.connect();
    stream.write_all(format!("{request}{body}").as_bytes()).unwrap();
    read_answer(&mut stream).is(200, &json!({ "allowed": false }));
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn a_declared_length_over_the_limit_is_413_before_the_body() {
    let server = Server::empty();
    let mut stream = server.connect();
    // The client waits for leave to send, and is told at once that it will not get it.
    stream.write_all(head("Content-Length: 99999999999\r\nExpect: 100-continue\r\n").as_bytes()).unwrap();
    read_answer(&mut stream).fails(413, "10485760 bytes");
    assert_eq!(server.get("/health").status, 200);
}
