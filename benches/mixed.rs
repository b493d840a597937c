//! A service under everything at once: checks, lists, batches, policy changes, on 64 connections.
//!
//! ```text
//! cargo bench --bench mixed [-- --minutes 10 --facts 100000]
//! ```
//!
//! The service is the program itself, over a folder of its own, with the code host of `fixtures/example`.
//! Every connection asks, pauses and asks again, as clients do that have something else to do; together they
//! ask as often as the table of [`Kind`] says. Batches replace what the batch before them stored, so the
//! store does not grow. Each 30 seconds it prints the memory of the service, and at the end what each kind of
//! request took and every answer that was not a success. Clients and service share the machine. It fails if
//! an answer is neither a success nor a documented limit (429, 503), or if the memory grows after the first
//! half.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a measurement prints, and ends at the first error"
)]

mod code_host;

use code_host::http::Client;
use code_host::service::{Memory, serve};
use code_host::{CodeHost, Entity, POLICY, Size, first_ordinary};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often the memory is looked at.
const LOOK: Duration = Duration::from_secs(30);

/// The most that the memory may have grown since the first half.
const MOST_GROWTH: f64 = 1.15;

/// Kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Authorize,
    Actions,
    List,
    Batch,
    LargeBatch,
    Policy,
    Read,
}

/// Connections of a kind, and the milliseconds that each pauses on average; 64 in all.
const LOAD: [(Kind, usize, u64); 7] = [
    (Kind::Authorize, 36, 40),
    (Kind::Actions, 6, 100),
    (Kind::List, 10, 500),
    (Kind::Batch, 8, 200),
    (Kind::LargeBatch, 1, 3_000),
    (Kind::Policy, 1, 5_000),
    (Kind::Read, 2, 1_000),
];

/// Facts at scale 1.
const FACTS: f64 = 1_500_000.0;

/// Facts of a batch, and of a large one.
const BATCH: usize = 100;
const LARGE_BATCH: usize = 5_000;

/// What was measured, until somebody takes it.
#[derive(Debug, Default)]
struct Measured {
    times: BTreeMap<Kind, Vec<Duration>>,
    refusals: BTreeMap<(Kind, u16, String), usize>,
}

fn main() {
    let minutes: f64 = argument("--minutes", 10.0);
    let n_facts: u32 = argument("--facts", 100_000);
    let size = Size::scaled(f64::from(n_facts) / FACTS);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let service = serve(folder.path(), &[]);
    load(service.caller.address(), size);

    let (measured, stop) = (Arc::new(Mutex::new(Measured::default())), Arc::new(AtomicBool::new(false)));
    let mut clients = Vec::new();
    for (kind, n_connections, pause) in LOAD {
        for _ in 0..n_connections {
            let number = clients.len() as u64;
            let (measured, stop, address) =
                (Arc::clone(&measured), Arc::clone(&stop), service.caller.address());
            clients.push(std::thread::spawn(move || {
                Asker { kind, number, size, random: StdRng::seed_from_u64(number), round: 0 }.run(
                    address,
                    Duration::from_millis(pause),
                    &measured,
                    &stop,
                );
            }));
        }
    }
    println!("{} connections for {minutes} minutes, {n_facts} facts", clients.len());
    println!(
        "\n| after | memory | mapped | requests a second | authorize p99 |\n| --- | --- | --- | --- | --- |"
    );
    let (mut all, mut memory) = (Measured::default(), Vec::new());
    let (start, end) = (Instant::now(), Duration::from_secs_f64(minutes * 60.0));
    while start.elapsed() < end {
        let looked = Instant::now();
        std::thread::sleep(LOOK.min(end.saturating_sub(start.elapsed())));
        let mut part = std::mem::take(&mut *measured.lock().unwrap());
        let n_requests: usize = part.times.values().map(Vec::len).sum();
        let now = Memory::of(service.program.id());
        memory.push(now.own);
        println!(
            "| {:.0} s | {:.0} MB | {:.0} MB | {:.0} | {:.1?} |",
            start.elapsed().as_secs_f64(),
            now.own,
            now.mapped,
            n_requests as f64 / looked.elapsed().as_secs_f64(),
            quantile(part.times.entry(Kind::Authorize).or_default(), 990),
        );
        part.times.into_iter().for_each(|(kind, times)| all.times.entry(kind).or_default().extend(times));
        part.refusals.into_iter().for_each(|(what, n)| *all.refusals.entry(what).or_default() += n);
    }
    stop.store(true, Ordering::Relaxed);
    clients.into_iter().for_each(|client| client.join().unwrap());
    service.stop();
    report(all, &memory, start.elapsed());
}

/// The value after a name on the command line.
fn argument<T: std::str::FromStr>(name: &str, default: T) -> T {
    let given = std::env::args().skip_while(|arg| arg != name).nth(1);
    given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} {text}")))
}

fn load(address: SocketAddr, size: Size) {
    let mut client = Client::new(address);
    client.post("/policy?force=true", &json!({ "src": POLICY }).to_string());
    let host = CodeHost::new(size, 7);
    let n_facts = host.n_facts();
    for first in (0..n_facts).step_by(10_000) {
        client.post("/bulk_load", &host.bulk(first..n_facts.min(first + 10_000)));
    }
}

/// One connection.
struct Asker {
    kind: Kind,
    number: u64,
    size: Size,
    random: StdRng,
    round: usize,
}

impl Asker {
    fn run(&mut self, address: SocketAddr, pause: Duration, measured: &Mutex<Measured>, stop: &AtomicBool) {
        let mut client = Client::new(address);
        while !stop.load(Ordering::Relaxed) {
            // Between nothing and twice the average; the next look at `stop` is never far away.
            let until = Instant::now() + pause.mul_f64(self.random.random_range(0.0..2.0));
            while Instant::now() < until && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(200).min(until - Instant::now()));
            }
            let (method, path, body) = self.request();
            self.round += 1;
            let start = Instant::now();
            let (status, answer) = client.send(method, &path, &body);
            let took = start.elapsed();
            let mut measured = measured.lock().unwrap();
            if (200..300).contains(&status) {
                measured.times.entry(self.kind).or_default().push(took);
            } else {
                let answer = String::from_utf8_lossy(answer).into_owned();
                *measured.refusals.entry((self.kind, status, answer)).or_default() += 1;
            }
        }
    }

    fn request(&mut self) -> (&'static str, String, String) {
        let actor = Entity::User(self.random.random_range(first_ordinary()..self.size.users)).id();
        let issue = self.random.random_range(0..self.size.issues).to_string();
        let post = |path: &str, body: Json| ("POST", path.to_owned(), body.to_string());
        match self.kind {
            Kind::Authorize => {
                let action = ["read", "comment", "close"][self.random.random_range(0..3)];
                let body = json!({ "actor_type": "User", "actor_id": actor, "action": action,
                    "resource_type": "Issue", "resource_id": issue });
                post("/authorize", body)
            }
            Kind::Actions => {
                let body = json!({ "actor_type": "User", "actor_id": actor,
                    "resource_type": "Issue", "resource_id": issue });
                post("/actions", body)
            }
            Kind::List => {
                let ty = ["Repository", "Issue"][self.random.random_range(0..2)];
                let body = json!({ "actor_type": "User", "actor_id": actor, "action": "read",
                    "resource_type": ty, "page_size": 10_000 });
                post("/list", body)
            }
            Kind::Batch => post("/batch", self.batch(BATCH)),
            Kind::LargeBatch => post("/batch", self.batch(LARGE_BATCH)),
            Kind::Policy => {
                let src = format!("{POLICY}\n# version {}\n", self.round % 2);
                post("/policy?force=true", json!({ "src": src }))
            }
            Kind::Read => {
                let paths = [
                    "/stats".to_owned(),
                    "/policy".to_owned(),
                    "/policy_metadata".to_owned(),
                    format!("/facts?predicate=has_relation&args.0.type=Issue&args.0.id={issue}"),
                ];
                ("GET", paths[self.random.random_range(0..paths.len())].clone(), String::new())
            }
        }
    }

    /// Facts of this connection, in place of those of its batch before.
    fn batch(&mut self, n_facts: usize) -> Json {
        let issue = |round: usize, n: usize| format!("mixed-{}-{}-{n}", self.number, round % 16);
        let (this, former) = (self.round, self.round.wrapping_sub(1));
        let relation = |issue: String, repository: Json| {
            let args =
                [json!({ "type": "Issue", "id": issue }), json!({ "type": "String", "id": "repository" })];
            json!({ "predicate": "has_relation", "args": [args[0], args[1], repository] })
        };
        let deletes: Vec<Json> =
            (0..n_facts).map(|n| relation(issue(former, n), json!({ "type": "Repository" }))).collect();
        let mut repository = || Entity::Repository(self.random.random_range(0..self.size.repositories)).id();
        let repositories: Vec<String> = (0..n_facts).map(|_| repository()).collect();
        let inserts: Vec<Json> = (0..n_facts)
            .zip(repositories)
            .map(|(n, id)| relation(issue(this, n), json!({ "type": "Repository", "id": id })))
            .collect();
        json!([{ "deletes": deletes }, { "inserts": inserts }])
    }
}

fn report(all: Measured, memory: &[f64], took: Duration) {
    println!(
        "\n| request | count | a second | p50 | p90 | p99 | longest |\n| --- | --- | --- | --- | --- | --- | --- |"
    );
    for (kind, mut times) in all.times {
        let n = times.len();
        let [p50, p90, p99, longest] = [500, 900, 990, 1_000].map(|at| quantile(&mut times, at));
        let rate = n as f64 / took.as_secs_f64();
        println!("| {kind:?} | {n} | {rate:.1} | {p50:.1?} | {p90:.1?} | {p99:.1?} | {longest:.1?} |");
    }
    let mut wrong = 0;
    println!("\nanswers that were not a success: {}", all.refusals.values().sum::<usize>());
    for ((kind, status, answer), n) in &all.refusals {
        println!("  {n} times {kind:?} {status} {answer}");
        wrong += if matches!(status, 429 | 503) { 0 } else { *n };
    }
    assert_eq!(wrong, 0, "an answer was neither a success nor a documented limit");
    let (first, last) = memory.split_at(memory.len().div_ceil(2));
    let most = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
    let growth = most(last) / most(first);
    println!("memory of the second half: {growth:.2} of the first");
    assert!(growth < MOST_GROWTH, "the memory grows");
}

fn quantile(times: &mut [Duration], per_mille: usize) -> Duration {
    times.sort_unstable();
    let at = (times.len() * per_mille / 1_000).min(times.len().saturating_sub(1));
    times.get(at).copied().unwrap_or_default()
}
