//! Moves probes that depend on one column of the row into the sets in which that column is looked up.
//!
//! ```text
//! row.f in (roles(u, f)) and not archived(row.f)   ─▶   row.f in (roles(u, f) where not archived(f))
//! ```
//!
//! A set has as many values as the actor has grants, and a table as many rows as it has. Alternatives without
//! such a set get the probe themselves. But a denial that starts from the actor ("who blocked me") is a small
//! set itself: it stays one condition on the row if some alternative would only get a copy of it.

use super::{is_of_row, rows_of};
use crate::algebra::aliases::{TakenAliases, renumber_inside};
use crate::algebra::anchor::Anchors;
use crate::algebra::{Condition, Expr, From, FromKind, Plan, Select};
use crate::catalog::Catalog;
use indexmap::IndexSet;

/// Moves the probes of all alternatives of a filter.
pub(in super::super) fn move_into_sets(plan: &mut Plan, catalog: &Catalog) {
    let Plan { tables, answer, .. } = plan;
    let anchors = Anchors { catalog, tables };
    for select in answer.selects_mut() {
        let mut taken = TakenAliases::of([&*select]);
        move_in(select, &[], &anchors, &mut taken);
    }
}

fn move_in(select: &mut Select, outside: &[From], anchors: &Anchors<'_>, taken: &mut TakenAliases) {
    let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
    let mut at = 0;
    while let Some(condition) = select.filter.get(at).cloned() {
        let column = probed_column(&condition, &rows);
        if let Some(column) = column {
            select.filter.remove(at);
            let may_copy = !starts_from_actor(&condition, &rows, anchors);
            if put(&condition, column, may_copy, select, taken) {
                continue;
            }
            select.filter.insert(at, condition);
        }
        at += 1;
    }
    for condition in &mut select.filter {
        if let Condition::Any(branches) = condition {
            branches
                .iter_mut()
                .filter(|branch| branch.reads_nothing())
                .for_each(|branch| move_in(branch, &rows, anchors, taken));
        }
    }
}

/// The one value of the row on which a probe depends.
fn probed_column(condition: &Condition, rows: &[From]) -> Option<Expr> {
    let is_probe = match condition {
        Condition::None(branches) => branches.iter().any(|branch| !branch.reads_nothing()),
        Condition::Any(branches) => matches!(branches.as_slice(), [only] if !only.reads_nothing()),
        Condition::Compare { .. } | Condition::OneOf { .. } | Condition::In { .. } => false,
    };
    let mut found = IndexSet::new();
    condition.for_each_expr(&mut |expr| {
        if is_of_row(expr, rows) {
            found.insert(expr);
        }
    });
    let mut is_nested = false;
    for branch in condition.branches() {
        branch.for_each_source(&mut |from| is_nested |= matches!(from.kind, FromKind::Row { .. }));
    }
    (is_probe && !is_nested && found.len() == 1).then(|| found.pop()).flatten()
}

/// Whether what a probe reads starts from a given value, for any row.
fn starts_from_actor(probe: &Condition, rows: &[From], anchors: &Anchors<'_>) -> bool {
    let of_row = |condition: &Condition| {
        let mut found = false;
        condition.for_each_expr(&mut |expr| found |= is_of_row(expr, rows));
        found
    };
    probe.branches().iter().all(|branch| {
        let mut alone = branch.clone();
        alone.filter.retain(|condition| !of_row(condition));
        anchors.is_anchored(&alone)
    })
}

/// Puts a probe into the sets of its column, or else into the alternatives of which all have such sets, or
/// some if the others may get copies; says whether there were any.
fn put(
    probe: &Condition,
    column: Expr,
    may_copy: bool,
    select: &mut Select,
    taken: &mut TakenAliases,
) -> bool {
    for condition in &mut select.filter {
        if let Condition::In { expr, selects } = condition
            && *expr == column
            && selects.iter().all(|set| set.output.len() == 1)
        {
            selects.iter_mut().for_each(|set| put_in_set(probe, column, set, taken));
            return true;
        }
    }
    for condition in &mut select.filter {
        if let Condition::Any(branches) = condition
            && branches.iter().all(Select::reads_nothing)
            && branches.iter().any(|branch| has_set(column, branch))
            && (may_copy || branches.iter().all(|branch| has_set(column, branch)))
        {
            for branch in branches {
                if !put(probe, column, may_copy, branch, taken) {
                    branch.filter.push(copy(probe, taken));
                }
            }
            return true;
        }
    }
    false
}

fn has_set(column: Expr, select: &Select) -> bool {
    select.filter.iter().any(|condition| match condition {
        Condition::In { expr, selects } => *expr == column && selects.iter().all(|set| set.output.len() == 1),
        Condition::Any(branches) => {
            branches.iter().all(Select::reads_nothing)
                && branches.iter().any(|branch| has_set(column, branch))
        }
        Condition::Compare { .. } | Condition::OneOf { .. } | Condition::None(_) => false,
    })
}

/// Asks a probe of what a set shows.
fn put_in_set(probe: &Condition, column: Expr, set: &mut Select, taken: &mut TakenAliases) {
    let Some(shown) = set.output.first().copied() else { return };
    let mut probe = copy(probe, taken);
    probe.for_each_expr_mut(&mut |expr| {
        if *expr == column {
            *expr = shown;
        }
    });
    set.filter.push(probe);
}

/// The same probe over sources with numbers of their own.
fn copy(probe: &Condition, taken: &mut TakenAliases) -> Condition {
    let mut probe = probe.clone();
    renumber_inside(&mut probe, taken);
    probe
}
