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

/// The same policy in other forms. What the message proposes is refused as well if it would not help.
#[test]
fn the_denial_is_lost_in_other_ways() {
    let server = Server::start();
    let policy = |condition: &str, rest: &str| {
        format!(
            "{OWNERS}has_permission(u: User, \"read\", d: Doc) if
               has_relation(d, \"owner\", u) and {condition};\n{rest}"
        )
    };
    put(&server, &policy("not (in_group(u, g) and banned(g))", ""));
    let banned = fact("banned", &[("Group", "night")]);
    let in_group = fact("in_group", &[("User", "ada"), ("Group", "night")]);
    let owner = fact("has_relation", &[("Doc", "1"), ("String", "owner"), ("User", "ada")]);
    change(&server, "inserts", &[owner, in_group, banned]);
    let by_rule = policy("not (in_group(u, g) and banned(g))", "banned(u: User) if suspended(u);");
    let without_type = by_rule.replace("actor Group {}\n", "");
    let of_users = policy("not (g matches User and in_group(u, g) and banned(g))", "");
    let declared = format!("{of_users}declare banned(Group); declare in_group(User, Group);");
    for lost in [&by_rule, &without_type, &of_users, &declared] {
        is_refused(&server, lost, "no denial of this one would see them");
        let forced = server.post("/api/policy", &json!({ "src": lost, "force": true }));
        assert_eq!((forced.status, forced.code()), (400, "unread_facts"), "{}", forced.text);
    }
    // Another denial says nothing of these facts, and none at all was meant.
    put(&server, &policy("not locked(d)", ""));
    assert!(may_read(&server));
}

/// A name of a relation is a text, and another text in a rule was meant.
#[test]
fn a_denial_by_another_relation_was_meant() {
    let server = Server::start();
    let policy = |relation: &str| {
        format!(
            "actor User {{}}
             resource Doc {{ permissions = [\"read\"]; relations = {{ owner: User, {relation}: User }}; }}
             has_permission(u: User, \"read\", d: Doc) if
               has_relation(d, \"owner\", u) and not has_relation(d, {relation:?}, u);"
        )
    };
    put(&server, &policy("blocked"));
    let related =
        |relation: &str| fact("has_relation", &[("Doc", "1"), ("String", relation), ("User", "ada")]);
    change(&server, "inserts", &[related("owner"), related("blocked")]);
    assert!(!may_read(&server));
    put(&server, &policy("hidden"));
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
    let refused = server.post("/api/policy", &json!({ "src": denied }));
    assert_eq!((refused.status, refused.code()), (400, "unread_facts"), "{}", refused.text);
    change(&server, "deletes", &[held]);
    put(&server, &denied);
    assert!(may_read(&server));
}
