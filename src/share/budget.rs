//! The memory budget that requests share: bodies being received, their decoded values, answers being sent.
//!
//! In: a request that needs more memory. Out: permission, or a refusal. Dropping the [`Account`] returns its
//! memory. Up to [`SMALL`] bytes are not counted, so brief checks succeed regardless of large requests; the
//! limit on concurrent requests bounds them.
//!
//! A key may use as much as remains free, so a single key gets at most half of the budget, a second one half
//! of the rest. However many bodies one client sends, another still finds room.

use super::turns::Asker;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Bodies and answers of up to this many bytes are not counted.
pub const SMALL: usize = 64 * 1024;

/// Why memory was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// Other requests use it at the moment.
    Now,
    /// It exceeds the limit of a single request, which is this many bytes.
    Ever(usize),
}

/// The memory budget that requests share.
#[derive(Debug)]
pub struct Budget {
    total: usize,
    held: Mutex<HeldBytes>,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct HeldBytes {
    all: usize,
    /// The bytes of each asker that uses any.
    by_asker: FxHashMap<Asker, usize>,
}

impl Budget {
    /// A budget of `total` bytes.
    pub fn new(total: usize) -> Self {
        Self { total, held: Mutex::default(), refused: AtomicU64::new(0) }
    }

    /// How many bytes are in use.
    pub fn held(&self) -> usize {
        self.held.lock().all
    }

    /// How many requests for memory were refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// How much a single request may use.
    fn most(&self) -> usize {
        self.total / 2
    }
}

/// How many bytes a request, its asker and all requests use.
struct MemoryUse {
    own: usize,
    of_asker: usize,
    all: usize,
}

/// The part of a [`Budget`] that one request uses.
#[derive(Debug)]
pub struct Account {
    budget: Arc<Budget>,
    asker: OnceLock<Asker>,
    /// Changed only under the budget's lock.
    bytes: AtomicUsize,
}

impl Account {
    /// An empty account.
    pub fn new(budget: &Arc<Budget>) -> Self {
        Self { budget: Arc::clone(budget), asker: OnceLock::new(), bytes: AtomicUsize::new(0) }
    }

    /// Sets the asker, once it is known.
    pub fn belongs_to(&self, asker: Asker) {
        let _first_counts = self.asker.set(asker);
    }

    /// The asker.
    pub fn asker(&self) -> Asker {
        self.asker.get().copied().unwrap_or_default()
    }

    /// How many bytes it uses.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Takes `more` bytes, or none.
    ///
    /// # Errors
    /// They do not fit into the budget.
    pub fn hold(&self, more: usize) -> Result<(), NoRoom> {
        let mut held = self.budget.held.lock();
        let next = self.after(&held, more).inspect_err(|_| {
            self.budget.refused.fetch_add(1, Ordering::Relaxed);
        })?;
        held.all = next.all;
        held.by_asker.insert(self.asker(), next.of_asker);
        self.bytes.store(next.own, Ordering::Relaxed);
        Ok(())
    }

    /// Whether it could take `more` bytes now.
    ///
    /// # Errors
    /// They do not fit into the budget.
    pub fn has_room(&self, more: usize) -> Result<(), NoRoom> {
        self.after(&self.budget.held.lock(), more).map(|_| ())
    }

    /// What is in use once it has taken `more` bytes.
    fn after(&self, held: &HeldBytes, more: usize) -> Result<MemoryUse, NoRoom> {
        let own = self.bytes().saturating_add(more);
        let of_asker = held.by_asker.get(&self.asker()).copied().unwrap_or_default().saturating_add(more);
        let all = held.all.saturating_add(more);
        if own > self.budget.most() {
            Err(NoRoom::Ever(self.budget.most()))
        } else if of_asker > self.budget.total.saturating_sub(all) {
            Err(NoRoom::Now)
        } else {
            Ok(MemoryUse { own, of_asker, all })
        }
    }

    /// Reduces the use to at most `bytes`.
    pub fn shrink_to(&self, bytes: usize) {
        self.release(self.bytes().saturating_sub(bytes));
    }

    /// Returns `less` bytes.
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
        assert_eq!((other.has_room(251), other.has_room(250)), (Err(NoRoom::Now), Ok(())));
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
