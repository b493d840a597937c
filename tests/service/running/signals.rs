//! What the process does when it is sent a signal.

use super::service::{DEVELOPMENT_KEY, Service, question, role};
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

#[test]
fn a_request_that_was_begun_is_answered_before_the_end() {
    for signal in ["TERM", "INT"] {
        let mut service = Service::with_policy(&[]);
        let address = service.base.strip_prefix("http://").unwrap().to_owned();
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let body = role("a", "reader", "b").to_string();
        let (begin, end) = body.split_at(10);
        write!(
            stream,
            "POST /api/facts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {DEVELOPMENT_KEY}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{begin}",
            body.len()
        )
        .unwrap();
        std::thread::sleep(Duration::from_millis(200));
        service.signal(signal);
        std::thread::sleep(Duration::from_millis(300));
        assert!(service.runs() && TcpStream::connect(&address).is_err(), "it accepts nothing and waits");
        stream.write_all(end.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert!(service.ended().success());
    }
}

/// Also with long questions and uploads under way.
#[test]
fn a_stop_takes_no_longer_than_it_may() {
    let mut service =
        Service::start(&["--shutdown-time", "4", "--query-time", "60", "--policy-test-time", "60"]);
    let slow = "slow(x: Integer) if n(x) and n(y) and n(z) and x < y and y < z and z < x;";
    let setup = (0..40).map(|n| format!("n({n});")).collect::<Vec<_>>().join(" ");
    let asserted = " assert_not slow(1);".repeat(20);
    let tests: Vec<String> =
        (0..1_000).map(|n| format!("test \"{n}\" {{ setup {{ {setup} }}{asserted} }}\n")).collect();
    let tests = tests.concat();
    let tested = format!("actor User {{}} resource Doc {{}} {slow}\n{tests}");
    assert_eq!(service.post("/api/policy?force=true", DEVELOPMENT_KEY, &json!({ "src": slow }), &[]), 200);
    let number = |n: u32| json!({ "predicate": "n", "args": [{ "type": "Integer", "id": n.to_string() }] });
    let numbers: Vec<_> = (0..20_000).map(number).collect();
    assert_eq!(service.post("/api/batch", DEVELOPMENT_KEY, &json!([{ "inserts": numbers }]), &[]), 200);
    let question = json!({ "predicate": ["slow", ["x"]], "constraints": { "x": { "type": "Integer" } } });
    let address = service.base.strip_prefix("http://").unwrap().to_owned();
    let ask = |path: &str, body: String| {
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {DEVELOPMENT_KEY}\r\n\
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
    assert!(service.stop().success());
    assert!(began.elapsed() < Duration::from_millis(4_500), "{:?}", began.elapsed());
    for mut stream in asked {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer:.400}");
    }
}

#[test]
fn a_hangup_changes_nothing_without_tls() {
    let mut service = Service::with_policy(&[]);
    service.signal("HUP");
    service.logs("there is no certificate to reload");
    assert_eq!(service.post("/api/authorize", DEVELOPMENT_KEY, &question("a", "b"), &[]), 200);
    assert!(service.stop().success());
}

#[test]
fn a_hangup_reads_the_certificate_again() {
    let pem = tempfile::tempdir().unwrap();
    let (cert, key) = (pem.path().join("cert.pem"), pem.path().join("key.pem"));
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(&cert, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let paths = [cert.to_str().unwrap(), key.to_str().unwrap()];
    let mut service = Service::start(&["--tls-cert", paths[0], "--tls-key", paths[1]]);
    assert!(service.base.starts_with("https://"), "{}", service.base);
    service.signal("HUP");
    service.logs("the certificate was reloaded");
    fs::write(&key, "").unwrap();
    service.signal("HUP");
    service.logs("the previous one stays in use");
    assert!(service.log().contains("key.pem` contains no private key"), "{}", service.log());
    assert!(service.runs() && service.stop().success());
}
