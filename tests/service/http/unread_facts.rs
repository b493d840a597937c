//! Policies under which stored facts would no longer deny what they deny.

use portcullis_testkit::server::Server;
use serde_json::{Value as Json, json};

fn fact(predicate: &str, args: &[(&str, &str)]) -> Json {
    let args: Vec<Json> = args.iter().map(|(ty, id)| json!({ "type": ty, "id": id })).collect();
    json!({ "predicate": predicate, "args": args })
}

fn change(server: &Server, what: &str, facts: &[Json]) {
    let changed = server.post("/api/batch", &json!([{ what: facts }]));
    assert_eq!(changed.status, 200, "{}", changed.text);
}

fn may_read(server: &Server) -> bool {
    let question = json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Doc", "resource_id": "1" });
    let answer = server.post("/api/authorize", &question);
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["allowed"] == json!(true)
}

fn put(server: &Server, source: &str) {
    let put = server.post("/api/policy", &json!({ "src": source }));
    assert_eq!(put.status, 200, "{}", put.text);
}

fn is_refused(server: &Server, source: &str, part: &str) {
    let put = server.post("/api/policy", &json!({ "src": source }));
    put.fails(400, part);
    assert_eq!(put.code(), "unread_facts");
    assert!(!may_read(server));
}

const OWNERS: &str = "actor User {}
actor Group {}
resource Doc { permissions = [\"read\"]; relations = { owner: User }; }
";

/// One more way to be banned would lift every ban of a group: the rule restricts the banned to users.
#[test]
fn a_rule_that_restricts_what_is_denied_is_refused_while_there_are_such_facts() {
    let server = Server::start();
    let policy = format!(
        "{OWNERS}has_permission(u: User, \"read\", d: Doc) if
           has_relation(d, \"owner\", u) and not (in_group(u, g) and banned(g));\n"
    );
    put(&server, &policy);
    let banned = fact("banned", &[("Group", "night")]);
    let in_group = fact("in_group", &[("User", "ada"), ("Group", "night")]);
    let owner = fact("has_relation", &[("Doc", "1"), ("String", "owner"), ("User", "ada")]);
    change(&server, "inserts", &[owner, in_group.clone(), banned.clone()]);
    assert!(!may_read(&server));
    let narrower = format!("{policy}banned(u: User) if suspended(u);\n");
    is_refused(&server, &narrower, "stored facts `banned(Group)` may deny something under the active policy");
    put(&server, &format!("{narrower}declare banned(Group);"));
    assert!(!may_read(&server));
    change(&server, "deletes", &[banned, in_group]);
    put(&server, &narrower);
    assert!(may_read(&server));
}

/// A type may be mentioned in a test alone.
#[test]
fn a_policy_that_no_longer_mentions_a_type_is_refused_while_a_denial_needs_it() {
    let server = Server::start();
    let policy = |condition: &str| {
        format!(
            "{OWNERS}has_permission(u: User, \"read\", d: Doc) if has_relation(d, \"owner\", u) and {condition};\n"
        )
    };
    let test = "test \"held\" { setup { held(Doc{\"1\"}, Hold{\"h\"}); } assert_not allow(User{\"ada\"}, \"read\", Doc{\"1\"}); }";
    let denied = policy("not held(d, _)");
    put(&server, &format!("{denied}{test}"));
    let owner = fact("has_relation", &[("Doc", "1"), ("String", "owner"), ("User", "ada")]);
    let held = fact("held", &[("Doc", "1"), ("Hold", "h")]);
    change(&server, "inserts", &[owner, held.clone()]);
    is_refused(&server, &denied, "the policy does not mention the type `Hold`");
    // Nothing denies because of these facts.
    for condition in ["held(d, _)", "not (held(d, x) and x matches User)"] {
        put(&server, &policy(condition));
    }
    // They have no effect under this policy. The next one would give them none, either.
    is_refused_by_facts(&server, &denied);
    change(&server, "deletes", &[held]);
    put(&server, &denied);
    assert!(may_read(&server));
}

fn is_refused_by_facts(server: &Server, source: &str) {
    let put = server.post("/api/policy", &json!({ "src": source }));
    assert_eq!((put.status, put.code()), (400, "unread_facts"), "{}", put.text);
}
