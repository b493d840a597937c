//! Splits the conditions on the caller's row by what connects them with it.
//!
//! Sources that one equality connects with a column of the row, and that start from a given value, are a set,
//! made once, which the column is looked up in. All others are a probe for the row at hand: no set as large
//! as a table is ever made. A probe that starts from a given value, too, gets the set of one of its columns
//! in front, which is implied and lets an index find the rows.

use super::super::sets::set_tests;
use super::share::share_sets;
use super::{is_of_row, is_same_for_all_rows, rows_of};
use crate::algebra::aliases::TakenAliases;
use crate::algebra::anchor::Anchors;
use crate::algebra::groups::{Group, around};
use crate::algebra::{Condition, Expr, From, Plan, PlanAnswer, Select, SetUse};
use crate::catalog::Catalog;
use crate::id_vec::IdVec;
use crate::ir::CompareOp;

/// Splits the alternatives of a filter.
pub(in super::super) fn split_off(plan: &mut Plan, catalog: &Catalog) {
    let Plan { tables, answer, .. } = plan;
    let anchors = Anchors { catalog, tables };
    let mut taken = TakenAliases::of(answer.selects());
    for select in answer.selects_mut() {
        // An alternative that lists values of the column, as in a filter without a promised row, is a set as
        // a whole.
        if select.output.iter().all(|value| matches!(value, Expr::Given(_))) {
            split_select(select, &[], &anchors, &mut taken);
        }
    }
    if let PlanAnswer::Decision(selects) = answer {
        share_sets(selects, &mut taken);
    }
}

/// Splits a condition on the row; `outside` expose the row in the selects around it.
fn split_select(select: &mut Select, outside: &[From], anchors: &Anchors<'_>, taken: &mut TakenAliases) {
    let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
    let parts = around(select, &|expr| is_of_row(expr, &rows));
    select.from = parts.main;
    select.filter = parts.own;
    for condition in &mut select.filter {
        if let Condition::Any(branches) = condition {
            branches.iter_mut().for_each(|branch| split_select(branch, &rows, anchors, taken));
            share_sets(branches, taken);
        }
    }
    for group in parts.groups {
        attach(group, select, &rows, anchors);
    }
    select.filter.sort_by_key(|condition| rank(condition, &rows));
}

/// The order of conditions on a row. Inside an alternative PostgreSQL tests them in the order of the text: a
/// comparison costs least, as does what is the same for all rows; an array is searched from end to end, and a
/// probe reads another table.
pub(super) fn rank(condition: &Condition, rows: &[From]) -> usize {
    match condition {
        Condition::Any(_) | Condition::None(_) if is_same_for_all_rows(condition) => 0,
        Condition::Compare { .. } | Condition::OneOf { .. } | Condition::Meets { .. } => 0,
        Condition::Any(branches) if branches.iter().all(Select::reads_nothing) => 2,
        Condition::Any(branches) => match branches.as_slice() {
            [only] if is_bound(only, rows) => 1,
            _ => 4,
        },
        Condition::In { .. } => 3,
        Condition::None(branches) if branches.iter().all(Select::reads_nothing) => 0,
        Condition::None(_) => 4,
    }
}

/// Whether a probe only compares a value of the row with numbers of a set.
fn is_bound(probe: &Select, rows: &[From]) -> bool {
    let links = probe.filter.iter().filter(|condition| {
        let mut found = false;
        condition.for_each_expr(&mut |expr| found |= is_of_row(expr, rows));
        found
    });
    let links: Vec<&Condition> = links.collect();
    matches!(links.as_slice(), [Condition::Compare { op, .. }] if *op != CompareOp::Equal)
}

/// Puts a group into the select, as a set or as a probe.
fn attach(group: Group, select: &mut Select, rows: &[From], anchors: &Anchors<'_>) {
    let Group { from, links, inner } = group;
    let sets = links.iter().filter_map(|link| {
        let Condition::Compare { op: CompareOp::Equal, left, right } = link else { return None };
        let (own, other) = if is_of_row(*left, rows) { (*left, *right) } else { (*right, *left) };
        let is_link = is_of_row(own, rows) && !is_of_row(other, rows) && other.alias().is_some();
        is_link
            .then(|| (own, Select { from: from.clone(), filter: inner.clone(), output: vec![other].into() }))
    });
    let set = sets.into_iter().find(|(_, set)| anchors.is_anchored(set));
    let is_whole = links.len() == 1;
    if let Some((own, mut set)) = set {
        if let Some(main) = set.output.first().copied().and_then(Expr::alias) {
            set_tests(&mut set, main, Some(anchors));
        }
        select.filter.push(Condition::In { expr: own, selects: vec![set], used: SetUse::ToFind });
        if is_whole {
            return;
        }
    }
    let mut probe = Select { from, filter: inner, output: IdVec::new() };
    probe.filter.extend(links);
    select.filter.push(Condition::Any(vec![probe]));
}
