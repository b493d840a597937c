//! Splits the conditions on the caller's row by what connects them with it.
//!
//! Sources that one equality connects with a column of the row, and that start from a given value, are a set,
//! made once, which the column is looked up in. All others are a probe for the row at hand: no set as large
//! as a table is ever made. A probe that starts from a given value, too, gets the set of one of its columns
//! in front, which is implied and lets an index find the rows.

use super::super::sets::to_set;
use super::share::share_sets;
use super::{is_of_row, is_same_for_all_rows, meets_condition, rows_of};
use crate::algebra::aliases::{TakenAliases, mentioned};
use crate::algebra::anchor::Anchors;
use crate::algebra::groups::{Around, Group, around};
use crate::algebra::links::asks_row;
use crate::algebra::{Alias, Condition, Expr, From, Plan, PlanAnswer, Select, SetUse, TableBody};
use crate::catalog::Catalog;
use crate::id_vec::IdVec;
use crate::ir::CompareOp;

/// Splits the alternatives of a filter.
pub(in super::super) fn split_off(plan: &mut Plan, catalog: &Catalog) {
    let Plan { tables, answer, .. } = plan;
    let read = tables.clone();
    let anchors = Anchors::new(catalog, &read);
    for table in tables.iter_mut() {
        if let TableBody::Union(selects) = &mut table.body {
            selects.iter_mut().for_each(|select| test_sets(select, &anchors));
        }
    }
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

/// Splits a condition on the row, or on what a probe reads; `outside` are the sources around it that expose
/// the row, and those of the probe.
pub(super) fn split_select(
    select: &mut Select,
    outside: &[From],
    anchors: &Anchors<'_>,
    taken: &mut TakenAliases,
) {
    let is_seen =
        |from: &&From| from.kind.seen_row().is_some_and(|row| outside.iter().any(|known| known.alias == row));
    let again = select.from.iter().filter(is_seen).copied();
    let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).chain(again).collect();
    let parts = around(select, &|expr| is_of_row(expr, &rows));
    select.from = parts.main;
    select.filter = parts.own;
    for condition in &mut select.filter {
        if let Condition::Any(branches) = condition {
            branches.iter_mut().for_each(|branch| split_select(branch, &rows, anchors, taken));
            share_sets(branches, taken);
        }
    }
    for group in parts.groups.into_iter().flat_map(|group| parted(group, &rows, anchors)) {
        attach(group, select, &rows, anchors, taken);
    }
    select.filter.sort_by_key(|condition| rank(condition, &rows));
}

/// The parts of a group that only a value of the row connects, if one of them is a set then. A source that
/// another value of the row leads to would read the set again for each row.
///
/// ```text
/// roles(u, c), contracts(c, s) where row.carrier = c, row.shipper = s
///     ─▶   roles(u, c) where row.carrier = c   and   contracts(c, s) where row.carrier = c, row.shipper = s
/// ```
fn parted(group: Group, rows: &[From], anchors: &Anchors<'_>) -> Vec<Group> {
    let is_row = |expr: Expr| is_of_row(expr, rows);
    let is_set = |group: &Group| listed(group, rows, anchors).is_some_and(|set| set.is_whole);
    if is_set(&group) {
        return vec![group];
    }
    for (value, shown) in group.links.iter().filter_map(|link| link_of(link, &is_row)) {
        let is_other = |alias: &Alias| {
            shown.alias() != Some(*alias) && group.from.iter().any(|from| from.alias == *alias)
        };
        let at_row = |condition: &Condition| {
            let connects = mentioned(condition).iter().any(is_other);
            if connects { with_shown(condition, shown, value) } else { condition.clone() }
        };
        let filter = group.inner.iter().map(at_row).chain(group.links.iter().cloned()).collect();
        let select = Select { from: group.from.clone(), filter, output: IdVec::new() };
        let Around { own, groups: parts, .. } = around(&select, &is_row);
        let (sets, probes): (Vec<&Group>, Vec<&Group>) = parts.iter().partition(|part| is_set(part));
        let starts = |part: &&Group| listed(part, rows, anchors).is_some();
        if own.is_empty() && !sets.is_empty() && !probes.is_empty() && !probes.iter().any(starts) {
            return parts;
        }
    }
    vec![group]
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
pub(super) fn is_bound(probe: &Select, rows: &[From]) -> bool {
    let links = probe.filter.iter().filter(|condition| {
        let mut found = false;
        condition.for_each_expr(&mut |expr| found |= is_of_row(expr, rows));
        found
    });
    let links: Vec<&Condition> = links.collect();
    matches!(links.as_slice(), [Condition::Compare { op, .. }] if *op != CompareOp::Equal)
}

/// Puts a group into the select, as a set or as a probe.
fn attach(group: Group, select: &mut Select, rows: &[From], anchors: &Anchors<'_>, taken: &mut TakenAliases) {
    if let Some(found) = listed(&group, rows, anchors) {
        let GroupSet { value, mut set, is_whole } = found;
        test_sets(&mut set, anchors);
        to_set(&mut set, anchors);
        select.filter.push(Condition::In { expr: value, selects: vec![set], used: SetUse::ToFind });
        if is_whole {
            return;
        }
    }
    let (denials, inner) = denials_of_row(group.inner, &group.links, &group.from, rows);
    select.filter.extend(denials);
    let mut probe = Select { from: group.from, filter: inner, output: IdVec::new() };
    let read: Vec<From> = rows.iter().chain(&probe.from).copied().collect();
    for condition in &mut probe.filter {
        if let Condition::Any(branches) = condition
            && branches.len() > 1
        {
            branches.iter_mut().for_each(|branch| split_select(branch, &read, anchors, taken));
            share_sets(branches, taken);
        }
    }
    probe.filter.extend(group.links);
    select.filter.push(Condition::Any(vec![probe]));
}

/// The set of a group that starts from a given value, by itself or with sets in place of tests.
pub(super) fn listed(group: &Group, rows: &[From], anchors: &Anchors<'_>) -> Option<GroupSet> {
    set_of(group, rows, anchors).or_else(|| {
        let inner = with_sets(&group.inner, &group.from, anchors)?;
        set_of(&Group { inner, ..group.clone() }, rows, anchors)
    })
}

/// Separates what a probe denies of the value that links it with the row: that is a condition on the row, so
/// that alternatives with the same denial have it in the same form.
fn denials_of_row(
    inner: Vec<Condition>,
    links: &[Condition],
    from: &[From],
    rows: &[From],
) -> (Vec<Condition>, Vec<Condition>) {
    let Some((value, shown)) = links.iter().find_map(|link| link_of(link, &|expr| is_of_row(expr, rows)))
    else {
        return (Vec::new(), inner);
    };
    let is_own = |alias: &Alias| from.iter().any(|from| from.alias == *alias);
    let mut denials = Vec::new();
    let mut others = Vec::new();
    for condition in inner {
        let of_row = with_shown(&condition, shown, value);
        if matches!(of_row, Condition::None(_)) && !mentioned(&of_row).iter().any(is_own) {
            denials.push(of_row);
        } else {
            others.push(condition);
        }
    }
    (denials, others)
}

/// A set that a value of the row must be in for a group to have a row.
pub(super) struct GroupSet {
    pub(super) value: Expr,
    pub(super) set: Select,
    /// Whether the group has a row for each value in the set.
    pub(super) is_whole: bool,
}

/// The set of a group that starts from a given value.
pub(super) fn set_of(group: &Group, rows: &[From], anchors: &Anchors<'_>) -> Option<GroupSet> {
    let is_row = |expr: Expr| is_of_row(expr, rows);
    group.links.iter().enumerate().find_map(|(place, link)| {
        let (value, shown) = link_of(link, &is_row)?;
        let others = group.links.iter().enumerate().filter(|(other, _)| *other != place);
        let (inner, rest): (Vec<Condition>, Vec<Condition>) = others
            .map(|(_, condition)| with_shown(condition, value, shown))
            .partition(|condition| !asks(condition, &is_row));
        let of_row = |condition: &&Condition| asks_row(std::slice::from_ref(*condition));
        let (tied, own): (Vec<&Condition>, Vec<&Condition>) = group.inner.iter().partition(of_row);
        let filter = own.into_iter().cloned().chain(inner).collect();
        let set = Select { from: group.from.clone(), filter, output: vec![shown].into() };
        let is_whole = rest.is_empty() && tied.is_empty();
        anchors.is_anchored(&set).then_some(GroupSet { value, set, is_whole })
    })
}

/// The value that an equality compares with a column of another source, and that column.
pub(super) fn link_of(link: &Condition, is_outside: &dyn Fn(Expr) -> bool) -> Option<(Expr, Expr)> {
    let Condition::Compare { op: CompareOp::Equal, left, right } = link else { return None };
    let (value, shown) = if is_outside(*left) { (*left, *right) } else { (*right, *left) };
    (is_outside(value) && !is_outside(shown) && shown.alias().is_some()).then_some((value, shown))
}

/// A condition with the column that a set shows in place of the equal value.
pub(super) fn with_shown(condition: &Condition, value: Expr, shown: Expr) -> Condition {
    let mut condition = condition.clone();
    if !meets_condition(&condition) {
        condition.for_each_expr_mut(&mut |expr| {
            if *expr == value {
                *expr = shown;
            }
        });
    }
    condition
}

/// Whether a condition depends on a value from outside, or shows the row itself.
pub(super) fn asks(condition: &Condition, is_outside: &dyn Fn(Expr) -> bool) -> bool {
    let mut found = asks_row(std::slice::from_ref(condition));
    condition.for_each_expr(&mut |expr| found |= is_outside(expr));
    found
}

/// Puts a set in place of each test that has several branches, of which every one starts from a given value
/// and some read a table of the plan. The database joins no such test, and the table has no index, so it
/// would be read from end to end for every value of the set.
fn test_sets(set: &mut Select, anchors: &Anchors<'_>) {
    for condition in &mut set.filter {
        if let Condition::Any(branches) = condition
            && branches.len() > 1
            && branches.iter().any(Select::reads_table)
            && let Some(Condition::In { expr, mut selects, .. }) = test_as_set(condition, &set.from, anchors)
        {
            selects.iter_mut().for_each(|set| to_set(set, anchors));
            *condition = Condition::In { expr, selects, used: SetUse::ToTest };
        }
    }
}

/// Conditions with a set in place of each test of which every branch starts from a given value and looks for
/// the same column of a source; `None` if there is no such test.
fn with_sets(conditions: &[Condition], from: &[From], anchors: &Anchors<'_>) -> Option<Vec<Condition>> {
    let sets: Vec<Option<Condition>> =
        conditions.iter().map(|condition| test_as_set(condition, from, anchors)).collect();
    let has_set = sets.iter().any(Option::is_some);
    let or_same =
        |(set, condition): (Option<Condition>, &Condition)| set.unwrap_or_else(|| condition.clone());
    has_set.then(|| sets.into_iter().zip(conditions).map(or_same).collect())
}

fn test_as_set(condition: &Condition, from: &[From], anchors: &Anchors<'_>) -> Option<Condition> {
    let Condition::Any(branches) = condition else { return None };
    let is_source =
        |expr: Expr| expr.alias().is_some_and(|alias| from.iter().any(|from| from.alias == alias));
    let sets = branches.iter().map(|branch| {
        let place = branch.filter.iter().position(|link| link_of(link, &is_source).is_some())?;
        let (value, shown) = link_of(branch.filter.get(place)?, &is_source)?;
        let others = branch.filter.iter().enumerate().filter(|(other, _)| *other != place);
        let filter: Vec<Condition> =
            others.map(|(_, condition)| with_shown(condition, value, shown)).collect();
        if filter.iter().any(|condition| asks(condition, &is_source)) {
            return None;
        }
        let set = Select { from: branch.from.clone(), filter, output: vec![shown].into() };
        if anchors.is_anchored(&set) {
            return Some((value, set));
        }
        // It may start from a set in place of one of its own tests.
        let filter = with_sets(&set.filter, &set.from, anchors)?;
        let set = Select { filter, ..set };
        anchors.is_anchored(&set).then_some((value, set))
    });
    let sets: Vec<(Expr, Select)> = sets.collect::<Option<_>>()?;
    let (value, _) = *sets.first()?;
    sets.iter().all(|(other, _)| *other == value).then(|| Condition::In {
        expr: value,
        selects: sets.into_iter().map(|(_, set)| set).collect(),
        used: SetUse::ToFind,
    })
}
