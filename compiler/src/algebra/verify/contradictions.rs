//! Alternatives that contradict themselves: a branch of one test, and next to it its own denial.
//!
//! ```text
//! (a or b) and (not b or c)   =   (a and not b) or (a and c) or (b and c)
//! ```
//!
//! Expanded, the product has `b and not b`, too, which has fewer conditions than any alternative of the
//! plan before. So such a select is taken apart by the branches of the first test. Only the very same
//! branch is recognised, not one with the same atoms.

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
    /// The place of the other test, and its branches without the one that denies.
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
    let tests = || {
        select.filter.iter().enumerate().filter_map(|(at, condition)| match condition {
            Condition::Any(branches) => Some((at, branches.as_slice())),
            Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::In { .. }
            | Condition::None(_) => None,
        })
    };
    tests().find_map(|(exempting, exempted)| {
        exempted.iter().enumerate().find_map(|(place, branch)| {
            let denied: Vec<Condition> = denials(branch)?.iter().map(|branch| alone(branch, taken)).collect();
            let is_denied = |branch: &Select| denied.contains(&alone(branch, taken));
            let mut apart = tests().filter(|(test, _)| *test != exempting);
            let (test, branches) = apart.find(|(_, branches)| branches.iter().any(is_denied))?;
            let mut others = exempted.to_vec();
            others.remove(place);
            Some(Exemption { test, branches, exempting, others, denied })
        })
    })
}

/// What a branch denies, if it asks nothing else.
fn denials(branch: &Select) -> Option<&[Select]> {
    match (branch.from.as_slice(), branch.filter.as_slice()) {
        ([], [Condition::None(denied)]) => Some(denied),
        _ => None,
    }
}

/// A branch by itself, with numbers for its sources that do not depend on its place.
fn alone(branch: &Select, mut taken: TakenAliases) -> Condition {
    let mut branch = Condition::Any(vec![branch.clone()]);
    renumber_inside(&mut branch, &mut taken);
    branch
}
