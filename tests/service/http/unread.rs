//! Answers that are ready before the body has arrived: the connection stays usable, or the answer says that
//! it does not.

use super::connections::wire;
use super::keys::{key, serving};
use portcullis::config::Config;
use portcullis::http::DEVELOPMENT_KEY;
use portcullis::store::Access;
use portcullis_testkit::server::{Server, count};
use portcullis_testkit::wire::{Answer, read_answer};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::num::NonZeroU32;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Up to how many bytes are read for the sake of the connection.
const MOST: usize = 64 * 1024;

/// Between a head and its body, in milliseconds.
const PAUSES: [u64; 4] = [0, 1, 5, 40];

/// Sends a head, and after a pause its body.
fn send_apart(stream: &mut TcpStream, whole: &str, pause: u64) {
    let (head, body) = whole.split_at(whole.find("\r\n\r\n").unwrap() + 4);
    stream.write_all(head.as_bytes()).unwrap();
    sleep(Duration::from_millis(pause));
    stream.write_all(body.as_bytes()).unwrap();
}

/// Checks that the connection answers a further request.
fn is_usable(stream: &mut TcpStream, refused: &Answer, status: u16) {
    assert_eq!(refused.header("connection"), None, "{}", refused.text);
    stream.write_all(wire("GET", "/health", "").as_bytes()).unwrap();
    assert_eq!(read_answer(stream).status, status);
}

/// Checks that the answer announces the end of the connection, and that the end comes.
fn is_last(stream: &mut TcpStream, refused: &Answer) {
    assert_eq!(refused.header("connection"), Some("close"), "{}", refused.text);
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
}

/// A request of nobody.
fn unknown(body: &str) -> String {
    wire("POST", "/api/authorize", body).replace("Bearer e_", "Bearer x_")
}

#[test]
fn a_request_that_is_refused_before_its_body_arrives_does_not_cost_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let (_, reading) = key(&folder, Access::ReadOnly);
    let common = serving(folder);
    let small = Server::with(Config { max_body: 1000, ..Config::default() });
    let one = NonZeroU32::new(1);
    let rare = Server::with(Config { rate_limit: one, rate_burst: one, ..Config::default() });
    assert_eq!(rare.get("/api/policy").status, 200);
    let full = Server::full(Config::default());
    let body = " ".repeat(1200);
    let batch = wire("POST", "/api/batch", &body);
    for (server, request, status) in [
        (&common, unknown(&body), 401),
        (&common, batch.replace(DEVELOPMENT_KEY, &reading), 403),
        (&common, wire("POST", "/api/nothing", &body), 404),
        (&common, wire("POST", "/api/stats", &body), 405),
        (&common, batch.replace("application/json", "text/plain"), 415),
        (&common, wire("GET", "/health", &body), 200),
        (&small, batch.clone(), 413),
        (&rare, batch.clone(), 429),
        (&full, batch.clone(), 503),
    ] {
        let mut stream = server.connect();
        let next = if status == 503 { 503 } else { 200 };
        for pause in PAUSES.repeat(3) {
            // The rate allows a request each second, whichever it is.
            let answer = loop {
                send_apart(&mut stream, &request, pause);
                let answer = read_answer(&mut stream);
                if status != 429 || answer.status != 400 {
                    break answer;
                }
            };
            assert_eq!(answer.status, status, "{pause}: {}", answer.text);
            is_usable(&mut stream, &answer, next);
        }
    }
}

#[test]
fn a_small_body_in_chunks_is_read_too_and_a_large_one_is_not() {
    let server = Server::empty();
    let head = unknown("").replace("Content-Length: 0", "Transfer-Encoding: chunked");
    for pause in PAUSES {
        let mut stream = server.connect();
        send_apart(&mut stream, &format!("{head}2\r\n[]\r\n0\r\n\r\n"), pause);
        let answer = read_answer(&mut stream);
        assert_eq!(answer.status, 401);
        is_usable(&mut stream, &answer, 200);
    }
    let mut stream = server.connect();
    let n = MOST + 1;
    write!(stream, "{head}{n:x}\r\n{}\r\n", " ".repeat(n)).unwrap();
    let answer = read_answer(&mut stream);
    assert_eq!(answer.status, 401);
    is_last(&mut stream, &answer);
}

#[test]
fn a_large_body_is_announced_as_unread_at_once() {
    let server = Server::empty();
    let most = unknown(&" ".repeat(MOST));
    let mut stream = server.connect();
    send_apart(&mut stream, &most, 5);
    let answer = read_answer(&mut stream);
    assert_eq!(answer.status, 401);
    is_usable(&mut stream, &answer, 200);

    let more = unknown(&" ".repeat(MOST + 1));
    let mut stream = server.connect();
    stream.write_all(&more.as_bytes()[..more.len() - MOST - 1]).unwrap();
    let began = Instant::now();
    let answer = read_answer(&mut stream);
    assert!(began.elapsed() < Duration::from_millis(900), "{:?}", began.elapsed());
    assert_eq!(answer.status, 401);
    is_last(&mut stream, &answer);
}

/// The size of a body does not matter once it has been read.
#[test]
fn a_large_body_that_was_read_and_is_wrong_leaves_the_connection_usable() {
    let server = Server::empty();
    let mut stream = server.connect();
    send_apart(&mut stream, &wire("POST", "/api/batch", &"[".repeat(3 * MOST)), 5);
    let answer = read_answer(&mut stream);
    assert_eq!(answer.status, 400);
    is_usable(&mut stream, &answer, 200);
}

#[test]
fn a_body_that_never_comes_costs_a_bounded_time() {
    let server = Server::empty();
    let whole = unknown("[1, 2, 3]");
    for n_missing in [9, 1] {
        let mut stream = server.connect();
        stream.write_all(&whole.as_bytes()[..whole.len() - n_missing]).unwrap();
        let began = Instant::now();
        let answer = read_answer(&mut stream);
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        assert_eq!(answer.status, 401);
        is_last(&mut stream, &answer);
    }
}

/// Strangers that send heads without bodies keep nobody out.
#[test]
fn a_connection_whose_body_is_awaited_in_vain_gives_way() {
    let server = Server::with(Config { max_connections: count(4), ..Config::default() });
    let whole = unknown("[1, 2, 3]");
    let mut strangers: Vec<TcpStream> = (0..4).map(|_| server.connect()).collect();
    for stream in &mut strangers {
        stream.write_all(&whole.as_bytes()[..whole.len() - 9]).unwrap();
    }
    sleep(Duration::from_millis(100));
    let began = Instant::now();
    assert_eq!(server.get("/health").status, 200);
    assert!(began.elapsed() < Duration::from_millis(600), "{:?}", began.elapsed());
    let answers = strangers.iter_mut().map(read_answer);
    assert!(
        answers
            .into_iter()
            .all(|answer| (answer.status, answer.header("connection")) == (401, Some("close")))
    );
}
