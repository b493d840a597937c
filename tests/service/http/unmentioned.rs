//! Bound facts of a type that the policy does not mention.

use portcullis_testkit::server::Server;
use serde_json::{Value as Json, json};

/// An owner may read a document under a condition. What is held is said of documents and of anything else.
fn policy(condition: &str) -> String {
    format!(
        "actor User {{}}\n\
         resource Doc {{ permissions = [\"read\", \"copy\"]; relations = {{ owner: User }}; \"copy\" if \"owner\"; }}\n\
         has_hold(doc: Doc) if held(doc, _);\n\
         is_held(doc: Doc) if has_hold(doc);\n\
         has_permission(user: User, \"read\", doc: Doc) if has_relation(doc, \"owner\", user) and {condition};\n"
    )
}

const BINDINGS: &str = "facts:
  has_relation(Doc:_, owner, User:_):
    query: SELECT id, owner FROM docs
  tagged(Doc:_, String:_):
    query: SELECT doc, tag FROM tags
  held(Doc:_, String:_):
    query: SELECT doc, reason FROM reasons
  held(Doc:_, Hold:_):
    query: SELECT doc, hold FROM holds
  trusted(User:_):
    query: SELECT id FROM users WHERE trusted
  locked(Doc:_):
    query: SELECT id FROM docs WHERE locked
  locked(Invoice:_):
    query: SELECT id FROM invoices WHERE locked
";

const UNMENTIONED: &str = "unmentioned_type";

fn question(action: &str, resource: &str) -> Json {
    let query = json!({
        "actor_type": "User", "actor_id": "ada", "action": action, "resource_type": resource, "context_facts": [],
    });
    json!({ "query": query, "column": "t.id", "data_bindings": BINDINGS })
}

fn with_policy(server: &Server, source: &str) {
    let put = server.post("/api/policy", &json!({ "src": source }));
    assert_eq!(put.status, 200, "{}", put.text);
}

/// Without the facts, a denial would permit too much. In one rule it asks for them itself, in the other one
/// two rules below it.
#[test]
fn a_denial_of_them_is_refused_until_the_policy_mentions_the_type() {
    let server = Server::start();
    for (condition, line) in [("not held(doc, _)", 5), ("not is_held(doc)", 3)] {
        let policy = policy(condition);
        with_policy(&server, &policy);
        for endpoint in ["/api/list_query", "/api/explain_query"] {
            let refused = server.post(endpoint, &question("read", "Doc"));
            refused.fails(
                400,
                &format!("the rule at line {line} may deny something because of `held(Doc:_, Hold:_)`"),
            );
            assert_eq!(refused.code(), UNMENTIONED);
        }
        with_policy(&server, &format!("{policy}resource Hold {{}}"));
        let sql = server.post("/api/list_query", &question("read", "Doc")).json()["sql"].to_string();
        assert!(sql.contains("holds"), "{sql}");
    }
}

/// A document may serve several policies: what no denial of the question could see does not matter.
#[test]
fn other_questions_over_the_same_document_are_answered() {
    let server = Server::start();
    let of_a_string = "not (held(doc, reason) and reason matches String)";
    let with_its_value = "tagged(doc, tag) and not held(doc, tag)";
    for condition in [of_a_string, with_its_value] {
        with_policy(&server, &policy(condition));
        let sql = server.post("/api/list_query", &question("read", "Doc")).json()["sql"].to_string();
        assert!(sql.contains("reasons") && !sql.contains("holds"), "{condition}: {sql}");
    }
    with_policy(&server, &policy("not held(doc, _)"));
    assert_eq!(server.post("/api/list_query", &question("copy", "Doc")).status, 200);
}

/// The variable of a guard has the type of the question's resource, which may be the one that is not
/// mentioned.
#[test]
fn a_guard_about_any_resource_is_refused_only_for_a_resource_of_the_type() {
    let server = Server::start();
    let guard = "allow(actor, action, resource) if may(actor, action, resource) and not locked(resource);\n\
                 may(user: User, _: String, _) if trusted(user);\n\
                 may(user: User, action: String, doc: Doc) if has_permission(user, action, doc);\n";
    with_policy(&server, &(policy("is_held(doc)") + guard));
    let sql = server.post("/api/list_query", &question("read", "Doc")).json()["sql"].to_string();
    assert!(sql.contains("locked") && !sql.contains("invoices"), "{sql}");
    let refused = server.post("/api/list_query", &question("read", "Invoice"));
    assert_eq!((refused.status, refused.code()), (400, UNMENTIONED), "{}", refused.text);
}

/// Rows of them would be missing from the answer.
#[test]
fn a_query_for_them_is_refused() {
    let server = Server::start();
    with_policy(&server, &policy("not held(doc, _)"));
    let held = |ty: &str| {
        let vars = json!({ "d": { "type": "Doc", "ids": ["1"] }, "h": { "type": ty, "ids": ["7"] } });
        let query = json!({
            "predicate": ["held", ["d", "h"]], "calls": [], "constraints": vars, "context_facts": [],
        });
        let mode = json!({ "mode": "select", "query_vars_to_output_column_names": {} });
        server.post(
            "/api/evaluate_query_local",
            &json!({ "query": query, "mode": mode, "data_bindings": BINDINGS }),
        )
    };
    assert_eq!(held("String").status, 200, "{}", held("String").text);
    let refused = held("Hold");
    refused.fails(400, "the question would not see `held(Doc:_, Hold:_)`");
    assert_eq!(refused.code(), UNMENTIONED);
}

#[test]
fn a_rule_that_needs_them_permits_nothing_and_a_note_says_why() {
    let server = Server::start();
    with_policy(&server, &policy("held(doc, _)"));
    let explained = server.post("/api/explain_query", &question("read", "Doc"));
    assert_eq!(explained.status, 200, "{}", explained.text);
    let note = "`held(Doc:_, Hold:_)` is not read: the policy does not mention the type `Hold`";
    assert!(explained.json()["notes"].as_array().unwrap().contains(&json!(note)), "{}", explained.text);
    assert!(!explained.json()["sql"].to_string().contains("holds"), "{}", explained.text);
}

#[test]
fn a_note_names_what_the_policy_reads_instead_of_a_key() {
    let server = Server::start();
    let flagged = "not flagged(doc, true) and not locked(doc)";
    with_policy(&server, &policy(flagged));
    let more = "  flagged(Doc:_, String:_):\n    query: SELECT id, flag FROM docs
  flagged(Doc:_):\n    query: SELECT id FROM docs
  flagged(Doc:_, Boolean:_):\n    query: SELECT id, flag FROM docs
  locked(Doc:_, Doc:_):\n    query: SELECT id, id FROM docs
  flags(Doc:_):\n    query: SELECT id FROM docs\n";
    let mut asked = question("read", "Doc");
    asked["data_bindings"] = json!(format!("{BINDINGS}{more}"));
    let explained = server.post("/api/explain_query", &asked);
    assert_eq!(explained.status, 200, "{}", explained.text);
    let notes = explained.json()["notes"].clone();
    let notes: Vec<&str> = notes.as_array().unwrap().iter().filter_map(Json::as_str).collect();
    let notes: Vec<&str> = notes.into_iter().filter(|note| note.contains("the policy reads")).collect();
    let expected = [
        "`flagged(Doc:_, String:_)` is not read: the policy reads `flagged(Doc, Boolean)`",
        "`flagged(Doc:_)` is not read: the policy reads `flagged(Doc, Boolean)`",
        "`locked(Doc:_, Doc:_)` is not read: the policy reads `locked(Doc)`",
    ];
    assert_eq!(notes, expected);
}
