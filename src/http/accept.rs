//! Backs off when accepting connections fails.
//!
//! Accepting fails when the process, or the machine, has no free file descriptor. It would fail again
//! immediately, so each try waits longer, and the log gets one line per minute instead of one for each try.

use std::io;
use std::time::{Duration, Instant};

/// The first and the longest pause after a failed accept.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How often failures are logged.
const BETWEEN_LINES: Duration = Duration::from_mins(1);

/// The failed accepts.
#[derive(Debug)]
pub(super) struct Failures {
    pause: Duration,
    logged: Option<Instant>,
    /// How many there were since the last log line.
    count: u64,
}

impl Failures {
    pub(super) fn new() -> Self {
        Self { pause: FIRST_PAUSE, logged: None, count: 0 }
    }

    /// Counts one more; returns how long to wait before the next try.
    pub(super) fn add(&mut self, error: &io::Error) -> Duration {
        self.count += 1;
        if self.logged.is_none_or(|logged| logged.elapsed() >= BETWEEN_LINES) {
            tracing::warn!(%error, failures = self.count, "cannot accept a connection");
            self.logged = Some(Instant::now());
            self.count = 0;
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        pause
    }

    /// Notes a successful accept.
    pub(super) fn end(&mut self) {
        self.pause = FIRST_PAUSE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_waits_longer_until_one_succeeds() {
        let mut failures = Failures::new();
        let error = io::Error::other("no file left");
        let mut pauses = || (0..7).map(|_| failures.add(&error).as_millis()).collect::<Vec<_>>();
        assert_eq!(pauses(), [50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!(failures.count, 6, "one of them is logged");
        failures.end();
        assert_eq!(failures.add(&error).as_millis(), 50);
    }
}
