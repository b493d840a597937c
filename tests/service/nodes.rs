//! Several nodes over one store in PostgreSQL: what one has acknowledged holds on the others with their next
//! request.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

use super::fleet::EndOfRace;
use portcullis::http::{DEFAULT_ENVIRONMENT, DEVELOPMENT_KEY};
use portcullis::store::postgres::{Address, delete_environment, migrate};
use portcullis::store::{Access, Store, StoreOptions};
use portcullis_testkit::hosted::RUNTIME;
use portcullis_testkit::postgres::{administer, administer_in, new_database};
use portcullis_testkit::server::{POLICY, Server};
use portcullis_testkit::wire::{bearer, fact_json, question};
use serde_json::{Value as Json, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a race is run.
const RACES: usize = 200;

/// Nodes over one new store, with a policy.
fn nodes<const N: usize>() -> ([Server; N], String) {
    let database = new_database().unwrap();
    let nodes = [(); N].map(|()| Server::node(&database));
    set_policy(&nodes[0], POLICY);
    (nodes, database)
}

/// Stores a policy; returns the offset of the write.
fn set_policy(node: &Server, policy: &str) -> String {
    let answer = node.post("/api/policy", &json!({ "src": policy }));
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.header("osooffset").unwrap().to_owned()
}

/// The store as a command opens it.
fn store(database: &str, environment: &str) -> Store {
    let address = Address::parse(database).unwrap();
    RUNTIME.block_on(Store::connect(&address.into(), environment, &StoreOptions::default())).unwrap()
}

fn create_key(store: &Store, environment: &str, access: Access) -> (String, String) {
    let made = RUNTIME.block_on(store.create_key(environment.to_owned(), "test".to_owned(), access)).unwrap();
    (made.key.id, made.text)
}

fn send(node: &Server, key: &str, path: &str, body: &Json) -> u16 {
    let headers = [&*bearer(key), "Content-Type: application/json"];
    node.send("POST", path, &headers, body.to_string().as_bytes()).status
}

fn inserting(fact: &[&str]) -> Json {
    json!([{ "inserts": [fact_json(fact)] }])
}

#[test]
fn a_fact_that_one_node_stores_counts_on_the_others() {
    let ([one, two, three], _) = nodes();
    assert!(!two.may("ada", "write", "a"));
    one.add(&[&["has_role", "User:ada", "String:writer", "Repo:a"]]);
    assert!(two.may("ada", "write", "a") && three.may("ada", "write", "a"));
    // A relation that no node has heard of.
    two.add(&[&["is_public", "Repo:b"]]);
    assert!(one.may("nobody", "read", "b") && three.may("nobody", "read", "b"));
    let removed = three.post("/api/batch", &json!([{ "deletes": [fact_json(&["is_public", "Repo:b"])] }]));
    assert_eq!(removed.status, 200, "{}", removed.text);
    assert!(!one.may("nobody", "read", "b") && !two.may("nobody", "read", "b"));
    assert_eq!(one.stored(), two.stored());
}

#[test]
fn a_policy_that_one_node_stores_decides_on_the_others() {
    let ([one, two], _) = nodes();
    one.add(&[&["has_role", "User:ada", "String:reader", "Repo:a"]]);
    assert!(two.may("ada", "read", "a"));
    let stricter = POLICY.replace(r#""read" if "reader";"#, r#""read" if "writer";"#);
    for _ in 0..RACES / 4 {
        set_policy(&one, &stricter);
        assert!(!two.may("ada", "read", "a"), "an answer of the old policy");
        let policy = two.get("/api/policy").json();
        assert!(policy["policy"]["src"].as_str().is_some_and(|src| src == stricter), "{policy}");
        set_policy(&two, POLICY);
        assert!(one.may("ada", "read", "a"), "an answer of the old policy");
    }
    // Of an action that the old policy does not know, no fact is read.
    assert!(!two.may("ada", "fork", "a"));
    let fork = "allow(_: Actor, \"fork\", _: Resource);";
    set_policy(&one, &format!("{POLICY}\n{fork}"));
    assert!(two.may("ada", "fork", "a"), "an answer of the old policy");
    set_policy(&one, POLICY);
    let refused = one.post("/api/policy", &json!({ "src": format!("{POLICY}\n# \0") }));
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (400, &json!("invalid_request")),
        "{}",
        refused.text
    );
    let explained = two.post("/api/explain", &question("ada", "read", "a")).json();
    assert_eq!(explained["allowed"], true, "{explained}");
    let cleared = one.post("/api/clear_data", &json!({}));
    assert_eq!(cleared.status, 200, "{}", cleared.text);
    assert!(!two.may("ada", "read", "a"));
    assert_eq!(two.stored(), Vec::<String>::new());
}

#[test]
fn a_key_that_is_revoked_in_the_store_is_refused_by_every_node() {
    let ([one, two, three], database) = nodes();
    let store = store(&database, DEFAULT_ENVIRONMENT);
    let asked = question("ada", "read", "a");
    for n in 0..RACES {
        let (id, key) = create_key(&store, DEFAULT_ENVIRONMENT, Access::ReadWrite);
        // An unknown key is looked up once a second only; other requests follow the store, too.
        for node in [&one, &two, &three] {
            assert!(!node.may("ada", "read", "a"));
            assert_eq!(send(node, &key, "/api/authorize", &asked), 200, "{n}");
        }
        assert!(RUNTIME.block_on(store.revoke_key(id)).unwrap());
        assert_eq!(send(&one, &key, "/api/authorize", &asked), 401, "{n}");
        assert_eq!(send(&two, &key, "/api/batch", &inserting(&["is_public", "Repo:z"])), 401, "{n}");
        assert_eq!(send(&three, &key, "/api/explain", &asked), 401, "{n}");
    }
    let (id, key) = create_key(&store, DEFAULT_ENVIRONMENT, Access::ReadOnly);
    for node in [&one, &two, &three] {
        assert!(!node.may("ada", "read", "a"));
        assert_eq!(send(node, &key, "/api/authorize", &asked), 200);
    }
    assert!(RUNTIME.block_on(store.revoke_key(id)).unwrap());
    // No answer leaves, nor what is wrong with a question, and whether or not a fact is read.
    let pages = [
        ("authorize", asked.clone()),
        (
            "list",
            json!({ "actor_type": "Nobody", "actor_id": "a", "action": "b", "resource_type": "Nothing" }),
        ),
        ("query", json!({ "fact": { "predicate": "no_such_predicate", "args": [] } })),
        ("evaluate_query", json!({ "predicate": ["no_such_predicate", []], "constraints": {} })),
        ("actions", json!({ "actor_type": "", "actor_id": "", "resource_type": "", "resource_id": "" })),
    ];
    for (page, body) in pages {
        let path = format!("/api/{page}");
        let now = send(&one, &key, &path, &body);
        assert_eq!(now, 401, "{page}");
    }
    for path in ["/access/v1/evaluation", "/access/v1/evaluations"] {
        let record = json!({ "type": "Repo", "id": "a" });
        let part = json!({
            "subject": { "type": "User", "id": "ada" }, "action": { "name": "read" }, "resource": record,
        });
        let body = if path.ends_with('s') { json!({ "evaluations": [part] }) } else { part };
        assert_eq!(send(&two, &key, path, &body), 401, "{path}");
    }
    assert!(!one.may("ada", "read", "z"));
}

/// Copies or renames a database, which is only possible while nobody uses it: a node connects again at once.
fn alone(database: &str, statement: &str) {
    administer(&format!("ALTER DATABASE {database} ALLOW_CONNECTIONS false")).unwrap();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname =";
    administer(&format!("{end} '{database}'")).unwrap();
    administer(statement).unwrap();
}

/// A server that has not received the last writes takes over, and a new policy there gets the number of the
/// lost one.
#[test]
fn a_node_that_has_seen_lost_writes_answers_no_more() {
    let ([one], database) = nodes();
    let added = one.post("/api/batch", &inserting(&["has_role", "User:ada", "String:reader", "Repo:a"]));
    let kept = added.header("osooffset").unwrap();
    let name = database.rsplit('/').next().unwrap();
    alone(name, &format!("CREATE DATABASE {name}_standby TEMPLATE {name}"));
    administer(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).unwrap();
    let lost = set_policy(&one, &format!("{POLICY}\n# lost"));
    assert!(one.may("ada", "read", "a"));
    alone(name, &format!("ALTER DATABASE {name} RENAME TO {name}_lost"));
    administer(&format!("ALTER DATABASE {name}_standby RENAME TO {name}")).unwrap();
    let two = Server::node(&database);
    set_policy(&two, &POLICY.replace(r#""read" if "reader";"#, r#""read" if "writer";"#));
    assert!(!two.may("ada", "read", "a"));
    // A read that names the lost write gets 409, although another write has its number now.
    let call = |offset: &str, method: &str, path: &str, body: &str| {
        let (offset, key) = (format!("OsoOffset: {offset}"), bearer(DEVELOPMENT_KEY));
        let headers = [&*key, &*offset, "Content-Type: application/json"];
        two.send(method, path, &headers, body.as_bytes())
    };
    let send = |offset: &str, path: &str, body: &Json| call(offset, "POST", path, &body.to_string());
    let ask = |offset: &str| send(offset, "/api/authorize", &question("ada", "read", "a"));
    let refused = ask(&lost);
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("lost_write")), "{}", refused.text);
    // So if no fact is read, and if several answers are sent together.
    let unknown = json!({ "fact": { "predicate": "only_the_lost_policy_has_it", "args": [] } });
    assert_eq!(send(&lost, "/api/query", &unknown).status, 409);
    assert_eq!(call(&lost, "GET", "/api/policy_metadata", "").status, 409);
    let part = json!({
        "subject": { "type": "User", "id": "ada" }, "action": { "name": "read" },
        "resource": { "type": "Repo", "id": "a" },
    });
    let evaluations = json!({ "evaluations": [part, {}] });
    assert_eq!(send(&lost, "/access/v1/evaluations", &evaluations).status, 409);
    assert_eq!(ask("4000000000-0000000000000001").status, 409, "the server does not have that many writes");
    for offset in [kept, "7", "?!"] {
        assert_eq!(ask(offset).status, 200, "{offset}");
    }
    // A write is stored: a client that sends the offset of a lost one could otherwise never write again.
    assert_eq!(send(&lost, "/api/clear_data", &json!({})).status, 200);
    assert_eq!(send(&lost, "/api/policy", &json!({ "src": POLICY })).status, 200);
    assert_eq!(send(&lost, "/api/batch", &inserting(&["is_public", "Repo:y"])).status, 200);
    for _ in 0..2 {
        let answer = one.post("/api/authorize", &question("ada", "read", "a"));
        assert_eq!((answer.status, answer.code()), (503, "restart_required"));
        assert_eq!(one.post("/api/batch", &inserting(&["is_public", "Repo:z"])).status, 503);
        assert_eq!((one.get("/ready").status, one.get("/health").status), (503, 200));
    }
    drop(one);
    let again = Server::node(&database);
    assert!(!again.may("ada", "read", "a"));
    assert_eq!(again.stored(), two.stored());
}

#[test]
fn the_first_key_of_a_new_environment_opens_it_on_every_node() {
    let ([one, two], database) = nodes();
    RUNTIME.block_on(migrate(&Address::parse(&database).unwrap(), "staging")).unwrap();
    let (_, key) = create_key(&store(&database, "staging"), "staging", Access::ReadWrite);
    assert_eq!(send(&one, &key, "/api/policy", &json!({ "src": POLICY })), 200);
    assert_eq!(send(&two, &key, "/api/batch", &inserting(&["is_public", "Repo:z"])), 200);
    assert_eq!(send(&one, &key, "/api/authorize", &question("ada", "read", "z")), 200);
    assert!(!one.may("ada", "read", "z"), "environments share no facts");
    let unknown = key.replace("e_staging_", "e_production_");
    assert_eq!(send(&one, &unknown, "/api/authorize", &question("ada", "read", "z")), 401);
}

#[test]
fn an_environment_that_cannot_be_opened_keeps_no_other_one_closed() {
    let ([one], database) = nodes();
    let make = |name: &str| {
        RUNTIME.block_on(migrate(&Address::parse(&database).unwrap(), name)).unwrap();
        let store = store(&database, name);
        RUNTIME.block_on(store.put_policy(POLICY.to_owned(), "policy.polar".to_owned())).unwrap();
        create_key(&store, name, Access::ReadWrite).1
    };
    let [broken, whole] = ["a-broken", "b-whole"].map(make);
    administer_in(&database, "UPDATE portcullis_e2.policy SET src = 'allow(' || src").unwrap();
    let unknown = broken.replace("e_a-broken_", "e_c-unknown_");
    let ask = |key: &str| send(&one, key, "/api/authorize", &question("ada", "read", "z"));
    assert_eq!([ask(&unknown), ask(&whole), ask(&broken), ask(&unknown)], [401, 200, 500, 401]);
}

#[test]
fn an_environment_that_is_deleted_from_the_store_is_closed_by_every_node() {
    let ([one, two], database) = nodes();
    let address = Address::parse(&database).unwrap();
    let make = || {
        RUNTIME.block_on(migrate(&address, "staging")).unwrap();
        create_key(&store(&database, "staging"), "staging", Access::ReadWrite).1
    };
    let old = make();
    assert_eq!(send(&one, &old, "/api/policy", &json!({ "src": POLICY })), 200);
    assert_eq!(send(&two, &old, "/api/authorize", &question("ada", "read", "z")), 200);
    RUNTIME.block_on(delete_environment(&address, "staging")).unwrap();
    assert_eq!(send(&one, &old, "/api/batch", &inserting(&["is_public", "Repo:z"])), 401);
    assert_eq!(send(&two, &old, "/api/authorize", &question("ada", "read", "z")), 401);
    // Another one of this name has nothing of it.
    let new = make();
    for node in [&one, &two] {
        let asked = (0..40).map(|_| {
            std::thread::sleep(Duration::from_millis(100));
            send(node, &new, "/api/authorize", &question("ada", "read", "z"))
        });
        assert!(asked.into_iter().any(|status| status == 200), "it is opened within a second");
        assert_eq!(send(node, &old, "/api/authorize", &question("ada", "read", "z")), 401);
    }
    assert!(!one.may("ada", "read", "z"), "the other environment is as before");
    let deleted = RUNTIME.block_on(delete_environment(&address, "production"));
    assert!(deleted.unwrap_err().to_string().contains("no environment `production`"));
}

/// After a `clear`, the tables of its relations are dropped some time later.
#[test]
fn a_node_that_was_idle_for_long_asks_the_tables_of_now() {
    let ([one, two], database) = nodes();
    one.add(&[&["is_public", "Repo:a"]]);
    assert!(two.may("nobody", "read", "a"));
    assert_eq!(one.post("/api/clear_data", &json!({})).status, 200);
    set_policy(&one, POLICY);
    administer_in(&database, "DROP TABLE portcullis_e1.f1; DELETE FROM portcullis_e1.retired").unwrap();
    assert!(!two.may("nobody", "read", "a"));
    one.add(&[&["is_public", "Repo:b"]]);
    assert!(two.may("nobody", "read", "b"));
}

#[test]
fn a_page_token_of_one_node_holds_on_another() {
    let ([one, two], _) = nodes();
    let ids: Vec<String> = (0..12_000).map(|n| format!("Repo:r{n:05}")).collect();
    let facts: Vec<Vec<&str>> =
        ids.iter().map(|id| vec!["has_role", "User:ada", "String:reader", id]).collect();
    one.add(&facts.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let mut body = json!({
        "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Repo", "page_size": 10_000,
    });
    let mut found = Vec::new();
    for turn in 0.. {
        let node = if turn % 2 == 0 { &one } else { &two };
        let answer = node.post("/api/list", &body);
        assert_eq!(answer.status, 200, "{}", answer.text);
        let page = answer.json();
        found.extend(
            page["results"].as_array().unwrap().iter().map(|id| format!("Repo:{}", id.as_str().unwrap())),
        );
        match &page["next_page_token"] {
            Json::Null => break,
            token => body["page_token"] = token.clone(),
        }
    }
    assert!(found == ids, "{} of {}", found.len(), ids.len());
}

#[test]
fn two_nodes_that_start_on_an_empty_database_make_one_store() {
    let database = new_database().unwrap();
    let started: Vec<Server> = std::thread::scope(|scope| {
        let started = [(); 3].map(|()| scope.spawn(|| Server::node(&database)));
        started.into_iter().map(|node| node.join().unwrap()).collect()
    });
    set_policy(&started[0], POLICY);
    started[1].add(&[&["is_public", "Repo:a"]]);
    assert!(started[2].may("nobody", "read", "a"));
}

/// While it runs, the policy is replaced, and then a fact is stored that only the old policy counts.
#[test]
fn an_answer_is_not_of_an_old_policy_and_later_facts() {
    let ([one, two], _) = nodes();
    let stricter = POLICY.replace(r#""read" if "reader";"#, r#""read" if "writer";"#);
    let is_over = &AtomicBool::new(false);
    let wrong = std::thread::scope(|scope| {
        let asked: Vec<_> = [&one, &two, &one, &two]
            .map(|node| {
                scope.spawn(move || {
                    let (mut wrong, mut n) = (0, 0);
                    while !is_over.load(Ordering::SeqCst) {
                        wrong += usize::from(node.may("ada", "read", "a"));
                        n += 1;
                    }
                    assert!(n > 20, "{n} questions only");
                    wrong
                })
            })
            .into();
        // Even if something panics: the nodes would be asked forever.
        let end = EndOfRace(is_over);
        for turn in 0..RACES / 4 {
            let node = if turn % 2 == 0 { &one } else { &two };
            set_policy(node, &stricter);
            two.add(&[&["has_role", "User:ada", "String:reader", "Repo:a"]]);
            let removed = fact_json(&["has_role", "User:ada", "String:reader", "Repo:a"]);
            assert_eq!(two.post("/api/batch", &json!([{ "deletes": [removed] }])).status, 200);
            set_policy(node, POLICY);
        }
        drop(end);
        asked.into_iter().map(|asked| asked.join().unwrap()).sum::<usize>()
    });
    assert_eq!(wrong, 0);
}
