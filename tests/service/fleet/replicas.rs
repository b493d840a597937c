//! Several replicas without a tool that looks after them: one that is gone, one that stands still, one that
//! follows.

use super::migration::{is_refused, migrate};
use super::{
    allowed, ask, get, may_read, node, nodes, offset, publish, replica_count, until_replica_answers,
};
use portcullis::http::{DEFAULT_ENVIRONMENT, DEVELOPMENT_KEY};
use portcullis::store::postgres::{Address, FORMAT};
use portcullis::store::{Access, Store, StoreOptions};
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::hosted::RUNTIME;
use portcullis_testkit::postgres::administer_in;
use portcullis_testkit::wire::question;
use std::thread;
use std::time::{Duration, Instant};

/// How long a replica may need.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn of_several_replicas_the_one_that_follows_answers() {
    let settings = ["shared_buffers=16MB", "synchronous_commit=on", "wal_keep_size=512MB"];
    let (_primary, port) = Cluster::with_port(&settings).unwrap();
    let starting = [(); 3].map(|()| thread::spawn(move || Cluster::standby_of(port, &settings).unwrap()));
    let standbys = starting.map(|standby| standby.join().unwrap());
    let address = |port: u16| format!("postgres://postgres@127.0.0.1:{port}/postgres?connect_timeout=1");
    let urls = standbys.each_ref().map(|(_, port)| address(*port));
    let replicas: Vec<&str> = urls.iter().flat_map(|url| ["--store-replica", url]).collect();
    let url = address(port);
    let nodes = thread::scope(|scope| {
        let start = || node(&url, &replicas);
        [(); 2].map(|()| scope.spawn(start)).map(|node| node.join().unwrap())
    });
    let node = &nodes[0];
    let given = offset(&publish(node, "a", true));
    let answered = || [1, 2, 3].map(|replica| replica_count(node, replica, "answered"));
    let began = Instant::now();
    while answered().contains(&0) {
        assert!(allowed(&may_read(node, "a", Some(&given))));
        assert!(began.elapsed() < PATIENCE, "{:?} answered", answered());
    }

    // The first is gone, the second stands still, and the third follows.
    let [(gone, _), _still, _follows] = standbys;
    gone.kill().unwrap();
    administer_in(&urls[1], "SELECT pg_wal_replay_pause()").unwrap();
    let taken = offset(&publish(&nodes[1], "a", false));
    let before = answered();
    let began = Instant::now();
    while answered()[2] < before[2] + 10 {
        assert!(!allowed(&may_read(node, "a", Some(&taken))), "an answer from before the write");
        assert!(began.elapsed() < PATIENCE, "{before:?}, then {:?}", answered());
    }
    let count = |replica, outcome| replica_count(node, replica, outcome);
    assert_eq!(answered()[..2], before[..2], "neither has the write");
    assert!(count(1, "failed") > 0 && count(2, "behind") > 0 && count(3, "failed") == 0);
    // An older write, the one that stands still has, too.
    while answered()[1] < before[1] + 5 {
        may_read(node, "b", Some(&given));
        assert!(began.elapsed() < 2 * PATIENCE, "{before:?}, then {:?}", answered());
    }
    administer_in(&urls[1], "SELECT pg_wal_replay_resume()").unwrap();
    while answered()[1] < before[1] + 10 {
        assert!(!allowed(&may_read(node, "a", Some(&taken))));
        assert!(began.elapsed() < 3 * PATIENCE, "the second is not asked again: {:?}", answered());
    }
}

/// It may stand for any write: the embedded store gave it, or it was cut off on its way.
#[test]
fn a_question_with_an_offset_that_cannot_be_read_sees_all_writes() {
    let settings = ["shared_buffers=16MB", "synchronous_commit=on"];
    let (primary, port) = Cluster::with_port(&settings).unwrap();
    let (_standby, second) = Cluster::standby_of(port, &settings).unwrap();
    let [url, replica] = [port, second].map(|port| format!("postgres://postgres@127.0.0.1:{port}/postgres"));
    let bounded = ["--store-replica", &*replica, "--max-staleness", "60"];
    let node = &node(&url, &bounded);
    let given = offset(&publish(node, "a", true));
    until_replica_answers(node, "a", &given);
    administer_in(&replica, "SELECT pg_wal_replay_pause()").unwrap();
    let taken = offset(&publish(node, "a", false));
    assert!(allowed(&may_read(node, "a", None)), "an old answer, as the setting allows");
    let cut_off: String = taken.chars().take(taken.len() / 2).collect();
    for unreadable in ["7", "0", "?!", "", "7-", "-", &cut_off, &format!("{taken}, {taken}")] {
        let answer = may_read(node, "a", Some(unreadable));
        assert!(!allowed(&answer), "{unreadable:?} is older than the write");
    }
    // Two of them are none that can be read.
    let headers = [("OsoOffset", &*given), ("OsoOffset", &*given)];
    let body = question("somebody", "read", "a").to_string();
    let two =
        node.caller.ask(DEVELOPMENT_KEY, "POST /api/authorize", &headers, Some(body.as_bytes())).unwrap();
    assert!(!allowed(&two), "of one write or of another");
    assert!(!allowed(&may_read(node, "a", Some(&taken))));
    // What only the primary can answer says so while it is away.
    primary.kill().unwrap();
    let path = "POST /api/authorize";
    let body = question("somebody", "read", "a");
    ask(node, DEVELOPMENT_KEY, path, Some("7"), Some(&body)).fails(503, "not available");
}

/// A replica that has not received the migration knows nothing of it.
#[test]
fn a_replica_that_lags_behind_a_migration_answers_nothing_either() {
    let settings = ["shared_buffers=16MB", "synchronous_commit=on"];
    let (_primary, first) = Cluster::with_port(&settings).unwrap();
    let (_standby, second) = Cluster::standby_of(first, &settings).unwrap();
    let [url, replica] = [first, second].map(|port| format!("postgres://postgres@127.0.0.1:{port}/postgres"));
    let strict = ["--store-replica", &*replica];
    let bounded = [&strict[..], &["--max-staleness", "60"]].concat();
    let nodes = nodes(&url, [&strict, &bounded, &[]]);
    let key = {
        let servers = Address::parse(&url).unwrap().into();
        let options = StoreOptions::default();
        let store = RUNTIME.block_on(Store::connect(&servers, DEFAULT_ENVIRONMENT, &options)).unwrap();
        let key = store.create_key(DEFAULT_ENVIRONMENT.to_owned(), "one".to_owned(), Access::ReadOnly);
        RUNTIME.block_on(key).unwrap().text
    };
    let written = offset(&publish(&nodes[0], "a", true));
    nodes[..2].iter().for_each(|node| until_replica_answers(node, "a", &written));
    let check = question("somebody", "read", "a");
    let ask_all = || {
        let mut answers = Vec::new();
        for node in &nodes {
            for key in [DEVELOPMENT_KEY, &key] {
                for offset in [None, Some(&*written)] {
                    answers.push(ask(node, key, "POST /api/authorize", offset, Some(&check)));
                }
            }
        }
        answers
    };
    assert!(ask_all().iter().all(allowed));
    administer_in(&replica, "SELECT pg_wal_replay_pause()").unwrap();
    migrate(&url, FORMAT + 1, FORMAT + 1);
    for _ in 0..5 {
        for answer in ask_all() {
            assert!(is_refused(&answer), "{}", answer.text);
        }
    }
    assert_eq!(get(&nodes[1], "/ready").status, 503);
    migrate(&url, FORMAT, FORMAT);
    assert!(ask_all().iter().all(allowed));
}
