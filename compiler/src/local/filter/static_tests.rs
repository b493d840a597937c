//! Moves tests that are the same for all rows into the sets of their alternatives.
//!
//! ```text
//! a or (row.f in s and role_has_permission("mod", "read"))
//!     ─▶   a or row.f in (s where role_has_permission("mod", "read"))
//! ```
//!
//! What all alternatives share is tested before them already. The set is empty if the test fails, and the
//! alternative is one that an index answers: otherwise the database would read all rows of the set, and test
//! each of them. So a value that a column must have becomes a set, too.
//!
//! The same holds for a test of the row's container, as in *support may read records of suspended tenants*:
//!
//! ```text
//! a or staff(u) and probe(projects(row.p, t), suspended(t))
//!     ─▶   a or row.p in (p where projects(p, t), suspended(t), staff(u))
//! ```
//!
//! For staff, the containers are listed. For all others, no row is read that indexes do not find. This is
//! done only if indexes find the rows of the other alternatives: otherwise each row is tested anyway.

use super::containers;
use crate::algebra::aliases::{TakenAliases, renumber_inside};
use crate::algebra::anchor::Anchors;
use crate::algebra::{Condition, Expr, From, Select, SetUse};
use crate::ir::CompareOp;
use crate::keys::Keys;
use crate::optimise::is_same_for_all_rows;

/// How many copies of tests the sets of a choice may get.
const MOST_COPIED: usize = 8;

/// Moves the tests of several alternatives, and of those inside them. Without `keys`, no test of a
/// container becomes a set.
pub(super) fn move_into_sets(rows: &mut [Select], anchors: &Anchors<'_>, keys: Option<Keys<'_>>) {
    let taken = TakenAliases::of(&*rows);
    StaticTests { anchors, keys, taken }.move_all(rows, &[], false);
}

struct StaticTests<'a> {
    anchors: &'a Anchors<'a>,
    keys: Option<Keys<'a>>,
    taken: TakenAliases,
}

impl StaticTests<'_> {
    /// Moves the tests of alternatives. `around` expose the row that they are about; if it `is_found`, an
    /// index answers another condition on it.
    fn move_all(&mut self, rows: &mut [Select], around: &[From], is_found: bool) {
        if rows.len() > 1 {
            for row in rows.iter_mut().filter(|row| row.filter.iter().any(is_static_test)) {
                make_set(row, self.anchors);
                move_tests(row, &mut self.taken);
            }
            if !is_found {
                self.list_containers(rows, around);
            }
        }
        for row in rows {
            let around: Vec<From> = around.iter().chain(&row.from).copied().collect();
            let finds = |condition: &Condition| {
                !matches!(condition, Condition::Any(_)) && self.anchors.is_indexed(condition, &around)
            };
            let is_found = is_found || row.filter.iter().any(finds);
            for condition in &mut row.filter {
                if let Condition::Any(branches) = condition
                    && branches.iter().all(Select::reads_nothing)
                {
                    self.move_all(branches, &around, is_found);
                }
            }
        }
    }

    /// Lists containers in the alternatives for which every row would be tested, if they become conditions
    /// that an index answers, and all others are.
    fn list_containers(&mut self, rows: &mut [Select], around: &[From]) {
        let Some(keys) = self.keys else { return };
        let anchors = self.anchors;
        let is_indexed = |row: &Select| anchors.has_index_among(row, around);
        if rows.iter().all(is_indexed) {
            return;
        }
        let listed = |row: &Select| {
            if is_indexed(row) {
                return Some(row.clone());
            }
            let is_guarded = row.filter.iter().any(is_test_of_actor);
            let mut row = is_guarded.then(|| containers::listed(row, around, keys)).flatten()?;
            move_tests(&mut row, &mut self.taken);
            Some(row)
        };
        if let Some(all) = rows.iter().map(listed).collect::<Option<Vec<Select>>>() {
            rows.clone_from_slice(&all);
        }
    }
}

/// Makes a set of the value that an indexed column of the row must have, if there is no set. A literal
/// for the filter's own column is not such a value: the filter lists those apart.
fn make_set(row: &mut Select, anchors: &Anchors<'_>) {
    let Select { from, filter, .. } = row;
    if filter.iter().any(is_set) {
        return;
    }
    let indexed = filter.iter_mut().find(|condition| anchors.is_indexed(condition, from));
    if let Some(condition) = indexed
        && let Condition::Compare { op: CompareOp::Equal, left, right } = condition
        && let (expr @ Expr::Column { .. }, value) | (value, expr @ Expr::Column { .. }) = (*left, *right)
    {
        let value = Select { output: vec![value].into(), ..Select::default() };
        *condition = Condition::In { expr, selects: vec![value], used: SetUse::ToFind };
    }
}

/// Moves the static tests of an alternative into its first set, or into those of a choice between sets.
fn move_tests(row: &mut Select, taken: &mut TakenAliases) {
    let (tests, mut others): (Vec<Condition>, Vec<Condition>) =
        row.filter.iter().cloned().partition(is_static_test);
    let is_short = |choice: &Condition| n_sets(choice) * tests.len() <= MOST_COPIED;
    let choice = || others.iter().position(|other| is_choice_of_sets(other) && is_short(other));
    let place = others.iter().position(is_set).or_else(choice);
    let Some(sets) = place.and_then(|place| others.get_mut(place)) else { return };
    add_tests(sets, &tests, taken);
    row.filter = others;
}

/// Adds tests to a set, or to a set of each branch of a choice.
fn add_tests(sets: &mut Condition, tests: &[Condition], taken: &mut TakenAliases) {
    if is_set(sets) {
        for select in sets.branches_mut() {
            for test in tests {
                let mut test = test.clone();
                renumber_inside(&mut test, taken);
                select.filter.push(test);
            }
        }
    } else {
        for branch in sets.branches_mut() {
            let inside = branch.filter.iter_mut().find(|inner| is_set(inner) || is_choice_of_sets(inner));
            inside.into_iter().for_each(|sets| add_tests(sets, tests, taken));
        }
    }
}

/// How many sets a choice between sets has.
fn n_sets(choice: &Condition) -> usize {
    if is_set(choice) {
        return choice.branches().len();
    }
    let inside = choice.branches().iter().flat_map(|branch| &branch.filter);
    inside.filter(|inner| is_set(inner) || is_choice_of_sets(inner)).map(n_sets).sum()
}

/// Whether each branch of a choice looks a value of the row up in a set.
fn is_choice_of_sets(condition: &Condition) -> bool {
    let has_set = |branch: &Select| {
        branch.reads_nothing() && branch.filter.iter().any(|inner| is_set(inner) || is_choice_of_sets(inner))
    };
    matches!(condition, Condition::Any(branches) if branches.iter().all(has_set))
}

fn is_set(condition: &Condition) -> bool {
    matches!(condition, Condition::In { used: SetUse::ToFind, .. })
}

/// Whether a condition reads something, and has the same value for all rows.
fn is_static_test(condition: &Condition) -> bool {
    let reads = match condition {
        Condition::Any(branches) | Condition::None(branches) => {
            branches.iter().any(|branch| !branch.reads_nothing())
        }
        Condition::Compare { .. }
        | Condition::OneOf { .. }
        | Condition::Meets { .. }
        | Condition::In { .. } => false,
    };
    reads && is_same_for_all_rows(condition)
}

/// Whether a static test needs a row about the actor, so that not everybody passes it.
fn is_test_of_actor(condition: &Condition) -> bool {
    matches!(condition, Condition::Any(_)) && is_static_test(condition)
}
