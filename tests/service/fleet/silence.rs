//! A primary that says nothing: once that is known, what needs it is refused at once. One that is only slow
//! is not taken for silent.

use super::{allowed, get, may_read, node, offset, post, publish, until_replica_answers};
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::postgres::administer_in;
use portcullis_testkit::program::{Caller, Service};
use portcullis_testkit::proxy::{Fault, Proxy};
use portcullis_testkit::wire::Answer;
use serde_json::json;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// How long the first question may take: it runs, its end is tried, and then the server must answer.
const FIRST: Duration = Duration::from_millis(100 + 1_000 + 5_000 + 1_000);

/// How long each request after it may take.
const AT_ONCE: Duration = Duration::from_millis(100);

/// How long a node may need once the network forwards again.
const BACK: Duration = Duration::from_secs(3);

/// A node with a proxy before its primary, which it reaches through no other way.
struct SilenceableNode {
    proxy: Proxy,
    node: Service,
    metrics: Caller,
    _servers: Vec<Cluster>,
    /// The database without the proxy.
    direct: String,
}

impl SilenceableNode {
    fn start(with_replica: bool, args: &[&str]) -> Self {
        let settings = ["shared_buffers=16MB", "synchronous_commit=on"];
        let (primary, port) = Cluster::with_port(&settings).unwrap();
        let url = |port: u16| format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let replica;
        let (mut servers, mut args) = (vec![primary], args.to_vec());
        if with_replica {
            let (standby, second) = Cluster::standby_of(port, &settings).unwrap();
            servers.push(standby);
            replica = url(second);
            args.extend(["--store-replica", &replica]);
        }
        let proxy = Proxy::start(port);
        args.extend(["--metrics-listen", "127.0.0.1:0"]);
        let mut node = node(&url(proxy.port), &args);
        let metrics = node.program.prints("metrics without a key");
        let at = metrics.split_whitespace().last().unwrap().trim_end_matches("/metrics");
        Self { proxy, metrics: Caller::new(at), node, _servers: servers, direct: url(port) }
    }

    /// What the metrics say about its primary.
    fn is_silent(&self) -> bool {
        let text = self.metrics.ask("", "GET /metrics", &[], None).unwrap().text;
        let line = text.lines().find(|line| line.starts_with("portcullis_store_primary_silent{"));
        line.unwrap_or_else(|| panic!("no series in {text}")).ends_with(" 1")
    }
}

/// The answer, and how long it took.
fn timed(request: impl FnOnce() -> Answer) -> (Answer, Duration) {
    let began = Instant::now();
    let answer = request();
    (answer, began.elapsed())
}

/// Refused within a time, and a client knows when to try again.
fn is_unavailable((answer, took): (Answer, Duration), most: Duration) {
    answer.fails(503, "the service is not available at the moment: wait as long as `Retry-After` says");
    assert_eq!((answer.code(), answer.header("retry-after")), ("unavailable", Some("1")));
    assert!(took < most, "{took:?}, and at most {most:?}");
}

/// Forwards again, and waits until the node answers.
fn comes_back(all: &SilenceableNode) {
    all.proxy.set(Fault::None);
    let began = Instant::now();
    let written = loop {
        if may_read(&all.node, "a", None).status == 200 {
            let written = publish(&all.node, "b", true);
            if written.status == 200 {
                break offset(&written);
            }
        }
        assert!(began.elapsed() < BACK, "the node does not go on");
        sleep(Duration::from_millis(10));
    };
    assert!(began.elapsed() < BACK, "{:?}", began.elapsed());
    assert!(allowed(&may_read(&all.node, "b", Some(&written))) && !all.is_silent());
    assert_eq!(get(&all.node, "/ready").status, 200);
}

#[test]
fn after_a_primary_is_found_silent_requests_fail_at_once_until_it_answers() {
    let all = SilenceableNode::start(false, &["--query-time", "4"]);
    let node = &all.node;
    offset(&publish(node, "a", true));
    assert!(allowed(&may_read(node, "a", None)) && !all.is_silent());
    for round in 0..2 {
        all.proxy.set(Fault::Silence);
        // It may be found by a question, or by a write, which may have arrived.
        if round == 0 {
            is_unavailable(timed(|| may_read(node, "a", None)), FIRST);
        } else {
            let (refused, took) = timed(|| publish(node, "c", true));
            assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{}", refused.text);
            assert!(took < Duration::from_secs(15), "{took:?}");
        }
        for nth in 0..20 {
            let request = || match nth % 4 {
                0 => publish(node, "c", true),
                1 => get(node, "/ready"),
                2 => get(node, "/api/healthcheck"),
                _ => may_read(node, "a", None),
            };
            is_unavailable(timed(request), AT_ONCE);
        }
        assert!(all.is_silent());
        assert_eq!(get(node, "/health").status, 200, "the process itself answers");
        comes_back(&all);
    }
    node.program.logs("the primary does not answer: what needs it is refused");
    node.program.logs("the primary answers again");
}

/// All that wait at the moment at which the primary is found silent fail then.
#[test]
fn requests_that_wait_for_a_silent_primary_fail_together() {
    let all = SilenceableNode::start(false, &["--readers", "2"]);
    let node = &all.node;
    offset(&publish(node, "a", true));
    all.proxy.set(Fault::Silence);
    let ended: Vec<Instant> = scope(|scope| {
        let wait = || {
            is_unavailable(timed(|| may_read(node, "a", None)), 2 * FIRST);
            Instant::now()
        };
        let all: Vec<_> = (0..12).map(|_| scope.spawn(wait)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let (first, last) = (ended.iter().min().unwrap(), ended.iter().max().unwrap());
    assert!(last.duration_since(*first) < Duration::from_secs(2), "{ended:?}");
    is_unavailable(timed(|| may_read(node, "a", None)), AT_ONCE);
    comes_back(&all);
}

/// Replicas answer for as long as answers may be old, and then what needs the primary fails at once.
#[test]
fn replicas_answer_while_the_primary_is_silent() {
    let all = SilenceableNode::start(true, &["--max-staleness", "15", "--query-time", "4"]);
    let node = &all.node;
    let written = offset(&publish(node, "a", true));
    until_replica_answers(node, "a", &written);
    assert!(allowed(&may_read(node, "a", None)));
    let asked = Instant::now();
    all.proxy.set(Fault::Silence);
    // A batch finds it silent; it may have arrived.
    assert_eq!(publish(node, "c", true).status, 503);
    assert!(all.is_silent());
    while asked.elapsed() < Duration::from_secs(13) {
        for named in [None, Some(&*written)] {
            let (answer, took) = timed(|| may_read(node, "a", named));
            // Also after the replica has been asked in vain: the answer would be too old.
            assert!(took < Duration::from_secs(1), "{took:?}");
            assert!(allowed(&answer));
        }
        assert_eq!(get(node, "/ready").status, 200);
        is_unavailable(timed(|| publish(node, "c", true)), AT_ONCE);
        sleep(Duration::from_millis(100));
    }
    sleep(Duration::from_secs(16).saturating_sub(asked.elapsed()));
    for nth in 0..20 {
        let named = (nth % 2 == 0).then_some(&*written);
        is_unavailable(timed(|| may_read(node, "a", named)), AT_ONCE);
    }
    comes_back(&all);
}

/// A statement that waits for a lock, even one that the clock needs, makes only its own question late.
#[test]
fn a_statement_that_waits_for_a_lock_does_not_make_the_primary_silent() {
    let all = SilenceableNode::start(false, &["--query-time", "12"]);
    let node = &all.node;
    offset(&publish(node, "a", true));
    assert!(allowed(&may_read(node, "a", None)));
    let hold = |table: &str, seconds: u32| {
        let lock = format!("BEGIN; LOCK TABLE portcullis_e1.{table}; SELECT pg_sleep({seconds}); COMMIT");
        administer_in(&all.direct, &lock).unwrap();
    };
    // The table of one predicate: others go on.
    let relation = "f1";
    scope(|scope| {
        scope.spawn(|| hold(relation, 8));
        sleep(Duration::from_millis(500));
        let waiting = scope.spawn(|| may_read(node, "a", None));
        sleep(Duration::from_secs(6));
        assert!(!waiting.is_finished(), "it waits for the lock");
        assert!(!all.is_silent());
        assert_eq!(get(node, "/ready").status, 200);
        assert!(allowed(&waiting.join().unwrap()), "it had time enough");
    });
    // The clock itself: no question can be answered, and the server is not silent.
    scope(|scope| {
        scope.spawn(|| hold("clock", 8));
        sleep(Duration::from_millis(500));
        let waiting = scope.spawn(|| timed(|| may_read(node, "a", None)));
        while !waiting.is_finished() {
            assert!(!all.is_silent());
            sleep(Duration::from_millis(50));
        }
        let (answer, took) = waiting.join().unwrap();
        assert!(took > AT_ONCE, "{took:?}");
        assert!([200, 503].contains(&answer.status), "{}", answer.text);
    });
    let list = json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Repo" });
    assert_eq!(post(node, "list", &list).status, 200);
    assert!(!node.program.logged().contains("the primary does not answer"));
}
