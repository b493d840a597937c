//! Evaluates conditions on the row that all alternatives of a filter share once, before them.
//!
//! ```text
//! (row.owner != u and a) or (row.owner != u and b)   ─▶   row.owner != u and (a or b)
//! ```
//!
//! A denial before the alternatives is an anti-join. Inside them it is tested for each row by itself, and
//! PostgreSQL assumes that each such test holds for half of the rows.

use super::rows_of;
use super::sets::rank;
use crate::algebra::aliases::{TakenAliases, mentioned, renumber_inside};
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, Select};

/// Takes what alternatives of a filter have in common out of them.
pub(in super::super) fn take_out(plan: &mut Plan) {
    let answer = plan.answer.selects_mut();
    let mut taken = TakenAliases::of(answer.iter());
    let mut all = Select { filter: vec![Condition::Any(std::mem::take(answer))], ..Select::default() };
    in_select(&mut all, &[], &mut taken);
    *answer = match (all.from.as_slice(), all.filter.as_mut_slice()) {
        ([], [Condition::Any(alternatives)]) => std::mem::take(alternatives),
        _ => vec![all],
    };
}

/// Takes out of each test of several alternatives what they have in common; `outside` expose the row around
/// the select.
fn in_select(select: &mut Select, outside: &[From], taken: &mut TakenAliases) {
    see_around(select, outside);
    ask_once(select);
    let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
    let mut found = Vec::new();
    select.filter.retain_mut(|condition| match condition {
        Condition::Any(branches) if branches.iter().all(Select::reads_nothing) => {
            branches.iter_mut().for_each(|branch| in_select(branch, &rows, taken));
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
    ask_once(select);
    let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
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

fn rename(select: &mut Select, old: Alias, new: Alias) {
    select.for_each_alias_mut(&mut |alias| {
        if *alias == old {
            *alias = new;
        }
    });
}

/// Drops a condition that the select has already.
fn ask_once(select: &mut Select) {
    let mut known = Vec::new();
    let rows: Vec<From> = rows_of(&select.from).collect();
    select.filter.retain(|condition| {
        let normal = by_shown_rows(condition, &rows);
        let is_new = !known.contains(&normal);
        known.push(normal);
        is_new
    });
}

/// Takes the conditions on the row that all alternatives have out of them. Each comes with the sources of the
/// row that it mentions. What depends on no row is tested before the whole filter, see [`crate::local`].
fn common(branches: &mut [Select]) -> Vec<(Vec<From>, Condition)> {
    let Some((first, others)) = branches.split_first() else { return Vec::new() };
    if others.is_empty() {
        return Vec::new();
    }
    let of_branch = |branch: &Select| -> Vec<(Vec<FromKind>, Condition)> {
        let rows: Vec<From> = rows_of(&branch.from).collect();
        branch.filter.iter().map(|condition| by_shown_rows(condition, &rows)).collect()
    };
    let others: Vec<_> = others.iter().map(of_branch).collect();
    let rows: Vec<From> = rows_of(&first.from).collect();
    let shared = |normal: &(Vec<FromKind>, Condition)| others.iter().all(|other| other.contains(normal));
    let is_own = |alias: &Alias| first.from.iter().any(|from| from.alias == *alias);
    let is_row = |alias: &Alias| rows.iter().any(|row| row.alias == *alias);
    let mut found = Vec::new();
    let mut normals = Vec::new();
    for (condition, normal) in first.filter.iter().zip(of_branch(first)) {
        let mentioned = mentioned(condition);
        let is_closed = !asks_row(condition) && !mentioned.iter().any(is_row);
        if shared(&normal) && !is_closed && mentioned.iter().all(|alias| is_row(alias) || !is_own(alias)) {
            let shown = rows.iter().copied().filter(|row| mentioned.contains(&row.alias)).collect();
            found.push((shown, condition.clone()));
            normals.push(normal);
        }
    }
    for branch in branches {
        let rows: Vec<From> = rows_of(&branch.from).collect();
        branch.filter.retain(|condition| !normals.contains(&by_shown_rows(condition, &rows)));
    }
    found
}

/// Whether a condition mentions the filter's column.
fn asks_row(condition: &Condition) -> bool {
    let mut found = false;
    condition.for_each_expr(&mut |expr| found |= matches!(expr, Expr::Given(_)));
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

/// A condition with its own sources numbered in their order, and with the kind of each source that exposes
/// the row in place of its number. Equal conditions of different alternatives are equal so.
fn by_shown_rows(condition: &Condition, rows: &[From]) -> (Vec<FromKind>, Condition) {
    let mut kinds = Vec::new();
    let mut condition = condition.clone();
    renumber_inside(&mut condition, &mut TakenAliases::with_canonical());
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
