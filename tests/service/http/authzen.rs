//! The AuthZEN Authorization API: requests and responses as its certification shows them.

use portcullis::config::{Config, PublicUrl};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{Answer, bearer, fact_json};
use serde_json::{Value as Json, json};

/// The fixture of the certification: who may do what, with and without properties.
const POLICY: &str = r#"
actor user {}
resource record {
  roles = ["reader", "writer"];
  permissions = ["read", "write", "delete"];
  "reader" if "writer";
  "read" if "reader";
  "delete" if "writer" and action_property("delete", "soft", true);
}
has_permission(user: user, "write", record: record) if
  has_role(user, "writer", record) and not resource_property(record, "status", "archived");
has_permission(user: user, "write", record: record) if
  subject_property(user, "role", "admin") and resource_property(record, "status", "archived");
"#;

fn certified() -> Server {
    let server = Server::empty();
    assert_eq!(server.post("/api/policy", &json!({ "src": POLICY })).status, 200);
    server.add(&[
        &["has_role", "user:alice", "String:writer", "record:record-1"],
        &["has_role", "user:alice", "String:writer", "record:record-2"],
        &["has_role", "user:bob", "String:reader", "record:record-1"],
        &["resource_property", "record:record-2", "String:status", "String:archived"],
        &["subject_property", "user:bob", "String:role", "String:admin"],
    ]);
    server
}

fn evaluation(subject: &str, action: &str, resource: &str) -> Json {
    json!({
        "subject": { "type": "user", "id": subject }, "action": { "name": action },
        "resource": { "type": "record", "id": resource },
    })
}

fn with(mut body: Json, path: &str, value: Json) -> Json {
    let (parent, name) = path.rsplit_once('/').unwrap();
    body.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(name.to_owned(), value);
    body
}

fn without(mut body: Json, path: &str) -> Json {
    let (parent, name) = path.rsplit_once('/').unwrap();
    body.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name).unwrap();
    body
}

fn evaluate(server: &Server, body: &Json) -> Answer {
    server.post("/access/v1/evaluation", body)
}

#[track_caller]
fn decides(server: &Server, body: &Json, decision: bool) {
    evaluate(server, body).is(200, &json!({ "decision": decision }));
}

#[test]
fn an_evaluation_is_a_decision() {
    let server = certified();
    decides(&server, &evaluation("alice", "read", "record-1"), true);
    decides(&server, &evaluation("alice", "write", "record-1"), true);
    decides(&server, &evaluation("bob", "read", "record-1"), true);
    decides(&server, &evaluation("bob", "write", "record-1"), false);
    let context = json!({ "time": "2025-06-27T18:03-07:00", "ip": "192.168.1.1" });
    decides(&server, &with(evaluation("alice", "read", "record-1"), "/context", context), true);
    let unknown = with(evaluation("alice", "read", "record-1"), "/futureField", json!({ "nested": true }));
    decides(&server, &unknown, true);
    let more = json!({ "department": "Sales", "role": "manager" });
    let more = with(evaluation("alice", "read", "record-1"), "/subject/properties", more);
    let more =
        with(more, "/resource/properties", json!({ "status": "active", "owner": ["bob", { "x": null }] }));
    decides(&server, &with(more, "/action/properties", json!({ "method": "GET" })), true);
    let strange = json!({
        "subject": { "type": "spaceship", "id": "1" }, "action": { "name": "fly" },
        "resource": { "type": "crater", "id": "2" },
    });
    decides(&server, &strange, false);
}

#[test]
fn properties_that_the_policy_reads_count_for_their_request() {
    let server = Server::empty();
    assert_eq!(server.post("/api/policy", &json!({ "src": POLICY })).status, 200);
    server.add(&[&["has_role", "user:alice", "String:writer", "record:record-1"]]);
    let archived = json!({ "status": "archived" });
    let write = with(evaluation("alice", "write", "record-1"), "/resource/properties", archived.clone());
    decides(&server, &write, false);
    decides(&server, &evaluation("alice", "write", "record-1"), true);
    let admin = with(evaluation("bob", "write", "record-2"), "/resource/properties", archived);
    decides(&server, &admin, false);
    let admin = with(admin, "/subject/properties", json!({ "role": "admin" }));
    decides(&server, &admin, true);
    for (soft, decision) in [(json!(true), true), (json!(false), false)] {
        let delete =
            with(evaluation("alice", "delete", "record-1"), "/action/properties", json!({ "soft": soft }));
        decides(&server, &delete, decision);
    }
    decides(&server, &evaluation("alice", "delete", "record-1"), false);
}

/// Of two values of a property, the one that restricts could be lost.
#[test]
fn a_name_that_comes_twice_is_refused() {
    let server = certified();
    let post = |path: &str, body: &str| {
        let headers = [&*bearer(DEVELOPMENT_KEY), "Content-Type: application/json"];
        server.send("POST", path, &headers, body.as_bytes())
    };
    let twice = r#"{"status":"archived","status":"active"}"#;
    let subject = r#""subject":{"type":"user","id":"alice"},"action":{"name":"write"}"#;
    let resource = |properties: &str| {
        format!(r#""resource":{{"type":"record","id":"record-1","properties":{properties}}}"#)
    };
    let wrong = format!("{{{subject},{}}}", resource(twice));
    post("/access/v1/evaluation", &wrong).fails(400, "duplicate field `status`");
    let context = format!(r#"{{{subject},{},"context":{twice}}}"#, resource("{}"));
    post("/access/v1/evaluation", &context).fails(400, "duplicate field `status`");
    let each = format!(r#"{{{subject},"evaluations":[{{{}}}]}}"#, resource(twice));
    post("/access/v1/evaluations", &each).fails(400, "duplicate field `status`");
    let default = format!(r#"{{{subject},{},"evaluations":[{{}}]}}"#, resource(twice));
    post("/access/v1/evaluations", &default).fails(400, "duplicate field `status`");
    let once = format!("{{{subject},{}}}", resource(r#"{"status":"archived"}"#));
    post("/access/v1/evaluation", &once).is(200, &json!({ "decision": false }));
}

/// A property can only be a fact of the predicates that are for properties, and an unsuitable value is
/// refused where ignoring it could grant.
#[test]
fn no_property_passes_for_anything_else() {
    let server = certified();
    for name in ["has_role", "has_permission", "allow", "role", "writer", "subject_property"] {
        let body =
            with(evaluation("eve", "write", "record-1"), "/subject/properties", json!({ name: "writer" }));
        let body = with(body, "/context", json!({ name: "writer", "has_role": ["writer", "record-1"] }));
        decides(&server, &body, false);
    }
    for status in [json!(1), json!(true), json!(["active", 1.5]), json!({ "is": "archived" })] {
        let body = evaluation("alice", "write", "record-1");
        let body = with(body, "/resource/properties", json!({ "status": status }));
        evaluate(&server, &body).fails(400, "property `status` of the resource: a rule reads it");
    }
}

#[test]
fn errors_are_strings_with_the_statuses_of_the_specification() {
    let server = certified();
    let good = evaluation("alice", "read", "record-1");
    for (path, field) in [
        ("/subject", "subject"),
        ("/action", "action"),
        ("/resource", "resource"),
        ("/subject/type", "type"),
        ("/subject/id", "id"),
        ("/action/name", "name"),
        ("/resource/type", "type"),
        ("/resource/id", "id"),
    ] {
        let answer = evaluate(&server, &without(good.clone(), path));
        answer.fails(400, &format!("missing field `{field}`"));
        assert!(answer.json().is_string(), "{}", answer.text);
    }
    evaluate(&server, &with(good.clone(), "/subject", json!("alice"))).fails(400, "`subject`");
    evaluate(&server, &with(good.clone(), "/action/name", json!(123))).fails(400, "`action.name`");
    evaluate(&server, &with(good.clone(), "/subject/properties", json!([])))
        .fails(400, "`subject.properties`");
    evaluate(&server, &json!([])).fails(400, "expected an object");
    let post = |headers: &[&str], body: &[u8]| server.send("POST", "/access/v1/evaluation", headers, body);
    let (key, json) = (bearer(DEVELOPMENT_KEY), "Content-Type: application/json");
    post(&[&key, "Content-Type: text/plain"], b"{}").fails(400, "application/json");
    post(&[&key, json], b"").fails(400, "a JSON body is expected");
    post(&[&key, json], b"{").fails(400, "malformed JSON");
    let unauthorized = post(&[json], good.to_string().as_bytes());
    unauthorized.fails(401, "no API key");
    assert_eq!(unauthorized.header("www-authenticate"), Some("Bearer"));
    let named = post(
        &[&key, json, "X-Request-ID: bfe9eb29-ab87-4ca3-be83-a1d5d8305716"],
        good.to_string().as_bytes(),
    );
    assert_eq!(
        (named.status, named.header("x-request-id")),
        (200, Some("bfe9eb29-ab87-4ca3-be83-a1d5d8305716"))
    );
}

fn decisions(decisions: &[bool]) -> Json {
    json!({ "evaluations": decisions.iter().map(|decision| json!({ "decision": decision })).collect::<Vec<_>>() })
}

#[test]
fn evaluations_share_defaults_and_keep_their_order() {
    let server = certified();
    let ask = |body: Json| server.post("/access/v1/evaluations", &body);
    let actions = json!([{ "action": { "name": "read" } }, { "action": { "name": "write" } }]);
    let of_bob = with(without(evaluation("bob", "", "record-1"), "/action"), "/evaluations", actions);
    ask(of_bob).is(200, &decisions(&[true, false]));
    let whole = [evaluation("alice", "read", "record-1"), evaluation("bob", "write", "record-1")];
    ask(json!({ "evaluations": whole })).is(200, &decisions(&[true, false]));
    // A default gives way as a whole, except for what names its part.
    let body = json!({
        "subject": { "type": "user", "id": "alice" }, "action": { "name": "write" }, "resource": { "type": "record" },
        "evaluations": [
            { "resource": { "id": "record-1", "properties": { "status": "active" } } },
            { "resource": { "type": "record", "id": "record-1", "properties": { "status": "archived" } } },
        ],
    });
    ask(body).is(200, &decisions(&[true, false]));
    // Without evaluations it is a single one.
    let single = evaluation("alice", "read", "record-1");
    ask(single.clone()).is(200, &json!({ "decision": true }));
    ask(with(single, "/evaluations", json!([]))).is(200, &json!({ "decision": true }));
    ask(without(evaluation("alice", "read", "record-1"), "/resource")).fails(400, "missing field `resource`");
}

#[test]
fn an_evaluation_that_is_wrong_is_denied_and_the_others_are_not() {
    let server = certified();
    let read = without(evaluation("alice", "read", ""), "/resource");
    let resource = json!({ "resource": { "type": "record", "id": "record-1" } });
    let body = with(read, "/evaluations", json!([resource, {}, { "resource": 7 }, resource]));
    let answer = server.post("/access/v1/evaluations", &body);
    assert_eq!(answer.status, 200, "{}", answer.text);
    let answers = answer.json()["evaluations"].clone();
    let found: Vec<&Json> = answers.as_array().unwrap().iter().map(|answer| &answer["decision"]).collect();
    assert_eq!(found, [&json!(true), &json!(false), &json!(false), &json!(true)]);
    let error = &answers[1]["context"]["error"];
    assert_eq!(error["status"], 400);
    assert!(error["message"].as_str().unwrap().contains("missing field `resource`"), "{error}");
    let many = json!({ "evaluations": vec![json!({}); 10_001] });
    server.post("/access/v1/evaluations", &many).fails(413, "at most 10000");
    let copied = json!({ "context": { "text": "x".repeat(10_000) }, "evaluations": vec![json!({}); 2_000] });
    server.post("/access/v1/evaluations", &copied).fails(413, "the defaults are too large");
}

/// The three examples of the specification: the second document may not be read.
#[test]
fn a_semantic_ends_the_evaluations() {
    let server = Server::empty();
    let policy = r#"actor user {} resource document { roles = ["reader"]; permissions = ["read"]; "read" if "reader"; }"#;
    assert_eq!(server.post("/api/policy", &json!({ "src": policy })).status, 200);
    server.add(&[
        &["has_role", "user:alice@example.com", "String:reader", "document:1"],
        &["has_role", "user:alice@example.com", "String:reader", "document:3"],
    ]);
    let ask = |semantic: Json| {
        let documents = ["1", "2", "3"].map(|id| json!({ "resource": { "type": "document", "id": id } }));
        let body = json!({
            "subject": { "type": "user", "id": "alice@example.com" }, "action": { "name": "read" },
            "options": { "evaluations_semantic": semantic, "another_option": "value" }, "evaluations": documents,
        });
        server.post("/access/v1/evaluations", &body)
    };
    ask(json!("execute_all")).is(200, &decisions(&[true, false, true]));
    ask(json!(null)).is(200, &decisions(&[true, false, true]));
    let ended = json!({ "decision": false, "context": { "code": "200", "reason": "deny_on_first_deny" } });
    ask(json!("deny_on_first_deny")).is(200, &json!({ "evaluations": [{ "decision": true }, ended] }));
    ask(json!("permit_on_first_permit")).is(200, &decisions(&[true]));
    ask(json!("permit_on_last")).fails(400, "`options.evaluations_semantic`");
}

fn found(ty: &str, ids: &[&str]) -> Json {
    let results: Vec<Json> = ids.iter().map(|id| json!({ "type": ty, "id": id })).collect();
    json!({ "results": results, "page": { "next_token": "", "count": ids.len() } })
}

#[test]
fn searches_find_what_evaluations_permit() {
    let server = certified();
    let subjects = without(evaluation("", "read", "record-1"), "/subject/id");
    server.post("/access/v1/search/subject", &subjects).is(200, &found("user", &["alice", "bob"]));
    let ignored = with(subjects, "/subject/id", json!("carol"));
    let ignored = with(ignored, "/context", json!({ "time": "2024-10-26T01:22-07:00" }));
    server.post("/access/v1/search/subject", &ignored).is(200, &found("user", &["alice", "bob"]));
    let admins = without(evaluation("", "write", "record-2"), "/subject/id");
    let admins = with(admins, "/resource/properties", json!({ "status": "archived" }));
    server.post("/access/v1/search/subject", &admins).is(200, &found("user", &["bob"]));

    let resources = without(evaluation("alice", "read", ""), "/resource/id");
    server
        .post("/access/v1/search/resource", &resources)
        .is(200, &found("record", &["record-1", "record-2"]));
    let of_admin = without(evaluation("bob", "write", ""), "/resource/id");
    let of_admin = with(of_admin, "/subject/properties", json!({ "role": "admin" }));
    server.post("/access/v1/search/resource", &of_admin).is(200, &found("record", &["record-2"]));

    let actions = without(evaluation("alice", "", "record-1"), "/action");
    let names = json!({
        "results": [{ "name": "read" }, { "name": "write" }], "page": { "next_token": "", "count": 2 },
    });
    server.post("/access/v1/search/action", &actions).is(200, &names);
    let nothing = without(evaluation("nonexistent-user", "", "record-1"), "/action");
    let empty = json!({ "results": [], "page": { "next_token": "", "count": 0 } });
    server.post("/access/v1/search/action", &nothing).is(200, &empty);
    let spaceships =
        with(without(evaluation("", "read", "record-1"), "/subject/id"), "/subject/type", json!("spaceship"));
    server.post("/access/v1/search/subject", &spaceships).is(200, &empty);
}

#[test]
fn a_search_misses_nothing_that_it_needs() {
    let server = certified();
    let subjects = without(evaluation("", "read", "record-1"), "/subject/id");
    let ask = |what: &str, body: &Json| server.post(&format!("/access/v1/search/{what}"), body);
    ask("subject", &without(subjects.clone(), "/action")).fails(400, "missing field `action`");
    ask("subject", &without(subjects.clone(), "/resource/id")).fails(400, "missing field `id`");
    let resources = without(evaluation("alice", "read", ""), "/resource/id");
    ask("resource", &without(resources.clone(), "/subject")).fails(400, "missing field `subject`");
    ask("resource", &without(resources, "/subject/id")).fails(400, "missing field `id`");
    ask("action", &json!({ "subject": { "type": "user", "id": "alice" } }))
        .fails(400, "missing field `resource`");
    // A rule reads this property of single users.
    let property = with(subjects, "/subject/properties", json!({ "role": "admin" }));
    ask("subject", &property).fails(400, "property `role` of the subject");
}

#[test]
fn everyone_is_a_star_that_an_evaluation_permits() {
    let server = Server::start();
    server.add(&[&["is_public", "Repo:a"]]);
    let subjects = json!({
        "subject": { "type": "User" }, "action": { "name": "read" }, "resource": { "type": "Repo", "id": "a" },
    });
    server.post("/access/v1/search/subject", &subjects).is(200, &found("User", &["*"]));
    decides(&server, &with(subjects, "/subject/id", json!("*")), true);
}

#[test]
fn pages_go_on_where_the_last_one_ended() {
    let server = certified();
    let facts: Vec<Json> = (0..25)
        .map(|n| fact_json(&["has_role", &format!("user:u{n:02}"), "String:reader", "record:many"]))
        .chain(
            (0..25)
                .map(|n| fact_json(&["has_role", "user:many", "String:reader", &format!("record:r{n:02}")])),
        )
        .collect();
    assert_eq!(server.post("/api/bulk_load", &json!(facts)).status, 200);
    let subjects = without(evaluation("", "read", "many"), "/subject/id");
    let resources = without(evaluation("many", "read", ""), "/resource/id");
    for (what, asked, start) in [("subject", subjects, "u"), ("resource", resources, "r")] {
        let path = format!("/access/v1/search/{what}");
        let mut ids = Vec::new();
        let mut page = json!({ "limit": 10 });
        for (count, is_last) in [(10, false), (10, false), (5, true)] {
            let body = server.post(&path, &with(asked.clone(), "/page", page)).json();
            assert_eq!(body["page"]["count"], count);
            ids.extend(body["results"].as_array().unwrap().iter().map(|found| found["id"].clone()));
            let token = &body["page"]["next_token"];
            assert_eq!(token == "", is_last);
            page = json!({ "token": token });
        }
        assert_eq!(ids, (0..25).map(|n| json!(format!("{start}{n:02}"))).collect::<Vec<_>>());
        let first = server.post(&path, &with(asked.clone(), "/page", json!({ "limit": 10 }))).json();
        let page = json!({ "next_token": first["page"]["next_token"] });
        let again = with(asked.clone(), "/page", page);
        assert_eq!(server.post(&path, &again).status, 200);
        for (place, other) in [("/action/name", json!("write")), ("/context", json!({ "a": 1 }))] {
            server.post(&path, &with(again.clone(), place, other)).fails(400, "page_token");
        }
        server.post(&path, &with(asked, "/page", json!({ "limit": 0 }))).fails(400, "`page.limit`");
    }
}

#[test]
fn the_metadata_has_the_configured_address_or_is_missing() {
    let get = |server: &Server| {
        server.send("GET", "/.well-known/authzen-configuration", &["Host: evil.example"], b"")
    };
    get(&Server::empty()).fails(404, "public_url");
    let url = Some(PublicUrl("https://pdp.mycompany.com".to_owned()));
    let server = Server::with(Config { public_url: url, ..Config::default() });
    get(&server).is(
        200,
        &json!({
            "policy_decision_point": "https://pdp.mycompany.com",
            "access_evaluation_endpoint": "https://pdp.mycompany.com/access/v1/evaluation",
            "access_evaluations_endpoint": "https://pdp.mycompany.com/access/v1/evaluations",
            "search_subject_endpoint": "https://pdp.mycompany.com/access/v1/search/subject",
            "search_resource_endpoint": "https://pdp.mycompany.com/access/v1/search/resource",
            "search_action_endpoint": "https://pdp.mycompany.com/access/v1/search/action",
        }),
    );
}
