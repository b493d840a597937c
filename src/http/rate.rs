//! The rate limit of keys.
//!
//! In: for each request, the digest of its valid key. Out: nothing, or how long to wait until the next
//! request is within the rate. Only valid keys are counted, so clients without a key can neither fill the
//! memory nor use up the rate of others. The counters of keys that have their whole burst again are dropped
//! from time to time: keys may be made and revoked for as long as the service runs.

use super::error::ApiError;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::fmt;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A key's digest. Invalid keys are never looked up, so the timing of look-ups reveals nothing.
pub(super) type Digest = [u8; 32];

/// After how many requests counters are dropped. It takes microseconds for a thousand of them.
const TIDIED: u64 = 4_096;

/// The rate limit, counted for each key separately.
pub(super) struct Rates {
    each_second: NonZeroU32,
    limiter: DefaultKeyedRateLimiter<Digest>,
    /// How many requests were counted.
    n_counted: AtomicU64,
    clock: DefaultClock,
}

impl Rates {
    /// A limit of requests a second on average, and of requests at once.
    pub(super) fn new(each_second: NonZeroU32, at_once: Option<NonZeroU32>) -> Self {
        let quota = Quota::per_second(each_second).allow_burst(at_once.unwrap_or(each_second));
        let (n_counted, clock) = (AtomicU64::default(), DefaultClock::default());
        Self { each_second, limiter: RateLimiter::keyed(quota), n_counted, clock }
    }

    /// Counts a request of this key, or refuses it.
    pub(super) fn count(&self, key: &Digest) -> Result<(), ApiError> {
        if self.n_counted.fetch_add(1, Ordering::Relaxed) % TIDIED == TIDIED - 1 {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
        self.limiter.check_key(key).map_err(|refused| ApiError::TooManyRequests {
            each_second: self.each_second,
            wait: refused.wait_time_from(self.clock.now()),
        })
    }
}

impl fmt::Debug for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rates").field("each_second", &self.each_second).finish_non_exhaustive()
    }
}

/// The wait in whole seconds, rounded up.
pub(super) fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(n: u32) -> NonZeroU32 {
        NonZeroU32::new(n).unwrap()
    }

    #[test]
    fn each_key_has_its_own_burst() {
        let rates = Rates::new(rate(1), Some(rate(3)));
        for key in [[1; 32], [2; 32]] {
            for _ in 0..3 {
                rates.count(&key).unwrap();
            }
            let Err(ApiError::TooManyRequests { wait, .. }) = rates.count(&key) else {
                panic!("the fourth at once is one too many");
            };
            assert!(wait <= Duration::from_secs(1), "{wait:?}");
        }
    }

    #[test]
    fn keys_that_are_not_used_any_more_leave_no_counters() {
        let rates = Rates::new(rate(1_000_000), None);
        for n in 0..3 * TIDIED {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&n.to_le_bytes());
            rates.count(&key).unwrap();
        }
        assert!(rates.limiter.len() as u64 <= 2 * TIDIED, "{}", rates.limiter.len());
    }

    #[test]
    fn a_wait_is_rounded_up() {
        assert_eq!(whole_seconds(Duration::ZERO), 1);
        assert_eq!(whole_seconds(Duration::from_millis(999)), 1);
        assert_eq!(whole_seconds(Duration::from_millis(1001)), 2);
    }
}
