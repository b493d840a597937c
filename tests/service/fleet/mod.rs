//! Three nodes as processes over one store, asked over HTTP: writes and reads behind replicas that lag, a
//! primary that dies, races, a network that hangs, a server that is only slow, a migration, rights that are
//! taken away, and backups.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop where it is"
)]

mod backups;
mod failover;
mod hanging;
mod migration;
mod pairs;
mod races;
mod replicas;
mod rights;
mod silence;

use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::program::Service;
use portcullis_testkit::server::POLICY;
use portcullis_testkit::wire::{Answer, fact_json, question};
use serde_json::{Value as Json, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// How many nodes there are.
const NODES: usize = 3;

/// How many clients ask each node.
const ASKERS: usize = 2;

/// How many questions must be answered between two changes.
const BETWEEN: usize = 12;

/// How long those may take.
const BETWEEN_TIME: Duration = Duration::from_secs(30);

/// Nodes over a store, each with these further arguments. The first stores the policy.
fn nodes(url: &str, args: [&[&str]; NODES]) -> [Service; NODES] {
    let args = args.map(|args| [&["--store", url], args].concat());
    let nodes = thread::scope(|scope| {
        args.each_ref().map(|args| scope.spawn(|| Service::develop(args))).map(|node| node.join().unwrap())
    });
    let stored = post(&nodes[0], "policy", &json!({ "src": POLICY }));
    assert_eq!(stored.status, 200, "{}", stored.text);
    nodes
}

/// One node over a store, with these further arguments. It stores the policy.
fn node(url: &str, args: &[&str]) -> Service {
    let node = Service::develop(&[&["--store", url], args].concat());
    let stored = post(&node, "policy", &json!({ "src": POLICY }));
    // Another node may have stored the same.
    assert!([200, 202].contains(&stored.status), "{}", stored.text);
    node
}

/// The answer to a request with a key, and with an offset if there is one.
fn ask(node: &Service, key: &str, request: &str, offset: Option<&str>, body: Option<&Json>) -> Answer {
    let headers: Vec<(&str, &str)> = offset.map(|offset| ("OsoOffset", offset)).into_iter().collect();
    let body = body.map(Json::to_string);
    node.caller.ask(key, request, &headers, body.as_ref().map(String::as_bytes)).unwrap()
}

fn post(node: &Service, path: &str, body: &Json) -> Answer {
    ask(node, DEVELOPMENT_KEY, &format!("POST /api/{path}"), None, Some(body))
}

fn get(node: &Service, path: &str) -> Answer {
    ask(node, DEVELOPMENT_KEY, &format!("GET {path}"), None, None)
}

/// Makes a repository public, or not public any more.
fn publish(node: &Service, repo: &str, is_public: bool) -> Answer {
    let what = if is_public { "inserts" } else { "deletes" };
    post(node, "batch", &json!([{ what: [fact_json(&["is_public", &format!("Repo:{repo}")])] }]))
}

/// The offset of a write that was acknowledged.
fn offset(written: &Answer) -> String {
    assert_eq!(written.status, 200, "{}", written.text);
    written.header("osooffset").unwrap().to_owned()
}

/// Asks whether somebody may read a repository.
fn may_read(node: &Service, repo: &str, offset: Option<&str>) -> Answer {
    let body = question("somebody", "read", repo);
    ask(node, DEVELOPMENT_KEY, "POST /api/authorize", offset, Some(&body))
}

/// What a check says; the answer must not be an error.
fn allowed(answer: &Answer) -> bool {
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["allowed"].as_bool().unwrap()
}

/// How many questions a replica of a node has answered, or what else became of them.
fn replica_count(node: &Service, replica: usize, outcome: &str) -> u64 {
    let metrics = get(node, "/metrics").text;
    let labels = format!("outcome=\"{outcome}\",replica=\"{replica}\"}} ");
    let line = metrics
        .lines()
        .find(|line| line.starts_with("portcullis_replica_questions_total{") && line.contains(&*labels));
    line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

/// Waits until the first replica has answered whether somebody may read a repository, which a write that is
/// named has published.
fn until_replica_answers(node: &Service, repo: &str, written: &str) {
    let began = Instant::now();
    while replica_count(node, 1, "answered") == 0 {
        assert!(allowed(&may_read(node, repo, Some(written))));
        assert!(began.elapsed() < BETWEEN_TIME, "the replica does not answer");
    }
}

/// A number from a variable, for runs that are longer than a test may be.
fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).map_or(otherwise, |number| number.parse().unwrap())
}

/// Waits until so many more are counted.
fn wait_for_more(counted: &AtomicUsize) {
    let (began, before) = (Instant::now(), counted.load(Ordering::SeqCst));
    while counted.load(Ordering::SeqCst) < before + BETWEEN {
        assert!(began.elapsed() < BETWEEN_TIME, "the nodes do not answer");
        sleep(Duration::from_millis(1));
    }
}

/// Asks all nodes at the same time until something else is done; returns how many questions there were.
fn asking(nodes: &[Service; NODES], ask: impl Fn(usize, &Service) + Sync, meanwhile: impl FnOnce()) -> usize {
    let (is_over, n_asked) = (&AtomicBool::new(false), &AtomicUsize::new(0));
    thread::scope(|scope| {
        for nth in 0..NODES * ASKERS {
            let ask = &ask;
            scope.spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    ask(nth, &nodes[nth % NODES]);
                    n_asked.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        // Even if it panics: the clients would ask forever.
        let _end = EndOfRace(is_over);
        meanwhile();
    });
    n_asked.load(Ordering::SeqCst)
}

/// Ends a race when dropped.
pub(super) struct EndOfRace<'r>(pub(super) &'r AtomicBool);

impl Drop for EndOfRace<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
