//! The aliases of a select: which a condition mentions, and numbers that tell equal selects to be equal.

use super::{Condition, Select};
use indexmap::IndexSet;

/// Every alias that a condition mentions, those of its branches' own sources included.
pub(crate) fn mentioned(condition: &Condition) -> IndexSet<usize> {
    let mut aliases = IndexSet::new();
    condition.for_each_expr(&mut |expr| aliases.extend(expr.alias()));
    aliases
}

/// The aliases that a condition mentions and does not define.
pub(crate) fn free_aliases(condition: &Condition) -> Vec<usize> {
    let mut free: Vec<usize> = mentioned(condition).into_iter().collect();
    let mut defined = Vec::new();
    defined_in(condition.branches(), &mut defined);
    free.retain(|alias| !defined.contains(alias));
    free.sort_unstable();
    free
}

fn defined_in(branches: &[Select], defined: &mut Vec<usize>) {
    for branch in branches {
        defined.extend(branch.from.iter().map(|from| from.alias));
        branch.filter.iter().for_each(|condition| defined_in(condition.branches(), defined));
    }
}

/// Numbers the aliases of selects from one, in order of appearance, so that equal selects are equal.
pub(crate) fn number_aliases<'s>(selects: impl IntoIterator<Item = &'s mut Select>) {
    let mut numbers: IndexSet<usize> = IndexSet::new();
    for select in selects {
        select.for_each_alias_mut(&mut |alias| *alias = numbers.insert_full(*alias).0 + 1);
    }
}
