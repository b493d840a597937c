//! No key is kept as it is, and everything that is not a whole key gets the same answer.
//!
//! That a comparison always takes the same time is not measured here: what holds a key's digest has no `==`,
//! which the compiler sees (`src/store/digest.rs`), and no other code can make a digest of a key
//! (`tests/repository/places.rs`).

use portcullis_testkit::program::portcullis;
use portcullis_testkit::program::{Program, Service, key};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Neither kind of key is kept as it is.
#[test]
fn no_key_is_kept_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let key = key(folder.path(), "0123456789");
    let secret = key.rsplit('_').next().unwrap().as_bytes();
    for name in ["store.db", "store.db-wal"] {
        let file = folder.path().join("d/0123456789").join(name);
        let bytes = fs::read(&file).unwrap_or_default();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret), "{name}");
    }
}

/// Every text that is nearly a key gets the one refusal, word by word.
#[test]
fn an_altered_key_is_refused() {
    const FIXED: &str = "e_0123456789_7_a-configured-key-of-some-length";
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let stored = key(folder, "0123456789");
    let other = key(folder, "b");
    let mut command = portcullis(folder);
    command.env("PORTCULLIS_API_KEY", FIXED);
    let service = Program::spawn_as(command, folder, "d", &[]).answering().unwrap();
    let status = |key: &str| service.caller.send(key, "GET /api/stats", &[], None).unwrap();
    let told =
        r#"{"message":"the API key is unknown or was revoked: send another one","code":"unauthorized"}"#;
    let refusal = (401, told.to_owned());
    for whole in [FIXED, &stored, &other] {
        assert_eq!(status(whole).0, 200, "{whole}");
        let parts: Vec<&str> = whole.splitn(4, '_').collect();
        let mut near: Vec<String> = (1..whole.len()).map(|end| whole[..end].to_owned()).collect();
        near.extend((0..whole.len()).map(|at| {
            let mut bytes = whole.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
            String::from_utf8(bytes).unwrap()
        }));
        near.extend((1..4).map(|more| format!("{whole}{}", "0".repeat(more))));
        near.extend([
            whole.to_uppercase(),
            format!("{whole}_"),
            format!("{whole},{whole}"),
            format!("{whole} {whole}"),
            format!("\"{whole}\""),
            parts[..3].join("_"),
            format!("{}_", parts[..3].join("_")),
            format!("e_b_{}_{}", parts[2], parts[3]).replace(&other, "e_b_none"),
            format!("e__{}_{}", parts[2], parts[3]),
            whole.replace("e_", "E_"),
        ]);
        for text in near.into_iter().filter(|text| text != whole) {
            assert_eq!(status(&text), refusal, "{text}");
        }
        assert_eq!(status(whole).0, 200);
    }
    service.stop();
}

/// One key begins more requests than there are places, and never ends them. Another key is still answered.
#[test]
fn a_key_leaves_places_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let (held, free) = (key(folder.path(), "held"), key(folder.path(), "free"));
    let service = Service::start(folder.path(), &["--max-requests", "16"]);
    let address = service.caller.url.strip_prefix("http://").unwrap();
    let head = format!(
        "POST /api/batch HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {held}\r\nContent-Type: application/json\r\n\
         Content-Length: 500\r\n\r\n["
    );
    let begun: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    // The service refuses those beyond the share of the key, and the others wait for their bodies.
    let refused = |mut stream: &TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(1500))).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).is_ok() && answer.ends_with(b"503")
    };
    let n_refused = begun.iter().filter(|stream| refused(stream)).count();
    assert_eq!(n_refused, 32);
    assert_eq!(service.caller.get(&held, "facts").0, 503);
    for _ in 0..20 {
        let (status, answer) = service.caller.get(&free, "facts");
        assert_eq!(status, 200, "{answer}");
    }
    drop(begun);
    service.stop();
}
