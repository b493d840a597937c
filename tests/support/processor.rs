//! The time that a test takes on a processor. Unlike the time on a clock, it does not grow when the machine
//! is busy.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Measures the time that this thread takes.
pub struct ThreadTime {
    start: Duration,
}

impl ThreadTime {
    /// Starts now.
    pub fn start() -> Self {
        Self { start: so_far() }
    }

    /// What the thread has taken since the start.
    pub fn elapsed(&self) -> Duration {
        so_far().saturating_sub(self.start)
    }
}

fn so_far() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}
