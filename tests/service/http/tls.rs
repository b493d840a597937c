//! The same service over TLS: what held for plain connections holds for these.

use super::connections::wire;
use portcullis::config::Config;
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::server::{Server, count};
use portcullis_testkit::wire::{bearer, fact_json, question, read_answer, try_read_answer};
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

type Secure = StreamOwned<ClientConnection, TcpStream>;

/// A server that speaks TLS with a certificate made for it.
struct SecureServer {
    server: Server,
    pem: tempfile::TempDir,
}

/// Writes a fresh certificate for `localhost` and its key.
fn certify(folder: &Path) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
    fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
}

impl SecureServer {
    fn with(config: Config) -> Self {
        let pem = tempfile::tempdir().unwrap();
        certify(pem.path());
        let (tls_cert, tls_key) = (Some(pem.path().join("cert.pem")), Some(pem.path().join("key.pem")));
        Self { server: Server::with(Config { tls_cert, tls_key, ..config }), pem }
    }

    /// A connection that trusts the certificate that lies in the folder now.
    fn connect(&self) -> Secure {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.pem.path().join("cert.pem")).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(
            tokio_rustls::rustls::crypto::ring::default_provider(),
        ));
        let config = builder.with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        StreamOwned::new(connection, self.server.connect())
    }

    /// The status of a request on a connection of its own.
    fn asked(&self, method: &str, path: &str, body: &str) -> u16 {
        let mut stream = self.connect();
        stream.write_all(wire(method, path, body).as_bytes()).unwrap();
        read_answer(&mut stream).status
    }
}

#[test]
fn a_secure_connection_answers_many_requests() {
    let server = SecureServer::with(Config::default());
    let policy = json!({ "src": portcullis_testkit::server::POLICY }).to_string();
    assert_eq!(server.asked("POST", "/api/policy", &policy), 200);
    let mut stream = server.connect();
    for i in 0..50 {
        let fact = fact_json(&["is_public", &format!("Repo:{i}")]);
        stream.write_all(wire("POST", "/api/facts", &fact.to_string()).as_bytes()).unwrap();
        read_answer(&mut stream).is(200, &fact);
        let asked = question("ada", "read", &i.to_string()).to_string();
        stream.write_all(wire("POST", "/api/authorize", &asked).as_bytes()).unwrap();
        read_answer(&mut stream).is(200, &json!({ "allowed": true }));
    }
}

#[test]
fn a_failed_handshake_is_refused_and_counted() {
    let metrics_listen = Some("127.0.0.1:0".parse().unwrap());
    let server = SecureServer::with(Config { metrics_listen, ..Config::default() });
    let mut plain = server.server.connect();
    plain.write_all(wire("GET", "/health", "").as_bytes()).unwrap();
    let mut rest = Vec::new();
    let _ = plain.read_to_end(&mut rest);
    assert!(!rest.starts_with(b"HTTP"), "{rest:?}");
    assert_eq!(server.asked("GET", "/health", ""), 200);
    // The service counts the failure after it has closed the connection.
    let began = Instant::now();
    while !metrics(&server).contains("portcullis_tls_handshake_failures_total 1\n") {
        assert!(began.elapsed() < Duration::from_secs(10), "{}", metrics(&server));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What the service counts, over its address for metrics.
fn metrics(server: &SecureServer) -> String {
    let mut stream = TcpStream::connect(server.server.metrics.unwrap()).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    read_answer(&mut stream).text
}

#[test]
fn a_slow_handshake_holds_nothing() {
    let server = SecureServer::with(Config {
        header_time: Duration::from_millis(300),
        max_connections: count(4),
        ..Config::default()
    });
    // All seats are taken: two say nothing, two begin a handshake and leave it there.
    let mut slow: Vec<TcpStream> = (0..4).map(|_| server.server.connect()).collect();
    for stream in &mut slow[..2] {
        stream.write_all(b"\x16\x03\x01\x02\x00\x01\x00").unwrap();
    }
    let began = Instant::now();
    assert_eq!(server.asked("GET", "/health", ""), 200);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    for mut stream in slow {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
}

#[test]
fn a_client_that_does_not_read_holds_nothing() {
    let config =
        Config { answer_time: Duration::from_millis(300), max_connections: count(1), ..Config::default() };
    let server = SecureServer::with(config);
    let policy = json!({ "src": portcullis_testkit::server::POLICY }).to_string();
    assert_eq!(server.asked("POST", "/api/policy", &policy), 200);
    let facts: Vec<_> = (0..20_000).map(|i| fact_json(&["is_public", &format!("Repo:{i:064}")])).collect();
    assert_eq!(server.asked("POST", "/api/bulk_load", &json!(facts).to_string()), 200);

    let mut deaf = server.connect();
    deaf.write_all(wire("GET", "/api/facts", "").repeat(20).as_bytes()).unwrap();
    let began = Instant::now();
    assert_eq!(server.asked("GET", "/health", ""), 200);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    drop(deaf);
}

/// The answer is ready long before the body is, and must not be lost with it.
#[test]
fn an_early_answer_survives_the_body_that_follows_it() {
    let server = SecureServer::with(Config::default());
    let mut stream = server.connect();
    let head = format!(
        "POST /api/batch HTTP/1.1\r\nHost: localhost\r\n{}\r\nContent-Type: application/json\r\nContent-Length: 20000000\r\n\r\n",
        bearer(DEVELOPMENT_KEY)
    );
    stream.write_all(head.as_bytes()).unwrap();
    for _ in 0..400 {
        if stream.write_all(&[b' '; 10_000]).is_err() {
            break;
        }
    }
    read_answer(&mut stream).fails(413, "10485760");
}

#[test]
fn a_reloaded_certificate_is_that_of_the_next_connection() {
    let server = SecureServer::with(Config::default());
    let mut before = server.connect();
    before.write_all(wire("GET", "/health", "").as_bytes()).unwrap();
    assert_eq!(read_answer(&mut before).status, 200);

    certify(server.pem.path());
    let mut unknown = server.connect();
    assert!(unknown.write_all(wire("GET", "/health", "").as_bytes()).is_err(), "still the first certificate");
    server.server.tls.as_ref().unwrap().reload().unwrap();
    assert_eq!(server.asked("GET", "/health", ""), 200);
    before.write_all(wire("GET", "/health", "").as_bytes()).unwrap();
    assert_eq!(read_answer(&mut before).status, 200, "an open connection goes on");
}

#[test]
fn a_shutdown_finishes_secure_requests_and_waits_for_no_handshake() {
    let mut server = SecureServer::with(Config::default());
    let policy = json!({ "src": portcullis_testkit::server::POLICY }).to_string();
    assert_eq!(server.asked("POST", "/api/policy", &policy), 200);
    let idle = server.server.connect();
    let body = json!([{ "inserts": [fact_json(&["is_public", "Repo:a"])] }]).to_string();
    let whole = wire("POST", "/api/batch", &body);
    let (begin, end) = whole.split_at(whole.len() - 5);
    let mut busy = server.connect();
    busy.write_all(begin.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    server.server.begin_stop();
    std::thread::sleep(Duration::from_millis(200));
    busy.write_all(end.as_bytes()).unwrap();
    let answer = try_read_answer(&mut busy).expect("an answer to what was accepted");
    assert_eq!(answer.status, 200, "{}", answer.text);
    let began = Instant::now();
    server.server.finish_stop();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop(idle);
}
