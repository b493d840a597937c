//! Servers that do not answer are left alone for a while.

use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// How long, at first and at most. Each failure doubles it.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(16));

/// A time in which a server is not asked.
#[derive(Debug, Default)]
pub(super) struct Pause(Mutex<Option<RunningPause>>);

#[derive(Clone, Copy, Debug)]
struct RunningPause {
    until: Instant,
    length: Duration,
}

impl Pause {
    /// Begins one, longer than the one before.
    pub(super) fn begin(&self) {
        let mut last = self.0.lock();
        if last.is_some_and(|last| Instant::now() < last.until) {
            return;
        }
        let length = last.map_or(PAUSE.0, |last| PAUSE.1.min(2 * last.length));
        *last = Instant::now().checked_add(length).map(|until| RunningPause { until, length });
    }

    /// Forgets that there were any.
    pub(super) fn end(&self) {
        *self.0.lock() = None;
    }

    pub(super) fn is_running(&self) -> bool {
        self.0.lock().is_some_and(|last| Instant::now() < last.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_longer_after_another_one_and_short_again_after_an_answer() {
        let pause = Pause::default();
        let length = || pause.0.lock().map(|last| last.length);
        let pass = || pause.0.lock().iter_mut().for_each(|last| last.until = Instant::now());
        assert!(!pause.is_running());
        for seconds in [1, 2, 4, 8, 16, 16] {
            pause.begin();
            pause.begin();
            assert_eq!((length(), pause.is_running()), (Some(Duration::from_secs(seconds)), true));
            pass();
            assert!(!pause.is_running());
        }
        pause.end();
        pause.begin();
        assert_eq!(length(), Some(Duration::from_secs(1)));
    }
}
