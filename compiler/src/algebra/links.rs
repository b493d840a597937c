//! Tests that compare rows of their own with values from around them.

use super::aliases::free_aliases;
use super::ids::Alias;
use super::select::{Condition, Expr, FromKind, Select};
use crate::ir::CompareOp;

/// A test that compares rows of its own with values from around it, and has no other condition on those.
#[derive(Clone, Debug)]
pub(crate) struct LinkedRows {
    /// The comparisons.
    pub(crate) links: Vec<Link>,
    /// The rows, which show the columns that are compared.
    pub(crate) set: Select,
}

/// How a value from around a test must compare with one of its columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) value: Expr,
    pub(crate) op: CompareOp,
    pub(crate) own: Expr,
}

impl LinkedRows {
    /// `None` if the test asks more of values from around it than how they compare with its columns.
    pub(crate) fn of(select: &Select) -> Option<Self> {
        let is_source = |alias: Alias| select.from.iter().any(|from| from.alias == alias);
        let is_own = |expr: Expr| expr.alias().is_some_and(is_source);
        let is_around = |condition: &&Condition| {
            asks_row(std::slice::from_ref(*condition)) || !free_aliases(condition).into_iter().all(is_source)
        };
        let link = |condition: &Condition| match *condition {
            Condition::Compare { op, left: own, right: value } if is_own(own) && !is_own(value) => {
                Some(Link { value, op: op.turned(), own })
            }
            Condition::Compare { op, left: value, right: own } if is_own(own) && !is_own(value) => {
                Some(Link { value, op, own })
            }
            _ => None,
        };
        let (around, inner): (Vec<&Condition>, Vec<&Condition>) = select.filter.iter().partition(is_around);
        let links = around.into_iter().map(link).collect::<Option<Vec<_>>>()?;
        let filter = inner.into_iter().cloned().collect();
        let output = links.iter().map(|link| link.own).collect();
        Some(Self { links, set: Select { from: select.from.clone(), filter, output } })
    }
}

/// Whether conditions mention the caller's row.
pub(crate) fn asks_row(conditions: &[Condition]) -> bool {
    let mut found = false;
    for condition in conditions {
        condition.for_each_expr(&mut |expr| found |= matches!(expr, Expr::Given(_)));
        for branch in condition.branches() {
            branch.for_each_source(&mut |from| found |= matches!(from.kind, FromKind::Row { .. }));
        }
    }
    found
}
