//! Traces: what a collector of OpenTelemetry is sent.

use super::collector::{Sent, collector};
use super::service::{question, role, with_policy};
use serde_json::json;
use std::net::TcpListener;
use std::time::Duration;

#[test]
fn a_collector_is_sent_a_span_a_request_and_nothing_of_its_ids() {
    let (address, received) = collector();
    let service = with_policy(&["--otlp-endpoint", &address]);
    let trace = [("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")];
    let asked = question("ada-lovelace", "engine-notes");
    assert_eq!(service.post("/api/authorize", &asked, &trace), 200);
    let fact = role("ada-lovelace", "reader", "engine-notes");
    assert_eq!(service.post("/api/facts", &fact, &[("X-Request-ID", "req-9")]), 200);
    service.stop();

    let mut bodies = Vec::new();
    while let Ok(Sent { head, body }) = received.recv_timeout(Duration::from_secs(2)) {
        assert!(head.starts_with("post /v1/traces http/1.1\r\n"), "{head}");
        assert!(head.contains("content-type: application/x-protobuf\r\n"), "{head}");
        bodies.extend(body);
    }
    let holds = |part: &[u8]| bodies.windows(part.len()).any(|window| window == part);
    for part in [
        "service.name",
        "portcullis",
        "POST /api/authorize",
        "POST /api/facts",
        "http.route",
        "http.response.status_code",
        "environment",
        "0123456789",
        "req-9",
    ] {
        assert!(holds(part.as_bytes()), "no {part} in {}", String::from_utf8_lossy(&bodies));
    }
    let callers_trace =
        [0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c];
    assert!(holds(&callers_trace), "the span belongs to the caller's trace");
    for secret in ["ada-lovelace", "engine-notes", "osotesttoken"] {
        assert!(!holds(secret.as_bytes()), "{secret}");
    }
}

#[test]
fn a_collector_that_is_not_there_costs_no_answer() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let service = with_policy(&["--otlp-endpoint", &format!("http://{free}")]);
    assert_eq!(service.post("/api/authorize", &question("a", "b"), &[]), 200);
    assert_eq!(service.post("/api/expect", &json!({}), &[]), 400);
    service.stop();
}
