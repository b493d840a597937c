//! A service under attack: each attack, and its effect on a probe.
//!
//! ```text
//! cargo bench --bench overload                              every attack, 20 seconds each
//! cargo bench --bench overload -- --attack products-64      one of them
//! cargo bench --bench overload -- --soak 30                 all in turn for 30 minutes, a policy each second
//! ```
//!
//! The service is the program itself with its default settings, over a folder of its own. The probe is an
//! open loop: every 30 ms it opens a connection and asks `POST /authorize`, whether or not the answers before
//! have come, and times each answer from the moment at which it was due. It knows what is right: one user may
//! read, the other may not. The attackers are other holders of keys, some read-only, some of another
//! environment, and clients without a key.
//!
//! Meanwhile a watcher repeats questions about who may see what, with the keys of an environment without
//! attackers, with a revoked key, without one, and with one that may only read. Their answers must stay as
//! they were before.
//!
//! For each attack a row shows what the probe felt, how many of the watcher's answers were the same, the most
//! memory that the service took, and how the attackers were answered. The run fails at a wrong or changed
//! answer, at a 5xx that is not 503, and where a target is missed. Attackers, probe and service share the
//! machine, so figures count on an otherwise idle one.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement prints, and ends at the first error"
)]

#[path = "overload/attacks.rs"]
mod attacks;
#[path = "overload/client.rs"]
mod client;
#[path = "overload/isolation.rs"]
mod isolation;
#[path = "overload/probe.rs"]
mod probe;
#[expect(dead_code, reason = "other measurements read the mapped memory")]
#[path = "code_host/service.rs"]
mod service;
#[path = "overload/stage.rs"]
mod stage;
#[path = "overload/table.rs"]
mod table;

use attacks::{ALL, Attack, Statuses};
use clap::Parser;
use probe::Felt;
use stage::Stage;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use table::{Measure, Row};

/// What a service that is attacked still does for others.
#[derive(Debug, Parser)]
#[command(name = "overload", bin_name = "cargo bench --bench overload --")]
struct Options {
    /// Only these attacks, by name
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    attack: Vec<String>,
    /// How long each attack lasts
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    seconds: u64,
    /// Instead of each attack once: all in turn for this long, with a policy swap each second
    #[arg(long, value_name = "MINUTES")]
    soak: Option<u64>,
    /// Facts that an attacker reads back
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    facts: usize,
    /// Passed by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let options = Options::parse();
    let chosen: Vec<&Attack> = ALL
        .iter()
        .filter(|attack| options.attack.is_empty() || options.attack.iter().any(|name| name == attack.name))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = ALL.iter().map(|attack| attack.name).collect();
        println!("no such attack; there are {}", names.join(", "));
        std::process::exit(2);
    }
    let stage = Arc::new(Stage::set(options.facts));
    table::head();
    let missed = match options.soak {
        None => {
            let time = Duration::from_secs(options.seconds);
            chosen.iter().filter(|attack| !run(&stage, attack, time).print(attack, Measure::Targets)).count()
        }
        Some(minutes) => soak(&stage, &chosen, Duration::from_secs(minutes * 60), options.seconds),
    };
    if missed > 0 {
        println!("\n{missed} rows miss a target");
        std::process::exit(1);
    }
}

/// One attack while the probe measures.
fn run(stage: &Arc<Stage>, attack: &Attack, time: Duration) -> Row {
    let stop = Arc::new(AtomicBool::new(false));
    let watched = stage.watch_memory(&stop);
    let asked = stage.apart.watch(&stop);
    let statuses = Arc::new(Statuses::default());
    let attackers = attack.start(stage, &stop, &statuses);
    // The attackers first get where they want to be.
    std::thread::sleep(Duration::from_secs(1));
    let felt = Felt::of(stage.address, time);
    stop.store(true, Ordering::Relaxed);
    let (memory, isolation) = (watched.join().unwrap(), asked.join().unwrap());
    attackers.into_iter().for_each(|attacker| attacker.join().unwrap());
    stage.rest();
    Row { felt, isolation, memory, statuses: statuses.take() }
}

/// All attacks in turn while the policy is swapped each second; how many rows have wrong answers. The memory
/// of the last round must be that of the second: only in the first round do caches and pools fill.
fn soak(stage: &Arc<Stage>, attacks: &[&Attack], time: Duration, seconds: u64) -> usize {
    let stop = Arc::new(AtomicBool::new(false));
    let swaps = stage.swap_policies(&stop);
    let (start, mut missed, mut rounds) = (Instant::now(), 0, Vec::new());
    while start.elapsed() < time {
        let mut most = 0.0_f64;
        for attack in attacks.iter().take_while(|_| start.elapsed() < time) {
            let row = run(stage, attack, Duration::from_secs(seconds));
            most = most.max(row.memory);
            missed += usize::from(!row.print(attack, Measure::Answers));
        }
        rounds.push(most);
    }
    stop.store(true, Ordering::Relaxed);
    let n_swaps = swaps.join().unwrap();
    println!("\n{n_swaps} policies were swapped; the most memory of each round, in MB: {rounds:.0?}");
    let grew = rounds.last() > rounds.get(1).map(|second| second * 1.15).as_ref();
    missed + usize::from(grew)
}
