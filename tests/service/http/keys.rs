//! Keys open their environment, as far as they may, until they are revoked.

use portcullis::config::{Config, Secret};
use portcullis::http::{DEFAULT_ENVIRONMENT, DEVELOPMENT_KEY};
use portcullis::store::{Access, Store, StoreOptions};
use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{bearer, question};
use serde_json::json;
use tempfile::TempDir;

/// Does something with the store of a folder that no server has open.
fn with_store<T>(folder: &TempDir, work: impl AsyncFnOnce(Store) -> T) -> T {
    let store = Store::open(folder.path(), &StoreOptions::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work(store))
}

/// A fresh key of the default environment: its id and its text.
pub(super) fn key(folder: &TempDir, access: Access) -> (String, String) {
    let made = with_store(folder, async |store| {
        store.create_key(DEFAULT_ENVIRONMENT.to_owned(), "test".to_owned(), access).await.unwrap()
    });
    (made.key.id, made.text)
}

/// A server in development mode over a folder.
pub(super) fn serving(folder: TempDir) -> Server {
    Server::over(Config { dev: true, ..Config::default() }, folder)
}

fn status(server: &Server, authorization: &str, path: &str) -> u16 {
    let headers = [authorization, "Content-Type: application/json"];
    let answer = server.send("POST", path, &headers, question("ada", "read", "a").to_string().as_bytes());
    if answer.status != 200 {
        assert!(!answer.message().is_empty());
    }
    answer.status
}

#[test]
fn a_missing_or_unknown_key_is_401() {
    let folder = tempfile::tempdir().unwrap();
    let (_, text) = key(&folder, Access::ReadWrite);
    let server = serving(folder);
    assert_eq!(status(&server, &bearer(&text), "/api/authorize"), 200);
    let wrong_secret = format!("{text}0");
    let wrong_environment = text.replace(DEFAULT_ENVIRONMENT, "9876543210");
    for authorization in [
        "X-Nothing: x",
        "Authorization: Bearer",
        "Authorization: Bearer ",
        "Authorization: Bearer wrong",
        "Authorization: Bearer e_0123456789_12345_osotesttoken01xiInX",
        "Authorization: Digest e_0123456789_12345_osotesttoken01xiIn",
        "Authorization: e_0123456789_12345_osotesttoken01xiIn",
        &bearer(&wrong_secret),
        &bearer(&wrong_environment),
        &bearer(&"_".repeat(1000)),
        &bearer("ключ"),
    ] {
        assert_eq!(status(&server, authorization, "/api/authorize"), 401, "{authorization}");
    }
    let answer = server.send("GET", "/api/policy", &[], b"");
    answer.fails(401, "API key");
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
}

#[test]
fn both_schemes_carry_a_key() {
    let server = Server::start();
    for scheme in ["Bearer", "bearer", "Basic"] {
        let header = format!("Authorization: {scheme} {DEVELOPMENT_KEY}");
        assert_eq!(status(&server, &header, "/api/authorize"), 200, "{scheme}");
    }
}

#[test]
fn the_key_is_checked_before_the_body_is_read() {
    let server = Server::start();
    // Far too large, of the wrong type, and malformed: none of it matters yet.
    let answer = server.send("POST", "/api/batch", &["Content-Type: text/plain"], &vec![b'{'; 11 << 20]);
    answer.fails(401, "API key");
}

#[test]
fn a_read_only_key_asks_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (_, text) = key(&folder, Access::ReadOnly);
    let server = serving(folder);
    let policy = json!({ "src": portcullis_testkit::server::POLICY });
    assert_eq!(server.post("/api/policy", &policy).status, 200);
    assert_eq!(status(&server, &bearer(&text), "/api/authorize"), 200);
    for (method, path) in [
        ("POST", "/api/batch"),
        ("POST", "/api/bulk"),
        ("POST", "/api/bulk_load"),
        ("POST", "/api/bulk_delete"),
        ("POST", "/api/facts"),
        ("DELETE", "/api/facts"),
        ("POST", "/api/clear_data"),
        ("POST", "/api/policy"),
    ] {
        let headers = [&*bearer(&text), "Content-Type: application/json"];
        server.send(method, path, &headers, b"[]").fails(403, "read-only");
    }
    // A question that lacks what its endpoint needs, which is looked at once the key has passed.
    for path in [
        "authorize_query",
        "list_query",
        "list_subjects_query",
        "actions_query",
        "evaluate_query_local",
        "explain_query",
        "why_query",
        "review",
    ] {
        assert_eq!(status(&server, &bearer(&text), &format!("/api/{path}")), 400, "{path}");
        assert_eq!(status(&server, &bearer("wrong"), &format!("/api/{path}")), 401, "{path}");
    }
    for path in ["list_subjects", "explain"] {
        assert_eq!(status(&server, &bearer(&text), &format!("/api/{path}")), 200, "{path}");
        assert_eq!(status(&server, &bearer("wrong"), &format!("/api/{path}")), 401, "{path}");
    }
    assert_eq!(status(&server, &bearer(&text), "/api/expect"), 400);
    for path in ["/api/policy", "/api/facts", "/api/stats", "/api/policy_metadata"] {
        assert_eq!(server.send("GET", path, &[&bearer(&text)], b"").status, 200, "{path}");
    }
}

#[test]
fn a_revoked_key_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (id, text) = key(&folder, Access::ReadWrite);
    let (_, other) = key(&folder, Access::ReadWrite);
    let server = serving(folder);
    assert_eq!(status(&server, &bearer(&text), "/api/authorize"), 200);
    let folder = server.into_folder();
    assert!(with_store(&folder, async |store| store.revoke_key(id).await.unwrap()));
    let server = serving(folder);
    assert_eq!(status(&server, &bearer(&text), "/api/authorize"), 401);
    assert_eq!(status(&server, &bearer(&other), "/api/authorize"), 200);
}

#[test]
fn the_development_key_works_in_development_only() {
    let folder = tempfile::tempdir().unwrap();
    let own = "e_0123456789_own_0f3c6a";
    let config = Config { api_key: Some(Secret(own.to_owned())), ..Config::default() };
    let server = Server::over(Config { dev: false, ..config }, folder);
    server.send("GET", "/api/policy", &[&bearer(DEVELOPMENT_KEY)], b"").fails(401, "API key");
    server.send("GET", "/api/policy", &[&bearer(own)], b"").is(200, &json!({ "policy": null }));
}

/// What the document says of each endpoint: no key, a read-only key, or one that may write.
#[test]
fn the_document_says_which_key_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let (_, text) = key(&folder, Access::ReadOnly);
    let server = serving(folder);
    let document = server.get("/api/openapi.json").json();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let status = |headers: &[&str]| server.send(&method.to_uppercase(), path, headers, b"").status;
            let without = status(&[]);
            let with = status(&[&bearer(&text)]);
            match operation["x-access"].as_str() {
                None => assert_eq!((without, &operation["security"]), (with, &json!([])), "{method} {path}"),
                Some("read-write") => assert_eq!((without, with), (401, 403), "{method} {path}"),
                Some(_) => assert!(without == 401 && ![401, 403].contains(&with), "{method} {path}"),
            }
        }
    }
}
