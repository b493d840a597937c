//! The decision log: who asked what of whom, and what was decided, one JSON line a decision.
//!
//! ```text
//! handler ─try_send─┬▶ queue (bounded) ─▶ thread ─▶ file, rotated at a maximum size (file)
//!                   ├▶ queue (bounded) ─▶ thread ─▶ collector, in batches (otlp)
//!                   └▶ recent decisions, in memory, for the studio (recent)
//! ```
//!
//! An answer never waits for its line, and the file never waits for the collector: if one of them is too
//! slow, lines for it are dropped and counted in `portcullis_decisions_dropped_total`, and so is a line that
//! could not be written or sent. Off by default, because the lines say who uses what. Only single
//! decisions are logged: `/authorize`, each resource of `/authorize_resources`, and each evaluation of
//! AuthZEN. Lists, actions and queries are not decisions about one resource, and local checks are decided in
//! the caller's database. With `--dev`, recent decisions are kept for the studio even without a file.

mod file;
mod line;
mod otlp;
mod recent;
mod sink;

pub(super) use line::{Decided, Line, Outcome, Witness};
pub(super) use recent::{MOST_DECISIONS, Numbered};

use super::Environment;
use crate::config::{Config, LoggedFacts};
use file::LogFile;
use otlp::Collector;
use recent::RecentDecisions;
use sink::{LogDestination, Sink};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Why there is no decision log.
#[derive(Debug, thiserror::Error)]
pub enum DecisionLogError {
    /// The file cannot be written.
    #[error("cannot write the decision log `{path}`: {error}")]
    File {
        /// The file.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// The system has no thread for it.
    #[error("cannot start a thread for the decision log: {0}; raise the system's limit of threads")]
    Thread(io::Error),
}

/// Takes lines without waiting.
#[derive(Debug)]
pub struct DecisionLog {
    sinks: Vec<Sink>,
    /// The recent decisions, if there is a studio to show them.
    recent: Option<RecentDecisions>,
    /// Context facts of these predicates are logged.
    facts: LoggedFacts,
    /// How long closing waits for the last lines.
    end_time: Duration,
}

impl DecisionLog {
    /// The log of a configuration; `None` if there is no file and no collector, unless the studio shows
    /// decisions because of `--dev`.
    pub fn open(config: &Config) -> Result<Option<Self>, DecisionLogError> {
        let mut places = Vec::new();
        if let Some(path) = &config.decision_log {
            let opened = LogFile::open(path, config.decision_log_bytes, config.decision_log_files);
            let failed = |error| DecisionLogError::File { path: path.display().to_string(), error };
            places.push(LogDestination::File(opened.map_err(failed)?));
        }
        if let Some(url) = &config.decision_log_endpoint {
            let headers = config.decision_log_headers.clone();
            places.push(LogDestination::Collector(Collector::new(url, headers)));
        }
        if places.is_empty() && !config.dev {
            return Ok(None);
        }
        let recent = (config.studio || config.dev).then(RecentDecisions::default);
        let sinks = places.into_iter().map(Sink::start).collect::<io::Result<_>>();
        let sinks = sinks.map_err(DecisionLogError::Thread)?;
        let (facts, end_time) = (config.decision_log_facts.clone(), config.end_time());
        Ok(Some(Self { sinks, recent, facts, end_time }))
    }

    /// Opens the file again before the next line, because it may have been moved away.
    pub fn reopen(&self) {
        self.sinks.iter().for_each(Sink::reopen);
    }

    /// The name of each sink, and how many of its lines were dropped.
    pub(super) fn dropped(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let in_memory = self.recent.as_ref().map(|recent| ("studio", recent.n_dropped()));
        self.sinks.iter().map(|sink| (sink.name, sink.n_dropped())).chain(in_memory)
    }

    /// The recent decisions of an environment with a larger number, newest first, and the latest number;
    /// `None` if no decisions are kept.
    pub(super) fn since(&self, environment: &Environment, number: u64) -> Option<(Vec<Numbered>, u64)> {
        Some(self.recent.as_ref()?.since(environment, number))
    }

    /// Forgets the recent decisions of an environment that is removed.
    pub(super) fn forget(&self, environment: &Environment) {
        if let Some(recent) = &self.recent {
            recent.forget(environment);
        }
    }

    fn note(&self, environment: &Environment, line: Line) {
        let line = Arc::new(line);
        self.sinks.iter().for_each(|sink| sink.take(&line));
        if let Some(recent) = &self.recent {
            recent.keep(environment, &line);
        }
    }
}

impl Drop for DecisionLog {
    /// Waits until the lines that were taken are written, but not for a collector that does not answer: the
    /// process must end in time.
    fn drop(&mut self) {
        let end = Instant::now() + self.end_time;
        self.sinks.iter_mut().for_each(Sink::close);
        for sink in &self.sinks {
            let n_lines = sink.end_by(end);
            if n_lines > 0 {
                let place = sink.name;
                tracing::error!(
                    n_lines,
                    "the last lines of the decision log are lost: the {place} is too slow"
                );
            }
        }
    }
}
