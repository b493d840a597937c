//! Bound facts of a type that the policy does not mention.

use portcullis_testkit::server::Server;
use serde_json::{Value as Json, json};

/// What a rule denies: its facts are of documents and of anything else.
fn policy(rule: &str) -> String {
    format!(
        "actor User {{}}\nresource Doc {{ permissions = [\"read\"]; relations = {{ owner: User }}; }}\n\
         is_held(doc: Doc) if held(doc, _);\n\
         has_permission(user: User, \"read\", doc: Doc) if has_relation(doc, \"owner\", user) and {rule};\n"
    )
}

const BINDINGS: &str = "facts:
  has_relation(Doc:_, owner, User:_):
    query: SELECT id, owner FROM docs
  held(Doc:_, Hold:_):
    query: SELECT doc, hold FROM holds
";

fn question() -> Json {
    let query = json!({
        "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Doc", "context_facts": [],
    });
    json!({ "query": query, "column": "docs.id", "data_bindings": BINDINGS })
}

/// Without the facts, a denial would permit too much. In one rule it is written as it is, in the other one it
/// is behind a rule of its own.
#[test]
fn a_denial_of_them_is_refused_until_the_policy_mentions_the_type() {
    let server = Server::start();
    for (rule, line) in [("not held(doc, _)", 4), ("not is_held(doc)", 3)] {
        let policy = policy(rule);
        assert_eq!(server.post("/api/policy", &json!({ "src": policy })).status, 200);
        for endpoint in ["/api/list_query", "/api/explain_query"] {
            let refused = server.post(endpoint, &question());
            refused.fails(400, &format!("the rule at line {line} may deny something"));
            refused.fails(400, "`held(Doc:_, Hold:_)`, on line 4 of the data bindings");
            assert_eq!(refused.code(), "unmentioned_type");
        }
        let mentions = format!("{policy}resource Hold {{}}");
        assert_eq!(server.post("/api/policy", &json!({ "src": mentions })).status, 200);
        let sql = server.post("/api/list_query", &question()).json()["sql"].to_string();
        assert!(sql.contains("holds"), "{sql}");
    }
}

/// A document may serve several policies, so facts that only permit are left out, and the explanation says so.
#[test]
fn a_rule_that_needs_them_permits_nothing_and_a_note_says_why() {
    let server = Server::start();
    assert_eq!(server.post("/api/policy", &json!({ "src": policy("held(doc, _)") })).status, 200);
    let explained = server.post("/api/explain_query", &question());
    assert_eq!(explained.status, 200, "{}", explained.text);
    let note = "`held(Doc:_, Hold:_)` is not read: the policy does not mention the type `Hold`";
    assert!(explained.json()["notes"].as_array().unwrap().contains(&json!(note)), "{}", explained.text);
    assert_eq!(explained.json()["sql"], "false");
}
