//! How many bytes requests may hold together: bodies on their way in, what they decode to, answers on their way out.
//!
//! In: a request that is about to hold more. Out: leave, or a refusal; what is held returns when the [`Account`] is
//! dropped. What has at most [`SMALL`] bytes is not counted, so that brief checks pass whatever large requests hold:
//! the number of requests at work bounds those.
//!
//! A key may hold as much as is still free, so one alone may take half of everything, a second one half of the rest.
//! However many bodies a client begins, another one finds room.

use super::turns::Asker;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// How many bytes of a body or an answer are not counted.
pub const SMALL: usize = 64 * 1024;

/// Why more cannot be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// Others hold it at the moment.
    Now,
    /// It is more than one request gets even when nobody else holds anything; so many bytes it may have.
    Ever(usize),
}

/// The bytes that requests may hold together.
#[derive(Debug)]
pub struct Budget {
    total: usize,
    held: Mutex<HeldBytes>,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct HeldBytes {
    all: usize,
    /// Of each asker that holds any.
    by_asker: FxHashMap<Asker, usize>,
}

impl Budget {
    /// So many bytes in all.
    pub fn new(total: usize) -> Self {
        Self { total, held: Mutex::default(), refused: AtomicU64::new(0) }
    }

    /// How many bytes are held.
    pub fn held(&self) -> usize {
        self.held.lock().all
    }

    /// How often there was no room.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// How much a request may hold if it is alone.
    fn most(&self) -> usize {
        self.total / 2
    }
}

/// What one request holds of a [`Budget`].
#[derive(Debug)]
pub struct Account {
    budget: Arc<Budget>,
    asker: OnceLock<Asker>,
    /// Changed only under the budget's lock.
    bytes: AtomicUsize,
}

impl Account {
    /// The account of a request that holds nothing yet.
    pub fn new(budget: &Arc<Budget>) -> Self {
        Self { budget: Arc::clone(budget), asker: OnceLock::new(), bytes: AtomicUsize::new(0) }
    }

    /// Says who asks, once that is known.
    pub fn belongs_to(&self, asker: Asker) {
        let _first_counts = self.asker.set(asker);
    }

    /// Who asks.
    pub fn asker(&self) -> Asker {
        self.asker.get().copied().unwrap_or_default()
    }

    /// How many bytes it holds.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Holds so many bytes more, or nothing.
    ///
    /// # Errors
    /// There is no room for them.
    pub fn hold(&self, more: usize) -> Result<(), NoRoom> {
        let asker = self.asker();
        let mut held = self.budget.held.lock();
        let own = self.bytes().saturating_add(more);
        let of_asker = held.by_asker.get(&asker).copied().unwrap_or_default().saturating_add(more);
        let all = held.all.saturating_add(more);
        let refusal = if own > self.budget.most() {
            Some(NoRoom::Ever(self.budget.most()))
        } else if of_asker > self.budget.total.saturating_sub(all) {
            Some(NoRoom::Now)
        } else {
            None
        };
        if let Some(refusal) = refusal {
            self.budget.refused.fetch_add(1, Ordering::Relaxed);
            return Err(refusal);
        }
        held.all = all;
        held.by_asker.insert(asker, of_asker);
        self.bytes.store(own, Ordering::Relaxed);
        Ok(())
    }

    /// Holds no more than so many bytes.
    pub fn shrink_to(&self, bytes: usize) {
        self.release(self.bytes().saturating_sub(bytes));
    }

    /// Holds so many bytes less.
    pub fn release(&self, less: usize) {
        if less == 0 {
            return;
        }
        let asker = self.asker();
        let mut held = self.budget.held.lock();
        let less = less.min(self.bytes());
        self.bytes.store(self.bytes() - less, Ordering::Relaxed);
        held.all = held.all.saturating_sub(less);
        if let Some(of_asker) = held.by_asker.get_mut(&asker) {
            *of_asker = of_asker.saturating_sub(less);
            if *of_asker == 0 {
                held.by_asker.remove(&asker);
            }
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(budget: &Arc<Budget>, key: &str) -> Account {
        let account = Account::new(budget);
        account.belongs_to(Asker::new("environment", key));
        account
    }

    #[test]
    fn a_key_may_hold_as_much_as_is_free() {
        let budget = Arc::new(Budget::new(1_000));
        let [one, same, other, third] = ["one", "one", "other", "third"].map(|key| account(&budget, key));
        assert_eq!(one.hold(400), Ok(()));
        assert_eq!(same.hold(101), Err(NoRoom::Now));
        assert_eq!(same.hold(100), Ok(()));
        assert_eq!(one.hold(1), Err(NoRoom::Now));
        assert_eq!(other.hold(251), Err(NoRoom::Now));
        assert_eq!(other.hold(250), Ok(()));
        assert_eq!(third.hold(125), Ok(()));
        assert_eq!((budget.held(), budget.refused()), (875, 3));
        drop(one);
        assert_eq!(budget.held(), 475);
        same.release(100);
        assert_eq!(same.hold(400), Err(NoRoom::Now));
        assert_eq!(same.hold(312), Ok(()));
        drop((same, other, third));
        assert_eq!(budget.held(), 0);
        assert!(budget.held.lock().by_asker.is_empty());
    }

    #[test]
    fn what_never_fits_is_told_apart() {
        let budget = Arc::new(Budget::new(1_000));
        let one = account(&budget, "one");
        assert_eq!(one.hold(300), Ok(()));
        assert_eq!(one.hold(201), Err(NoRoom::Ever(500)));
        assert_eq!(one.hold(usize::MAX), Err(NoRoom::Ever(500)));
        assert_eq!((one.bytes(), budget.held()), (300, 300));
        one.release(usize::MAX);
        assert_eq!((one.bytes(), budget.held()), (0, 0));
    }
}
