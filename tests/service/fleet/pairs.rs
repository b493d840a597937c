//! What one node has stored, the others answer from, whichever server they ask.
//!
//! Each pair is a write on one node and a check on another one that carries the offset of the write. Two
//! replicas answer: one is always a little late, the other stands still most of the time. Every second write
//! takes back what an earlier one gave, so an old state would allow what is forbidden.
//!
//! `PORTCULLIS_PAIRS` is the number of pairs; 400 run with the other tests.

use super::{EndOfRace, NODES, allowed, may_read, nodes, number, offset, publish, replica_count};
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::postgres::administer_in;
use portcullis_testkit::program::Service;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// How many clients write and read at the same time.
const CLIENTS: usize = 4;

/// How many pairs of a client may wait for their check: those that a late replica has seen by then.
const WAITING: usize = 48;

/// A write that was acknowledged.
struct WrittenPair {
    repo: String,
    is_public: bool,
    offset: String,
}

/// Writes and reads until all pairs are taken; returns how many answers were old.
fn client(nth: usize, nodes: &[Service; NODES], left: &AtomicUsize) -> usize {
    let (mut waiting, mut given) = (VecDeque::new(), VecDeque::new());
    let mut n_old = 0;
    let mut check =
        |WrittenPair { repo, is_public, offset }: WrittenPair, node: usize, given: &mut VecDeque<_>| {
            let is_allowed = allowed(&may_read(&nodes[node % NODES], &repo, Some(&offset)));
            n_old += usize::from(is_allowed != is_public);
            if is_public {
                given.push_back(repo);
            }
        };
    let take = |left: usize| left.checked_sub(1);
    let mut n = 0;
    while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
        let taken_back = if n % 2 == 1 { given.pop_front() } else { None };
        let is_public = taken_back.is_none();
        let repo = taken_back.unwrap_or_else(|| format!("{nth}.{n}"));
        let offset = offset(&publish(&nodes[(nth + n) % NODES], &repo, is_public));
        waiting.push_back(WrittenPair { repo, is_public, offset });
        // Every second check follows its write at once, the others after a while.
        let next = if n % 4 < 2 { waiting.pop_back() } else { None };
        let next = next.or_else(|| (waiting.len() > WAITING).then(|| waiting.pop_front()).flatten());
        if let Some(pair) = next {
            check(pair, nth + n + 1 + n % 2, &mut given);
        }
        n += 1;
    }
    for (n, pair) in waiting.into_iter().enumerate() {
        check(pair, n, &mut given);
    }
    n_old
}

#[test]
fn no_answer_is_older_than_the_write_that_its_question_names() {
    let settings = ["shared_buffers=16MB", "synchronous_commit=on", "wal_keep_size=512MB"];
    let (_primary, port) = Cluster::with_port(&settings).unwrap();
    let late = [&settings[..], &["recovery_min_apply_delay=20ms"]].concat();
    let starting = [late, settings.to_vec()]
        .map(|settings| thread::spawn(move || Cluster::standby_of(port, &settings).unwrap()));
    let [(_late, second), (_halting, third)] = starting.map(|standby| standby.join().unwrap());
    let [url, late, halting] =
        [port, second, third].map(|port| format!("postgres://postgres@127.0.0.1:{port}/postgres"));
    let replicas = ["--store-replica", &*late, "--store-replica", &*halting];
    let bounded = [&replicas[..], &["--max-staleness", "1"]].concat();
    let nodes = &nodes(&url, [&replicas, &replicas, &bounded]);
    let n_pairs = number("PORTCULLIS_PAIRS", 400);
    let (left, is_over) = (&AtomicUsize::new(n_pairs), &AtomicBool::new(false));
    let began = Instant::now();
    let n_old: usize = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                administer_in(&halting, "SELECT pg_wal_replay_pause()").unwrap();
                sleep(Duration::from_millis(300));
                administer_in(&halting, "SELECT pg_wal_replay_resume()").unwrap();
                sleep(Duration::from_millis(200));
            }
        });
        let _end = EndOfRace(is_over);
        let clients: [_; CLIENTS] = std::array::from_fn(|nth| scope.spawn(move || client(nth, nodes, left)));
        clients.map(|client| client.join().unwrap()).into_iter().sum()
    });
    let count =
        |replica, outcome| nodes.iter().map(|node| replica_count(node, replica, outcome)).sum::<u64>();
    let [late, halting] =
        [1, 2].map(|replica| ["answered", "behind", "failed"].map(|outcome| count(replica, outcome)));
    println!(
        "{n_pairs} pairs in {:?}, {n_old} old answers; late replica: {} answered, {} behind, {} failed; halting \
         replica: {} answered, {} behind, {} failed; the rest by the primary",
        began.elapsed(),
        late[0],
        late[1],
        late[2],
        halting[0],
        halting[1],
        halting[2],
    );
    assert_eq!(n_old, 0);
    for [answered, behind, _] in [late, halting] {
        assert!(answered > 0 && behind > 0, "a replica that is never asked, or never late, proves nothing");
    }
}
