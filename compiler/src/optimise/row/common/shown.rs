//! Where the caller's row is shown: by a select, or by the branches inside it.
//!
//! Both mean the same if the row is shown around a branch. Alternatives are compared with branches that show
//! the row themselves, so that they do not depend on what is around them; in the end it is shown once.

use super::super::rows_of;
use crate::algebra::aliases::{TakenAliases, mentioned, rename};
use crate::algebra::{Condition, From, Select};

/// Drops sources that expose the row as one around the select does.
pub(super) fn see_around(select: &mut Select, outside: &[From]) {
    for row in rows_of(&select.from).collect::<Vec<_>>() {
        if let Some(same) = outside.iter().find(|known| known.kind == row.kind) {
            select.from.retain(|from| from.alias != row.alias);
            rename(select, row.alias, same.alias);
        }
    }
}

/// Lets each branch of a select's choices show the row itself instead of the select: a choice is the same
/// then in all alternatives, whether they show the row or not.
pub(super) fn show_rows_in_choices(select: &mut Select, taken: &mut TakenAliases) {
    let rows: Vec<From> = rows_of(&select.from).collect();
    choices(select).for_each(|branch| show_rows(branch, &rows, taken));
}

/// Lets a branch show these rows itself if it mentions them.
fn show_rows(branch: &mut Select, rows: &[From], taken: &mut TakenAliases) {
    choices(branch).for_each(|inside| show_rows(inside, rows, taken));
    for row in rows {
        if branch.filter.iter().any(|condition| mentioned(condition).contains(&row.alias)) {
            let alias = taken.take();
            branch.from.push(From { alias, kind: row.kind });
            rename(branch, row.alias, alias);
        }
    }
}

/// The branches of a select's choices between conditions on the row.
fn choices(select: &mut Select) -> impl Iterator<Item = &mut Select> {
    let choices = select.filter.iter_mut().filter(|condition| is_choice(condition));
    choices.flat_map(Condition::branches_mut)
}

fn is_choice(condition: &Condition) -> bool {
    matches!(condition, Condition::Any(branches) if branches.iter().all(Select::reads_nothing))
}

/// Drops, in choices, sources that show the row as one around them does, and choices of which one branch asks
/// nothing else; `outside` show the row around the select.
pub(super) fn see_rows_in_choices(select: &mut Select, outside: &[From]) {
    let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
    select.filter.retain_mut(|condition| {
        let Condition::Any(branches) = condition else { return true };
        for branch in branches.iter_mut() {
            see_around(branch, &rows);
            see_rows_in_choices(branch, &rows);
        }
        !branches.iter().any(Select::is_unit)
    });
}

/// Lets each denial show the row itself, where it does so anyway: it is the same then in all alternatives,
/// whether they show the row or not.
pub(super) fn show_rows_in_denials(select: &mut Select, rows: &[From]) {
    denied(select).for_each(|branch| show_own_rows(branch, rows));
}

/// Lets a branch read the rows that it shows from its own sources instead of those around it.
pub(super) fn show_own_rows(branch: &mut Select, rows: &[From]) {
    for own in rows_of(&branch.from).collect::<Vec<_>>() {
        for row in rows.iter().filter(|row| row.kind == own.kind) {
            rename(branch, row.alias, own.alias);
        }
    }
}

/// Drops, in denials, sources that show the row as one around them does; `outside` show it around the select.
pub(super) fn see_rows_in_denials(select: &mut Select, outside: &[From]) {
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
