//! Probes that depend on one value of a row, and their copies for the values of sets.

use super::super::{is_of_row, meets_condition};
use crate::algebra::aliases::{TakenAliases, renumber_inside};
use crate::algebra::{Condition, Expr, From, FromKind, Select};
use crate::catalog::ColumnId;
use indexmap::IndexSet;

/// The one value of the row on which a probe depends.
pub(in super::super) fn probed_column(condition: &Condition, rows: &[From]) -> Option<Expr> {
    let is_probe = match condition {
        Condition::None(branches) => branches.iter().any(|branch| !branch.reads_nothing()),
        Condition::Any(branches) => matches!(branches.as_slice(), [only] if !only.reads_nothing()),
        Condition::Compare { .. }
        | Condition::OneOf { .. }
        | Condition::Meets { .. }
        | Condition::In { .. } => false,
    };
    let mut found = IndexSet::new();
    condition.for_each_expr(&mut |expr| {
        if is_of_row(expr, rows) {
            found.insert(expr);
        }
    });
    let mut is_nested = meets_condition(condition);
    for branch in condition.branches() {
        branch.for_each_source(&mut |from| is_nested |= matches!(from.kind, FromKind::Row { .. }));
    }
    (is_probe && !is_nested && found.len() == 1).then(|| found.pop()).flatten()
}

/// Tests by a probe of this column what a set shows.
pub(super) fn put(guard: &Condition, column: Expr, set: &mut Select, taken: &mut TakenAliases) {
    let shown = set.output[ColumnId::FIRST];
    let mut probe = copy(guard, taken);
    probe.for_each_expr_mut(&mut |expr| {
        if *expr == column {
            *expr = shown;
        }
    });
    set.filter.push(probe);
}

/// The same condition over sources with numbers of their own.
pub(super) fn copy(condition: &Condition, taken: &mut TakenAliases) -> Condition {
    let mut condition = condition.clone();
    renumber_inside(&mut condition, taken);
    condition
}
