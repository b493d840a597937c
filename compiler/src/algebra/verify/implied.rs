//! Redundant conditions, which follow from others of their select or from equalities around it.
//!
//! `x = y and y = 1 and x = 1` asks no more than any two of its equalities. In `x = y and x <> 2 and y <> 2`,
//! one of the inequalities is redundant. When a pass replaces `x` by `y`, two conditions become the same, and
//! it may leave one out. The atoms of an alternative do not show this: there, a value of one row of a
//! relation looks like the same value of another row.

use crate::algebra::equalities::Equalities;
use crate::algebra::{Condition, Expr, FromKind, Plan, Select};
use crate::ir::CompareOp;

/// The same plan, without the conditions that follow from others.
pub(super) fn without_implied_conditions(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let Plan { tables, guard, answer } = &mut plan;
    let of_tables = tables.iter_mut().flat_map(|table| table.body.selects_mut());
    for select in of_tables.chain([guard]).chain(answer.selects_mut()) {
        leave_out(select, Equalities::default());
    }
    plan
}

/// Leaves out the equalities that follow from others of a select or from those `known` around it, and the
/// conditions that repeat another one, with equal values in it.
fn leave_out(select: &mut Select, mut known: Equalities) {
    for from in &select.from {
        if let FromKind::Again { key, row, row_key, .. } = from.kind {
            let column = |alias, column| Expr::Column { alias, column };
            known.join(column(from.alias, key), column(row, row_key));
        }
    }
    select.filter.retain(|condition| match condition {
        Condition::Compare { op: CompareOp::Equal, left, right } => known.join(*left, *right),
        _ => true,
    });
    let mut said = Vec::new();
    select.filter.retain(|condition| {
        let mut same = condition.clone();
        same.for_each_expr_mut(&mut |expr| *expr = known.of_value(*expr).next().unwrap_or(*expr));
        let is_equality = matches!(condition, Condition::Compare { op: CompareOp::Equal, .. });
        let is_new = is_equality || !said.contains(&same);
        said.push(same);
        is_new
    });
    for condition in &mut select.filter {
        let value = match condition {
            Condition::In { expr, .. } => Some(*expr),
            _ => None,
        };
        for branch in condition.branches_mut() {
            let mut known = known.clone();
            if let (Some(value), Some(shown)) = (value, branch.output.first()) {
                known.join(value, *shown);
            }
            leave_out(branch, known);
        }
    }
}
