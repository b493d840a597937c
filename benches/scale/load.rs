//! Loads all facts over HTTP, in batches, each on the disk before its answer.

use crate::code_host::CodeHost;
use crate::code_host::http::Client;
use crate::times::Times;
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use serde_json::Value as Json;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Facts of a batch.
const BATCH: usize = 10_000;

/// The order in which facts come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// Table by table, as an import reads them
    Tables,
    /// Shuffled, all of them
    Random,
}

/// What loading took.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) n_facts: usize,
    pub(crate) elapsed: Duration,
    /// Of the batches.
    pub(crate) batches: Times,
}

impl Loaded {
    /// How many facts came in a second.
    pub(crate) fn per_second(&self) -> f64 {
        self.n_facts as f64 / self.elapsed.as_secs_f64()
    }
}

/// Sends all facts on some connections at once; each takes the next batch as soon as its last one is stored.
pub(crate) fn load(
    address: SocketAddr,
    host: &CodeHost,
    order: Order,
    connections: usize,
    seed: u64,
) -> Loaded {
    let n_facts = host.n_facts();
    let shuffled = match order {
        Order::Tables => None,
        Order::Random => {
            let mut numbers: Vec<u32> = (0..n_facts as u32).collect();
            numbers.shuffle(&mut StdRng::seed_from_u64(seed));
            Some(numbers)
        }
    };
    let shuffled = shuffled.as_deref();
    let bar = ProgressBar::new(n_facts as u64);
    let style = "{bar:30} {human_pos} of {human_len} facts, {per_sec}, {eta} left";
    bar.set_style(ProgressStyle::with_template(style).unwrap());
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    let times: Vec<Duration> = std::thread::scope(|scope| {
        let (next, bar) = (&next, &bar);
        let loader = || {
            scope.spawn(move || {
                let mut client = Client::new(address);
                let mut times = Vec::new();
                loop {
                    let first = next.fetch_add(BATCH, Ordering::Relaxed);
                    if first >= n_facts {
                        return times;
                    }
                    let numbers = first..n_facts.min(first + BATCH);
                    let number = |at: usize| shuffled.map_or(at, |numbers| numbers[at] as usize);
                    let body = host.bulk(numbers.clone().map(number));
                    let start = Instant::now();
                    client.post("/bulk_load", &body);
                    times.push(start.elapsed());
                    bar.inc(numbers.len() as u64);
                }
            })
        };
        let loading: Vec<_> = (0..connections).map(|_| loader()).collect();
        loading.into_iter().flat_map(|loader| loader.join().unwrap()).collect()
    });
    let elapsed = start.elapsed();
    bar.finish_and_clear();
    let batches = Times::during(times, elapsed);
    let loaded = Loaded { n_facts, elapsed, batches };
    assert_eq!(stored(address), n_facts, "every fact is stored once");
    loaded
}

/// How many facts the service says it has.
pub(crate) fn stored(address: SocketAddr) -> usize {
    let mut client = Client::new(address);
    let (status, answer) = client.send("GET", "/stats", "");
    assert_eq!(status, 200);
    let stats: Json = serde_json::from_slice(answer).unwrap();
    usize::try_from(stats["num_facts"].as_u64().unwrap()).unwrap()
}
