//! How fast the service makes SQL from a request.

use crate::http::Client;
use portcullis_testkit::expert::questions::{Ask, Question};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How many users take turns asking, so that few requests are the same.
const USERS: usize = 50_000;

/// From request to SQL: each kind of question from one client, then all kinds from eight at once.
pub(crate) fn latencies(address: SocketAddr, questions: &[Question]) -> Vec<Latency> {
    let mut kinds: Vec<Question> = Vec::new();
    for question in questions {
        if kinds.iter().all(|kind| kind.file != question.file) {
            kinds.push(*question);
        }
    }
    let mut found: Vec<Latency> = kinds
        .iter()
        .map(|kind| {
            let times = ask(address, std::slice::from_ref(kind), 0, 2_000);
            Latency::of(format!("{}, one client", kind.file), times, 1)
        })
        .collect();
    let clients = 8;
    let times = std::thread::scope(|scope| {
        let kinds = &kinds;
        let asking = |client| scope.spawn(move || ask(address, kinds, client * 1_000, 4_000));
        let asking: Vec<_> = (0..clients).map(asking).collect();
        asking.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    found.push(Latency::of(format!("all kinds, {clients} clients"), times, clients));
    found
}

/// How fast statements come.
#[derive(Debug)]
pub(crate) struct Latency {
    pub(crate) name: String,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) per_second: f64,
}

impl Latency {
    fn of(name: String, mut times: Vec<Duration>, clients: usize) -> Self {
        times.sort_unstable();
        let total: Duration = times.iter().sum();
        Self {
            name,
            p50: times[times.len() / 2],
            p99: times[times.len() * 99 / 100],
            per_second: times.len() as f64 * clients as f64 / total.as_secs_f64(),
        }
    }
}

/// Asks these kinds of question, taking turns, each time for a different user. A tenth as many are asked
/// first and not measured.
fn ask(address: SocketAddr, kinds: &[Question], first_user: usize, n_requests: usize) -> Vec<Duration> {
    let mut client = Client::new(address);
    let n_warm = n_requests / 10;
    let requests = (0..n_warm + n_requests).map(|at| {
        let mut question = kinds[at % kinds.len()];
        question.actor = u32::try_from((first_user + at * 7) % USERS + 1).unwrap();
        if let Ask::Check { issue, .. } | Ask::Actions { issue } = &mut question.ask {
            *issue = u32::try_from(at + 1).unwrap();
        }
        let (path, body) = question.request();
        (path, body.to_string())
    });
    let mut times = Vec::with_capacity(n_requests);
    for (at, (path, body)) in requests.enumerate() {
        let start = Instant::now();
        client.post(path, &body);
        if at >= n_warm {
            times.push(start.elapsed());
        }
    }
    times
}
