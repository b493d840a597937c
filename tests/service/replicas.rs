//! A node whose questions a replica answers, over HTTP.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop where it is"
)]

use portcullis::http::{DEFAULT_ENVIRONMENT, DEVELOPMENT_KEY};
use portcullis::store::postgres::{Address, StoreServers};
use portcullis::store::{Access, Store, StoreOptions};
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::hosted::RUNTIME;
use portcullis_testkit::postgres::administer_in;
use portcullis_testkit::program;
use portcullis_testkit::server::{POLICY, Server};
use portcullis_testkit::wire::{bearer, fact_json, question};
use serde_json::json;
use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The age that answers may have.
const MOST: Duration = Duration::from_secs(4);

/// A primary, its standby, and a node that asks both.
struct Replicated {
    primary: Cluster,
    port: u16,
    _standby: Cluster,
    servers: StoreServers,
    replica: String,
    node: Server,
}

impl Replicated {
    fn start(max_staleness: Option<Duration>) -> Self {
        let settings = ["shared_buffers=16MB", "synchronous_commit=on"];
        let (primary, first) = Cluster::with_port(&settings).unwrap();
        let (standby, second) = Cluster::standby_of(first, &settings).unwrap();
        let url = |port| format!("postgres://postgres@127.0.0.1:{port}/postgres?connect_timeout=1");
        let address = |port| Address::parse(&url(port)).unwrap();
        let servers =
            StoreServers { primary: address(first), replicas: vec![address(second)], max_staleness };
        let node = Server::node_of(servers.clone());
        assert_eq!(node.post("/api/policy", &json!({ "src": POLICY })).status, 200);
        node.add(&[&["has_role", "User:ada", "String:writer", "Repo:a"]]);
        Self { primary, port: first, _standby: standby, servers, replica: url(second), node }
    }

    /// How many questions the replica has answered, those of the metrics themselves included.
    fn answered(&self) -> u64 {
        self.metric("portcullis_replica_questions_total", "outcome=\"answered\",replica=\"1\"")
            .parse()
            .unwrap()
    }

    /// The value of a series.
    fn metric(&self, name: &str, labels: &str) -> String {
        let metrics = self.node.get("/metrics").text;
        let series = format!("{name}{{environment=\"{DEFAULT_ENVIRONMENT}\",{labels}}} ");
        let value = metrics.lines().find_map(|line| line.strip_prefix(&*series));
        value.unwrap_or_else(|| panic!("no {series}: {metrics}")).to_owned()
    }

    /// Waits until the replica answers.
    fn reached(&self) {
        for _ in 0..200 {
            assert!(self.node.may("ada", "write", "a"));
            if self.answered() > 0 {
                return;
            }
            sleep(Duration::from_millis(25));
        }
        panic!("the replica does not answer");
    }

    fn pause(&self) {
        administer_in(&self.replica, "SELECT pg_wal_replay_pause()").unwrap();
    }

    /// Whether Ada may write, asked after a write.
    fn may_after(&self, offset: &str) -> bool {
        let (offset, key) = (format!("OsoOffset: {offset}"), bearer(DEVELOPMENT_KEY));
        let headers = [&*key, &*offset, "Content-Type: application/json"];
        let body = question("ada", "write", "a").to_string();
        let answer = self.node.send("POST", "/api/authorize", &headers, body.as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["allowed"].as_bool().unwrap()
    }
}

/// The lists of a review are asked with the offset of the review.
#[test]
fn a_review_does_not_mix_the_states_of_a_replica_and_its_primary() {
    let all = Replicated::start(Some(Duration::from_mins(1)));
    all.reached();
    all.pause();
    all.node.add(&[&["has_role", "User:ada", "String:writer", "Repo:b"]]);
    let before = all.answered();
    let body = json!({
        "actor_type": "User", "actor_id": "ada", "action": "write", "resource_type": "Repo",
    });
    assert_eq!(all.node.post("/api/list", &body).json()["results"], json!(["a"]), "of the replica");
    assert!(all.answered() > before);
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://{}", all.node.address);
    let args = ["review", "--actor", "User:ada", "--url", &url, "--format", "csv"];
    let (code, out, err) = program::run(folder.path(), &args);
    assert_eq!(code, Some(0), "{out}{err}");
    for id in ["a", "b"] {
        let row = |line: &str| line.contains("write") && line.split(',').any(|cell| cell == id);
        assert!(out.lines().any(row), "no {id}: {out}");
    }
}

#[test]
fn behind_a_replica_that_stands_still_writes_keys_and_policies_count_at_once() {
    let all = Replicated::start(Some(MOST));
    all.reached();
    for server in ["primary", "1"] {
        let labels = format!("kind=\"long\",server=\"{server}\"");
        assert_ne!(all.metric("portcullis_store_connections", &format!("{labels},state=\"free\"")), "0");
        assert_eq!(all.metric("portcullis_store_waits_total", &labels), "0");
        let waited: f64 = all.metric("portcullis_store_wait_seconds_total", &labels).parse().unwrap();
        assert!((0.0..1.0).contains(&waited), "{waited}");
    }
    let options = StoreOptions::default();
    let store = RUNTIME.block_on(Store::connect(&all.servers, DEFAULT_ENVIRONMENT, &options)).unwrap();
    let made = store.create_key(DEFAULT_ENVIRONMENT.to_owned(), "test".to_owned(), Access::ReadOnly);
    let made = RUNTIME.block_on(made).unwrap();
    let ask = || {
        let headers = [&*bearer(&made.text), "Content-Type: application/json"];
        let body = question("ada", "write", "a").to_string();
        all.node.send("POST", "/api/authorize", &headers, body.as_bytes()).status
    };
    sleep(Duration::from_millis(1_100));
    assert_eq!(ask(), 200);
    all.pause();
    let (first, second) = (all.answered(), all.answered());
    assert_eq!(ask(), 200);
    assert!(all.answered() - second > second - first, "the replica is asked");
    RUNTIME.block_on(store.revoke_key(made.key.id.clone())).unwrap();
    assert_eq!(ask(), 401);
    let role = fact_json(&["has_role", "User:ada", "String:writer", "Repo:a"]);
    let removed = all.node.post("/api/batch", &json!([{ "deletes": [role] }]));
    assert!(!all.may_after(removed.header("osooffset").unwrap()));
    let before = all.answered();
    let nothing = "actor User {} resource Repo { permissions = [\"write\"]; }";
    assert_eq!(all.node.post("/api/policy", &json!({ "src": nothing })).status, 200);
    for _ in 0..20 {
        assert!(!all.node.may("ada", "write", "a"));
    }
    assert_eq!(all.answered(), before, "its policy is another one");
}

#[test]
fn a_node_answers_from_replicas_for_as_long_as_allowed_after_the_primary_is_gone() {
    let Replicated { primary, port, node, _standby, .. } = {
        let all = Replicated::start(Some(MOST));
        all.reached();
        all
    };
    assert!(node.may("ada", "write", "a"));
    drop(primary);
    // The server stops a moment later.
    while TcpStream::connect(("127.0.0.1", port)).is_ok() {
        sleep(Duration::from_millis(5));
    }
    let (gone, mut n_answered) = (Instant::now(), 0);
    loop {
        let asked = gone.elapsed();
        let answer = node.post("/api/authorize", &question("ada", "write", "a"));
        if answer.status == 503 {
            break;
        }
        assert_eq!((answer.status, &answer.json()["allowed"]), (200, &json!(true)), "{}", answer.text);
        assert!(asked < MOST, "{asked:?}");
        if n_answered == 3 {
            assert_eq!((node.get("/ready").status, node.get("/api/healthcheck").status), (200, 503));
            let role = ["has_role", "User:bob", "String:writer", "Repo:a"];
            assert_eq!(node.post("/api/batch", &json!([{ "inserts": [fact_json(&role)] }])).status, 503);
        }
        n_answered += 1;
        sleep(Duration::from_millis(20));
    }
    assert!(n_answered > 3, "{n_answered}");
    assert_eq!(node.get("/ready").status, 503);
}
