//! A form of conditions on the caller's row in which equal ones are equal.
//!
//! Alternatives ask for one thing with other aliases, in another order, and through sources of their own that
//! expose the row.

use super::super::is_of_row;
use super::shown::show_own_rows;
use crate::algebra::aliases::{TakenAliases, rename};
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Select, SetUse};
use crate::ir::CompareOp;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// A condition in this form.
pub(in super::super) type Normal = (Vec<FromKind>, Condition);

/// A condition with its own sources numbered by their depth, and the kind of each source that exposes the row
/// in place of its number. The branches of each test, the parts of each set, and their conditions are in an
/// order that depends on what they ask alone. A denial shows the row itself, where it does so anyway. Equal
/// conditions of different alternatives are equal so.
pub(in super::super) fn by_shown_rows(condition: &Condition, rows: &[From]) -> Normal {
    let mut condition = condition.clone();
    // Denials inside the condition stay: of equal conditions one is printed for all, and may only differ from
    // the others in what [`show_rows_in_denials`](super::shown::show_rows_in_denials) changes in a plan, too.
    if let Condition::None(branches) = &mut condition {
        branches.iter_mut().for_each(|branch| show_own_rows(branch, rows));
    }
    put_in_order(&mut condition, rows, TakenAliases::with_canonical());
    with_kinds(condition, rows)
}

/// Numbers the sources inside a condition from the same number in each branch, so that no number depends on
/// the order of branches, and sorts the sides of equalities, the conditions of each branch, and the branches.
/// The parts of a set are branches, too.
fn put_in_order(condition: &mut Condition, rows: &[From], taken: TakenAliases) {
    for branch in condition.branches_mut() {
        let mut taken = taken;
        for from in branch.from.clone() {
            rename(branch, from.alias, taken.take());
        }
        branch.filter.iter_mut().for_each(|inner| put_in_order(inner, rows, taken));
        branch.filter.sort_by_cached_key(|inner| FxBuildHasher.hash_one(with_kinds(inner.clone(), rows)));
    }
    unite(condition, rows);
    if let Condition::Compare { op: CompareOp::Equal | CompareOp::NotEqual, left, right } = condition
        && !is_of_row(*left, rows)
        && is_of_row(*right, rows)
    {
        std::mem::swap(left, right);
    }
    if let Condition::Any(branches) | Condition::None(branches) | Condition::In { selects: branches, .. } =
        condition
    {
        sort(branches, rows);
    }
}

/// Sorts branches, or the parts of a set, by what they ask. Those of one hash stay in their order: at worst,
/// equal conditions look different.
fn sort(branches: &mut [Select], rows: &[From]) {
    if branches.len() > 1 {
        branches.sort_by_cached_key(|branch| {
            FxBuildHasher.hash_one(with_kinds(Condition::Any(vec![branch.clone()]), rows))
        });
    }
}

/// Makes one choice of a choice and those inside it, one set of those in which its branches look up the same
/// value, and the look-up itself of a choice that has nothing else.
fn unite(condition: &mut Condition, rows: &[From]) {
    let Condition::Any(branches) = condition else { return };
    let mut united: Vec<Select> = Vec::with_capacity(branches.len());
    for mut branch in std::mem::take(branches).into_iter().flat_map(branches_inside) {
        let known = looked_up(&mut branch).and_then(|(value, selects)| {
            let mut sets = united.iter_mut().filter_map(looked_up);
            let (_, known) = sets.find(|(other, _)| *other == value)?;
            known.append(selects);
            sort(known, rows);
            Some(())
        });
        if known.is_none() {
            united.push(branch);
        }
    }
    let is_look_up = |only: &mut Select| only.from.is_empty() && looked_up(only).is_some();
    let is_lone = united.len() == 1 && united.iter_mut().all(is_look_up);
    match united.pop() {
        Some(mut only) if is_lone => *condition = only.filter.swap_remove(0),
        last => {
            united.extend(last);
            *branches = united;
        }
    }
}

/// The branches of a choice in place of a branch that is nothing else.
fn branches_inside(mut branch: Select) -> Vec<Select> {
    match (branch.from.as_slice(), branch.filter.as_mut_slice()) {
        ([], [Condition::Any(inside)]) => std::mem::take(inside),
        _ => vec![branch],
    }
}

/// What a select looks up: a value, perhaps of a row that it shows itself.
type LookedUpValue = (Vec<From>, Expr, SetUse);

/// The value and the set, if a select is nothing but a look-up in a set.
fn looked_up(select: &mut Select) -> Option<(LookedUpValue, &mut Vec<Select>)> {
    let shows_row = |from: &From| matches!(from.kind, FromKind::Row { .. });
    let Select { from, filter, .. } = select;
    match filter.as_mut_slice() {
        [Condition::In { expr, selects, used }] if from.iter().all(shows_row) => {
            Some(((from.clone(), *expr, *used), selects))
        }
        _ => None,
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

    /// A role by oneself or through a group.
    #[test]
    fn the_order_of_a_sets_parts_does_not_matter() {
        let set = |row, alias, sources: [usize; 2]| {
            let part = |place| reading(alias, source(place), vec![column(alias, 0)]);
            let selects = sources.map(part).into();
            Condition::In { expr: column(row, 1), selects, used: SetUse::ToFind }
        };
        let one = by_shown_rows(&set(1, 20, [7, 8]), &[row(1, 0)]);
        assert_eq!(one, by_shown_rows(&set(2, 30, [8, 7]), &[row(2, 0)]));
        assert_ne!(one, by_shown_rows(&set(2, 30, [8, 8]), &[row(2, 0)]));
    }

    /// A role by oneself or through a group, as one set, as a choice, and as a choice inside another.
    #[test]
    fn a_choice_between_sets_of_one_value_is_a_set() {
        let set = |value, places: Vec<usize>| {
            let part = |place| reading(20, source(place), vec![column(20, 0)]);
            let selects = places.into_iter().map(part).collect();
            Condition::In { expr: value, selects, used: SetUse::ToFind }
        };
        let by = |condition| tests_of(vec![condition]);
        let of = |place: usize| by(set(given(0), vec![place]));
        let one = by_shown_rows(&set(given(0), vec![7, 8]), &[]);
        assert_eq!(one, by_shown_rows(&Condition::Any(vec![of(8), of(7)]), &[]));
        let lone = by_shown_rows(&Condition::Any(vec![of(7)]), &[]);
        assert_eq!(lone, by_shown_rows(&set(given(0), vec![7]), &[]));
        let own = || by(equal(given(0), given(1)));
        let shown = |places| Select { from: vec![row(2, 0)], ..by(set(column(2, 1), places)) };
        let inside = Condition::Any(vec![own(), by(Condition::Any(vec![shown(vec![8]), shown(vec![7])]))]);
        for parts in [vec![7, 8], vec![8, 7]] {
            let flat = Condition::Any(vec![shown(parts), own()]);
            assert_eq!(by_shown_rows(&flat, &[]), by_shown_rows(&inside, &[]));
        }
    }

    /// The row that a denial is about is shown by the denial, or around it.
    #[test]
    fn a_denial_of_a_row_that_is_shown_around_it() {
        let denied = |own: usize, seen: usize| {
            let walls = reading(20, source(7), Vec::new());
            let from = vec![row(own, 0)].into_iter().chain(walls.from).collect();
            Condition::None(vec![Select { from, ..tests_of(vec![equal(column(20, 0), column(seen, 1))]) }])
        };
        assert_eq!(by_shown_rows(&denied(2, 2), &[]), by_shown_rows(&denied(2, 1), &[row(1, 0)]));
        assert_ne!(by_shown_rows(&denied(2, 2), &[]), by_shown_rows(&denied(2, 1), &[row(1, 3)]));
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
