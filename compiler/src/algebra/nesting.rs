//! How many tests a plan has, and how deeply they are nested.

use super::plan::Plan;
use super::select::{Condition, Select};

impl Plan {
    /// How deeply tests and sets are nested.
    pub(crate) fn nesting_depth(&self) -> usize {
        self.selects().map(|select| depth(select.branches())).max().unwrap_or(0)
    }

    /// The same plan; of the conditions of each select, and of what a denial denies, the deepest is first.
    pub(crate) fn deepest_first(&self) -> Self {
        let mut plan = self.clone();
        plan.selects_mut().for_each(Select::sort_by_depth);
        plan
    }
}

impl Select {
    /// How many selects are inside this one, at any depth.
    pub(crate) fn n_nested(&self) -> usize {
        self.branches().map(|branch| 1 + branch.n_nested()).sum()
    }

    fn sort_by_depth(&mut self) {
        for condition in &mut self.filter {
            condition.branches_mut().iter_mut().for_each(Self::sort_by_depth);
            if let Condition::None(branches) = condition {
                to_front(branches, |branch| depth(branch.branches()));
            }
        }
        // Without a source, the order says what guards the alternatives.
        if !self.from.is_empty() {
            to_front(&mut self.filter, |condition| depth(condition.branches().iter()));
        }
    }
}

/// Moves the first of the deepest items to the front.
fn to_front<T>(items: &mut [T], depth: impl Fn(&T) -> usize) {
    let deepest = items.iter().enumerate().rev().max_by_key(|(_, item)| depth(item)).map(|(at, _)| at);
    if let Some(before) = deepest.and_then(|at| items.get_mut(..=at)) {
        before.rotate_right(1);
    }
}

/// How deeply selects are nested.
fn depth<'s>(selects: impl Iterator<Item = &'s Select>) -> usize {
    selects.map(|select| 1 + depth(select.branches())).max().unwrap_or(0)
}
