//! Eight clients that check without a pause, alone and while something disturbs them.
//!
//! First they check alone, for a while. Then a writer sends batches of 1,000 facts, one after the other: it
//! adds issues that no question is about, and with the next batch deletes them, so that the store stays as
//! large as it is. Then the policy is replaced ten times a second by an equivalent one. Every check must be
//! answered correctly.

use crate::ask::Request;
use crate::code_host::facts::Row;
use crate::code_host::http::Client;
use crate::code_host::{CodeHost, Entity, POLICY};
use crate::questions::Question;
use crate::times::Times;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Clients that check.
pub(crate) const CLIENTS: usize = 8;

/// Facts of a batch.
const BATCH: usize = 1_000;

/// How long a policy stays.
const SWAP: Duration = Duration::from_millis(100);

/// Checks, and what happened during them.
#[derive(Clone, Debug)]
pub(crate) struct Disturbed {
    pub(crate) checks: Times,
    /// Requests of the one that disturbs.
    pub(crate) others: Times,
}

/// Checks without anything else.
pub(crate) fn alone(address: SocketAddr, questions: &[Question], time: Duration) -> Times {
    checks_while(address, questions, || std::thread::sleep(time)).0
}

/// Checks during batches of facts.
pub(crate) fn during_batches(
    address: SocketAddr,
    questions: &[Question],
    host: &CodeHost,
    time: Duration,
) -> Disturbed {
    let facts = |issues: std::ops::Range<u32>| {
        let mut facts = String::from("[");
        for issue in issues {
            let repository = Entity::Repository(issue % host.size.repositories);
            facts.push_str(if facts.len() > 1 { "," } else { "" });
            Row::Relation(Entity::Issue(host.size.issues + issue), "repository", repository).json(&mut facts);
        }
        facts + "]"
    };
    let (checks, others) = checks_while(address, questions, || {
        let mut client = Client::new(address);
        let mut times = Vec::new();
        let start = Instant::now();
        // In pairs: what was added is deleted, whenever this ends.
        for round in 0.. {
            if start.elapsed() >= time {
                break;
            }
            let first = round * BATCH as u32;
            let facts = facts(first..first + BATCH as u32);
            for path in ["/bulk_load", "/bulk_delete"] {
                let start = Instant::now();
                client.post(path, &facts);
                times.push(start.elapsed());
            }
        }
        Times::of(times)
    });
    Disturbed { checks, others }
}

/// Checks during policy uploads.
pub(crate) fn during_policies(address: SocketAddr, questions: &[Question], time: Duration) -> Disturbed {
    let (checks, others) = checks_while(address, questions, || {
        let mut client = Client::new(address);
        let mut times = Vec::new();
        let start = Instant::now();
        while start.elapsed() < time {
            let src = format!("{POLICY}\n# version {}\n", times.len() % 2);
            let body = json!({ "src": src }).to_string();
            let start = Instant::now();
            client.post("/policy?force=true", &body);
            times.push(start.elapsed());
            std::thread::sleep(SWAP.saturating_sub(start.elapsed()));
        }
        Times::of(times)
    });
    Disturbed { checks, others }
}

/// Lets clients check until something else is done.
fn checks_while<T>(address: SocketAddr, questions: &[Question], other: impl FnOnce() -> T) -> (Times, T) {
    let requests = &Request::all(questions);
    let ended = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let start = Instant::now();
        let client = |number: usize| {
            scope.spawn(move || {
                let mut client = Client::new(address);
                let mine = requests.iter().cycle().skip(number * requests.len() / CLIENTS);
                let mine = mine.take_while(|_| !ended.load(Ordering::Relaxed));
                mine.map(|request| request.send(&mut client)).collect::<Vec<_>>()
            })
        };
        let asking: Vec<_> = (0..CLIENTS).map(client).collect();
        let done = other();
        ended.store(true, Ordering::Relaxed);
        let times: Vec<Duration> = asking.into_iter().flat_map(|client| client.join().unwrap()).collect();
        (Times::during(times, start.elapsed()), done)
    })
}
