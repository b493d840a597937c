//! Servers that do not answer are left alone for a while.

use crate::store::key::random;
use parking_lot::Mutex;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long, at first and at most. Each failure doubles it.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(16));

/// How long one question may try, after a pause, whether the server answers again.
const TRIAL: Duration = Duration::from_secs(6);

/// A time between half of a pause and one and a half: other connections and other nodes have failed at the
/// same moment, and must not all come back together.
pub(super) fn scattered(pause: Duration) -> Duration {
    let part = random::<1>().map_or(0.5, |[byte]| f64::from(byte) / 256.0);
    pause.mul_f64(0.5 + part)
}

/// A time in which a server is not asked.
#[derive(Debug, Default)]
pub(super) struct Pause {
    last: Mutex<Option<RunningPause>>,
    /// Told when one begins.
    begun: Notify,
}

#[derive(Clone, Copy, Debug)]
struct RunningPause {
    until: Instant,
    length: Duration,
    /// Whether a question is trying the server.
    is_trial: bool,
}

impl Pause {
    /// Whether the server may be asked. After a pause, one question tries it, and others go on without it.
    pub(super) fn admits(&self) -> bool {
        let (mut last, now) = (self.last.lock(), Instant::now());
        match &mut *last {
            None => true,
            Some(pause) if now < pause.until => false,
            Some(pause) => {
                (pause.until, pause.is_trial) = (now + TRIAL, true);
                true
            }
        }
    }

    /// Begins one, longer than the one before.
    pub(super) fn begin(&self) {
        let (mut last, now) = (self.last.lock(), Instant::now());
        // Others have failed at the same time.
        if last.is_some_and(|pause| now < pause.until && !pause.is_trial) {
            return;
        }
        let length = last.map_or(PAUSE.0, |pause| PAUSE.1.min(2 * pause.length));
        *last = now.checked_add(length).map(|until| RunningPause { until, length, is_trial: false });
        self.begun.notify_waiters();
    }

    /// Forgets that there were any.
    pub(super) fn end(&self) {
        *self.last.lock() = None;
    }

    /// Whether the server is not asked now.
    pub(super) fn is_running(&self) -> bool {
        self.last.lock().is_some_and(|pause| Instant::now() < pause.until)
    }

    /// Waits until one begins.
    pub(super) async fn begun(&self) {
        self.begun.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn pauses_of_the_same_length_end_at_different_times() {
        let pauses: BTreeSet<Duration> = (0..100).map(|_| scattered(Duration::from_secs(2))).collect();
        assert!(pauses.len() > 50, "{pauses:?}");
        let is_within = |pause: &Duration| (1.0..3.0).contains(&pause.as_secs_f64());
        assert!(pauses.iter().all(is_within), "{pauses:?}");
    }

    #[test]
    fn a_pause_is_longer_after_another_one_and_short_again_after_an_answer() {
        let pause = Pause::default();
        let length = || pause.last.lock().map(|last| last.length);
        assert!(pause.admits() && pause.admits() && !pause.is_running());
        for seconds in [1, 2, 4, 8, 16, 16] {
            pause.begin();
            pause.begin();
            assert_eq!((length(), pause.is_running()), (Some(Duration::from_secs(seconds)), true));
            assert!(!pause.admits());
            pause.last.lock().iter_mut().for_each(|last| last.until = Instant::now());
            assert!(!pause.is_running());
            assert!(pause.admits(), "one tries");
            assert!(!pause.admits() && pause.is_running(), "the others do not");
        }
        pause.end();
        pause.begin();
        assert_eq!(length(), Some(Duration::from_secs(1)));
    }
}
