//! What the process does when it is sent a signal.

use super::service::{question, role, with_policy};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::program::Service;
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

#[test]
fn a_request_that_was_begun_is_answered_before_the_end() {
    for signal in ["TERM", "INT"] {
        let mut service = with_policy(&[]);
        let address = service.caller.address();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let body = role("a", "reader", "b").to_string();
        let (begin, end) = body.split_at(10);
        write!(
            stream,
            "POST /api/facts HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {DEVELOPMENT_KEY}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{begin}",
            body.len()
        )
        .unwrap();
        std::thread::sleep(Duration::from_millis(200));
        service.program.signal(signal);
        std::thread::sleep(Duration::from_millis(300));
        assert!(
            service.program.runs() && TcpStream::connect(address).is_err(),
            "it accepts nothing and waits"
        );
        stream.write_all(end.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert!(service.program.ended().success());
    }
}

/// Also with long questions and uploads under way.
#[test]
fn a_stop_takes_no_longer_than_it_may() {
    let service =
        Service::develop(&["--shutdown-time", "4", "--query-time", "60", "--policy-test-time", "60"]);
    let slow = "slow(x: Integer) if n(x) and n(y) and n(z) and x < y and y < z and z < x;";
    let setup = (0..40).map(|n| format!("n({n});")).collect::<Vec<_>>().join(" ");
    let asserted = " assert_not slow(1);".repeat(20);
    let tests: Vec<String> =
        (0..1_000).map(|n| format!("test \"{n}\" {{ setup {{ {setup} }}{asserted} }}\n")).collect();
    let tests = tests.concat();
    let tested = format!("actor User {{}} resource Doc {{}} {slow}\n{tests}");
    assert_eq!(service.post("/api/policy?force=true", &json!({ "src": slow }), &[]), 200);
    let number = |n: u32| json!({ "predicate": "n", "args": [{ "type": "Integer", "id": n.to_string() }] });
    let numbers: Vec<_> = (0..20_000).map(number).collect();
    assert_eq!(service.post("/api/batch", &json!([{ "inserts": numbers }]), &[]), 200);
    let question = json!({ "predicate": ["slow", ["x"]], "constraints": { "x": { "type": "Integer" } } });
    let address = service.caller.address();
    let ask = |path: &str, body: String| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {DEVELOPMENT_KEY}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        stream
    };
    let mut asked: Vec<_> = (0..6).map(|_| ask("/api/evaluate_query", question.to_string())).collect();
    asked.push(ask("/api/policy", json!({ "src": tested }).to_string()));
    std::thread::sleep(Duration::from_secs(1));
    let began = Instant::now();
    service.stop();
    assert!(began.elapsed() < Duration::from_millis(4_500), "{:?}", began.elapsed());
    for mut stream in asked {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer:.400}");
    }
}

#[test]
fn a_hangup_changes_nothing_without_tls() {
    let service = with_policy(&[]);
    service.program.signal("HUP");
    service.program.logs("there is no certificate to reload");
    assert_eq!(service.post("/api/authorize", &question("a", "b"), &[]), 200);
    service.stop();
}

#[test]
fn a_hangup_reads_the_certificate_again() {
    let pem = tempfile::tempdir().unwrap();
    let (cert, key) = (pem.path().join("cert.pem"), pem.path().join("key.pem"));
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(&cert, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let paths = [cert.to_str().unwrap(), key.to_str().unwrap()];
    let mut service = Service::develop(&["--tls-cert", paths[0], "--tls-key", paths[1]]);
    assert!(service.caller.url.starts_with("https://"), "{}", service.caller.url);
    service.program.signal("HUP");
    service.program.logs("the certificate was reloaded");
    fs::write(&key, "").unwrap();
    service.program.signal("HUP");
    service.program.logs("the previous one stays in use");
    assert!(
        service.program.logged().contains("key.pem` contains no private key"),
        "{}",
        service.program.logged()
    );
    assert!(service.program.runs());
    service.stop();
}
