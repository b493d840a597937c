//! The decision log: who asked what of whom, and what was decided, one JSON line a decision.
//!
//! ```text
//! handler ─try_send─▶ queue (bounded) ─▶ one thread ─┬▶ file, rotated at a maximum size (file)
//!             └▶ full: counted as dropped            └▶ collector, in batches (otlp)
//! ```
//!
//! An answer never waits for its line: if file or collector are too slow, lines are dropped and counted in
//! `portcullis_decisions_dropped_total`, and so is a line that could not be written or sent. Off by default,
//! because the lines say who uses what. Logged are single decisions: `/authorize`, each resource of
//! `/authorize_resources`, and each evaluation of AuthZEN. Lists, actions and queries are no decisions about
//! one resource, and local checks are decided in the caller's database.

mod file;
mod line;
mod otlp;

pub(super) use line::{Decided, Outcome, Witness};

use crate::config::{Config, LoggedFacts};
use file::LogFile;
use flume::RecvTimeoutError;
use line::{Line, Timestamp};
use otlp::Collector;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How many lines may wait: a second of a busy service.
const QUEUE: usize = 16_384;

/// How many lines are written and sent at once at most.
const BATCH: usize = 512;

/// How long lines gather before they are written: to wake the thread for each costs more than to write it.
const GATHERING: Duration = Duration::from_millis(50);

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
    /// `None` once the log is closing.
    queue: Option<flume::Sender<Line>>,
    dropped: Arc<AtomicU64>,
    /// Context facts of these predicates are logged.
    facts: LoggedFacts,
    /// Disconnected once the thread has ended.
    running: flume::Receiver<()>,
    /// How long closing waits for the last lines.
    end_time: Duration,
}

impl DecisionLog {
    /// The log of a configuration; `None` if it has neither a file nor a collector.
    pub fn open(config: &Config) -> Result<Option<Self>, DecisionLogError> {
        let file = match &config.decision_log {
            None => None,
            Some(path) => {
                let opened = LogFile::open(path, config.decision_log_bytes, config.decision_log_files);
                let failed = |error| DecisionLogError::File { path: path.display().to_string(), error };
                Some(opened.map_err(failed)?)
            }
        };
        let collector = config.decision_log_endpoint.as_ref().map(Collector::new);
        if file.is_none() && collector.is_none() {
            return Ok(None);
        }
        let (queue, lines) = flume::bounded(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let mut sinks = Sinks { file, collector, dropped: Arc::clone(&dropped) };
        let (ends, running) = flume::bounded(0);
        let serve = move || {
            let _ends: flume::Sender<()> = ends;
            sinks.serve(&lines);
        };
        thread::Builder::new().name("decision-log".into()).spawn(serve).map_err(DecisionLogError::Thread)?;
        let (facts, end_time) = (config.decision_log_facts.clone(), config.end_time());
        Ok(Some(Self { queue: Some(queue), dropped, facts, running, end_time }))
    }

    /// How many lines were dropped.
    pub(super) fn n_dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn note(&self, line: Line) {
        if self.queue.as_ref().is_none_or(|queue| queue.try_send(line).is_err()) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for DecisionLog {
    /// Waits until the lines that were taken are written, but not for a collector that does not answer: the
    /// process must end in time.
    fn drop(&mut self) {
        self.queue = None;
        if self.running.recv_timeout(self.end_time) == Err(RecvTimeoutError::Timeout) {
            tracing::error!(
                "the last lines of the decision log are lost: its collector or its disk is too slow"
            );
        }
    }
}

/// Where lines go.
struct Sinks {
    file: Option<LogFile>,
    collector: Option<Collector>,
    dropped: Arc<AtomicU64>,
}

impl Sinks {
    fn serve(&mut self, lines: &flume::Receiver<Line>) {
        while let Ok(first) = lines.recv() {
            thread::sleep(GATHERING);
            let mut waiting = [first].into_iter().chain(lines.drain()).map(Line::text);
            loop {
                let texts: Vec<_> = waiting.by_ref().take(BATCH).collect();
                if texts.is_empty() {
                    break;
                }
                self.write(&texts);
            }
        }
    }

    fn write(&mut self, texts: &[(Timestamp, String)]) {
        let n_lines = texts.len() as u64;
        if let Some(file) = &mut self.file
            && let Err(error) = file.write(texts.iter().map(|(_, text)| text.as_str()))
        {
            self.lost(n_lines, "cannot write the decision log", &error);
        }
        if let Some(collector) = &self.collector
            && let Err(error) = collector.send(texts)
        {
            self.lost(n_lines, "cannot send decisions to the collector", &error);
        }
    }

    fn lost(&self, n_lines: u64, what: &str, error: &dyn std::fmt::Display) {
        self.dropped.fetch_add(n_lines, Ordering::Relaxed);
        tracing::warn!(%error, n_lines, "{what}: the lines are dropped");
    }
}
