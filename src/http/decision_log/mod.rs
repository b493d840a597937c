//! The decision log: who asked what of whom, and what was decided, one JSON line a decision.
//!
//! ```text
//! handler ─try_send─┬▶ queue (bounded) ─▶ thread ─▶ file, rotated at a maximum size (file)
//!                   └▶ queue (bounded) ─▶ thread ─▶ collector, in batches (otlp)
//! ```
//!
//! An answer never waits for its line, and the file never waits for the collector: if one of them is too
//! slow, lines for it are dropped and counted in `portcullis_decisions_dropped_total`, and so is a line that
//! could not be written or sent. Off by default, because the lines say who uses what. Only single
//! decisions are logged: `/authorize`, each resource of `/authorize_resources`, and each evaluation of
//! AuthZEN. Lists, actions and queries are not decisions about one resource, and local checks are decided in
//! the caller's database.

mod file;
mod line;
mod otlp;
mod sink;

pub(super) use line::{Decided, Outcome, Witness};

use crate::config::{Config, LoggedFacts};
use file::LogFile;
use line::Line;
use otlp::Collector;
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
    /// Context facts of these predicates are logged.
    facts: LoggedFacts,
    /// How long closing waits for the last lines.
    end_time: Duration,
}

impl DecisionLog {
    /// The log of a configuration; `None` if it has neither a file nor a collector.
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
        if places.is_empty() {
            return Ok(None);
        }
        let sinks = places.into_iter().map(Sink::start).collect::<io::Result<_>>();
        let sinks = sinks.map_err(DecisionLogError::Thread)?;
        let (facts, end_time) = (config.decision_log_facts.clone(), config.end_time());
        Ok(Some(Self { sinks, facts, end_time }))
    }

    /// Opens the file again before the next line, because it may have been moved away.
    pub fn reopen(&self) {
        self.sinks.iter().for_each(Sink::reopen);
    }

    /// The name of each sink, and how many of its lines were dropped.
    pub(super) fn dropped(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.sinks.iter().map(|sink| (sink.name, sink.n_dropped()))
    }

    fn note(&self, line: Line) {
        let line = Arc::new(line);
        self.sinks.iter().for_each(|sink| sink.take(&line));
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
