//! Environments of one service are apart: nothing of one can be seen or changed with a key of another.

use super::program::{ENVIRONMENT, key, note, set_policy, store_notes, stored_facts};
use portcullis_testkit::program::Service;
use serde_json::{Value as Json, json};

/// Ids of one page, and some more.
const N_REPOS: usize = 10_005;

/// Two environments with the same policy; `a` holds much that `b` does not.
struct Two {
    service: Service,
    a: String,
    b: String,
    _folder: tempfile::TempDir,
}

impl Two {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let service = Service::start(folder.path(), &[]);
        let (a, b) = (key(folder.path(), ENVIRONMENT), key(folder.path(), "b"));
        let two = Self { service, a, b, _folder: folder };
        set_policy(&two.service, &two.a);
        two.add(&two.a, &(0..N_REPOS).map(|n| reader("ada", &format!("r{n:05}"))).collect::<Vec<_>>());
        store_notes(&two.service, &two.a, "ada", &["secret"]);
        two
    }

    fn add(&self, key: &str, facts: &[Json]) {
        let (status, answer) = self.service.caller.post(key, "batch", &json!([{ "inserts": facts }]));
        assert_eq!(status, 200, "{answer}");
    }

    fn ask(&self, key: &str, path: &str, body: &Json) -> Json {
        let (status, answer) = self.service.caller.post(key, path, body);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }
}

fn reader(user: &str, repo: &str) -> Json {
    let value = |ty: &str, id: &str| json!({ "type": ty, "id": id });
    json!({ "predicate": "has_role", "args": [value("User", user), value("String", "reader"), value("Repo", repo)] })
}

fn check(user: &str, repo: &str) -> Json {
    json!({ "actor_type": "User", "actor_id": user, "action": "read", "resource_type": "Repo", "resource_id": repo })
}

fn list(page: &Json) -> Json {
    let mut body =
        json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Repo" });
    body.as_object_mut().unwrap().extend(page.as_object().unwrap().clone());
    body
}

#[test]
fn policy_and_its_versions_are_apart() {
    let two = Two::new();
    assert_eq!(two.service.caller.get(&two.b, "policy"), (200, json!({ "policy": null })));
    for path in ["policy?id=1", "policy_metadata", "policy_metadata?id=1"] {
        assert_eq!(two.service.caller.get(&two.a, path).0, 200, "{path}");
        assert_eq!(two.service.caller.get(&two.b, path).0, 404, "{path}");
    }
    let stats = two.service.caller.get(&two.b, "stats").1;
    assert_eq!((&stats["policy"]["versions"], &stats["facts"]["total"]), (&json!([]), &json!(0)));
    let (status, answer) = two.service.caller.post(&two.b, "facts", &note("eve", "x"));
    assert!(status == 400 && answer["message"].as_str().unwrap().contains("not used in policy"), "{answer}");

    // A policy that grants everything in `b` grants nothing in `a`.
    let open = json!({ "src": "actor User {} resource Repo { permissions = [\"read\"]; } allow(_: User, \"read\", _: Repo);" });
    two.ask(&two.b, "policy", &open);
    assert_eq!(two.ask(&two.b, "authorize", &check("eve", "r00001")), json!({ "allowed": true }));
    assert_eq!(two.ask(&two.a, "authorize", &check("eve", "r00001")), json!({ "allowed": false }));
    assert_eq!(two.service.caller.get(&two.a, "stats").1["policy"]["versions"], json!(["1"]));
}

#[test]
fn facts_and_answers_are_apart() {
    let two = Two::new();
    set_policy(&two.service, &two.b);
    for key in [&two.a, &two.b, &two.a] {
        // They take turns with the same question: no cache answers for the other.
        let mine = key == &two.a;
        assert_eq!(two.ask(key, "authorize", &check("ada", "r00001")), json!({ "allowed": mine }));
        let listed = two.ask(key, "list", &list(&json!({})));
        assert_eq!(listed["results"].as_array().unwrap().len(), if mine { N_REPOS } else { 0 });
        let actions = two.ask(key, "actions", &check("ada", "r00001"));
        assert_eq!(actions["results"], if mine { json!(["read"]) } else { json!([]) });
        let query = json!({ "fact": { "predicate": "note", "args": [null, null] } });
        assert_eq!(two.ask(key, "query", &query)["results"].as_array().unwrap().len(), usize::from(mine));
        let evaluated = json!({ "predicate": ["note", ["u", "t"]], "calls": [], "context_facts": [],
            "constraints": { "u": { "type": "User", "ids": null }, "t": { "type": "String", "ids": null } } });
        let found = two.ask(key, "evaluate_query", &evaluated);
        assert_eq!(found["results"].as_array().unwrap().len(), usize::from(mine), "{found}");
        let sql_of = |user: &str| two.ask(key, "authorize_query", &json!({ "query": check(user, "r00001") }));
        let (sql, other) = (sql_of("ada"), sql_of("eve"));
        assert_eq!(sql == other, !mine, "only `a` knows of a role of ada's: {sql}");
    }
    assert_eq!(stored_facts(&two.service, &two.b), json!([]));
    store_notes(&two.service, &two.b, "bob", &["mine"]);
    assert_eq!(stored_facts(&two.service, &two.b), json!([note("bob", "mine")]));
    let stats = two.service.caller.get(&two.b, "stats").1;
    assert_eq!(stats["facts"], json!({ "total": 1, "predicates": { "note": 1 } }));
    let everything = json!([{ "deletes": [{ "predicate": "note", "args": [null, null] }] }]);
    two.ask(&two.b, "batch", &everything);
    two.ask(&two.b, "clear_data", &json!({}));
    let kept = two.service.caller.get(&two.a, "stats").1;
    assert_eq!((&kept["facts"]["total"], &kept["num_roles"]), (&json!(N_REPOS + 1), &json!(N_REPOS)));
    assert_eq!(two.service.caller.get(&two.a, "policy?id=1").0, 200);
}

#[test]
fn page_tokens_and_decisions_are_apart() {
    let two = Two::new();
    set_policy(&two.service, &two.b);
    two.add(&two.b, &(0..N_REPOS).map(|n| reader("ada", &format!("r{n:05}"))).collect::<Vec<_>>());
    let page = |key: &str, page: &Json| two.service.caller.post(key, "list", &list(page));
    let first = json!({ "page_size": 10_000 });
    let token = |key: &str| page(key, &first).1["next_page_token"].clone();
    let (of_a, of_b) = (token(&two.a), token(&two.b));
    assert!(of_a.is_string() && of_a != of_b);
    for (key, own, foreign) in [(&two.a, &of_a, &of_b), (&two.b, &of_b, &of_a)] {
        let rest = page(key, &json!({ "page_size": 10_000, "page_token": own }));
        assert_eq!((rest.0, rest.1["results"].as_array().unwrap().len()), (200, N_REPOS - 10_000));
        let refused = page(key, &json!({ "page_size": 10_000, "page_token": foreign }));
        assert!(
            refused.0 == 400 && refused.1["message"].as_str().unwrap().contains("page_token"),
            "{refused:?}"
        );
    }

    // A decision is known under its request's id in its own environment only.
    let asked = check("ada", "r00001").to_string();
    let id = [("X-Request-ID", "the-decision")];
    let decided = two.service.caller.send(&two.a, "POST /api/authorize", &id, Some(asked.as_bytes()));
    assert_eq!(decided.unwrap(), (200, json!({ "allowed": true }).to_string()));
    let report = json!({ "request_id": "the-decision", "expected": true });
    let message = |key: &str| two.ask(key, "expect", &report)["message"].as_str().unwrap().to_owned();
    assert!(message(&two.b).starts_with("not recorded"));
    assert_eq!(message(&two.a), "recorded: agreed");
}

#[test]
fn a_key_opens_its_own_environment_only() {
    let two = Two::new();
    let parts: Vec<&str> = two.a.split('_').collect();
    for forged in [
        format!("e_b_{}_{}", parts[2], parts[3]),
        two.b.replace("e_b_", &format!("e_{ENVIRONMENT}_")),
        format!("e_none_{}_{}", parts[2], parts[3]),
        format!("e_.control_{}_{}", parts[2], parts[3]),
        format!("e_../{ENVIRONMENT}_{}_{}", parts[2], parts[3]),
    ] {
        assert_eq!(two.service.caller.get(&forged, "facts").0, 401, "{forged}");
    }
}
