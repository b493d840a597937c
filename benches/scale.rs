//! How the service does at scale: right, fast, small, and undisturbed.
//!
//! ```sh
//! cargo bench --bench scale                                # scales 0.01 and 1, about two minutes
//! cargo bench --bench scale -- --scale 0.01,1,5            # how it grows
//! cargo bench --bench scale -- --help
//! ```
//!
//! The workload is a code host (`code_host`), made from a seed. The service is the program itself as a
//! process next to this one, over a folder of its own, and is asked over HTTP; afterwards the engine is asked
//! in this process. What every answer must be is worked out from the workload's arrays (`scale/truth.rs`),
//! without the program, and every answer that is measured is compared. Client and service share the machine.
//!
//! ```text
//! seed ─code_host─▶ arrays ─┬─load─▶ service ◀─ask, pressure─┐
//!                           └─truth, sample, questions───────┴─▶ times ─targets, report─▶ tables, JSON
//! ```

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

#[path = "scale/ask.rs"]
mod ask;
mod code_host;
#[path = "scale/folder.rs"]
mod folder;
#[path = "scale/growth.rs"]
mod growth;
#[path = "scale/load.rs"]
mod load;
#[path = "scale/options.rs"]
mod options;
#[path = "scale/pressure.rs"]
mod pressure;
#[path = "scale/questions.rs"]
mod questions;
#[path = "scale/report.rs"]
mod report;
#[path = "scale/run.rs"]
mod run;
#[path = "scale/sample.rs"]
mod sample;
#[path = "scale/targets.rs"]
mod targets;
#[path = "scale/times.rs"]
mod times;
#[path = "scale/truth.rs"]
mod truth;
#[path = "scale/watch.rs"]
mod watch;

use clap::Parser;
use options::Options;

// As in the service: SQLite allocates through it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut runs = Vec::new();
    for scale in &options.scale {
        let run = run::run(*scale, &options, &runtime);
        print!("{}", report::times(&run));
        runs.push(run);
    }
    let growth = growth::between_ends(&runs, &options, &runtime);
    print!("{}", report::targets(&runs));
    print!("{}", growth.as_ref().map(report::growth).unwrap_or_default());
    if let Some(file) = &options.json {
        std::fs::write(file, format!("{:#}\n", report::json(&runs, growth.as_ref(), &options))).unwrap();
    }
}
