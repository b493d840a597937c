//! Evaluates conditions on the row that all alternatives of a filter share once, before them.
//!
//! ```text
//! (row.owner != u and a) or (row.owner != u and b)   ─▶   row.owner != u and (a or b)
//! ```
//!
//! A denial before the alternatives is an anti-join. Inside them it is tested for each row by itself, and
//! PostgreSQL assumes that each such test holds for half of the rows.
//!
//! What holds around alternatives is not asked inside them, and alternatives of which one asks nothing else
//! are left out:
//!
//! ```text
//! row.owner = u and (row.owner = u or b)   ─▶   row.owner = u
//! ```

use super::sets::rank;
use super::{is_of_row, rows_of};
use crate::algebra::aliases::{TakenAliases, mentioned, renumber_inside};
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, Select};
use crate::ir::CompareOp;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// Takes what alternatives of a filter have in common out of them.
pub(in super::super) fn take_out(plan: &mut Plan) {
    let answer = plan.answer.selects_mut();
    let mut taken = TakenAliases::of(answer.iter());
    group_by_sets(answer);
    let mut all = Select { filter: vec![Condition::Any(std::mem::take(answer))], ..Select::default() };
    in_select(&mut all, &HoldsAround::default(), &mut taken);
    see_rows_in_denials(&mut all, &[]);
    *answer = match (all.from.as_slice(), all.filter.as_mut_slice()) {
        ([], [Condition::Any(alternatives)]) => std::mem::take(alternatives),
        _ => vec![all],
    };
}

/// A condition in a form in which equal ones are equal, see [`by_shown_rows`].
pub(super) type Normal = (Vec<FromKind>, Condition);

/// What surrounds a select.
#[derive(Default)]
struct HoldsAround {
    /// The sources that expose the row.
    rows: Vec<From>,
    /// The conditions that hold.
    hold: Vec<Normal>,
}

/// Makes one alternative of those that look a value up in the same set, so that they have it in common.
pub(super) fn group_by_sets(selects: &mut Vec<Select>) {
    let sets = |select: &Select| -> Vec<Normal> {
        let rows: Vec<From> = rows_of(&select.from).collect();
        let is_set = |condition: &&Condition| matches!(condition, Condition::In { .. });
        select.filter.iter().filter(is_set).map(|set| by_shown_rows(set, &rows)).collect()
    };
    let mut rest: Vec<(Vec<Normal>, Select)> =
        std::mem::take(selects).into_iter().map(|select| (sets(&select), select)).collect();
    while !rest.is_empty() {
        let (own, first) = rest.remove(0);
        let is_shared = |set: &&Normal| rest.iter().any(|(other, _)| other.contains(set));
        let Some(shared) = own.iter().find(is_shared) else {
            selects.push(first);
            continue;
        };
        let (with, without) = rest.into_iter().partition(|(other, _)| other.contains(shared));
        rest = without;
        let with: Vec<(Vec<Normal>, Select)> = with;
        let branches = std::iter::once(first).chain(with.into_iter().map(|(_, select)| select)).collect();
        selects.push(Select { filter: vec![Condition::Any(branches)], ..Select::default() });
    }
}

/// Takes out of each test of several alternatives what they have in common.
fn in_select(select: &mut Select, around: &HoldsAround, taken: &mut TakenAliases) {
    let outside = around.rows.as_slice();
    see_around(select, outside);
    let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
    show_rows_in_denials(select, &rows);
    let hold = ask_once(select, &rows, &around.hold);
    let inside = HoldsAround { rows, hold };
    let mut found = Vec::new();
    select.filter.retain_mut(|condition| match condition {
        Condition::Any(branches) if branches.iter().all(Select::reads_nothing) => {
            branches.iter_mut().for_each(|branch| in_select(branch, &inside, taken));
            found.extend(common(branches));
            // What is left of an alternative that asked nothing else always holds.
            !branches.iter().any(Select::is_unit)
        }
        _ => true,
    });
    if found.is_empty() {
        return;
    }
    for (shown, condition) in found {
        add(select, shown, condition, outside, taken);
    }
    let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
    ask_once(select, &rows, &around.hold);
    select.filter.sort_by_key(|condition| rank(condition, &rows));
}

/// Drops sources that expose the row as one around the select does.
fn see_around(select: &mut Select, outside: &[From]) {
    for row in rows_of(&select.from).collect::<Vec<_>>() {
        if let Some(same) = outside.iter().find(|known| known.kind == row.kind) {
            select.from.retain(|from| from.alias != row.alias);
            rename(select, row.alias, same.alias);
        }
    }
}

/// Writes another alias for a source, wherever a select mentions it.
pub(super) fn rename(select: &mut Select, old: Alias, new: Alias) {
    select.for_each_alias_mut(&mut |alias| {
        if *alias == old {
            *alias = new;
        }
    });
}

/// Lets each denial show the row itself, where it does so anyway: it is the same then in all alternatives,
/// whether they show the row or not.
fn show_rows_in_denials(select: &mut Select, rows: &[From]) {
    for branch in denied(select) {
        for own in rows_of(&branch.from).collect::<Vec<_>>() {
            for row in rows.iter().filter(|row| row.kind == own.kind) {
                rename(branch, row.alias, own.alias);
            }
        }
    }
}

/// Drops, in denials, sources that show the row as one around them does; `outside` show it around the select.
fn see_rows_in_denials(select: &mut Select, outside: &[From]) {
    let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
    for branch in denied(select) {
        see_around(branch, &rows);
        see_rows_in_denials(branch, &rows);
    }
    for condition in &mut select.filter {
        if let Condition::Any(branches) = condition {
            branches.iter_mut().for_each(|branch| see_rows_in_denials(branch, &rows));
        }
    }
}

/// What a select denies.
fn denied(select: &mut Select) -> impl Iterator<Item = &mut Select> {
    let denials = select.filter.iter_mut().filter(|condition| matches!(condition, Condition::None(_)));
    denials.flat_map(Condition::branches_mut)
}

/// Drops a condition that holds around the select or that it has already; returns all that hold then.
fn ask_once(select: &mut Select, rows: &[From], around: &[Normal]) -> Vec<Normal> {
    let mut hold = around.to_vec();
    select.filter.retain(|condition| {
        let normal = by_shown_rows(condition, rows);
        let is_new = !hold.contains(&normal);
        if is_new {
            hold.push(normal);
        }
        is_new
    });
    hold
}

/// Takes the conditions on the row that all alternatives have out of them. Each comes with the sources of the
/// row that it mentions. Conditions that depend on no row are taken out with them: the filter tests those
/// once, before any row (see [`crate::local`]), but does not look for them inside alternatives.
fn common(branches: &mut [Select]) -> Vec<(Vec<From>, Condition)> {
    let Some((first, others)) = branches.split_first() else { return Vec::new() };
    if others.is_empty() {
        return Vec::new();
    }
    let of_branch = |branch: &Select| -> Vec<Normal> {
        let rows: Vec<From> = rows_of(&branch.from).collect();
        branch.filter.iter().map(|condition| by_shown_rows(condition, &rows)).collect()
    };
    let others: Vec<_> = others.iter().map(of_branch).collect();
    let rows: Vec<From> = rows_of(&first.from).collect();
    let shared = |normal: &Normal| others.iter().all(|other| other.contains(normal));
    let is_own = |alias: &Alias| first.from.iter().any(|from| from.alias == *alias);
    let is_row = |alias: &Alias| rows.iter().any(|row| row.alias == *alias);
    let mut found = Vec::new();
    let mut normals = Vec::new();
    let mut is_of_row = false;
    for (condition, normal) in first.filter.iter().zip(of_branch(first)) {
        let mentioned = mentioned(condition);
        if shared(&normal) && mentioned.iter().all(|alias| is_row(alias) || !is_own(alias)) {
            is_of_row |= asks_row(condition) || mentioned.iter().any(is_row);
            let shown = rows.iter().copied().filter(|row| mentioned.contains(&row.alias)).collect();
            found.push((shown, condition.clone()));
            normals.push(normal);
        }
    }
    if !is_of_row {
        return Vec::new();
    }
    for branch in branches {
        let rows: Vec<From> = rows_of(&branch.from).collect();
        branch.filter.retain(|condition| !normals.contains(&by_shown_rows(condition, &rows)));
    }
    found
}

/// Whether a condition mentions the filter's column, or shows the row itself.
fn asks_row(condition: &Condition) -> bool {
    let mut found = false;
    condition.for_each_expr(&mut |expr| found |= matches!(expr, Expr::Given(_)));
    for branch in condition.branches() {
        branch.for_each_source(&mut |from| found |= matches!(from.kind, FromKind::Row { .. }));
    }
    found
}

/// Adds a condition that alternatives had in common to the select around them, with the sources that it
/// needs.
fn add(
    select: &mut Select,
    shown: Vec<From>,
    mut condition: Condition,
    outside: &[From],
    taken: &mut TakenAliases,
) {
    renumber_inside(&mut condition, taken);
    for row in shown {
        let known = outside.iter().copied().chain(rows_of(&select.from)).find(|from| from.kind == row.kind);
        let alias = known.map_or_else(
            || {
                let alias = taken.take();
                select.from.push(From { alias, kind: row.kind });
                alias
            },
            |known| known.alias,
        );
        let mut renamed = Select { filter: vec![condition], ..Select::default() };
        rename(&mut renamed, row.alias, alias);
        condition = renamed.filter.swap_remove(0);
    }
    select.filter.push(condition);
}

/// A condition with its own sources numbered by their depth, the branches of each test and their conditions
/// in an order that depends on what they ask alone, and the kind of each source that exposes the row in place
/// of its number. Equal conditions of different alternatives are equal so.
pub(super) fn by_shown_rows(condition: &Condition, rows: &[From]) -> Normal {
    let mut condition = condition.clone();
    put_in_order(&mut condition, rows, TakenAliases::with_canonical());
    with_kinds(condition, rows)
}

/// Numbers the sources inside a condition from the same number in each branch, so that no number depends on
/// the order of branches, and sorts the sides of equalities, the conditions of each branch, and the branches.
fn put_in_order(condition: &mut Condition, rows: &[From], taken: TakenAliases) {
    for branch in condition.branches_mut() {
        let mut taken = taken;
        for from in branch.from.clone() {
            rename(branch, from.alias, taken.take());
        }
        branch.filter.iter_mut().for_each(|inner| put_in_order(inner, rows, taken));
        branch.filter.sort_by_cached_key(|inner| FxBuildHasher.hash_one(with_kinds(inner.clone(), rows)));
    }
    if let Condition::Compare { op: CompareOp::Equal | CompareOp::NotEqual, left, right } = condition
        && !is_of_row(*left, rows)
        && is_of_row(*right, rows)
    {
        std::mem::swap(left, right);
    }
    if let Condition::Any(branches) | Condition::None(branches) = condition
        && branches.len() > 1
    {
        // Branches of one hash stay in their order: at worst, equal conditions look different.
        branches.sort_by_cached_key(|branch| {
            FxBuildHasher.hash_one(with_kinds(Condition::Any(vec![branch.clone()]), rows))
        });
    }
}

/// A condition with the kind of each source that exposes the row in place of its number.
fn with_kinds(condition: Condition, rows: &[From]) -> Normal {
    let mut kinds = Vec::new();
    let mut select = Select { filter: vec![condition], ..Select::default() };
    select.for_each_alias_mut(&mut |alias| {
        if let Some(row) = rows.iter().find(|row| row.alias == *alias) {
            let place = kinds.iter().position(|kind| *kind == row.kind).unwrap_or_else(|| {
                kinds.push(row.kind);
                kinds.len() - 1
            });
            *alias = Alias::canonical(place);
        }
    });
    (kinds, select.filter.swap_remove(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{column, equal, given, reading, source};
    use crate::catalog::{ColumnId, SourceId};

    fn row(alias: usize, source: usize) -> From {
        let kind = FromKind::Row { source: SourceId::from_index(source), key: ColumnId::FIRST };
        From { alias: Alias::of_number(alias), kind }
    }

    fn tests_of(filter: Vec<Condition>) -> Select {
        Select { filter, ..Select::default() }
    }

    /// Two alternatives with one guard, whose branches, conditions, sides and numbers differ; a part of the
    /// guard is deeper.
    #[test]
    fn the_order_of_a_guard_does_not_matter() {
        let guard = |row, own: usize, swapped: bool| {
            let inner = Select {
                filter: vec![
                    equal(column(own + 1, 0), column(own, 1)),
                    equal(column(own + 1, 1), column(row, 2)),
                ],
                ..reading(own + 1, source(8), Vec::new())
            };
            let other = tests_of(vec![equal(column(own, 2), given(0))]);
            let mut branches = vec![inner, other];
            let looked_up = |branches| {
                let sides = [column(own, 0), column(row, 1)];
                let [left, right] = if swapped { [sides[1], sides[0]] } else { sides };
                let mut filter = vec![Condition::Any(branches), equal(left, right)];
                if swapped {
                    filter.reverse();
                }
                Select { filter, ..reading(own, source(7), Vec::new()) }
            };
            let mut all = vec![tests_of(vec![equal(column(row, 3), given(1))])];
            if swapped {
                branches.reverse();
                all.insert(0, looked_up(branches));
            } else {
                all.push(looked_up(branches));
            }
            Condition::None(all)
        };
        let one = by_shown_rows(&guard(1, 20, false), &[row(1, 0)]);
        assert_eq!(one, by_shown_rows(&guard(2, 10, true), &[row(2, 0)]));
        // Another row's column, and another connection between the sources.
        assert_ne!(one, by_shown_rows(&guard(2, 10, true), &[row(2, 1)]));
        let Condition::None(mut all) = guard(2, 10, true) else { return };
        all[0].filter[0] = equal(column(10, 1), column(2, 1));
        assert_ne!(one, by_shown_rows(&Condition::None(all), &[row(2, 0)]));
    }
}
