//! A place where lines go, with a queue and a thread of its own: neither answers nor another place wait for
//! it.

use super::file::LogFile;
use super::line::{Line, Timestamp};
use super::otlp::Collector;
use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How many lines may wait: a second of a busy service.
const QUEUE: usize = 16_384;

/// How many bytes these lines may have together, because callers choose how long their ids are.
const QUEUE_BYTES: u64 = 32 << 20;

/// The most lines that are written or sent together.
const BATCH: usize = 512;

/// How long lines gather before they are written: waking the thread for each costs more than writing it.
const GATHERING: Duration = Duration::from_millis(50);

/// A place for lines.
pub(super) enum LogDestination {
    /// A file.
    File(LogFile),
    /// A collector of OpenTelemetry.
    Collector(Collector),
}

/// A queue of lines for a place.
#[derive(Debug)]
pub(super) struct Sink {
    /// The name of the place.
    pub(super) name: &'static str,
    /// `None` once the log is closing.
    queue: Option<flume::Sender<Arc<Line>>>,
    shared: Arc<Shared>,
    /// Disconnected once the thread has ended.
    running: flume::Receiver<()>,
}

/// What a sink and its thread share.
#[derive(Debug, Default)]
struct Shared {
    /// How many lines are neither written nor dropped yet.
    waiting: AtomicU64,
    /// How many bytes they have.
    waiting_bytes: AtomicU64,
    /// How many lines were dropped.
    dropped: AtomicU64,
    /// Whether the place must be opened again.
    is_moved: AtomicBool,
}

impl Sink {
    /// Starts the thread of a place.
    pub(super) fn start(mut place: LogDestination) -> io::Result<Self> {
        let (queue, lines) = flume::bounded(QUEUE);
        let (ends, running) = flume::bounded(0);
        let (shared, name) = (Arc::<Shared>::default(), place.name());
        let of_thread = Arc::clone(&shared);
        let serve = move || {
            let _ends: flume::Sender<()> = ends;
            place.serve(&lines, &of_thread);
        };
        thread::Builder::new().name(format!("log-{name}")).spawn(serve)?;
        Ok(Self { name, queue: Some(queue), shared, running })
    }

    /// Takes a line, or drops and counts it if the queue is full.
    pub(super) fn take(&self, line: &Arc<Line>) {
        let n_bytes = line.n_bytes() as u64;
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        let others = self.shared.waiting_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        let fits = others.saturating_add(n_bytes) <= QUEUE_BYTES;
        let queue = self.queue.as_ref().filter(|_| fits);
        let is_taken = queue.is_some_and(|queue| queue.try_send(Arc::clone(line)).is_ok());
        if !is_taken {
            self.shared.done(1, n_bytes);
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many lines were dropped.
    pub(super) fn n_dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Opens the place again before the next line.
    pub(super) fn reopen(&self) {
        self.shared.is_moved.store(true, Ordering::Relaxed);
    }

    /// Takes no more lines.
    pub(super) fn close(&mut self) {
        self.queue = None;
    }

    /// Waits until the thread has ended, or this moment has come; returns how many lines are not written.
    pub(super) fn end_by(&self, end: Instant) -> u64 {
        // A thread that panicked has ended, too, and leaves lines.
        let _ended = self.running.recv_timeout(end.saturating_duration_since(Instant::now()));
        self.shared.waiting.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn done(&self, n_lines: u64, n_bytes: u64) {
        self.waiting.fetch_sub(n_lines, Ordering::Relaxed);
        self.waiting_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
    }
}

impl LogDestination {
    fn name(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Collector(_) => "collector",
        }
    }

    /// Writes lines until no more can come.
    fn serve(&mut self, lines: &flume::Receiver<Arc<Line>>, shared: &Shared) {
        while let Ok(first) = lines.recv() {
            thread::sleep(GATHERING);
            let mut waiting = [first].into_iter().chain(lines.try_iter());
            loop {
                let mut n_bytes = 0;
                let texts: Vec<_> = waiting
                    .by_ref()
                    .take(BATCH)
                    .map(|line| {
                        n_bytes += line.n_bytes() as u64;
                        line.text()
                    })
                    .collect();
                if texts.is_empty() {
                    break;
                }
                if shared.is_moved.swap(false, Ordering::Relaxed) {
                    self.reopen(shared);
                }
                self.write(&texts, shared);
                shared.done(texts.len() as u64, n_bytes);
            }
        }
    }

    /// Opens the place again, or with the next batch if that fails.
    fn reopen(&mut self, shared: &Shared) {
        match self {
            Self::File(file) => match file.reopen() {
                Ok(()) => tracing::info!("the decision log was opened again"),
                Err(error) => {
                    shared.is_moved.store(true, Ordering::Relaxed);
                    tracing::error!(%error, "cannot open the decision log again: its previous file stays in use");
                }
            },
            Self::Collector(_) => {}
        }
    }

    fn write(&mut self, texts: &[(Timestamp, String)], shared: &Shared) {
        let n_lines = texts.len() as u64;
        let lost = |what: &str, error: &dyn Display, n_lines: u64| {
            shared.dropped.fetch_add(n_lines, Ordering::Relaxed);
            tracing::warn!(%error, n_lines, "{what}: the lines are dropped");
        };
        match self {
            Self::File(file) => {
                if let Err(error) = file.write(texts.iter().map(|(_, text)| text.as_str())) {
                    lost("cannot write the decision log", &error, n_lines);
                }
            }
            Self::Collector(collector) => {
                if let Err(error) = collector.send(texts) {
                    lost("cannot send decisions to the collector", &error, error.n_lost().unwrap_or(n_lines));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn lines_of_a_thread_that_panicked_are_lost() {
        let (ends, running) = flume::bounded(0);
        drop(ends);
        let sink = Sink { name: "file", queue: None, shared: Arc::default(), running };
        sink.shared.waiting.store(3, Ordering::Relaxed);
        assert_eq!(sink.end_by(Instant::now() + Duration::from_secs(1)), 3);
    }

    #[test]
    fn a_file_that_cannot_be_opened_again_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let [log, moved] = ["log", "moved"].map(|name| folder.path().join(name));
        fs::create_dir(&log).unwrap();
        let mut place = LogDestination::File(LogFile::open(&log.join("decisions.log"), 1_000, 0).unwrap());
        let shared = Shared::default();
        fs::rename(&log, &moved).unwrap();
        place.reopen(&shared);
        assert!(shared.is_moved.swap(false, Ordering::Relaxed));
        fs::create_dir(&log).unwrap();
        place.reopen(&shared);
        assert!(!shared.is_moved.load(Ordering::Relaxed) && log.join("decisions.log").exists());
    }
}
