//! The primary is killed while three nodes write and read, and a standby takes over.
//!
//! Each round has a primary with two standbys and three nodes, the last of which asks the standbys, too.
//! Clients write to one node, and ask the two others what they may do then. Each of their batches takes back
//! what the one before gave, so an answer from an older state would allow what is forbidden. After the
//! failover, every batch that was acknowledged is there, or a read that names it is answered 409.
//!
//! `PORTCULLIS_FAILOVERS` is the number of rounds; two run with the other tests. Of each two rounds, the
//! first has `synchronous_commit = remote_apply`.

use super::{NODES, allowed, ask, get, may_read, number, post};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::hosted::RUNTIME;
use portcullis_testkit::program::Service;
use portcullis_testkit::server::POLICY;
use portcullis_testkit::trio::{Confirmed, DatabaseServer, Trio};
use portcullis_testkit::wire::{Answer, fact_json};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// How many batches are acknowledged before the primary is killed, at least.
const BEFORE: usize = 60;

/// How many batches of a client must be acknowledged after the failover.
const AFTERWARDS: usize = 5;

/// How long nodes may need until they write again.
const PATIENCE: Duration = Duration::from_mins(1);

/// How far a round is.
#[derive(Default)]
struct FailoverProgress {
    is_promoted: AtomicBool,
    /// Batches that were acknowledged.
    n_batches: AtomicUsize,
    /// Checks that were answered.
    n_checks: AtomicUsize,
}

/// The notes of a client. Its nth batch takes back its repository `n - 1`, and gives its repository `n`.
struct ClientNotes {
    name: String,
    /// The offsets of its batches that were acknowledged.
    acknowledged: Vec<String>,
    /// Whether a node has told it that writes were lost.
    knows_of_loss: bool,
}

/// What an answer says about the loss of writes; one that is neither answered nor refused for a while panics.
fn tells_of_loss(answer: &Answer) -> bool {
    match (answer.status, answer.code()) {
        (409, "lost_write") | (503, "restart_required") => true,
        (503, "unavailable") => false,
        _ => panic!("{} {}", answer.status, answer.text),
    }
}

impl ClientNotes {
    fn repo(&self, step: usize) -> String {
        format!("{}.{step}", self.name)
    }

    /// Writes until it has enough batches after the failover, or learns that writes were lost.
    fn write(mut self, nth: usize, nodes: &[Service; NODES], progress: &FailoverProgress) -> Self {
        let (mut last, mut n_afterwards) = (Instant::now(), 0);
        while n_afterwards < AFTERWARDS && !self.knows_of_loss {
            assert!(last.elapsed() < PATIENCE, "{}: nothing is written any more", self.name);
            let is_afterwards = progress.is_promoted.load(Ordering::SeqCst);
            let step = self.acknowledged.len() + 1;
            let fact = |step: usize| fact_json(&["is_public", &format!("Repo:{}", self.repo(step))]);
            let batch = json!([{ "deletes": [fact(step - 1)] }, { "inserts": [fact(step)] }]);
            let written = post(&nodes[nth % NODES], "batch", &batch);
            if written.status == 200 {
                self.acknowledged.push(written.header("osooffset").unwrap().to_owned());
                progress.n_batches.fetch_add(1, Ordering::SeqCst);
                (last, n_afterwards) = (Instant::now(), n_afterwards + usize::from(is_afterwards));
                for other in 1..NODES {
                    self.check(&nodes[(nth + other) % NODES], step, progress);
                }
            } else {
                self.knows_of_loss |= tells_of_loss(&written);
            }
        }
        self
    }

    /// Asks for what its last batch did.
    fn check(&mut self, node: &Service, step: usize, progress: &FailoverProgress) {
        let offset = self.acknowledged.last().cloned();
        for (step, expected) in [(step, true), (step - 1, false)] {
            let answer = may_read(node, &self.repo(step), offset.as_deref());
            if answer.status == 200 {
                assert_eq!(allowed(&answer), expected, "{} of {}", step, self.name);
                progress.n_checks.fetch_add(1, Ordering::SeqCst);
            } else {
                self.knows_of_loss |= tells_of_loss(&answer);
            }
        }
    }

    /// Compares what survived with the notes; returns how many batches were lost. Each of them is answered
    /// 409.
    fn compare(&self, node: &Service) -> usize {
        let stored = get(node, "/api/facts?predicate=is_public").json();
        let step = |fact: &serde_json::Value| {
            let id = fact["args"][0]["id"].as_str().unwrap();
            id.strip_prefix(&*self.name)?.strip_prefix('.')?.parse::<usize>().ok()
        };
        let survived: Vec<usize> = stored.as_array().unwrap().iter().filter_map(step).collect();
        let n_acknowledged = self.acknowledged.len();
        assert!(survived.len() == 1 && survived[0] <= n_acknowledged + 1, "{}: {survived:?}", self.name);
        for (step, offset) in (1..).zip(&self.acknowledged) {
            let answer = may_read(node, &self.repo(survived[0]), Some(offset));
            if step <= survived[0] {
                assert!(allowed(&answer), "{}: batch {step}", self.name);
            } else {
                answer.fails(409, "was lost when another server took over");
                assert_eq!(answer.code(), "lost_write");
            }
        }
        n_acknowledged.saturating_sub(survived[0])
    }
}

/// What a round has shown.
#[derive(Default)]
struct FailoverCounts {
    acknowledged: usize,
    lost: usize,
    checks: usize,
}

/// Nodes over all servers, the last of which asks the standbys, too.
fn nodes(trio: &Trio) -> [Service; NODES] {
    let (url, replicas) = (trio.url(), trio.standby_urls());
    let replicas: Vec<&str> = replicas.iter().flat_map(|url| ["--store-replica", url]).collect();
    thread::scope(|scope| {
        [&[][..], &[], &replicas]
            .map(|args| {
                let args = [&["--store", &*url, "--query-wait", "2"], args].concat();
                scope.spawn(move || Service::develop(&args))
            })
            .map(|node| node.join().unwrap())
    })
}

/// One round. Returns the new primary as well.
fn round(primary: DatabaseServer, nth: usize, confirmed: Confirmed) -> (DatabaseServer, FailoverCounts) {
    let trio = RUNTIME.block_on(Trio::around(primary, confirmed));
    let (url, progress) = (trio.url(), &FailoverProgress::default());
    let nodes = nodes(&trio);
    if nth == 0 {
        assert_eq!(post(&nodes[0], "policy", &json!({ "src": POLICY })).status, 200);
    }
    let (promoted, clients) = thread::scope(|scope| {
        let clients: [_; NODES] = std::array::from_fn(|n| {
            let (acknowledged, name) = (Vec::new(), format!("{nth}.{n}"));
            let notes = ClientNotes { name, acknowledged, knows_of_loss: false };
            let nodes = &nodes;
            scope.spawn(move || notes.write(n, nodes, progress))
        });
        let (began, enough) = (Instant::now(), BEFORE + 7 * (nth % 10));
        while progress.n_batches.load(Ordering::SeqCst) < enough {
            assert!(began.elapsed() < PATIENCE, "nothing is written");
            sleep(Duration::from_millis(5));
        }
        let promoted = RUNTIME.block_on(trio.fail_over(confirmed, &progress.n_batches));
        progress.is_promoted.store(true, Ordering::SeqCst);
        (promoted, clients.map(|client| client.join().unwrap()))
    });
    // As a supervisor does with nodes that are not ready.
    drop(nodes);
    let node = Service::develop(&["--store", &url]);
    let mut counts =
        FailoverCounts { checks: progress.n_checks.load(Ordering::SeqCst), ..FailoverCounts::default() };
    for client in &clients {
        let lost = client.compare(&node);
        assert!(client.knows_of_loss || lost == 0, "{}: {lost} lost, and not told", client.name);
        let may_lose = confirmed == Confirmed::ByPrimary;
        assert!(may_lose || !client.knows_of_loss, "{}: told of a loss without one", client.name);
        counts.acknowledged += client.acknowledged.len();
        counts.lost += lost;
    }
    // A batch that carries the offset of a lost one is stored: otherwise its client could never write again.
    if let Some(lost) =
        clients.iter().find_map(|client| client.acknowledged.last().filter(|_| counts.lost > 0))
    {
        let batch = json!([{ "inserts": [fact_json(&["is_public", &format!("Repo:after {nth}")])] }]);
        let written = ask(&node, DEVELOPMENT_KEY, "POST /api/batch", Some(lost), Some(&batch));
        assert_eq!(written.status, 200, "{}", written.text);
        let offset = written.header("osooffset");
        assert!(allowed(&may_read(&node, &format!("after {nth}"), offset)));
    }
    (promoted, counts)
}

#[test]
fn a_primary_that_is_killed_under_three_nodes_loses_no_batch_unnoticed() {
    let n_rounds = number("PORTCULLIS_FAILOVERS", 2);
    let mut primary = DatabaseServer::start();
    let mut all = [FailoverCounts::default(), FailoverCounts::default()];
    for nth in 0..n_rounds {
        let confirmed = if nth % 2 == 0 { Confirmed::ByStandby } else { Confirmed::ByPrimary };
        let (promoted, counts) = round(primary, nth, confirmed);
        match confirmed {
            Confirmed::ByStandby => assert_eq!(counts.lost, 0, "round {nth}: a standby had confirmed them"),
            Confirmed::ByPrimary => assert!(counts.lost > 0, "round {nth}: the standbys got all of it"),
        }
        let sum = &mut all[nth % 2];
        sum.acknowledged += counts.acknowledged;
        sum.lost += counts.lost;
        sum.checks += counts.checks;
        primary = promoted;
    }
    let [confirmed, others] = all;
    println!(
        "{n_rounds} failovers; {} batches confirmed by a standby, {} lost; {} others, {} lost, each answered 409; \
         {} checks meanwhile, none wrong",
        confirmed.acknowledged,
        confirmed.lost,
        others.acknowledged,
        others.lost,
        confirmed.checks + others.checks
    );
}
