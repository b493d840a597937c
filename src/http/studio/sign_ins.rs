//! Limits how often keys may be tried at the sign-in page.
//!
//! The rate limit of keys counts only valid keys, and someone who guesses keys has none. So all attempts are
//! counted together. Someone who uses them up keeps others from signing in with a key, but only for as long
//! as the attempts go on. Open sessions, the printed link and the rest of the service are not affected.

use crate::http::error::ApiError;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use std::fmt;
use std::num::NonZeroU32;

/// How many keys may be tried per second on average.
const EACH_SECOND: NonZeroU32 = NonZeroU32::new(5).unwrap();

/// How many may be tried at once: a team that comes back after a restart.
const AT_ONCE: NonZeroU32 = NonZeroU32::new(30).unwrap();

/// The attempts to sign in with a key.
pub(super) struct SignIns {
    limiter: DefaultDirectRateLimiter,
    clock: DefaultClock,
}

impl Default for SignIns {
    fn default() -> Self {
        let quota = Quota::per_second(EACH_SECOND).allow_burst(AT_ONCE);
        Self { limiter: RateLimiter::direct(quota), clock: DefaultClock::default() }
    }
}

impl SignIns {
    /// Counts an attempt, or refuses it before its key is looked up.
    pub(super) fn count(&self) -> Result<(), ApiError> {
        let refused = |until: governor::NotUntil<_>| until.wait_time_from(self.clock.now());
        self.limiter.check().map_err(|until| ApiError::TooManySignIns(refused(until)))
    }
}

impl fmt::Debug for SignIns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignIns").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_beyond_the_burst_wait() {
        let sign_ins = SignIns::default();
        for _ in 0..AT_ONCE.get() {
            sign_ins.count().unwrap();
        }
        assert!(matches!(sign_ins.count(), Err(ApiError::TooManySignIns(wait)) if wait.as_millis() <= 200));
    }
}
