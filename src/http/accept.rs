//! Accepting connections, also when it fails.
//!
//! An accept fails when the process, or the machine, has no file left for one more connection. It will fail again at
//! once, so the next try waits, longer each time, and the log has a line a minute and not one a try.

use std::io;
use std::time::{Duration, Instant};

/// The first wait after a failed accept, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How often failures are logged.
const BETWEEN_LINES: Duration = Duration::from_mins(1);

/// What is known of failed accepts.
#[derive(Debug)]
pub(super) struct Failures {
    pause: Duration,
    logged: Option<Instant>,
    /// Since the last line of the log.
    count: u64,
}

impl Failures {
    pub(super) fn new() -> Self {
        Self { pause: FIRST_PAUSE, logged: None, count: 0 }
    }

    /// One more: how long to wait before the next try.
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

    /// An accept that did not fail.
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
