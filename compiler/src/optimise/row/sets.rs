//! Splits the conditions on the caller's row by what connects them with it.
//!
//! Sources that one equality connects with a column of the row, and that start from a given value, are a set,
//! made once, which the column is looked up in. All others are a probe for the row at hand: no set as large as
//! a table is ever made. A probe that starts from a given value, too, gets the set of one of its columns in
//! front, which is implied and lets an index find the rows.

use super::super::anchor::Anchors;
use super::super::sets::set_tests;
use super::{is_of_row, rows_of};
use crate::algebra::groups::{Group, around};
use crate::algebra::{Condition, Expr, From, Plan, Select};
use crate::catalog::Catalog;
use crate::ir::CompareOp;

/// Splits the alternatives of a filter.
pub(in super::super) fn split(plan: &mut Plan, catalog: &Catalog) {
    let Plan { tables, answer, .. } = plan;
    let anchors = Anchors { catalog, tables };
    answer.selects_mut().iter_mut().for_each(|select| split_select(select, &[], &anchors));
}

/// Splits a condition on the row; `outside` show the row in the selects around it.
fn split_select(select: &mut Select, outside: &[From], anchors: &Anchors<'_>) {
    let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
    let parts = around(select, &|expr| is_of_row(expr, &rows));
    select.from = parts.main;
    select.filter = parts.own;
    for condition in &mut select.filter {
        if let Condition::Any(branches) = condition {
            branches.iter_mut().for_each(|branch| split_select(branch, &rows, anchors));
        }
    }
    for group in parts.groups {
        attach(group, select, &rows, anchors);
    }
}

/// Puts a group into the select, as a set or as a probe.
fn attach(group: Group, select: &mut Select, rows: &[From], anchors: &Anchors<'_>) {
    let Group { from, links, inner } = group;
    let sets = links.iter().filter_map(|link| {
        let Condition::Compare { op: CompareOp::Equal, left, right } = link else { return None };
        let (own, other) = if is_of_row(*left, rows) { (*left, *right) } else { (*right, *left) };
        let is_link = is_of_row(own, rows) && !is_of_row(other, rows) && other.alias().is_some();
        is_link.then(|| (own, Select { from: from.clone(), filter: inner.clone(), output: vec![other] }))
    });
    let set = sets.into_iter().find(|(_, set)| anchors.is_anchored(set));
    let is_whole = links.len() == 1;
    if let Some((own, mut set)) = set {
        if let Some(main) = set.output.first().copied().and_then(Expr::alias) {
            set_tests(&mut set, main, anchors);
        }
        select.filter.push(Condition::In { expr: own, selects: vec![set] });
        if is_whole {
            return;
        }
    }
    let mut probe = Select { from, filter: inner, output: Vec::new() };
    probe.filter.extend(links);
    select.filter.push(Condition::Any(vec![probe]));
}
