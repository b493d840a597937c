//! Makes a set of the containers that pass a test which starts from the row's own column.

use super::row::sees_row;
use crate::algebra::aliases::free_aliases;
use crate::algebra::links::asks_row;
use crate::algebra::{Condition, Expr, From, FromKind, Select, SetUse};
use crate::id_vec::IdVec;
use crate::ir::CompareOp;
use crate::keys::Keys;

/// An alternative whose test of the row's container has become a look-up in the set of the containers that
/// pass; `None` if it has no such test.
pub(super) fn listed(row: &Select, around: &[From], keys: Keys<'_>) -> Option<Select> {
    let outside: Vec<From> = around.iter().chain(&row.from).copied().collect();
    let mut row = row.clone();
    for condition in &mut row.filter {
        if let Some(set) = set_of(condition, &outside, keys) {
            *condition = set;
            return Some(row);
        }
    }
    None
}

/// The set whose members pass a test, if the test reads nothing of the row but one column, which it looks up
/// among the keys of a container's table.
fn set_of(condition: &Condition, outside: &[From], keys: Keys<'_>) -> Option<Condition> {
    let Condition::Any(branches) = condition else { return None };
    let sets: Vec<(Expr, Select)> =
        branches.iter().map(|branch| keyed(branch, outside, keys)).collect::<Option<_>>()?;
    let (expr, _) = *sets.first()?;
    sets.iter().all(|(other, _)| *other == expr).then(|| Condition::In {
        expr,
        selects: sets.into_iter().map(|(_, set)| set).collect(),
        used: SetUse::ToFind,
    })
}

/// The row's column that a branch looks up by key, and the branch as the set of the keys that it finds.
fn keyed(branch: &Select, outside: &[From], keys: Keys<'_>) -> Option<(Expr, Select)> {
    let (place, key, of_row) =
        branch.filter.iter().enumerate().find_map(|(place, condition)| match *condition {
            Condition::Compare { op: CompareOp::Equal, left, right } => [(left, right), (right, left)]
                .into_iter()
                .find(|(key, of_row)| is_typed_key(*key, &branch.from, keys) && is_column(*of_row, outside))
                .map(|(key, of_row)| (place, key, of_row)),
            _ => None,
        })?;
    let mut set = branch.clone();
    set.filter.remove(place);
    set.output = IdVec::from(vec![key]);
    let is_alone = !sees_row(&set)
        && !asks_row(&set.filter)
        && free_aliases(&Condition::Any(vec![set.clone()])).is_empty();
    is_alone.then_some((of_row, set))
}

fn is_typed_key(key: Expr, from: &[From], keys: Keys<'_>) -> bool {
    let Expr::Column { alias, column } = key else { return false };
    from.iter().any(|from| match from.kind {
        FromKind::Source(source) => from.alias == alias && keys.is_typed_key(source, column),
        FromKind::Row { .. }
        | FromKind::Again { .. }
        | FromKind::Table(_)
        | FromKind::Values(_)
        | FromKind::Embedded(_) => false,
    })
}

/// Whether a value is a column of the row that is tested.
fn is_column(value: Expr, outside: &[From]) -> bool {
    value.alias().is_some_and(|alias| outside.iter().any(|from| from.alias == alias))
}
