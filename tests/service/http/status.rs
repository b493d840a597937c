//! How the service is.

use portcullis_testkit::server::Server;
use serde_json::json;

#[test]
fn the_probes_need_no_key() {
    let server = Server::empty();
    for path in ["/api/healthcheck", "/health", "/ready"] {
        let answer = server.send("GET", path, &[], b"");
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.json().is_object());
    }
}

#[test]
fn stats_count_what_is_stored() {
    let server = Server::start();
    server.add(&[
        &["has_role", "User:ada", "String:reader", "Repo:a"],
        &["has_role", "User:bob", "String:reader", "Repo:a"],
        &["has_relation", "Repo:a", "String:org", "Org:o"],
        &["is_public", "Repo:a"],
    ]);
    let stats = server.get("/api/stats");
    assert_eq!(stats.status, 200);
    let stats = stats.json();
    assert_eq!(
        stats["facts"],
        json!({ "total": 4, "predicates": { "has_relation": 1, "has_role": 2, "is_public": 1 } })
    );
    let versions = stats["policy"]["versions"].as_array().unwrap();
    assert!(matches!(&versions[..], [version] if version.is_string()), "{versions:?}");
    assert_eq!(
        (&stats["num_roles"], &stats["num_relations"], &stats["num_facts"]),
        (&json!(2), &json!(1), &json!(4))
    );
    assert_eq!(stats.as_object().unwrap().len(), 5);
}
