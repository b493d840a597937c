//! Alternatives compared as multisets of atoms. All are sorted.

use super::atoms::{Alternative, PlanAtom, ReadFrom};

/// The same alternative, with each atom once, those of its denials as well.
pub(super) fn without_repeats(mut alternative: Alternative) -> Alternative {
    for atom in &mut alternative {
        if let PlanAtom::None(denied) = atom {
            *denied = without_repeats(std::mem::take(denied));
        }
    }
    alternative.sort();
    alternative.dedup();
    alternative
}

/// Whether `more` has every atom of `less`, at least as often. Rows of literals are not conditions.
pub(super) fn contains(more: &Alternative, less: &Alternative) -> bool {
    missing(more, less).is_empty()
}

/// The atoms of `wanted` that `found` has not, or not as often. Both are sorted.
pub(super) fn missing<'a>(found: &Alternative, wanted: &'a Alternative) -> Vec<&'a PlanAtom> {
    let mut found = found.iter().peekable();
    let mut missing = Vec::new();
    for atom in wanted.iter().filter(|atom| **atom != PlanAtom::Source(ReadFrom::Rows)) {
        while found.peek().is_some_and(|next| *next < atom) {
            found.next();
        }
        if found.peek() == Some(&atom) {
            found.next();
        } else {
            missing.push(atom);
        }
    }
    missing
}

pub(super) fn is_subset(less: &Alternative, more: &Alternative) -> bool {
    less.iter().all(|atom| *atom == PlanAtom::Source(ReadFrom::Rows) || has(more, atom))
}

/// Whether an alternative has an atom, or a denial that differs from it only in what holds around it anyway.
fn has(alternative: &Alternative, atom: &PlanAtom) -> bool {
    let around: Vec<&PlanAtom> = alternative.iter().collect();
    let is_same = |one: &Alternative| denials(alternative).any(|other| denies_as_much(one, other, &around));
    alternative.contains(atom)
        || match atom {
            PlanAtom::None(one) => is_same(one),
            PlanAtom::Source(_) | PlanAtom::Compare(..) | PlanAtom::OneOf(..) => false,
        }
}

/// Whether two denials differ only in what holds around them, at any depth. Each pair of their own denials
/// is compared once, so that nested ones do not multiply.
fn denies_as_much(one: &Alternative, other: &Alternative, around: &[&PlanAtom]) -> bool {
    let differ = |these: &Alternative, those: &Alternative| {
        these.iter().any(|atom| {
            !matches!(atom, PlanAtom::None(_)) && !those.contains(atom) && !around.contains(&atom)
        })
    };
    if differ(one, other) || differ(other, one) {
        return false;
    }
    let common = one.iter().filter(|atom| other.contains(atom));
    let around: Vec<&PlanAtom> = around.iter().copied().chain(common).collect();
    let is_same =
        |left: &Alternative, right: &Alternative| left == right || denies_as_much(left, right, &around);
    let (lefts, rights): (Vec<_>, Vec<_>) = (denials(one).collect(), denials(other).collect());
    let pairs: Vec<Vec<bool>> =
        lefts.iter().map(|left| rights.iter().map(|right| is_same(left, right)).collect()).collect();
    let holds_anyway = |denied: &Alternative| {
        around.iter().any(|atom| matches!(atom, PlanAtom::None(known) if known == denied))
    };
    let mut rows = lefts.iter().zip(&pairs);
    rows.all(|(left, row)| row.contains(&true) || holds_anyway(left))
        && rights
            .iter()
            .enumerate()
            .all(|(at, right)| pairs.iter().any(|row| row.get(at) == Some(&true)) || holds_anyway(right))
}

/// What an alternative denies.
pub(super) fn denials(alternative: &Alternative) -> impl Iterator<Item = &Alternative> {
    alternative.iter().filter_map(|atom| match atom {
        PlanAtom::None(denied) => Some(denied),
        PlanAtom::Source(_) | PlanAtom::Compare(..) | PlanAtom::OneOf(..) => None,
    })
}
