//! How long the result of compiling a question is cached. Statements and refusals stay; a timeout is kept for
//! as long as the time limit was.
//!
//! Whether compiling times out depends on what else the machine does, so the question is compiled again
//! later. Until then it is refused from the cache. Otherwise a client that asks it again and again would keep
//! a processor busy.

use portcullis_compiler::deadline::OutOfTime;
use portcullis_compiler::question::CompileError;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a question is refused at most after compiling it timed out.
const LONGEST_REFUSAL: Duration = Duration::from_secs(10);

/// A result in a cache.
#[derive(Debug)]
pub(super) struct CachedResult<V> {
    /// The result.
    pub(super) made: Result<Arc<V>, CompileError>,
    /// When it is forgotten, if it may be another one later.
    until: Option<Instant>,
}

impl<V> Clone for CachedResult<V> {
    fn clone(&self) -> Self {
        Self { made: self.made.clone(), until: self.until }
    }
}

/// The result of this key, if it is known.
pub(super) fn known<K: Eq + Hash, V>(
    cache: &Cache<K, CachedResult<V>, impl Weighter<K, CachedResult<V>> + Clone>,
    key: &K,
) -> Option<Result<Arc<V>, CompileError>> {
    let CachedResult { made, until } = cache.get(key)?;
    until.is_none_or(|until| Instant::now() < until).then_some(made)
}

/// Caches a result or a refusal, but no internal error. If compiling timed out but another request has
/// succeeded meanwhile, its result is returned.
pub(super) fn keep<K: Eq + Hash, V>(
    cache: &Cache<K, CachedResult<V>, impl Weighter<K, CachedResult<V>> + Clone>,
    key: K,
    made: Result<Arc<V>, CompileError>,
) -> Result<Arc<V>, CompileError> {
    let until = match &made {
        Ok(_) | Err(CompileError::Refused(_)) => None,
        Err(CompileError::OutOfTime(OutOfTime { limit })) => {
            if let Some(known) = known(cache, &key) {
                return known;
            }
            Some(Instant::now() + LONGEST_REFUSAL.min(*limit))
        }
        Err(CompileError::Bug(_)) => return made,
    };
    cache.insert(key, CachedResult { made: made.clone(), until });
    made
}

#[cfg(test)]
mod tests {
    use super::{CachedResult, CompileError, LONGEST_REFUSAL, OutOfTime, keep, known};
    use quick_cache::sync::Cache;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    fn cache() -> Cache<u8, CachedResult<u8>> {
        Cache::new(10)
    }

    fn out_of_time<V>(limit: Duration) -> Result<Arc<V>, CompileError> {
        Err(CompileError::OutOfTime(OutOfTime { limit }))
    }

    #[test]
    fn a_question_that_took_too_long_is_refused_for_as_long_again() {
        let cache = cache();
        let limit = Duration::from_millis(50);
        assert_eq!(keep(&cache, 1, out_of_time(limit)), out_of_time(limit));
        let kept = Instant::now();
        // Unless the test itself was held up for so long.
        assert!(known(&cache, &1) == Some(out_of_time(limit)) || kept.elapsed() > limit / 2);
        std::thread::sleep(limit);
        assert_eq!(known(&cache, &1), None);
        let made = Ok(Arc::new(7));
        assert_eq!(keep(&cache, 1, made.clone()), made);
        assert_eq!(known(&cache, &1), Some(made));
    }

    #[test]
    fn it_is_not_refused_for_long() {
        let cache = cache();
        let limit = Duration::from_hours(1);
        let refused = || out_of_time(limit);
        assert_eq!(keep(&cache, 1, refused()), refused());
        assert_eq!(known(&cache, &1), Some(refused()));
        let until = cache.get(&1).unwrap().until.unwrap();
        assert!(until <= Instant::now() + LONGEST_REFUSAL);
        // Nor longer if others asked at the same time.
        assert_eq!(keep(&cache, 1, refused()), refused());
        assert_eq!(cache.get(&1).unwrap().until, Some(until));
    }

    #[test]
    fn what_another_request_has_compiled_meanwhile_stays() {
        let cache = cache();
        let made = Ok(Arc::new(7));
        assert_eq!(keep(&cache, 1, made.clone()), made);
        assert_eq!(keep(&cache, 1, out_of_time(Duration::from_secs(1))), made);
        assert_eq!(known(&cache, &1), Some(made));
    }

    #[test]
    fn an_internal_error_is_forgotten() {
        let cache = cache();
        let bug = || Err(CompileError::Bug("a pass".to_owned()));
        assert_eq!(keep(&cache, 1, bug()), bug());
        assert_eq!(known(&cache, &1), None);
    }
}
