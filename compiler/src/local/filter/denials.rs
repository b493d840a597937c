//! Looks a value of the row up in a set of the actor's, instead of testing a denial for each row.
//!
//! ```text
//! a or (b and not exists (blocks x: x.user = actor and x.group = row.group))
//!     ─▶   a or (b and not row.group in {x.group | blocks x: x.user = actor})
//! ```
//!
//! This is done where each row is tested anyway. Inside an alternative or another denial, PostgreSQL hashes
//! the actor's rows by itself, but estimates the denial as if it looked them up for each row. The estimate is
//! then so high that it compiles the statement. Elsewhere it joins both, and may sort a large table for that.
//! Where an index finds the rows, a denial stays a test: a look-up seems so cheap that PostgreSQL would read
//! rows in the order of a page, and test all of them.

use crate::algebra::aliases::free_aliases;
use crate::algebra::anchor::Anchors;
use crate::algebra::links::{Link, LinkedRows};
use crate::algebra::{Alias, Condition, From, FromKind, Select, SetUse};
use crate::ir::CompareOp;

/// Turns the denials of tests, and those inside them, into look-ups.
pub(super) fn list(tests: &mut [Select], anchors: &Anchors<'_>) {
    for condition in tests.iter_mut().flat_map(|test| &mut test.filter) {
        match condition {
            Condition::Any(branches) => {
                let of_row = branches.iter_mut().filter(|branch| branch.reads_nothing());
                of_row.for_each(|branch| list(std::slice::from_mut(branch), anchors));
            }
            Condition::None(branches) => {
                for branch in branches {
                    if branch.reads_nothing() {
                        list(std::slice::from_mut(branch), anchors);
                    } else if let Some(listed) = listed(branch, anchors) {
                        *branch = listed;
                    }
                }
            }
            Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::Meets { .. }
            | Condition::In { .. } => {}
        }
    }
}

/// A denial as a look-up; `None` if it compares more than one value of the row with the rows that it reads,
/// or those do not start from the actor.
fn listed(denied: &Select, anchors: &Anchors<'_>) -> Option<Select> {
    let (from, read): (Vec<From>, Vec<From>) = denied.from.iter().copied().partition(is_row);
    let is_own = |alias: Alias| read.iter().any(|from| from.alias == alias);
    let (of_set, of_row): (Vec<Condition>, Vec<Condition>) =
        denied.filter.iter().cloned().partition(|condition| free_aliases(condition).into_iter().any(is_own));
    let sees_row = read.iter().any(|from| from.kind.seen_row().is_some());
    let rows = Select { from: read.clone(), filter: of_set, ..Select::default() };
    let LinkedRows { links, set } = LinkedRows::of(&rows)?;
    let [Link { value, op: CompareOp::Equal, own: _ }] = *links.as_slice() else { return None };
    if sees_row || !anchors.is_anchored(&set) {
        return None;
    }
    let looked_up = Condition::In { expr: value, selects: vec![set], used: SetUse::ToTest };
    let filter = of_row.into_iter().chain([looked_up]).collect();
    Some(Select { from, filter, ..Select::default() })
}

fn is_row(from: &From) -> bool {
    matches!(from.kind, FromKind::Row { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{bound_catalog, column, equal, given, literal, read, source};
    use crate::catalog::{Catalog, ColumnId, SourceId};

    fn catalog() -> Catalog {
        bound_catalog(&[("blocked", &["User", "Folder"]), ("folder", &["Document", "Folder"])])
    }

    /// The folder of the row, which the source 1 shows, and the blocks of a user, as one denial.
    fn blocked(conditions: Vec<Condition>) -> Select {
        let row = FromKind::Row { source: SourceId::from_index(1), key: ColumnId::FIRST };
        read(&[(1, row), (2, source(0))], conditions, Vec::new())
    }

    fn is_users() -> Condition {
        equal(column(2, 0), literal(0))
    }

    fn is_of_row() -> Condition {
        equal(column(2, 1), column(1, 1))
    }

    /// The look-up that the denial of the row's folder becomes.
    fn looked_up() -> Select {
        let set = read(&[(2, source(0))], vec![is_users()], vec![column(2, 1)]);
        let looked_up = Condition::In { expr: column(1, 1), selects: vec![set], used: SetUse::ToTest };
        let from = blocked(Vec::new()).from.into_iter().filter(is_row).collect();
        Select { from, filter: vec![looked_up], ..Select::default() }
    }

    #[test]
    fn the_rows_folder_is_looked_up_among_those_that_are_denied() {
        let catalog = catalog();
        let listed = listed(&blocked(vec![is_users(), is_of_row()]), &Anchors::new(&catalog, &[]));
        assert_eq!(listed, Some(looked_up()));
    }

    /// Blocks of all users are as many as their table has, and only one value is looked up, as an equal one.
    #[test]
    fn a_denial_stays_if_it_starts_from_the_row_or_asks_more_of_it_than_an_equal_value() {
        let catalog = catalog();
        let anchors = Anchors::new(&catalog, &[]);
        assert_eq!(listed(&blocked(vec![is_of_row()]), &anchors), None);
        let two = vec![is_users(), is_of_row(), equal(column(2, 0), given(0))];
        assert_eq!(listed(&blocked(two), &anchors), None);
        let unequal = Condition::Compare { op: CompareOp::NotEqual, left: column(2, 1), right: column(1, 1) };
        assert_eq!(listed(&blocked(vec![is_users(), unequal]), &anchors), None);
        let inside = read(
            &[(3, source(0))],
            vec![equal(column(3, 0), given(0)), equal(column(3, 1), column(2, 1))],
            Vec::new(),
        );
        let of_row = vec![is_users(), is_of_row(), Condition::None(vec![inside])];
        assert_eq!(listed(&blocked(of_row), &anchors), None);
    }

    #[test]
    fn a_denial_inside_a_denial_is_looked_up() {
        let catalog = catalog();
        let denial = |inner: Select| {
            let inner = Select { filter: vec![Condition::None(vec![inner])], ..Select::default() };
            Select { filter: vec![Condition::None(vec![inner])], ..Select::default() }
        };
        let mut tests = [denial(blocked(vec![is_users(), is_of_row()]))];
        list(&mut tests, &Anchors::new(&catalog, &[]));
        assert_eq!(tests, [denial(looked_up())]);
    }
}
