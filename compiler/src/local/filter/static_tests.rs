//! Moves tests that are the same for all rows into the sets of their alternatives.
//!
//! ```text
//! a or (row.f in s and role_has_permission("mod", "read"))
//!     ─▶   a or row.f in (s where role_has_permission("mod", "read"))
//! ```
//!
//! What all alternatives share is tested before them already. The set is empty if the test fails, and the
//! alternative is one that an index answers: otherwise the database would read all rows of the set, and test
//! each of them. So a value that a column must have becomes a set, too.

use crate::algebra::aliases::{TakenAliases, renumber_inside};
use crate::algebra::anchor::Anchors;
use crate::algebra::{Condition, Expr, Select, SetUse};
use crate::ir::CompareOp;
use crate::optimise::is_same_for_all_rows;

/// Moves the tests of several alternatives, and of those inside them.
pub(super) fn move_into_sets(rows: &mut [Select], anchors: &Anchors<'_>) {
    let mut taken = TakenAliases::of(&*rows);
    move_all(rows, anchors, &mut taken);
}

fn move_all(rows: &mut [Select], anchors: &Anchors<'_>, taken: &mut TakenAliases) {
    let is_one_of_several = rows.len() > 1;
    for row in rows {
        if is_one_of_several && row.filter.iter().any(is_static_test) {
            make_set(row, anchors);
            move_tests(row, taken);
        }
        for condition in &mut row.filter {
            if let Condition::Any(branches) = condition
                && branches.iter().all(Select::reads_nothing)
            {
                move_all(branches, anchors, taken);
            }
        }
    }
}

/// Makes a set of the value that an indexed column of the row must have, if there is no set. A literal
/// for the filter's own column is not such a value: the filter lists those apart.
fn make_set(row: &mut Select, anchors: &Anchors<'_>) {
    let Select { from, filter, .. } = row;
    if filter.iter().any(is_set) {
        return;
    }
    let indexed = filter.iter_mut().find(|condition| anchors.is_indexed(condition, from));
    if let Some(condition) = indexed
        && let Condition::Compare { op: CompareOp::Equal, left, right } = condition
        && let (expr @ Expr::Column { .. }, value) | (value, expr @ Expr::Column { .. }) = (*left, *right)
    {
        let value = Select { output: vec![value].into(), ..Select::default() };
        *condition = Condition::In { expr, selects: vec![value], used: SetUse::ToFind };
    }
}

/// Moves the static tests of an alternative into its first set.
fn move_tests(row: &mut Select, taken: &mut TakenAliases) {
    let (tests, mut others): (Vec<Condition>, Vec<Condition>) =
        row.filter.iter().cloned().partition(is_static_test);
    let Some(set) = others.iter_mut().find(|condition| is_set(condition)) else { return };
    for select in set.branches_mut() {
        for test in &tests {
            let mut test = test.clone();
            renumber_inside(&mut test, taken);
            select.filter.push(test);
        }
    }
    row.filter = others;
}

fn is_set(condition: &Condition) -> bool {
    matches!(condition, Condition::In { used: SetUse::ToFind, .. })
}

/// Whether a condition reads something, and has the same value for all rows.
fn is_static_test(condition: &Condition) -> bool {
    let reads = match condition {
        Condition::Any(branches) | Condition::None(branches) => {
            branches.iter().any(|branch| !branch.reads_nothing())
        }
        Condition::Compare { .. } | Condition::OneOf { .. } | Condition::In { .. } => false,
    };
    reads && is_same_for_all_rows(condition)
}
