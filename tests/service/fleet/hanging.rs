//! A network that forwards nothing any more, between a node and the servers of its store.

use super::{allowed, get, may_read, offset, post, publish, replica_count};
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::program::Service;
use portcullis_testkit::proxy::{Fault, Proxy};
use portcullis_testkit::server::POLICY;
use portcullis_testkit::wire::Answer;
use serde_json::json;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// How long an answer may take: a server counts as silent after five seconds, and the rest is for a machine
/// that has other things to do.
const BOUND: Duration = Duration::from_secs(9);

/// How long a node may need once the network forwards again.
const PATIENCE: Duration = Duration::from_secs(20);

/// A node before a primary and a replica, with proxies between them.
struct HangingNode {
    _servers: [Cluster; 2],
    primary: Proxy,
    replica: Proxy,
    node: Service,
}

impl HangingNode {
    fn start(args: &[&str]) -> Self {
        let settings = ["shared_buffers=16MB", "synchronous_commit=on"];
        let (primary, first) = Cluster::with_port(&settings).unwrap();
        let (standby, second) = Cluster::standby_of(first, &settings).unwrap();
        let proxies = [first, second].map(Proxy::start);
        let [url, replica] = proxies
            .each_ref()
            .map(|proxy| format!("postgres://postgres@127.0.0.1:{}/postgres?connect_timeout=1", proxy.port));
        let limits = ["--store", &*url, "--query-time", "4", "--query-wait", "4"];
        let node = Service::develop(&[&limits[..], &["--store-replica", &*replica], args].concat());
        assert_eq!(post(&node, "policy", &json!({ "src": POLICY })).status, 200);
        let [primary_proxy, replica] = proxies;
        Self { _servers: [primary, standby], primary: primary_proxy, replica, node }
    }

    /// Waits until the replica has answered a question after this write.
    fn reached(&self, offset: &str) {
        let began = Instant::now();
        while replica_count(&self.node, 1, "answered") == 0 {
            assert!(allowed(&may_read(&self.node, "a", Some(offset))));
            assert!(began.elapsed() < PATIENCE, "the replica does not answer");
        }
    }
}

/// The answer to a request within the bound.
fn bounded(request: impl FnOnce() -> Answer) -> Answer {
    let began = Instant::now();
    let answer = request();
    assert!(began.elapsed() < BOUND, "{:?}: {}", began.elapsed(), answer.text);
    answer
}

/// Refused, and a client knows when to try again.
fn is_unavailable(answer: &Answer) {
    answer.fails(503, "the service is not available at the moment: wait as long as `Retry-After` says");
    assert_eq!((answer.code(), answer.header("retry-after")), ("unavailable", Some("1")));
}

#[test]
fn a_primary_behind_a_network_that_hangs_costs_a_bounded_time_and_a_clear_error() {
    let all = HangingNode::start(&[]);
    let node = &all.node;
    let written = offset(&publish(node, "a", true));
    all.reached(&written);
    all.primary.set(Fault::Silence);
    let list = json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Repo" });
    let answers = scope(|scope| {
        [
            scope.spawn(|| bounded(|| may_read(node, "a", None))),
            scope.spawn(|| bounded(|| may_read(node, "a", None))),
            // A replica has the facts, but only the primary knows whether the key still counts.
            scope.spawn(|| bounded(|| may_read(node, "a", Some(&written)))),
            scope.spawn(|| bounded(|| post(node, "list", &list))),
            scope.spawn(|| bounded(|| publish(node, "b", true))),
            scope.spawn(|| bounded(|| get(node, "/ready"))),
        ]
        .map(|answer| answer.join().unwrap())
    });
    for answer in &answers {
        is_unavailable(answer);
    }
    assert_eq!(get(node, "/health").status, 200, "the process itself answers");
    node.program.logs("the store does not answer: no answer within");
    node.program.logs("check the address, the network, and that PostgreSQL runs");
    all.primary.set(Fault::None);
    let began = Instant::now();
    while may_read(node, "a", None).status != 200 || publish(node, "b", true).status != 200 {
        assert!(began.elapsed() < PATIENCE, "the node does not go on");
        sleep(Duration::from_millis(50));
    }
    assert!(allowed(&may_read(node, "b", None)));
}

#[test]
fn a_replica_behind_a_network_that_hangs_costs_the_first_questions_a_moment() {
    let all = HangingNode::start(&[]);
    let node = &all.node;
    let written = offset(&publish(node, "a", true));
    all.reached(&written);
    all.replica.set(Fault::Silence);
    let began = Instant::now();
    for nth in 0..200 {
        let before = Instant::now();
        assert!(allowed(&may_read(node, "a", Some(&written))), "the primary answers in its place");
        let took = before.elapsed();
        assert!(took < Duration::from_secs(3), "question {nth}: {took:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let withdrawn = offset(&publish(node, "a", false));
    assert!(!allowed(&may_read(node, "a", Some(&withdrawn))));
    all.replica.set(Fault::None);
    let (began, before) = (Instant::now(), replica_count(node, 1, "answered"));
    while replica_count(node, 1, "answered") == before {
        assert!(!allowed(&may_read(node, "a", Some(&withdrawn))));
        assert!(began.elapsed() < Duration::from_secs(40), "the replica is not asked again");
        sleep(Duration::from_millis(50));
    }
}

/// With an age that answers may have, a replica answers until they would be older.
#[test]
fn while_the_primary_is_silent_a_replica_answers_for_as_long_as_allowed() {
    let all = HangingNode::start(&["--max-staleness", "6"]);
    let node = &all.node;
    let written = offset(&publish(node, "a", true));
    all.reached(&written);
    assert!(allowed(&may_read(node, "a", None)));
    all.primary.set(Fault::Silence);
    let (began, mut n_answered) = (Instant::now(), 0);
    let refused = loop {
        let asked = began.elapsed();
        let answer = bounded(|| may_read(node, "a", None));
        if answer.status != 200 {
            break answer;
        }
        assert!(allowed(&answer) && asked < Duration::from_secs(6), "{asked:?}: {}", answer.text);
        n_answered += 1;
        sleep(Duration::from_millis(20));
    };
    is_unavailable(&refused);
    assert!(n_answered > 3, "{n_answered}");
}
