//! Encrypted connections and passwords, on a server with a certificate.

use super::{Server, store, text};
use std::sync::LazyLock;

/// A server that asks for passwords, with a certificate for `localhost`.
static ENCRYPTED: LazyLock<(Server, String)> = LazyLock::new(|| {
    let server = Server::start();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let admin = server.address("postgres", "postgres");
    let folder = format!("{}/data", server.cluster.folder);
    write(&admin, &format!("{folder}/server.crt"), &made.cert.pem());
    write(&admin, &format!("{folder}/server.key"), &made.signing_key.serialize_pem());
    let rules = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n";
    write(&admin, &format!("{folder}/pg_hba.conf"), rules);
    super::sql(&admin, "CREATE ROLE ada LOGIN PASSWORD 'open sesame'");
    super::sql(&admin, "CREATE DATABASE vault OWNER ada");
    super::sql(&admin, "ALTER SYSTEM SET ssl = on");
    super::sql(&admin, "SELECT pg_reload_conf()");
    // The server reloads a moment later.
    while text(&admin, "SHOW ssl") != "on" {}
    (server, made.cert.pem())
});

/// Lets the server write a file: only its own user may own the key.
fn write(admin: &str, file: &str, content: &str) {
    let lines = format!("SELECT unnest(string_to_array($text${}$text$, E'\\n'))", content.trim_end());
    super::sql(admin, &format!("COPY ({lines}) TO PROGRAM 'umask 077; cat > {file}'"));
}

fn url(password: &str, host: &str, options: &str) -> String {
    format!("postgres://ada:{password}@{host}:{}/vault?{options}", ENCRYPTED.0.port)
}

#[test]
fn a_password_over_an_encrypted_connection_opens_the_store() {
    for mode in ["prefer", "require"] {
        let (code, _, err) =
            store(&["migrate", &url("open%20sesame", "127.0.0.1", &format!("sslmode={mode}"))]);
        assert_eq!((code, err.as_str()), (0, ""), "{mode}");
    }
    let (_, out, _) = store(&["check", &url("open%20sesame", "127.0.0.1", "")]);
    assert!(out.contains("good     encryption: the connection is encrypted\n"), "{out}");
}

#[test]
fn a_wrong_password_is_refused() {
    let (code, _, err) = store(&["migrate", &url("s3cret", "127.0.0.1", "")]);
    assert_eq!(code, 1);
    assert!(
        err.contains("refuses the login: password authentication failed for user \"ada\"; check"),
        "{err}"
    );
    let (_, _, err) = store(&["migrate", &format!("postgres://ada@127.0.0.1:{}/vault", ENCRYPTED.0.port)]);
    assert!(err.contains("refuses the login: "), "{err}");
}

#[test]
fn only_a_certificate_that_is_trusted_for_the_name_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string().replace('/', "%2F")
    };
    let full = |host: &str, root: &str| {
        let options = format!("sslmode=verify-full&sslrootcert={root}");
        store(&["migrate", &url("open%20sesame", host, &options)])
    };
    let ours = file("ca.pem", &ENCRYPTED.1);
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap().cert.pem();
    assert_eq!(full("localhost", &ours).0, 0);
    for (host, root) in
        [("127.0.0.1", ours), ("localhost", file("other.pem", &other)), ("localhost", "system".into())]
    {
        let (code, _, err) = full(host, &root);
        assert_eq!(code, 1, "{host} {root}");
        assert!(err.starts_with("error: cannot encrypt the connection to "), "{err}");
        assert!(
            err.ends_with(
                "; check the server's certificate, and `sslmode` and `sslrootcert` of the address\n"
            )
        );
    }
    let (code, _, err) = full("localhost", &file("empty.pem", ""));
    assert!(code == 2 && err.contains("it contains no certificate"), "{err}");
}

#[test]
fn a_server_that_cannot_encrypt_is_refused_where_that_is_demanded() {
    let url = format!("{}?sslmode=require", super::SERVER.remote("postgres", "postgres"));
    let (code, _, err) = store(&["migrate", &url]);
    assert_eq!(code, 1);
    assert!(
        err.contains("server does not support TLS; check the server's certificate, and `sslmode`"),
        "{err}"
    );
}
