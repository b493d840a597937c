//! Bound keys whose name is probably a misspelling of a fact that denies something.

use portcullis_testkit::server::Server;
use portcullis_testkit::wire::Answer;
use serde_json::{Value as Json, json};

/// What is locked may not be read, itself or through another rule. Nothing is denied by marks.
const POLICY: &str = "actor User {}
resource Doc { permissions = [\"read\"]; }
is_locked(doc: Doc) if locked(doc);
has_permission(user: User, \"read\", doc: Doc) if owner(doc, user) and marked(doc) and not is_locked(doc);
";

fn start() -> Server {
    let server = Server::start();
    assert_eq!(server.post("/api/policy", &json!({ "src": POLICY })).status, 200);
    server
}

/// Asks over a document with these keys, all about documents.
fn ask(server: &Server, endpoint: &str, keys: &[&str]) -> Answer {
    ask_with(server, endpoint, keys, &json!([]))
}

/// The same with facts of the request.
fn ask_with(server: &Server, endpoint: &str, keys: &[&str], context_facts: &Json) -> Answer {
    let more = keys.iter().map(|key| format!("  {key}(Doc:_): {{query: SELECT id FROM locks}}"));
    let bindings = format!(
        "facts:\n  owner(Doc:_, User:_): {{query: 'SELECT id, owner FROM docs'}}\n{}",
        more.collect::<Vec<_>>().join("\n")
    );
    let query = json!({
        "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Doc",
        "context_facts": context_facts,
    });
    server.post(endpoint, &json!({ "query": query, "column": "t.id", "data_bindings": bindings }))
}

#[test]
fn a_name_in_another_case_that_would_deny_something_is_refused() {
    let server = start();
    for name in ["Locked", "LOCKED"] {
        for endpoint in ["/api/list_query", "/api/explain_query", "/api/list_query"] {
            let refused = ask(&server, endpoint, &["marked", name]);
            refused.fails(
                400,
                &format!("line 4: `{name}(Doc:_)` is not read, and a denial of the policy reads `locked`"),
            );
            assert_eq!(refused.code(), "invalid_bindings");
        }
    }
    assert_eq!(ask(&server, "/api/list_query", &["marked", "locked"]).status, 200);
}

/// From a rule of the policy, or from the request.
#[test]
fn a_name_of_facts_that_come_from_elsewhere_is_left_out() {
    let server = start();
    assert_eq!(ask(&server, "/api/list_query", &["marked", "locked", "Is_locked"]).status, 200);
    let of_the_request = json!([{ "predicate": "locked", "args": [{ "type": "Doc", "id": "7" }] }]);
    let answer = ask_with(&server, "/api/list_query", &["marked", "Locked"], &of_the_request);
    assert!(answer.status == 200 && answer.text.contains("'7'"), "{}", answer.text);
    assert_eq!(ask(&server, "/api/list_query", &["marked", "Locked"]).status, 400);
}

/// A document may serve several policies: the key may be one of another policy.
#[test]
fn a_name_in_another_case_is_left_out_where_no_denial_is_lost() {
    let server = start();
    for keys in [&["marked", "locked", "Locked"] as &[&str], &["Marked"], &["marked", "lockd"], &["other"]] {
        assert_eq!(ask(&server, "/api/list_query", keys).status, 200, "{keys:?}");
    }
    let misspelt = ["marked", "Locked"];
    assert_eq!(ask(&server, "/api/list_query", &misspelt).status, 400);
    server.add(&[&["locked", "Doc:7"]]);
    let answer = ask(&server, "/api/list_query", &misspelt);
    assert!(answer.status == 200 && answer.text.contains("'7'"), "{}", answer.text);
}

#[test]
fn a_note_says_which_name_was_probably_meant() {
    let server = start();
    let explained = ask(&server, "/api/explain_query", &["marked", "locked", "lockd", "Locked", "zebra"]);
    let notes = explained.json()["notes"].clone();
    let notes: Vec<&str> = notes.as_array().unwrap().iter().filter_map(Json::as_str).collect();
    let notes: Vec<&str> = notes.into_iter().filter(|note| note.contains("is not read")).collect();
    let expected = [
        "`lockd(Doc:_)` is not read: the policy does not name the fact `lockd`; did you mean `locked`?",
        "`Locked(Doc:_)` is not read: the policy does not name the fact `Locked`; did you mean `locked`?",
        "`zebra(Doc:_)` is not read: the policy does not name the fact `zebra`",
    ];
    assert_eq!(notes, expected, "{}", explained.text);
}
