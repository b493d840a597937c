//! A client may report the decision that it expected to any node of a store: the node asks the others.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop where it is"
)]

use portcullis::http::{DEFAULT_ENVIRONMENT, DEVELOPMENT_KEY};
use portcullis::store::postgres::{Address, migrate};
use portcullis::store::{Access, Store, StoreOptions};
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::hosted::RUNTIME;
use portcullis_testkit::pooler::{PoolMode, Pooler};
use portcullis_testkit::ports::free_port;
use portcullis_testkit::postgres::{administer, administer_in, new_database};
use portcullis_testkit::server::{POLICY, Server};
use portcullis_testkit::wire::{bearer, question};
use serde_json::{Value as Json, json};
use std::thread::sleep;
use std::time::{Duration, Instant};

const AGREED: &str = "recorded: agreed";
const DISAGREED: &str = "recorded: disagreed";
const UNKNOWN: &str = "not recorded: no decision is known for this request id";

/// How long nodes may need until they hear each other.
const HEARING: Duration = Duration::from_secs(20);

/// A client with a key.
struct Client<'k>(&'k str);

impl Client<'_> {
    fn send(&self, node: &Server, request: &str, path: &str, body: &Json) -> Json {
        let request = format!("X-Request-ID: {request}");
        let headers = [&*bearer(self.0), &*request, "Content-Type: application/json"];
        let answer = node.send("POST", path, &headers, body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }

    /// Asks something that is denied.
    fn ask(&self, node: &Server, request: &str) {
        let answer = self.send(node, request, "/api/authorize", &question("ada", "read", "a"));
        assert_eq!(answer["allowed"], false);
    }

    /// Reports an expected decision; returns the message.
    fn report(&self, node: &Server, request: &str, expected: bool) -> String {
        let body = json!({ "request_id": request, "expected": expected });
        self.send(node, "report", "/api/expect", &body)["message"].as_str().unwrap().to_owned()
    }

    /// Reports it until a decision is known.
    fn report_soon(&self, node: &Server, request: &str, expected: bool) -> String {
        let began = Instant::now();
        loop {
            let message = self.report(node, request, expected);
            if message != UNKNOWN || began.elapsed() > HEARING {
                return message;
            }
            sleep(Duration::from_millis(50));
        }
    }
}

const DEVELOPER: Client<'static> = Client(DEVELOPMENT_KEY);

/// Three nodes over a new store, the first of which has decided the request `first`, and which hear each
/// other.
fn nodes() -> ([Server; 3], String) {
    let database = new_database().unwrap();
    let nodes = [(); 3].map(|()| Server::node(&database));
    assert_eq!(nodes[0].post("/api/policy", &json!({ "src": POLICY })).status, 200);
    DEVELOPER.ask(&nodes[0], "first");
    for other in &nodes[1..] {
        assert_eq!(DEVELOPER.report_soon(other, "first", false), AGREED);
    }
    (nodes, database)
}

#[test]
fn an_expected_decision_may_be_reported_to_any_node() {
    let (nodes, _) = nodes();
    for (n, node) in nodes.iter().enumerate() {
        DEVELOPER.ask(node, &format!("asked-of-{n}"));
    }
    for node in &nodes {
        for n in 0..nodes.len() {
            let request = format!("asked-of-{n}");
            assert_eq!(DEVELOPER.report(node, &request, false), AGREED);
            assert_eq!(DEVELOPER.report(node, &request, true), DISAGREED);
        }
        // Nobody knows these, nor may some of them be in a line.
        for unknown in ["asked-of-", "asked-of-0 ", " ", "", "a\nanswer b c", "ü", &"x".repeat(20_000)] {
            assert_eq!(DEVELOPER.report(node, unknown, true), UNKNOWN);
        }
    }
}

#[test]
fn many_reports_at_once_share_what_nodes_send() {
    let ([one, two, three], _) = nodes();
    std::thread::scope(|scope| {
        for client in 0..8 {
            let (one, two, three) = (&one, &two, &three);
            scope.spawn(move || {
                for n in 0..50 {
                    let request = format!("{client}-{n}");
                    DEVELOPER.ask(one, &request);
                    let reported = if n % 2 == 0 { two } else { three };
                    let expected = n % 3 == 0;
                    let message = DEVELOPER.report(reported, &request, expected);
                    assert_eq!(message, if expected { DISAGREED } else { AGREED }, "{request}");
                }
            });
        }
    });
}

#[test]
fn no_key_learns_what_was_decided_in_another_environment() {
    let ([one, two, _three], database) = nodes();
    let address = Address::parse(&database).unwrap();
    RUNTIME.block_on(migrate(&address, "staging")).unwrap();
    let key = RUNTIME.block_on(async {
        let store = Store::connect(&address.into(), "staging", &StoreOptions::default()).await.unwrap();
        store.create_key("staging".to_owned(), "test".to_owned(), Access::ReadOnly).await.unwrap().text
    });
    let staging = Client(&key);
    let began = Instant::now();
    let headers = [&*bearer(&key), "Content-Type: application/json"];
    let body = question("ada", "read", "a").to_string();
    while [&one, &two]
        .iter()
        .any(|node| node.send("POST", "/api/authorize", &headers, body.as_bytes()).status != 200)
    {
        assert!(began.elapsed() < HEARING, "the environment is not opened");
        sleep(Duration::from_millis(100));
    }
    assert_eq!(staging.report(&two, "first", false), UNKNOWN);
    staging.ask(&one, "of-staging");
    assert_eq!(staging.report(&two, "of-staging", false), AGREED);
    assert_eq!(DEVELOPER.report(&two, "of-staging", false), UNKNOWN);
}

/// What others of the database say, or said before, decides nothing.
#[test]
fn a_line_that_no_node_has_made_is_no_decision() {
    let ([one, two, _three], database) = nodes();
    let lines = [
        format!("ask {DEFAULT_ENVIRONMENT} AAAA first"),
        "answer AAAA AAAA\nanswer\nask\n\n   ".to_owned(),
        "\u{fc} ".repeat(2_600),
        // An answer to it would be too long for a notification.
        format!("ask {DEFAULT_ENVIRONMENT} {} first", "A".repeat(7_960)),
    ];
    for line in lines {
        administer_in(&database, &format!("SELECT pg_notify('portcullis', '{line}')")).unwrap();
    }
    assert_eq!(DEVELOPER.report(&two, "never-asked", true), UNKNOWN);
    DEVELOPER.ask(&one, "later");
    assert_eq!(DEVELOPER.report(&two, "later", true), DISAGREED);
}

#[test]
fn nodes_hear_each_other_again_after_the_database_was_away() {
    let ([one, two, three], database) = nodes();
    let name = database.rsplit('/').next().unwrap();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname =";
    administer(&format!("{cut} '{name}'")).unwrap();
    DEVELOPER.ask(&one, "afterwards");
    assert_eq!(DEVELOPER.report_soon(&two, "afterwards", true), DISAGREED);
    // A node that has ended has taken its decisions with it.
    drop(one);
    let began = Instant::now();
    assert_eq!(DEVELOPER.report(&two, "afterwards", true), UNKNOWN);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    DEVELOPER.ask(&three, "of-three");
    assert_eq!(DEVELOPER.report_soon(&two, "of-three", false), AGREED);
}

#[test]
fn nodes_hear_each_other_through_a_pooler() {
    let (_cluster, server) = Cluster::with_port(&["shared_buffers=16MB"]).unwrap();
    let pool = free_port();
    let _pooler = Pooler::start_at(pool, server, PoolMode::Session).unwrap();
    let url = |port: u16| format!("postgres://postgres@127.0.0.1:{port}/postgres");
    let [direct, pooled, other] = [server, pool, pool].map(|port| Server::node(&url(port)));
    DEVELOPER.ask(&pooled, "of-pooled");
    DEVELOPER.ask(&direct, "of-direct");
    assert_eq!(DEVELOPER.report_soon(&direct, "of-pooled", false), AGREED);
    assert_eq!(DEVELOPER.report_soon(&other, "of-pooled", true), DISAGREED);
    assert_eq!(DEVELOPER.report_soon(&pooled, "of-direct", false), AGREED);
}
