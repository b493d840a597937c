//! Looks a value up in the set of a recursion that denies it, instead of testing the recursion for each row.
//!
//! ```text
//! not (t in barred and t.c0 = row.f)   ─▶   not (row.f in (t.c0 where t in barred))
//! ```
//!
//! PostgreSQL estimates a recursion at many more rows than it has, and makes no anti-join of a test that
//! defines the recursion itself. So each row may scan all that is denied, and even a few rows look expensive
//! enough to be compiled. A set that is only tested is hashed, and estimated as small.

use super::setting::Setting;
use crate::algebra::anchor::Anchors;
use crate::algebra::groups::{Around, Group, around};
use crate::algebra::{Alias, Condition, Expr, From, Plan, Select, SetUse, TableBody};
use crate::ir::CompareOp;
use crate::question::QuestionVarId;

/// Rewrites the denials of all alternatives.
pub(super) fn look_up_denied(plan: &mut Plan, setting: &Setting<'_>) {
    let Plan { tables, answer, .. } = plan;
    let anchors = Anchors { catalog: setting.catalog, tables };
    let column = setting.row.map(|row| row.var);
    answer.selects_mut().iter_mut().for_each(|select| in_select(select, column, &anchors));
}

fn in_select(select: &mut Select, column: Option<QuestionVarId>, anchors: &Anchors<'_>) {
    for condition in &mut select.filter {
        let is_denial = matches!(condition, Condition::None(_));
        for branch in condition.branches_mut() {
            if is_denial {
                look_up(branch, column, anchors);
            }
            in_select(branch, column, anchors);
        }
    }
}

/// Replaces the recursion that a denial reads by a look-up, if the denial is of one value of a row around it.
fn look_up(denial: &mut Select, column: Option<QuestionVarId>, anchors: &Anchors<'_>) {
    let read: Vec<Alias> =
        denial.from.iter().filter(|from| from.kind.is_read()).map(|from| from.alias).collect();
    let is_around = |expr: Expr| match expr {
        Expr::Column { alias, .. } => !read.contains(&alias),
        Expr::Given(var) => Some(var) == column,
        _ => false,
    };
    let Around { main, own, groups } = around(denial, &is_around);
    let [group] = groups.as_slice() else { return };
    let Some(looked_up) = looked_up(group, &is_around, anchors) else { return };
    denial.from = main;
    denial.filter = own;
    denial.filter.push(looked_up);
}

/// The look-up of the one value from around the sources of a group that read a recursion.
fn looked_up(group: &Group, is_around: &dyn Fn(Expr) -> bool, anchors: &Anchors<'_>) -> Option<Condition> {
    let Group { from, links, inner } = group;
    let [Condition::Compare { op: CompareOp::Equal, left, right }] = links.as_slice() else { return None };
    let (expr, own) = if is_around(*left) { (*left, *right) } else { (*right, *left) };
    let set = Select { from: from.clone(), filter: inner.clone(), output: vec![own].into() };
    let is_set = is_around(expr)
        && own.alias().is_some()
        && !is_around(own)
        && from.iter().any(|from| is_recursion(from, anchors))
        && anchors.is_anchored(&set);
    is_set.then(|| Condition::In { expr, selects: vec![set], used: SetUse::ToTest })
}

fn is_recursion(from: &From, anchors: &Anchors<'_>) -> bool {
    let body = from.kind.table().map(|table| &table.of(anchors.tables).body);
    matches!(body, Some(TableBody::Recursive { .. }))
}
