//! How long requests took, and which part of them was faster than what.

use serde_json::{Value as Json, json};
use std::time::Duration;

/// The times of requests of one kind, sorted, and how long all of them took together.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    sorted: Vec<Duration>,
    elapsed: Duration,
}

impl Times {
    /// Of requests that one client sent one after the other.
    pub(crate) fn of(times: Vec<Duration>) -> Self {
        let elapsed = times.iter().sum();
        Self::during(times, elapsed)
    }

    /// Of requests that several clients sent in this time.
    pub(crate) fn during(mut times: Vec<Duration>, elapsed: Duration) -> Self {
        assert!(!times.is_empty(), "nothing was measured");
        times.sort_unstable();
        Self { sorted: times, elapsed }
    }

    /// This many of a thousand were no slower.
    pub(crate) fn at(&self, per_mille: usize) -> Duration {
        self.sorted[(self.sorted.len() * per_mille / 1_000).min(self.sorted.len() - 1)]
    }

    /// How many there were.
    pub(crate) fn count(&self) -> usize {
        self.sorted.len()
    }

    /// How many there were in a second.
    pub(crate) fn per_second(&self) -> f64 {
        self.count() as f64 / self.elapsed.as_secs_f64()
    }

    /// For programs; times in microseconds.
    pub(crate) fn json(&self) -> Json {
        let micros = |per_mille| (self.at(per_mille).as_secs_f64() * 1e7).round() / 10.0;
        json!({
            "count": self.count(), "per_second": self.per_second().round(),
            "p50": micros(500), "p90": micros(900), "p99": micros(990), "longest": micros(1_000),
        })
    }
}
