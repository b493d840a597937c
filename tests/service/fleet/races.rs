//! Keys are revoked and policies replaced while all nodes answer: what was acknowledged counts for every
//! request that begins afterwards.
//!
//! `PORTCULLIS_RACES` is how often each is done; 12 times with the other tests.

use super::{NODES, allowed, ask, asking, may_read, nodes, number, post, publish, wait_for_more};
use portcullis::http::DEFAULT_ENVIRONMENT;
use portcullis::store::postgres::Address;
use portcullis::store::{Access, Store, StoreOptions};
use portcullis_testkit::hosted::RUNTIME;
use portcullis_testkit::postgres::new_database;
use portcullis_testkit::server::POLICY;
use portcullis_testkit::wire::{fact_json, question};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often, unless the variable says so.
const RACES: usize = 12;

#[test]
fn no_answer_to_a_key_that_was_revoked_before_the_request() {
    let url = new_database().unwrap();
    let nodes = nodes(&url, [&[]; NODES]);
    assert_eq!(publish(&nodes[0], "a", true).status, 200);
    let address = Address::parse(&url).unwrap();
    let options = StoreOptions::default();
    let store = RUNTIME.block_on(Store::connect(&address.into(), DEFAULT_ENVIRONMENT, &options)).unwrap();
    let n_races = number("PORTCULLIS_RACES", RACES);
    let keys: Vec<(String, String)> = (0..n_races)
        .map(|_| {
            let made = store.create_key(DEFAULT_ENVIRONMENT.to_owned(), "race".to_owned(), Access::ReadWrite);
            let made = RUNTIME.block_on(made).unwrap();
            (made.key.id, made.text)
        })
        .collect();
    for node in &nodes {
        assert!(allowed(&may_read(node, "a", None)), "it has the keys now");
    }
    // Keys before this one are revoked, and this one soon.
    let [turn, n_late, n_refused, n_answered] = &[(); 4].map(|()| AtomicUsize::new(0));
    let check = question("somebody", "read", "a");
    let batch = json!([{ "inserts": [fact_json(&["is_public", "Repo:a"])] }]);
    let requests = [("authorize", &check), ("explain", &check), ("batch", &batch)];
    let n_asked = asking(
        &nodes,
        |nth, node| {
            let now = turn.load(Ordering::SeqCst);
            let (path, body) = requests[(nth + now) % requests.len()];
            let send =
                |key: usize| ask(node, &keys[key].1, &format!("POST /api/{path}"), None, Some(body)).status;
            if now < n_races {
                n_answered.fetch_add(usize::from(send(now) == 200), Ordering::SeqCst);
            }
            if let Some(revoked) = now.checked_sub(1) {
                let is_late = send(revoked) != 401;
                (if is_late { n_late } else { n_refused }).fetch_add(1, Ordering::SeqCst);
            }
        },
        || {
            for (id, _) in &keys {
                wait_for_more(n_answered);
                assert!(RUNTIME.block_on(store.revoke_key(id.clone())).unwrap());
                turn.fetch_add(1, Ordering::SeqCst);
            }
            wait_for_more(n_refused);
        },
    );
    let [n_late, n_refused, n_answered] = [n_late, n_refused, n_answered].map(|n| n.load(Ordering::SeqCst));
    println!(
        "{n_races} keys revoked under {n_asked} rounds of questions on three nodes: {n_answered} answered before, \
         {n_refused} refused after, {n_late} late"
    );
    assert_eq!(n_late, 0, "answers to revoked keys");
    assert!(n_refused > n_races, "{n_refused}");
}

#[test]
fn no_answer_of_a_policy_that_was_replaced_before_the_request() {
    let url = new_database().unwrap();
    let nodes = nodes(&url, [&[]; NODES]);
    assert_eq!(publish(&nodes[0], "a", true).status, 200);
    let strict = POLICY.replace("\"read\" if is_public(resource);\n", "");
    assert_ne!(strict, POLICY);
    // A multiple of four: anybody may read. Plus two: nobody may. Odd: the policy is being replaced.
    let [state, n_wrong, n_sure] = &[(); 3].map(|()| AtomicUsize::new(0));
    let n_races = number("PORTCULLIS_RACES", RACES);
    let n_asked = asking(
        &nodes,
        |_, node| {
            let before = state.load(Ordering::SeqCst);
            let is_allowed = allowed(&may_read(node, "a", None));
            if before.is_multiple_of(2) && state.load(Ordering::SeqCst) == before {
                n_sure.fetch_add(1, Ordering::SeqCst);
                n_wrong.fetch_add(usize::from(is_allowed != before.is_multiple_of(4)), Ordering::SeqCst);
            }
        },
        || {
            for nth in 0..n_races {
                let policy = if nth.is_multiple_of(2) { &strict } else { POLICY };
                state.fetch_add(1, Ordering::SeqCst);
                let stored = post(&nodes[nth % NODES], "policy", &json!({ "src": policy }));
                assert_eq!(stored.status, 200, "{}", stored.text);
                state.fetch_add(1, Ordering::SeqCst);
                wait_for_more(n_sure);
            }
        },
    );
    let (n_wrong, n_sure) = (n_wrong.load(Ordering::SeqCst), n_sure.load(Ordering::SeqCst));
    println!(
        "{n_races} policies; {n_asked} questions on three nodes, {n_sure} between two policies, {n_wrong} late"
    );
    assert_eq!(n_wrong, 0, "answers of a policy that had been replaced");
}
