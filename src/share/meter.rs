//! Charges an account for something that grows in many small pieces.

use super::budget::{Account, NoRoom, SMALL};
use std::sync::Arc;

/// How many bytes are taken in advance, so that not every piece asks the budget.
const STEP: usize = 1 << 20;

/// Something that grows. Its bytes stay charged to its account; the first [`SMALL`] bytes are free.
#[derive(Debug)]
pub struct Meter {
    account: Option<Arc<Account>>,
    /// How many bytes may be added before the account is charged again.
    ahead: usize,
}

impl Meter {
    /// A meter at zero. Without an account nothing is counted.
    pub fn new(account: Option<&Arc<Account>>) -> Self {
        Self { account: account.cloned(), ahead: SMALL }
    }

    /// Grows by `more` bytes.
    ///
    /// # Errors
    /// They do not fit into the budget.
    pub fn grow(&mut self, more: usize) -> Result<(), NoRoom> {
        if more > self.ahead
            && let Some(account) = &self.account
        {
            let step = more.max(STEP);
            account.hold(step)?;
            self.ahead += step;
        }
        self.ahead = self.ahead.saturating_sub(more);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget::Budget;
    use super::*;

    #[test]
    fn what_is_small_is_not_counted_and_the_rest_in_steps() {
        let budget = Arc::new(Budget::new(8 * STEP));
        let account = Arc::new(Account::new(&budget));
        let mut meter = Meter::new(Some(&account));
        assert_eq!((meter.grow(SMALL), budget.held()), (Ok(()), 0));
        assert_eq!((meter.grow(1), budget.held()), (Ok(()), STEP));
        assert_eq!((meter.grow(STEP - 1), budget.held()), (Ok(()), STEP));
        assert_eq!((meter.grow(2 * STEP), budget.held()), (Ok(()), 3 * STEP));
        assert_eq!((meter.grow(2 * STEP), budget.held()), (Err(NoRoom::Ever(4 * STEP)), 3 * STEP));
        assert_eq!(Meter::new(None).grow(usize::MAX), Ok(()));
    }
}
