//! A page that points a name of its own at a developer's service reads and changes nothing there, though it
//! knows the key.

use super::requests::POLICY;
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::program::{Service, key};
use serde_json::{Value as Json, json};

/// What the page sends, and the bodies.
fn requests() -> [(&'static str, Option<Json>); 7] {
    let user = json!({ "type": "User", "id": "a" });
    let question = json!({
        "actor_type": "User", "actor_id": "a", "action": "read", "resource_type": "Doc", "resource_id": "d"
    });
    let evaluation = json!({
        "subject": user, "action": { "name": "read" }, "resource": { "type": "Doc", "id": "d" }
    });
    let check = || Some(question.clone());
    [
        ("POST /api/authorize", check()),
        ("POST /api/facts", Some(json!({ "predicate": "has_role", "args": [user] }))),
        ("POST /api/policy", Some(json!({ "src": "" }))),
        ("POST /api/clear_data", None),
        ("GET /api/policy", None),
        ("POST /access/v1/evaluation", Some(evaluation)),
        ("GET /metrics", None),
    ]
}

fn send(service: &Service, key: &str, host: &str, (request, body): &(&str, Option<Json>)) -> (u16, String) {
    let headers = [("Host", host), ("Origin", &*format!("http://{host}"))];
    let body = body.as_ref().map(Json::to_string);
    service.caller.send(key, request, &headers, body.as_deref().map(str::as_bytes)).unwrap()
}

#[test]
fn a_foreign_name_reaches_no_service_with_the_development_key() {
    let service = Service::develop(&["--public-url", "https://dev.example.com"]);
    assert_eq!(service.caller.post(DEVELOPMENT_KEY, "policy", &json!({ "src": POLICY })).0, 200);
    let port = service.caller.address().port();
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "dev.example.com.evil.example"]
    {
        for host in [host.to_owned(), format!("{host}:{port}")] {
            for request in requests() {
                let (status, told) = send(&service, DEVELOPMENT_KEY, &host, &request);
                let is_named = request.0.contains("/access/") || told.contains("foreign_page");
                assert!(status == 403 && is_named && told.contains("`public_url`"), "{request:?}: {told}");
            }
        }
    }
    let (_, stored) = service.caller.get(DEVELOPMENT_KEY, "policy");
    assert_eq!(stored["policy"]["src"], POLICY);
    for host in [format!("localhost:{port}"), format!("127.0.0.1:{port}"), "dev.example.com".to_owned()] {
        for request in requests() {
            let (status, told) = send(&service, DEVELOPMENT_KEY, &host, &request);
            assert_ne!(status, 403, "{host} {request:?}: {told}");
        }
    }
}

/// A service is reached under any name in its network.
#[test]
fn every_name_reaches_a_service_whose_keys_are_secret() {
    let folder = tempfile::tempdir().unwrap();
    let key = key(folder.path(), "0123456789");
    let service = Service::start(folder.path(), &[]);
    for request in requests() {
        let (status, told) = send(&service, &key, "pdp.internal:8081", &request);
        assert_ne!(status, 403, "{request:?}: {told}");
    }
}
