//! A migration while nodes run: those that know the new format go on, and older ones answer nothing more.

use super::{allowed, asking, get, may_read, nodes, post, publish, wait_for_more};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis::store::postgres::FORMAT;
use portcullis_testkit::postgres::{administer_in, new_database};
use portcullis_testkit::program::Service;
use portcullis_testkit::wire::{Answer, fact_json, question};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often the format is raised while questions are asked.
const MIGRATIONS: usize = 10;

/// Notes that the store has another format, which releases from this one on can use.
pub(super) fn migrate(url: &str, format: i32, min_reader: i32) {
    let note = format!(
        "BEGIN; UPDATE portcullis.meta SET format = {format}, min_reader = {min_reader};
         UPDATE portcullis_e1.clock SET min_reader = {min_reader}; COMMIT"
    );
    administer_in(url, &note).unwrap();
}

/// Whether a node is refused the store.
pub(super) fn is_refused(answer: &Answer) -> bool {
    if answer.status == 200 {
        return false;
    }
    answer.fails(503, "upgrade this one to the release that migrated the store");
    assert_eq!((answer.code(), answer.header("retry-after")), ("upgrade_required", Some("1")));
    true
}

/// A request of each kind, with its answer.
fn every_request(node: &Service) -> Vec<(String, Answer)> {
    let check = question("somebody", "read", "a");
    let list = json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Repo" });
    let who = json!({ "action": "read", "resource_type": "Repo", "resource_id": "a", "actor_type": "User" });
    let local = json!({ "query": check, "data_bindings": "facts: {}" });
    let batch = json!([{ "inserts": [fact_json(&["is_public", "Repo:b"])] }]);
    let query = json!({ "fact": { "predicate": "is_public", "args": [null] } });
    let unknown = json!({ "fact": { "predicate": "no_such_predicate", "args": [] } });
    let requests = [
        ("authorize", check.clone()),
        ("list", list.clone()),
        ("list_subjects", who),
        ("query", query),
        ("query", unknown),
        ("explain", check),
        ("review", list),
        ("authorize_query", local),
        ("expect", json!({ "request_id": "no-such-request", "expected": true })),
        ("batch", batch),
        ("batch", json!([])),
        ("policy", json!({ "src": "actor User {}" })),
        ("clear_data", json!({})),
    ];
    let posted = requests.into_iter().map(|(path, body)| (format!("POST {path}"), post(node, path, &body)));
    let pages =
        ["/api/facts", "/api/policy", "/api/policy_metadata", "/api/stats", "/api/healthcheck", "/ready"];
    let got = pages.into_iter().map(|path| (format!("GET {path}"), get(node, path)));
    posted.chain(got).collect()
}

/// Asks the studio about a draft.
fn studio(node: &Service, cookie: &str) -> Answer {
    let headers = [("Cookie", cookie), ("Origin", node.caller.url.as_str())];
    let draft = json!({ "policy": "actor User {}", "question": "", "context_facts": [] }).to_string();
    node.caller.ask("", "POST /studio/draft/names", &headers, Some(draft.as_bytes())).unwrap()
}

#[test]
fn a_node_that_a_migration_leaves_behind_answers_nothing_until_it_is_upgraded() {
    let url = new_database().unwrap();
    let nodes = nodes(&url, [&[]; 3]);
    assert_eq!(publish(&nodes[0], "a", true).status, 200);
    let opened = {
        let origin = [("Origin", nodes[0].caller.url.as_str())];
        let key = json!({ "key": DEVELOPMENT_KEY }).to_string();
        nodes[0].caller.ask("", "POST /studio/session", &origin, Some(key.as_bytes())).unwrap()
    };
    let cookie = opened.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    assert_ne!(studio(&nodes[0], &cookie).status, 503);

    // A later format that this release can use: it goes on side by side with the later one.
    migrate(&url, FORMAT + 1, FORMAT);
    for node in &nodes {
        assert!(allowed(&may_read(node, "a", None)));
        assert_eq!(publish(node, "c", true).status, 200);
        assert_eq!(get(node, "/ready").status, 200);
    }

    migrate(&url, FORMAT + 1, FORMAT + 1);
    for node in &nodes {
        for (request, answer) in every_request(node) {
            assert!(is_refused(&answer), "{request}: {}", answer.text);
        }
        assert_eq!(get(node, "/health").status, 200, "the process itself answers");
    }
    assert!(is_refused(&studio(&nodes[0], &cookie)));
    let next = FORMAT + 1;
    nodes[1].program.logs(&format!(
        "it needs a release that knows format {next}, and this one knows formats up to {FORMAT}"
    ));

    migrate(&url, FORMAT, FORMAT);
    for node in &nodes {
        assert!(allowed(&may_read(node, "a", None)), "nothing was changed meanwhile");
        assert!(!allowed(&may_read(node, "b", None)), "nothing was stored meanwhile");
        assert_eq!(get(node, "/ready").status, 200);
    }
    assert_eq!(publish(&nodes[2], "b", true).status, 200);
}

#[test]
fn no_answer_leaves_an_older_node_after_a_migration() {
    let url = new_database().unwrap();
    let nodes = nodes(&url, [&[]; 3]);
    assert_eq!(publish(&nodes[0], "a", true).status, 200);
    // Even: the format is known and stays. A multiple of four plus two: it is not known. Odd: it changes.
    let state = &AtomicUsize::new(0);
    let [n_answered, n_refused] = &[(); 2].map(|()| AtomicUsize::new(0));
    asking(
        &nodes,
        |_, node| {
            let before = state.load(Ordering::SeqCst);
            let answer = may_read(node, "a", None);
            let is_refused = is_refused(&answer);
            if before.is_multiple_of(2) && state.load(Ordering::SeqCst) == before {
                assert_eq!(is_refused, before % 4 == 2, "{}", answer.text);
            }
            assert!(is_refused || allowed(&answer));
            (if is_refused { n_refused } else { n_answered }).fetch_add(1, Ordering::SeqCst);
        },
        || {
            for nth in 0..2 * MIGRATIONS {
                let (min_reader, expected) =
                    if nth.is_multiple_of(2) { (FORMAT + 1, n_refused) } else { (FORMAT, n_answered) };
                state.fetch_add(1, Ordering::SeqCst);
                migrate(&url, FORMAT + 1, min_reader);
                state.fetch_add(1, Ordering::SeqCst);
                wait_for_more(expected);
            }
        },
    );
    let [n_answered, n_refused] = [n_answered, n_refused].map(|n| n.load(Ordering::SeqCst));
    println!(
        "{MIGRATIONS} migrations and back; {n_answered} questions answered, {n_refused} refused, none late"
    );
}
