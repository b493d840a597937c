//! What is asked for on the command line.

use crate::load::Order;
use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use std::time::Instant;

/// How fast the service is, how large, and whether it is right.
///
/// Makes a code host from a seed, loads it over HTTP into the program, compares every answer with one that
/// was worked out beforehand, and measures. A wrong answer ends the run. At scale 1 the code host has about
/// 1.5 million facts.
#[derive(Debug, Parser)]
#[command(name = "scale", bin_name = "cargo bench --bench scale --", after_help = EXAMPLES)]
pub(crate) struct Options {
    /// How large the code host is; several are measured one after the other
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [0.01, 1.0], value_parser = scale)]
    pub(crate) scale: Vec<f64>,
    /// From which number everything random is made
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub(crate) seed: u64,
    /// How many connections load at once
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = connections)]
    pub(crate) connections: usize,
    /// In which order the facts are loaded
    #[arg(long, value_enum, default_value_t = Order::Tables)]
    pub(crate) order: Order,
    /// Measure only some parts; memory and bytes are always shown
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    pub(crate) only: Vec<Part>,
    /// How long eight clients check: alone, during batches and during policy uploads
    #[arg(long, value_name = "N", default_value_t = 5.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Write every number into a file, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Load into a new folder in this one and leave it there
    #[arg(long, value_name = "FOLDER", conflicts_with = "reuse")]
    pub(crate) keep: Option<PathBuf>,
    /// Load nothing: measure what an earlier run kept in this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) reuse: Option<PathBuf>,
    /// Let the service write a decision log into this file
    #[arg(long, value_name = "FILE")]
    decision_log: Option<PathBuf>,
    /// Let the service keep its store in a PostgreSQL that this starts, with durable commits
    #[arg(long, conflicts_with_all = ["keep", "reuse"])]
    pub(crate) postgres: bool,
    /// Passed by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
    #[arg(skip = Instant::now())]
    started: Instant,
}

const EXAMPLES: &str = "\
Examples:
  cargo bench --bench scale                                   scales 0.01 and 1
  cargo bench --bench scale -- --scale 0.01,1,5               how it grows
  cargo bench --bench scale -- --scale 1 --only load --order random
  cargo bench --bench scale -- --scale 1 --postgres           a store in PostgreSQL
  cargo bench --bench scale -- --scale 1 --keep /var/tmp/host
  cargo bench --bench scale -- --scale 1 --only authorize --decision-log /var/tmp/decisions.log
  cargo bench --bench scale -- --scale 1 --reuse /var/tmp/host --only list,actions --json numbers.json";

/// A part of the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Nothing but what every run shows
    Load,
    /// Single decisions
    Authorize,
    /// Ids of about 10, 1,000 and 10,000 repositories and issues
    List,
    /// What somebody may do to something
    Actions,
    /// Which of a hundred issues
    Resources,
    /// Why single decisions are what they are
    Explain,
    /// Checks during batches of facts
    Batches,
    /// Checks during policy uploads
    Swap,
}

impl Options {
    /// Whether a part is to be measured.
    pub(crate) fn asks(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    /// The arguments of the service.
    pub(crate) fn service(&self) -> Vec<&str> {
        let log = self.decision_log.iter().filter_map(|file| file.to_str());
        log.flat_map(|file| ["--decision-log", file]).collect()
    }

    /// Tells what happens now, and when.
    pub(crate) fn say(&self, what: &str) {
        eprintln!("{:6.1} s  {what}", self.started.elapsed().as_secs_f64());
    }
}

fn scale(text: &str) -> Result<f64, String> {
    let scale = text.parse().ok().filter(|scale| (0.001..=20.0).contains(scale));
    scale.ok_or_else(|| "a scale is a number from 0.001 to 20".to_owned())
}

fn connections(text: &str) -> Result<usize, String> {
    let connections = text.parse().ok().filter(|connections| (1..=64).contains(connections));
    connections.ok_or_else(|| "1 to 64 connections can load at once".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=3_600.0).contains(seconds));
    seconds.ok_or_else(|| "a time is from 0.1 to 3600 seconds".to_owned())
}
