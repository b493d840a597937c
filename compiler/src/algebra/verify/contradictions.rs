//! Alternatives that contradict themselves: a branch of one test, and next to it its own denial.
//!
//! ```text
//! (a or b) and (not b or c)   =   (a and not b) or (a and c) or (b and c)
//! ```
//!
//! Expanded, the product has `b and not b`, too, which has fewer conditions than any alternative of the
//! plan before. So such a select is taken apart by the branches of the first test. A condition `not b` of the
//! select itself counts as a test of one branch: a pass may move it into one, or out of it. Only the very
//! same branch is recognised, not one with the same atoms.

use crate::algebra::aliases::{TakenAliases, renumber_inside};
use crate::algebra::{Condition, Select};
use std::borrow::Cow;

/// Selects that together are the select, none with a branch and its own denial; `None` if they are more than
/// `most`.
pub(super) fn cases(select: &Select, most: usize) -> Option<Vec<Cow<'_, Select>>> {
    let taken = TakenAliases::of([select]);
    let (mut open, mut cases) = (vec![Cow::Borrowed(select)], Vec::new());
    while let Some(select) = open.pop() {
        match exemption(&select, taken) {
            None => cases.push(select),
            Some(exemption) => {
                let taken_apart: Vec<Select> =
                    exemption.branches.iter().map(|branch| exemption.case(&select, branch, taken)).collect();
                open.extend(taken_apart.into_iter().rev().map(Cow::Owned));
            }
        }
        if open.len() + cases.len() > most {
            return None;
        }
    }
    Some(cases)
}

/// A test with a branch that a branch of another test denies.
struct Exemption<'s> {
    /// The place of the test, and its branches.
    test: usize,
    branches: &'s [Select],
    /// The place of the other test, and its branches without the one that denies: none for a denial of the
    /// select itself.
    exempting: usize,
    others: Vec<Select>,
    /// What that branch denies.
    denied: Vec<Condition>,
}

impl Exemption<'_> {
    /// The select with one branch of the test, and without the denial of that branch.
    fn case(&self, select: &Select, branch: &Select, taken: TakenAliases) -> Select {
        let is_denied = self.denied.contains(&alone(branch, taken));
        let filter = select.filter.iter().enumerate().map(|(place, condition)| {
            if place == self.test {
                Condition::Any(vec![branch.clone()])
            } else if place == self.exempting && is_denied {
                Condition::Any(self.others.clone())
            } else {
                condition.clone()
            }
        });
        Select { filter: filter.collect(), ..select.clone() }
    }
}

fn exemption(select: &Select, taken: TakenAliases) -> Option<Exemption<'_>> {
    let mut exempted = select.filter.iter().enumerate().flat_map(|(place, condition)| {
        exempted(condition).map(move |(denied, others)| (place, denied, others))
    });
    let first = exempted.next()?;
    let tests = tests(select, taken);
    std::iter::once(first).chain(exempted).find_map(|(exempting, denied, others)| {
        let denied: Vec<Condition> = denied.iter().map(|branch| alone(branch, taken)).collect();
        let is_denied = |branch: &Condition| denied.contains(branch);
        let mut apart = tests.iter().filter(|test| test.place != exempting);
        let test = apart.find(|test| test.alone.iter().any(is_denied))?;
        Some(Exemption { test: test.place, branches: test.branches, exempting, others: others(), denied })
    })
}

/// A condition that holds if one of several branches does.
struct Test<'s> {
    place: usize,
    branches: &'s [Select],
    /// Each branch by itself.
    alone: Vec<Condition>,
}

fn tests(select: &Select, taken: TakenAliases) -> Vec<Test<'_>> {
    let mut found = Vec::new();
    for (place, condition) in select.filter.iter().enumerate() {
        if let Condition::Any(branches) = condition {
            let alone = branches.iter().map(|branch| alone(branch, taken)).collect();
            found.push(Test { place, branches, alone });
        }
    }
    found
}

/// What a condition denies, by itself or in a branch that reads nothing; and how to find the other branches.
fn exempted(condition: &Condition) -> impl Iterator<Item = (&[Select], impl Fn() -> Vec<Select>)> {
    let branches = match condition {
        Condition::Any(branches) => branches.as_slice(),
        Condition::None(_)
        | Condition::Compare { .. }
        | Condition::OneOf { .. }
        | Condition::Meets { .. }
        | Condition::In { .. } => &[],
    };
    let without = move |place: Option<usize>| {
        let others = branches.iter().enumerate().filter(move |(other, _)| Some(*other) != place);
        move || others.clone().map(|(_, branch)| branch.clone()).collect()
    };
    let reading_nothing = branches.iter().enumerate().filter(|(_, branch)| branch.from.is_empty());
    let in_branches = reading_nothing.flat_map(move |(place, branch)| {
        branch.filter.iter().filter_map(denial).map(move |denied| (denied, without(Some(place))))
    });
    denial(condition).map(|denied| (denied, without(None))).into_iter().chain(in_branches)
}

fn denial(condition: &Condition) -> Option<&[Select]> {
    match condition {
        Condition::None(denied) => Some(denied),
        Condition::Compare { .. }
        | Condition::OneOf { .. }
        | Condition::Meets { .. }
        | Condition::In { .. }
        | Condition::Any(_) => None,
    }
}

/// A branch by itself, with numbers for its sources that do not depend on its place.
fn alone(branch: &Select, mut taken: TakenAliases) -> Condition {
    let mut branch = Condition::Any(vec![branch.clone()]);
    renumber_inside(&mut branch, &mut taken);
    branch
}
