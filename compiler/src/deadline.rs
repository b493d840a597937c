//! The moment by which a question must be compiled.
//!
//! A policy is untrusted, and the [limits](crate::limits) bound each stage by counts, not by time. A service
//! gives a question a deadline as well: between passes, and in the loops of the stages that can be long, it
//! is checked whether the time is over. A pass has no way to fail, so its loop just ends; what it leaves is
//! never used, because a deadline that is over stays over, and `pass` checks it after each pass.
//!
//! Walks over a plan inside one pass are not interrupted. This is the only module that reads a clock, and the
//! time decides nothing but whether a question is refused.

use std::time::{Duration, Instant};

/// The moment by which a question must be compiled, and the time that it had; or never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deadline(Option<(Instant, Duration)>);

/// The time in which a question had to be compiled is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfTime {
    /// The time that it had.
    pub limit: Duration,
}

impl Deadline {
    /// No deadline.
    pub const NEVER: Self = Self(None);

    /// This much time from now.
    pub fn after(limit: Duration) -> Self {
        Self(Instant::now().checked_add(limit).map(|end| (end, limit)))
    }

    /// This many seconds from now.
    pub(crate) fn after_seconds(limit: u64) -> Self {
        Self::after(Duration::from_secs(limit))
    }

    /// Whether the time is over. Once it is, it stays so.
    pub(crate) fn is_over(self) -> bool {
        self.check().is_err()
    }

    /// Refuses to go on once the time is over.
    pub(crate) fn check(self) -> Result<(), OutOfTime> {
        match self.0 {
            Some((end, limit)) if Instant::now() >= end => Err(OutOfTime { limit }),
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Deadline, OutOfTime};
    use std::time::Duration;

    #[test]
    fn a_deadline_that_is_over_says_what_the_limit_was() {
        assert_eq!(Deadline::NEVER.check(), Ok(()));
        assert_eq!(Deadline::after(Duration::from_secs(1_000)).check(), Ok(()));
        // The end of time is never reached.
        assert_eq!(Deadline::after(Duration::MAX).check(), Ok(()));
        let limit = Duration::ZERO;
        assert_eq!(Deadline::after(limit).check(), Err(OutOfTime { limit }));
    }
}
