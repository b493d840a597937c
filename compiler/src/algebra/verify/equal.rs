//! An alternative that asks as much as another one, though a value may be replaced by one that equals it.
//!
//! Two things are compared: what is read and denied, and how much the comparisons say. A pass that replaces
//! `y` by `x` under `x = y` turns one set of equalities into another with the same closure, and so with the
//! same number of *independent* equalities: those that a spanning forest over their values has. A lost
//! equality makes the number smaller; a trivial or repeated one in its place does not make it larger. Where a
//! pass also reads a source twice, the rows of both count as one value here, and equalities that were
//! independent may not look so. There, all comparisons are counted.

use super::atoms::{Alternative, PlanAtom, ValueOrigin};
use super::multiset::{contains, denials, missing};
use crate::ir::CompareOp;
use std::collections::{BTreeMap, BTreeSet};

/// Two values that are equal.
type Equality<'a> = (&'a ValueOrigin, &'a ValueOrigin);

/// Which comparisons count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// All.
    All,
    /// Those that do not follow from others.
    Independent,
}

/// Whether an alternative reads and denies all that an old one does, and compares as much.
pub(super) fn asks_as_much(counted: Counted, new: &Alternative, old: &Alternative) -> bool {
    asks_as_much_inside(counted, (new, &[]), (old, &[]))
}

/// The same for denials: around both hold the equalities of the alternatives that deny them.
fn asks_as_much_inside(
    counted: Counted,
    new: (&Alternative, &[Equality<'_>]),
    old: (&Alternative, &[Equality<'_>]),
) -> bool {
    let n_comparisons = |(alternative, around)| match counted {
        Counted::All => n_others(alternative) + equalities(alternative).count(),
        Counted::Independent => n_others(alternative) + n_independent(alternative, around),
    };
    contains(&sources(new.0), &sources(old.0))
        && n_comparisons(new) >= n_comparisons(old)
        && each_has_its_own(counted, new, old)
}

/// Whether each of these atoms follows from an alternative: as an equality that its equalities imply, or as a
/// denial of what it denies.
pub(super) fn entails(alternative: &Alternative, atoms: &[&PlanAtom]) -> bool {
    entails_inside(alternative, &[], atoms)
}

/// Whether each of these atoms follows from an alternative inside a denial; these equalities hold around it.
fn entails_inside(alternative: &Alternative, around: &[Equality<'_>], atoms: &[&PlanAtom]) -> bool {
    let known: Vec<Equality<'_>> = around.iter().copied().chain(equalities(alternative)).collect();
    let mut classes = Vec::new();
    for (left, right) in &known {
        join(&mut classes, left, right);
    }
    // A denial may deny neither less nor more than before.
    let are_same = |one: &Alternative, other: &Alternative| {
        one.len() == other.len()
            && entails_inside(one, &known, &missing(one, other))
            && entails_inside(other, &known, &missing(other, one))
    };
    atoms.iter().all(|atom| match atom {
        PlanAtom::Compare(CompareOp::Equal, left, right) => {
            left == right || classes.iter().any(|class| class.contains(left) && class.contains(right))
        }
        PlanAtom::None(denied) => denials(alternative).any(|own| are_same(own, denied)),
        PlanAtom::Compare(..) | PlanAtom::Source(_) | PlanAtom::OneOf(..) => false,
    })
}

fn sources(alternative: &Alternative) -> Alternative {
    alternative.iter().filter(|atom| matches!(atom, PlanAtom::Source(_))).cloned().collect()
}

fn equalities(alternative: &Alternative) -> impl Iterator<Item = Equality<'_>> {
    alternative.iter().filter_map(|atom| match atom {
        PlanAtom::Compare(CompareOp::Equal, left, right) => Some((left, right)),
        PlanAtom::Compare(..) | PlanAtom::Source(_) | PlanAtom::OneOf(..) | PlanAtom::None(_) => None,
    })
}

/// How many comparisons are not equalities.
fn n_others(alternative: &Alternative) -> usize {
    let others = alternative.iter().filter(|atom| match atom {
        PlanAtom::Compare(op, ..) => *op != CompareOp::Equal,
        PlanAtom::OneOf(..) => true,
        PlanAtom::Source(_) | PlanAtom::None(_) => false,
    });
    others.count()
}

/// How many equalities follow neither from others nor from those around them.
fn n_independent(alternative: &Alternative, around: &[Equality<'_>]) -> usize {
    let mut classes: Vec<BTreeSet<&ValueOrigin>> = Vec::new();
    for (left, right) in around {
        join(&mut classes, left, right);
    }
    equalities(alternative).filter(|(left, right)| join(&mut classes, left, right)).count()
}

/// Makes two values equal; whether they were not yet.
fn join<'a>(
    classes: &mut Vec<BTreeSet<&'a ValueOrigin>>,
    left: &'a ValueOrigin,
    right: &'a ValueOrigin,
) -> bool {
    let mut class_of = |value: &'a ValueOrigin| {
        let at = classes.iter().position(|class| class.contains(value));
        at.map_or_else(|| BTreeSet::from([value]), |at| classes.swap_remove(at))
    };
    let mut class = class_of(left);
    let is_new = !class.contains(right);
    if is_new {
        class.extend(class_of(right));
    }
    classes.push(class);
    is_new
}

/// Whether each old denial has a new one of its own that asks as much: a matching, made by augmenting paths.
fn each_has_its_own(
    counted: Counted,
    new: (&Alternative, &[Equality<'_>]),
    old: (&Alternative, &[Equality<'_>]),
) -> bool {
    fn place(
        at: usize,
        fits: &[Vec<usize>],
        taken: &mut BTreeMap<usize, usize>,
        tried: &mut BTreeSet<usize>,
    ) -> bool {
        fits.get(at).into_iter().flatten().any(|to| {
            let is_free = tried.insert(*to)
                && taken.get(to).copied().is_none_or(|other| place(other, fits, taken, tried));
            if is_free {
                taken.insert(*to, at);
            }
            is_free
        })
    }
    let new_denied: Vec<&Alternative> = denials(new.0).collect();
    let old_denied: Vec<&Alternative> = denials(old.0).collect();
    if old_denied.is_empty() {
        return true;
    }
    let around_new: Vec<Equality<'_>> = new.1.iter().copied().chain(equalities(new.0)).collect();
    let around_old: Vec<Equality<'_>> = old.1.iter().copied().chain(equalities(old.0)).collect();
    let fits = |old: &&Alternative| -> Vec<usize> {
        let is_one = |new: &Alternative| asks_as_much_inside(counted, (new, &around_new), (old, &around_old));
        new_denied.iter().enumerate().filter(|(_, new)| is_one(new)).map(|(at, _)| at).collect()
    };
    let fits: Vec<Vec<usize>> = old_denied.iter().map(fits).collect();
    let mut taken = BTreeMap::new();
    (0..fits.len()).all(|at| place(at, &fits, &mut taken, &mut BTreeSet::new()))
}
