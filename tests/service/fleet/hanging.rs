//! A network that forwards nothing any more, between a node and the servers of its store.

use super::{allowed, get, may_read, node, offset, post, publish, replica_count, until_replica_answers};
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::postgres::administer_in;
use portcullis_testkit::program::Service;
use portcullis_testkit::proxy::{Fault, Proxy};
use portcullis_testkit::wire::Answer;
use serde_json::json;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// How long a question may wait for a reader.
const WAIT: Duration = Duration::from_secs(4);

/// How long a brief question runs, and how long it may take to end it.
const BRIEF: Duration = Duration::from_millis(100 + 1_000);

/// How long a server may take until it counts as silent.
const SILENCE: Duration = Duration::from_secs(5);

/// How long an answer may take: the question waits and runs, and then the clock waits and is read.
const BOUND: Duration = WAIT.saturating_add(BRIEF).saturating_add(WAIT).saturating_add(SILENCE);

/// How long a node may need once the network forwards again.
const PATIENCE: Duration = Duration::from_secs(20);

/// A primary and a replica, which all nodes share.
struct HangingServers {
    _servers: [Cluster; 2],
    ports: [u16; 2],
}

impl HangingServers {
    fn start() -> Self {
        let settings = ["shared_buffers=16MB", "synchronous_commit=on"];
        let (primary, first) = Cluster::with_port(&settings).unwrap();
        let (standby, second) = Cluster::standby_of(first, &settings).unwrap();
        Self { _servers: [primary, standby], ports: [first, second] }
    }
}

/// A node with proxies of its own before the servers, and a database of its own.
struct HangingNode {
    primary: Proxy,
    replica: Proxy,
    node: Service,
}

impl HangingNode {
    fn start(servers: &HangingServers, database: &str, args: &[&str]) -> Self {
        let admin = format!("postgres://postgres@127.0.0.1:{}/postgres", servers.ports[0]);
        administer_in(&admin, &format!("CREATE DATABASE {database}")).unwrap();
        let [primary, replica] = servers.ports.map(Proxy::start);
        let url = |proxy: &Proxy| {
            format!("postgres://postgres@127.0.0.1:{}/{database}?connect_timeout=1", proxy.port)
        };
        let limits = ["--query-time", "4", "--query-wait", "4", "--store-replica", &*url(&replica)];
        let node = node(&url(&primary), &[&limits[..], args].concat());
        Self { primary, replica, node }
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

/// Most of each part is waiting, so they run at the same time.
#[test]
fn a_network_that_hangs_costs_a_bounded_time_and_a_clear_error() {
    let servers = &HangingServers::start();
    scope(|scope| {
        for part in [primary_hangs, replica_hangs, replica_answers_while_the_primary_hangs] {
            scope.spawn(move || part(servers));
        }
    });
}

/// A primary behind a network that hangs costs a bounded time and a clear error.
fn primary_hangs(servers: &HangingServers) {
    let all = HangingNode::start(servers, "one", &[]);
    let node = &all.node;
    let written = offset(&publish(node, "a", true));
    until_replica_answers(&all.node, "a", &written);
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

/// A replica behind a network that hangs costs the first questions a moment.
fn replica_hangs(servers: &HangingServers) {
    let all = HangingNode::start(servers, "two", &[]);
    let node = &all.node;
    let written = offset(&publish(node, "a", true));
    until_replica_answers(&all.node, "a", &written);
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
fn replica_answers_while_the_primary_hangs(servers: &HangingServers) {
    let all = HangingNode::start(servers, "three", &["--max-staleness", "6"]);
    let node = &all.node;
    let written = offset(&publish(node, "a", true));
    until_replica_answers(&all.node, "a", &written);
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
