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
    let is_short = |choice: &Condition| n_copies(choice) * tests.len() <= MOST_COPIED;
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
            let inside = branch.filter.iter_mut().find(|inner| has_sets(inner));
            inside.into_iter().for_each(|sets| add_tests(sets, tests, taken));
        }
    }
}

/// How many selects of a choice's sets get a copy of each test.
fn n_copies(choice: &Condition) -> usize {
    if is_set(choice) {
        return choice.branches().len();
    }
    let inside = choice.branches().iter().filter_map(|branch| branch.filter.iter().find(|own| has_sets(own)));
    inside.map(n_copies).sum()
}

/// Whether a condition looks a value of the row up in a set, or in one of each branch.
fn has_sets(condition: &Condition) -> bool {
    is_set(condition) || is_choice_of_sets(condition)
}

fn is_choice_of_sets(condition: &Condition) -> bool {
    let has_set = |branch: &Select| branch.reads_nothing() && branch.filter.iter().any(has_sets);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{column, equal, literal, read, source};
    use crate::algebra::{Alias, FromKind};
    use crate::catalog::{ColumnId, SourceId};

    /// Looks a column of the row up in so many sets, one a branch, beside a test of the actor.
    fn choice_beside_test(n_sets: usize) -> Select {
        let branch = |own: usize| {
            let set = read(&[(own, source(1))], Vec::new(), vec![column(own, 0)]);
            let expr = column(1, 1);
            let is_in = Condition::In { expr, selects: vec![set], used: SetUse::ToFind };
            Select { filter: vec![is_in], ..Select::default() }
        };
        let test = read(&[(90, source(2))], vec![equal(column(90, 0), literal(0))], Vec::new());
        let choice = Condition::Any((10..10 + n_sets).map(branch).collect());
        let kind = FromKind::Row { source: SourceId::from_index(0), key: ColumnId::FIRST };
        let from = vec![From { alias: Alias::of_number(1), kind }];
        Select { from, filter: vec![choice, Condition::Any(vec![test])], ..Select::default() }
    }

    /// How many conditions an alternative has then, and how many each of its sets has.
    fn moved(n_sets: usize) -> (usize, Vec<usize>) {
        let mut row = choice_beside_test(n_sets);
        move_tests(&mut row, &mut TakenAliases::of([&choice_beside_test(n_sets)]));
        let branches = row.filter.first().map(Condition::branches).unwrap_or_default();
        let sets = branches.iter().flat_map(|branch| &branch.filter).flat_map(Condition::branches);
        (row.filter.len(), sets.map(|set| set.filter.len()).collect())
    }

    #[test]
    fn a_test_moves_into_every_set_of_a_choice() {
        assert_eq!(moved(2), (1, vec![1, 1]));
    }

    #[test]
    fn a_choice_of_many_sets_gets_no_copies() {
        assert_eq!(moved(MOST_COPIED), (1, vec![1; MOST_COPIED]));
        assert_eq!(moved(MOST_COPIED + 1), (2, vec![0; MOST_COPIED + 1]));
    }
}
