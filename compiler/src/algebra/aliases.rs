//! The aliases of a select: which a condition mentions, and numbers that tell equal selects to be equal.

use super::{Condition, FromKind, Select};
use indexmap::IndexSet;

/// Every alias that a condition mentions, those of its branches' own sources included.
pub(crate) fn mentioned(condition: &Condition) -> IndexSet<usize> {
    let mut aliases = IndexSet::new();
    condition.for_each_expr(&mut |expr| aliases.extend(expr.alias()));
    for branch in condition.branches() {
        branch.for_each_source(&mut |from| {
            if let FromKind::Again { row, .. } = from.kind {
                aliases.insert(row);
            }
        });
    }
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

/// Gives the sources inside a condition numbers from `next` on, which grows.
pub(crate) fn renumber_inside(condition: &mut Condition, next: &mut usize) {
    let mut inside = Vec::new();
    defined_in(condition.branches(), &mut inside);
    let first = *next;
    *next += inside.len();
    let mut select = Select {
        filter: vec![std::mem::replace(condition, Condition::Any(Vec::new()))],
        ..Select::default()
    };
    select.for_each_alias_mut(&mut |alias| {
        if let Some(place) = inside.iter().position(|defined| defined == alias) {
            *alias = first + place;
        }
    });
    if let Some(renumbered) = select.filter.pop() {
        *condition = renumbered;
    }
}

/// The highest number of a source in a select and its branches.
pub(crate) fn highest(select: &Select) -> usize {
    let mut highest = 0;
    select.for_each_source(&mut |from| highest = highest.max(from.alias));
    highest
}

/// Numbers the aliases of selects from one, in order of appearance, so that equal selects are equal.
pub(crate) fn number_aliases<'s>(selects: impl IntoIterator<Item = &'s mut Select>) {
    let mut numbers: IndexSet<usize> = IndexSet::new();
    for select in selects {
        select.for_each_alias_mut(&mut |alias| *alias = numbers.insert_full(*alias).0 + 1);
    }
}
