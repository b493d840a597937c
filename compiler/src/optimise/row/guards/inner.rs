//! Moves guards of a set into the set in which it looks its own values up.
//!
//! ```text
//! (f where folders(f, m), m in (roles(u, m)), not closed(m))
//!     ─▶   (f where folders(f, m), m in (roles(u, m) where not closed(m)))
//! ```
//!
//! The inner set finds the rows of the outer one, and has fewer: an actor has a role on some matters, each of
//! which has many folders. A set that another condition finds keeps its guards, because the inner set may
//! have more values than it has rows then. So does one that looks its values up in several sets: each would
//! get a copy, which costs more to plan than it saves.

use super::probes::{probed_column, put};
use crate::algebra::aliases::{TakenAliases, free_aliases};
use crate::algebra::anchor::Anchors;
use crate::algebra::{Condition, Expr, Select};

/// Moves the guards of all sets inside a select.
pub(super) fn move_in(select: &mut Select, anchors: &Anchors<'_>, taken: &mut TakenAliases) {
    for condition in &mut select.filter {
        match condition {
            Condition::In { selects, .. } => {
                for set in selects {
                    guard_inner_sets(set, anchors, taken);
                    move_in(set, anchors, taken);
                }
            }
            Condition::Any(branches) | Condition::None(branches) => {
                branches.iter_mut().for_each(|branch| move_in(branch, anchors, taken));
            }
            Condition::Compare { .. } | Condition::OneOf { .. } | Condition::Meets { .. } => {}
        }
    }
}

/// Moves the guards of one set.
fn guard_inner_sets(set: &mut Select, anchors: &Anchors<'_>, taken: &mut TakenAliases) {
    let mut at = 0;
    while let Some(guard) = set.filter.get(at).cloned() {
        let place =
            guarded_column(&guard, set).and_then(|column| Some((column, finder(column, set, anchors)?)));
        if let Some((column, place)) = place
            && let Some(Condition::In { selects, .. }) = set.filter.get_mut(place)
        {
            selects.iter_mut().for_each(|inner| put(&guard, column, inner, taken));
            set.filter.remove(at);
        } else {
            at += 1;
        }
    }
}

/// The one value of a set's sources on which a guard depends.
fn guarded_column(guard: &Condition, set: &Select) -> Option<Expr> {
    let column = probed_column(guard, &set.from)?;
    let is_lone = free_aliases(guard).into_iter().eq(column.alias());
    is_lone.then_some(column)
}

/// The place of the condition that looks a column up in one set, if nothing else finds the rows.
fn finder(column: Expr, set: &Select, anchors: &Anchors<'_>) -> Option<usize> {
    let place = set.filter.iter().position(|condition| {
        matches!(condition, Condition::In { expr, selects, .. } if *expr == column
            && matches!(selects.as_slice(), [inner] if inner.output.len() == 1))
    })?;
    let mut others = set.clone();
    others.filter.remove(place);
    (!anchors.is_anchored(&others)).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::SetUse;
    use crate::algebra::sample::{bound_catalog, column, equal, literal, read, reading, source};

    const FOLDERS: usize = 0;
    const ROLES: usize = 1;
    const CLOSED: usize = 2;

    /// The user's matters.
    fn roles(alias: usize) -> Select {
        let own = equal(column(alias, 0), literal(0));
        read(&[(alias, source(ROLES))], vec![own], vec![column(alias, 1)])
    }

    /// Folders under these conditions, in matters that are not closed and in one of these sets.
    fn folders(matters: Vec<Select>, mut filter: Vec<Condition>) -> Select {
        let closed = read(&[(9, source(CLOSED))], vec![equal(column(9, 0), column(1, 1))], Vec::new());
        filter.push(Condition::None(vec![closed]));
        filter.push(Condition::In { expr: column(1, 1), selects: matters, used: SetUse::ToFind });
        read(&[(1, source(FOLDERS))], filter, vec![column(1, 0)])
    }

    /// How many denials the folders keep, and the sets of matters have.
    fn denials(folders: Select) -> (usize, usize) {
        let catalog = bound_catalog(&[
            ("folder", &["Folder", "Matter", "User"]),
            ("role", &["User", "Matter"]),
            ("closed", &["Matter"]),
        ]);
        let row = Condition::In { expr: column(20, 0), selects: vec![folders], used: SetUse::ToFind };
        let mut select = Select { filter: vec![row], ..reading(20, source(FOLDERS), Vec::new()) };
        let mut taken = TakenAliases::of([&select]);
        move_in(&mut select, &Anchors::new(&catalog, &[]), &mut taken);
        let count = |filter: &[Condition]| {
            filter.iter().filter(|condition| matches!(condition, Condition::None(_))).count()
        };
        let [Condition::In { selects, .. }] = select.filter.as_slice() else { panic!("{select:?}") };
        let of_matters = |condition: &Condition| match condition {
            Condition::In { selects, .. } => selects.iter().map(|set| count(&set.filter)).sum(),
            _ => 0,
        };
        let [folders] = selects.as_slice() else { panic!("{selects:?}") };
        (count(&folders.filter), folders.filter.iter().map(of_matters).sum())
    }

    #[test]
    fn a_guard_moves_into_the_set_that_finds_the_rows() {
        assert_eq!(denials(folders(vec![roles(2)], Vec::new())), (0, 1));
    }

    #[test]
    fn a_guard_of_several_sets_stays_and_so_does_one_whose_rows_another_condition_finds() {
        assert_eq!(denials(folders(vec![roles(2), roles(3)], Vec::new())), (1, 0));
        let own = equal(column(1, 2), literal(0));
        assert_eq!(denials(folders(vec![roles(2)], vec![own])), (1, 0));
    }
}
