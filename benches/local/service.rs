//! The service with the example's policy, in this process, asked over HTTP on loopback.

use crate::http::Client;
use crate::questions::{Ask, Question};
use portcullis::config::Config;
use portcullis::engine::{Engine, EngineSettings, PolicyOptions};
use portcullis::http::{AppState, DEFAULT_ENVIRONMENT, Environment};
use serde_json::Value as Json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

const POLICY: &str = include_str!("../../docs/local-checks/policy.polar");

/// How many users ask in turns, so that few requests are the same.
const USERS: usize = 50_000;

/// A running service without any facts of its own; it ends with the process.
pub(crate) struct Service {
    address: SocketAddr,
}

impl Service {
    /// Starts it.
    pub(crate) async fn start() -> Self {
        let engine = Engine::in_memory(EngineSettings::default()).await.unwrap();
        engine.set_policy(POLICY.into(), "policy.polar".into(), PolicyOptions::default()).await.unwrap();
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let environment = Environment { name: DEFAULT_ENVIRONMENT.into(), engine };
        let state = AppState::new(Config { dev: true, ..Config::default() }, [environment]);
        tokio::spawn(portcullis::http::serve(listener, Arc::new(state), std::future::pending()));
        Self { address }
    }

    /// The SQL that answers a question.
    pub(crate) fn sql(&self, question: &Question) -> String {
        let (path, body) = question.request();
        let answer: Json =
            serde_json::from_slice(Client::new(self.address).post(path, &body.to_string())).unwrap();
        answer["sql"].as_str().unwrap().to_owned()
    }

    /// From request to SQL: each kind of question from one client, then all kinds from eight at once.
    pub(crate) fn latencies(&self, questions: &[Question]) -> Vec<Latency> {
        let mut kinds: Vec<Question> = Vec::new();
        for question in questions {
            if kinds.iter().all(|kind| kind.file != question.file) {
                kinds.push(*question);
            }
        }
        let mut found: Vec<Latency> = kinds
            .iter()
            .map(|kind| {
                let times = ask(self.address, std::slice::from_ref(kind), 0, 2_000);
                Latency::of(format!("{}, one client", kind.file), times, 1)
            })
            .collect();
        let clients = 8;
        let times = std::thread::scope(|scope| {
            let kinds = &kinds;
            let asking = |client| scope.spawn(move || ask(self.address, kinds, client * 1_000, 4_000));
            let asking: Vec<_> = (0..clients).map(asking).collect();
            asking.into_iter().flat_map(|client| client.join().unwrap()).collect()
        });
        found.push(Latency::of(format!("all kinds, {clients} clients"), times, clients));
        found
    }
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

/// Asks these kinds of question in turns, each time for another user, after as many unmeasured as a tenth.
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
