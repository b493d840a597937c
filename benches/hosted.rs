//! What hosted checks cost on the embedded store, inside the engine and over HTTP.
//!
//! ```text
//! cargo bench --bench hosted [-- FACTS…]            10,000 and 1,000,000 facts unless said otherwise
//! ```
//!
//! The facts are those of the code host in `fixtures/example`, loaded in batches of 10,000, each durable
//! before the next begins. Then one client asks random questions of each kind, first the engine, then the
//! service over HTTP on loopback; and eight clients ask together. Client and service share the machine.
//! Prints a table of quantiles; asserts only that some answers are yes and some are no.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a measurement prints, and ends at the first error"
)]

mod code_host;

use code_host::http::Client;
use code_host::{CodeHost, POLICY, Size, user, value};
use portcullis::config::Config;
use portcullis::engine::{Change, Engine, EngineSettings, Fact, PolicyOptions, Value};
use portcullis::http::{AppState, DEFAULT_ENVIRONMENT, Environment};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::sync::Arc;
use std::time::{Duration, Instant};

// As in the service: SQLite allocates through it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BATCH: usize = 10_000;

fn main() {
    let mut sizes: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![10_000, 1_000_000];
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for n_facts in sizes {
        runtime.block_on(run(n_facts));
    }
}

async fn run(n_facts: usize) {
    let size = Size::of(n_facts);
    let facts = CodeHost::facts(size, 7);
    println!("\n== {} facts: {size:?}", facts.len());
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let engine = Engine::open(dir.path(), EngineSettings::default()).await.unwrap();
    engine.set_policy(POLICY.into(), "policy.polar".into(), PolicyOptions::default()).await.unwrap();
    load(&engine, facts, dir.path()).await;
    engine_questions(&engine, size).await;
    lists(&engine, size).await;
    over_http(engine, size).await;
}

async fn load(engine: &Engine, facts: Vec<Fact>, dir: &std::path::Path) {
    let n_facts = facts.len();
    let batches: Vec<Vec<Change>> =
        facts.chunks(BATCH).map(|batch| vec![Change::Insert(batch.to_vec())]).collect();
    drop(facts);
    let start = Instant::now();
    for batch in batches {
        engine.apply(batch).await.unwrap();
    }
    let elapsed = start.elapsed();
    let bytes: u64 =
        std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    println!(
        "load                    {:>9.0} facts/s, {} bytes a fact with the log",
        n_facts as f64 / elapsed.as_secs_f64(),
        bytes / n_facts as u64
    );
}

/// One check: who, what, which.
fn question(random: &mut StdRng, size: Size) -> (Value, String, Value) {
    let action = ["read", "comment", "close"][random.random_range(0..3)];
    (
        user(random.random_range(0..size.users)),
        action.into(),
        value("Issue", random.random_range(0..size.issues)),
    )
}

async fn engine_questions(engine: &Engine, size: Size) {
    let mut random = StdRng::seed_from_u64(11);
    let mut times = Vec::new();
    let mut allowed = 0;
    for round in 0..12_000 {
        let (actor, action, resource) = question(&mut random, size);
        let start = Instant::now();
        let answer = engine.authorize(actor, action, resource, Vec::new()).await.unwrap();
        if round >= 2_000 {
            times.push(start.elapsed());
            allowed += usize::from(answer);
        }
    }
    println!("authorize               {}   ({} of {} allowed)", quantiles(&mut times), allowed, times.len());
    let mut times = Vec::new();
    for _ in 0..2_000 {
        let (actor, _, resource) = question(&mut random, size);
        let start = Instant::now();
        engine.actions(actor, resource, Vec::new()).await.unwrap();
        times.push(start.elapsed());
    }
    println!("actions                 {}", quantiles(&mut times));
}

/// The same checks over HTTP on loopback: one client, then eight.
async fn over_http(engine: Engine, size: Size) {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = Config { dev: true, ..Config::default() };
    let environment = Environment { name: DEFAULT_ENVIRONMENT.into(), engine };
    let state = Arc::new(AppState::new(config, [environment]));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let service = tokio::spawn(portcullis::http::serve(listener, state, async move {
        let _ = stopped.await;
    }));
    for n_clients in [1, 8] {
        let clients = (0..n_clients).map(|client| {
            tokio::task::spawn_blocking(move || {
                let mut random = StdRng::seed_from_u64(100 + client);
                let mut http = Client::new(address);
                let mut times = Vec::new();
                for _ in 0..6_000 {
                    let (actor, action, resource) = question(&mut random, size);
                    let body = format!(
                        r#"{{"actor_type":"User","actor_id":"{}","action":"{action}","resource_type":"Issue","resource_id":"{}"}}"#,
                        actor.id, resource.id
                    );
                    let start = Instant::now();
                    let answer = http.post("/authorize", &body);
                    times.push(start.elapsed());
                    assert!(answer.starts_with(br#"{"allowed":"#));
                }
                times
            })
        });
        let start = Instant::now();
        let clients: Vec<_> = clients.collect();
        let mut times = Vec::new();
        for client in clients {
            times.extend(client.await.unwrap());
        }
        let rate = times.len() as f64 / start.elapsed().as_secs_f64();
        println!("authorize, HTTP, {n_clients} at once {}   {rate:.0}/s", quantiles(&mut times));
    }
    stop.send(()).unwrap();
    service.await.unwrap();
}

/// Lists of repositories and issues, by how long the answer is.
async fn lists(engine: &Engine, size: Size) {
    let mut random = StdRng::seed_from_u64(13);
    for (ty, action) in
        [("Repository", "write"), ("Repository", "read"), ("Issue", "close"), ("Issue", "read")]
    {
        let mut times: Vec<(usize, Duration)> = Vec::new();
        for _ in 0..40 {
            let actor = user(random.random_range(1..size.users));
            let start = Instant::now();
            let page = engine.list(actor, action.into(), ty.into(), None, Vec::new()).await.unwrap();
            times.push((page.ids.len(), start.elapsed()));
        }
        times.sort_by_key(|(_, time)| *time);
        let (n_ids, time) = times[times.len() / 2];
        let per_10_000 = time.as_secs_f64() * 1e3 * 10_000.0 / n_ids.max(1) as f64;
        println!(
            "list {ty:<10} {action:<6}  p50 {time:>9.1?} for {n_ids} ids, {per_10_000:.1} ms per 10,000"
        );
    }
}

fn quantiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |per_mille: usize| {
        times
            .get((times.len() * per_mille / 1_000).min(times.len() - 1))
            .copied()
            .unwrap_or_else(|| panic!("no times"))
    };
    format!("p50 {:>9.1?}  p90 {:>9.1?}  p99 {:>9.1?}", at(500), at(900), at(990))
}
