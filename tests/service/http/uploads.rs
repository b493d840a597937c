//! An upload has one deadline, and is cancelled when its client disconnects.

use portcullis::config::Config;
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::server::{POLICY, Server};
use portcullis_testkit::wire::{bearer, read_answer};
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A policy whose tests take minutes, of which none takes long.
fn tireless() -> String {
    let mut policy = POLICY.to_owned();
    // Each assertion joins forty facts with themselves, twice.
    policy.push_str("cyclic(x: Integer) if n(x) and n(y) and n(z) and x < y and y < z and z < x;\n");
    let setup = (0..40).map(|n| format!("n({n});")).collect::<Vec<_>>().join(" ");
    let asserted = " assert_not cyclic(1);".repeat(20);
    for n in 0..1_000 {
        let _ = writeln!(policy, "test \"{n}\" {{ setup {{ {setup} }}{asserted} }}");
    }
    policy
}

/// Sends an upload, without waiting for its answer.
fn upload(server: &Server, policy: &str) -> TcpStream {
    let mut stream = server.connect();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let (key, body) = (bearer(DEVELOPMENT_KEY), json!({ "src": policy }).to_string());
    let length = body.len();
    write!(
        stream,
        "POST /api/policy HTTP/1.1\r\nHost: localhost\r\n{key}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    stream
}

#[test]
fn all_tests_of_an_upload_have_one_deadline_and_others_wait_no_longer() {
    let time = Duration::from_secs(3);
    let server = Server::with(Config { policy_test_time: time, ..Config::default() });
    let policy = tireless();
    let began = Instant::now();
    let mut first = upload(&server, &policy);
    std::thread::sleep(time / 4);
    let mut second = upload(&server, &policy);
    std::thread::sleep(time / 4);
    // Its turn would come after both.
    let clear = server.post("/api/clear_data", &json!({}));
    clear.fails(503, "not available");
    assert_eq!(clear.header("retry-after"), Some("1"));
    assert!(began.elapsed() < 2 * time, "{:?}", began.elapsed());
    for upload in [&mut first, &mut second] {
        let refused = read_answer(upload);
        refused.fails(400, "the tests of the policy take longer than 3s");
        assert_eq!(refused.json()["error_type"], "Generic");
    }
    assert!(began.elapsed() < 3 * time, "{:?}", began.elapsed());
    // Nothing of it is left, and what is not run takes no time.
    server.get("/api/policy").is(200, &json!({ "policy": null }));
    assert_eq!(server.post("/api/policy?force=true", &json!({ "src": policy })).status, 200);
}

#[test]
fn an_upload_ends_with_its_client() {
    let server = Server::with(Config { policy_test_time: Duration::from_secs(50), ..Config::default() });
    let policy = tireless();
    for _ in 0..2 {
        drop(upload(&server, &policy));
    }
    let began = Instant::now();
    assert_eq!(server.post("/api/policy", &json!({ "src": POLICY })).status, 200);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}
