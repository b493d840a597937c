//! Collectors of OpenTelemetry, nearby and over TLS, and what they are sent.

use super::service::question;
use portcullis_testkit::program::{Service, portcullis};
use serde_json::{Value as Json, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// One request that a collector was sent: its head and its body.
pub(super) struct Sent {
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

const TAKEN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// A collector that takes everything; it listens until the test ends.
pub(super) fn collector() -> (String, mpsc::Receiver<Sent>) {
    let (address, received) = answering(TAKEN, Some);
    (format!("http://{address}"), received)
}

/// A collector over TLS, whose certificate is in the folder's `collector.pem`.
fn secure_collector(folder: &Path) -> (String, mpsc::Receiver<Sent>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(folder.join("collector.pem"), made.cert.pem()).unwrap();
    let certificate = CertificateDer::from_pem_slice(made.cert.pem().as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(made.signing_key.serialize_pem().as_bytes()).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(builder.with_single_cert(vec![certificate], key).unwrap());
    let (address, received) = answering(TAKEN, move |stream| {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        Some(StreamOwned::new(connection, stream))
    });
    (format!("https://localhost:{}", address.port()), received)
}

/// A collector with this answer to everything.
fn answering<S: Read + Write>(
    answer: &'static str,
    accept: impl Fn(TcpStream) -> Option<S> + Send + 'static,
) -> (std::net::SocketAddr, mpsc::Receiver<Sent>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().filter_map(|stream| accept(stream.unwrap())) {
            while let Some(sent) = take(&mut stream) {
                let _ = sender.send(sent);
                stream.write_all(answer.as_bytes()).and_then(|()| stream.flush()).unwrap();
            }
        }
    });
    (address, received)
}

fn take(stream: &mut impl Read) -> Option<Sent> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).ok()?;
    Some(Sent { head, body })
}

/// A service with these variables and this setting.
fn service(variables: &[(&str, &str)], flags: &[&str]) -> Service {
    let folder = tempfile::tempdir().unwrap();
    let mut command = portcullis(folder.path());
    command.envs(variables.iter().copied());
    Service::develop_as(command, folder, "d", flags).unwrap()
}

#[test]
fn a_collector_over_tls_gets_the_decisions_and_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let (url, received) = secure_collector(folder.path());
    let trusted = folder.path().join("collector.pem");
    let variables = [
        ("PORTCULLIS_DECISION_LOG_HEADERS", "api-key=hush%2Chush, tenant=blue"),
        ("SSL_CERT_FILE", trusted.to_str().unwrap()),
    ];
    let service = service(&variables, &["--decision-log-endpoint", &url, "--log", "debug"]);
    assert_eq!(service.post("/api/authorize", &question("ada", "docs"), &[]), 200);
    let Sent { head, body } = received.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(head.starts_with("post /v1/logs http/1.1\r\n"), "{head}");
    assert!(head.contains("\r\napi-key: hush,hush\r\n") && head.contains("\r\ntenant: blue\r\n"), "{head}");
    let sent: Json = serde_json::from_slice(&body).unwrap();
    let record = &sent["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
    let line: Json = serde_json::from_str(record["body"]["stringValue"].as_str().unwrap()).unwrap();
    assert_eq!(line["actor"], json!({ "type": "User", "id": "ada" }));
    let logged = service.stop();
    assert!(!logged.contains("hush"), "the key is in the log: {logged}");
}

#[test]
fn traces_go_over_tls_too() {
    let folder = tempfile::tempdir().unwrap();
    let (url, received) = secure_collector(folder.path());
    let trusted = folder.path().join("collector.pem");
    let variables =
        [("OTEL_EXPORTER_OTLP_HEADERS", "api-key=hush"), ("SSL_CERT_FILE", trusted.to_str().unwrap())];
    let service = service(&variables, &["--otlp-endpoint", &url, "--log", "debug"]);
    assert_eq!(service.post("/api/authorize", &question("ada", "docs"), &[]), 200);
    let logged = service.stop();
    let Sent { head, .. } = received.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(head.starts_with("post /v1/traces http/1.1\r\n"), "{head}");
    assert!(head.contains("\r\napi-key: hush\r\n"), "{head}");
    assert!(!logged.contains("hush"), "the key is in the log: {logged}");
}

#[test]
fn a_collector_whose_certificate_is_not_trusted_gets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (url, received) = secure_collector(folder.path());
    let variables = [("PORTCULLIS_DECISION_LOG_HEADERS", "api-key=hush")];
    let service = service(&variables, &["--decision-log-endpoint", &url]);
    assert_eq!(service.post("/api/authorize", &question("ada", "docs"), &[]), 200);
    service.program.logs("cannot send decisions to the collector");
    assert!(received.try_recv().is_err());
}

#[test]
fn decisions_are_not_sent_where_a_collector_redirects() {
    let (elsewhere, stolen) = collector();
    let redirect =
        format!("HTTP/1.1 307 Moved\r\nLocation: {elsewhere}/v1/logs\r\nContent-Length: 0\r\n\r\n");
    let (address, received) = answering(redirect.leak(), Some);
    let variables = [("PORTCULLIS_DECISION_LOG_HEADERS", "api-key=hush")];
    let service = service(&variables, &["--decision-log-endpoint", &format!("http://{address}")]);
    assert_eq!(service.post("/api/authorize", &question("ada", "docs"), &[]), 200);
    service.program.logs("the collector answers 307 Temporary Redirect");
    assert!(received.try_recv().is_ok());
    assert!(stolen.try_recv().is_err());
}

#[test]
fn headers_of_a_collector_are_secret() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p.toml"), "decision_log_headers = \"api-key=hush, b=hush\"\n").unwrap();
    let run = |args: &[&str]| {
        let run = portcullis(folder.path()).args(args).args(["--config", "p.toml"]).output().unwrap();
        String::from_utf8([run.stdout, run.stderr].concat()).unwrap()
    };
    let shown = run(&["config", "show"]);
    let row = shown.lines().find(|line| line.trim_start().starts_with("decision_log_headers")).unwrap();
    assert!(row.contains("(2 set)") && row.contains("p.toml:1"), "{row}");
    assert!(!shown.contains("hush"), "{shown}");
    let refused = run(&["serve", "--decision-log-headers", "api-key=hush"]);
    assert!(refused.contains("unexpected argument '--decision-log-headers'"), "{refused}");
    fs::write(folder.path().join("p.toml"), "decision_log_headers = \"hush\"\n").unwrap();
    let began = Instant::now();
    let refused = run(&["serve"]);
    assert!(refused.contains("`(secret)` is not a value of `decision_log_headers`"), "{refused}");
    assert!(!refused.contains("hush") && began.elapsed() < Duration::from_secs(10), "{refused}");
}
