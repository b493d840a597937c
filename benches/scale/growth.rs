//! How much slower a check is over many facts than over few, both asked alternately.
//!
//! Two scales measured minutes apart differ by what else the machine did in between, and by how deep its
//! processors slept. So both services run at once, then both engines are open at once, and take turns of
//! [`TURN`] questions: what slows the machine slows both.

use crate::ask::{self, Request};
use crate::code_host::http::Client;
use crate::code_host::service::serve;
use crate::options::{Options, Part};
use crate::run::Run;
use crate::times::Times;
use portcullis::engine::{Engine, EngineSettings};
use std::time::Duration;

/// Questions of a turn.
const TURN: usize = 500;

/// The smallest and the largest of the scales that were measured.
#[derive(Clone, Debug)]
pub(crate) struct Growth {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) grown: [Grown; 2],
}

/// Single decisions at both scales.
#[derive(Clone, Debug)]
pub(crate) struct Grown {
    pub(crate) name: &'static str,
    pub(crate) small: Times,
    pub(crate) large: Times,
}

impl Grown {
    /// How many times as long the median takes.
    pub(crate) fn ratio(&self) -> f64 {
        self.large.at(500).as_secs_f64() / self.small.at(500).as_secs_f64()
    }
}

/// Asks single decisions at both ends, if there are two and decisions are asked for.
pub(crate) fn between_ends(
    runs: &[Run],
    options: &Options,
    runtime: &tokio::runtime::Runtime,
) -> Option<Growth> {
    let small = runs.iter().min_by(|a, b| a.scale.total_cmp(&b.scale))?;
    let large = runs.iter().max_by(|a, b| a.scale.total_cmp(&b.scale))?;
    if small.scale >= large.scale || small.bytes.is_none() || !options.asks(Part::Authorize) {
        return None;
    }
    options.say(&format!("scales {} and {} alternately", small.scale, large.scale));
    let grown = [over_http(small, large), runtime.block_on(in_engine(small, large))];
    Some(Growth { from: small.scale, to: large.scale, grown })
}

fn over_http(small: &Run, large: &Run) -> Grown {
    let runs = [small, large];
    let services = runs.map(|run| serve(&run.folder.data(), &[]));
    let mut clients = [0, 1].map(|at| Client::new(services[at].caller.address()));
    let requests = runs.map(|run| Request::all(&run.decisions));
    let mut times = [Vec::new(), Vec::new()];
    for turn in turns(small, large) {
        for side in [0, 1] {
            let took = requests[side][turn.clone()].iter().map(|request| request.send(&mut clients[side]));
            times[side].extend(took);
        }
    }
    for service in services {
        service.stop();
    }
    grown("authorize, HTTP, one client", times)
}

async fn in_engine(small: &Run, large: &Run) -> Grown {
    let settings = EngineSettings::default;
    let engines = [
        Engine::open(&small.folder.store(), settings()).await.unwrap(),
        Engine::open(&large.folder.store(), settings()).await.unwrap(),
    ];
    let mut times = [Vec::new(), Vec::new()];
    for turn in turns(small, large) {
        for (side, run) in [small, large].into_iter().enumerate() {
            for question in &run.decisions[turn.clone()] {
                times[side].push(ask::in_engine(&engines[side], question).await);
            }
        }
    }
    grown("authorize, engine", times)
}

/// The questions of each turn.
fn turns(small: &Run, large: &Run) -> impl Iterator<Item = std::ops::Range<usize>> {
    let n_turns = small.decisions.len().min(large.decisions.len()) / TURN;
    (0..n_turns).map(|turn| turn * TURN..(turn + 1) * TURN)
}

/// The first tenth only warms.
fn grown(name: &'static str, times: [Vec<Duration>; 2]) -> Grown {
    let [small, large] = times.map(|mut times| Times::of(times.split_off(times.len() / 10)));
    Grown { name, small, large }
}
