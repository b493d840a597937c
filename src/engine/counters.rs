//! Counts what an engine does, for metrics.
//!
//! In: each look-up, decision and batch. Out: [`Counters`], a copy of the numbers. Counting takes a few
//! nanoseconds and never waits for a reader. All numbers start at zero with the process. Decisions are
//! counted for each policy version, but only for the latest few: a service whose policy changes daily must
//! not report a number for each.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many policy versions are counted separately.
const VERSIONS: usize = 8;

/// What an engine has done since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Look-ups of questions compiled for the store.
    pub stored_plans: Lookups,
    /// Look-ups of questions compiled for a caller's database.
    pub local_plans: Lookups,
    /// Batches that were written.
    pub batches: u64,
    /// New facts.
    pub inserted: u64,
    /// Deleted facts.
    pub deleted: u64,
    /// Single decisions, by the version of the policy, oldest first.
    pub decisions: Vec<DecisionCount>,
}

/// Look-ups in a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lookups {
    /// How many found an entry.
    pub hits: u64,
    /// How many did not.
    pub misses: u64,
}

/// Decisions of one version of the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecisionCount {
    /// The version; `None` before the first policy.
    pub version: Option<u64>,
    /// How often the answer was yes.
    pub allowed: u64,
    /// How often it was no.
    pub denied: u64,
}

/// The live counters.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) stored_plans: CountedLookups,
    pub(super) local_plans: CountedLookups,
    batches: AtomicU64,
    inserted: AtomicU64,
    deleted: AtomicU64,
    decisions: Mutex<VecDeque<DecisionCount>>,
}

/// Live counters of look-ups.
#[derive(Debug, Default)]
pub(super) struct CountedLookups {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl CountedLookups {
    /// Counts a look-up, except in repeated attempts, and returns what it found.
    pub(super) fn note<T>(&self, is_first: bool, found: Option<T>) -> Option<T> {
        let number = if found.is_some() { &self.hits } else { &self.misses };
        number.fetch_add(u64::from(is_first), Ordering::Relaxed);
        found
    }

    fn read(&self) -> Lookups {
        Lookups { hits: self.hits.load(Ordering::Relaxed), misses: self.misses.load(Ordering::Relaxed) }
    }
}

impl Counted {
    /// Counts a written batch.
    pub(super) fn wrote(&self, inserted: u64, deleted: u64) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.inserted.fetch_add(inserted, Ordering::Relaxed);
        self.deleted.fetch_add(deleted, Ordering::Relaxed);
    }

    /// Counts decisions of one policy version.
    pub(super) fn decided(&self, version: Option<u64>, allowed: usize, denied: usize) {
        let (allowed, denied) = (allowed as u64, denied as u64);
        let mut decisions = self.decisions.lock();
        // The active version is the last one.
        if let Some(same) = decisions.iter_mut().rev().find(|decided| decided.version == version) {
            same.allowed += allowed;
            same.denied += denied;
            return;
        }
        if decisions.len() >= VERSIONS {
            decisions.pop_front();
        }
        decisions.push_back(DecisionCount { version, allowed, denied });
    }

    /// The current numbers.
    pub(super) fn read(&self) -> Counters {
        Counters {
            stored_plans: self.stored_plans.read(),
            local_plans: self.local_plans.read(),
            batches: self.batches.load(Ordering::Relaxed),
            inserted: self.inserted.load(Ordering::Relaxed),
            deleted: self.deleted.load(Ordering::Relaxed),
            decisions: self.decisions.lock().iter().copied().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_version_makes_room_for_a_new_one() {
        let counted = Counted::default();
        counted.decided(None, 0, 2);
        for version in 1..=8 {
            counted.decided(Some(version), 1, 0);
            counted.decided(Some(version), 2, 5);
        }
        let decisions = counted.read().decisions;
        assert_eq!(decisions.len(), VERSIONS);
        assert_eq!(decisions.first(), Some(&DecisionCount { version: Some(1), allowed: 3, denied: 5 }));
        assert_eq!(decisions.last().map(|last| last.version), Some(Some(8)));
    }

    #[test]
    fn a_look_up_counts_as_what_it_was() {
        let lookups = CountedLookups::default();
        assert_eq!(lookups.note(true, Some(1)), Some(1));
        assert_eq!(lookups.note(true, Some(2)), Some(2));
        assert_eq!(lookups.note::<u8>(true, None), None);
        assert_eq!(lookups.note(false, Some(3)), Some(3));
        assert_eq!(lookups.read(), Lookups { hits: 2, misses: 1 });
    }
}
