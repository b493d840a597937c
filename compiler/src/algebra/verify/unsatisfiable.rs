//! Alternatives that never hold, whatever the tables contain.
//!
//! They equate two different literals, such as the tags of two predicates, or deny what they ask. A pass may
//! leave such an alternative out, and a denial of one, too.

use super::atoms::{Alternative, Atoms, PlanAtom, ReadFrom, ValueOrigin};
use crate::ir::CompareOp;

/// Whether an alternative never holds, because it equates two literals, such as the tags of two predicates,
/// or denies what it asks. Of denials, only what can mean one thing is looked at: of a relation that is read
/// twice, one row may be asked for and another one denied, and of a table with several columns, one column
/// and another.
pub(super) fn contradicts_itself(alternative: &Alternative, plan: Atoms<'_>) -> bool {
    let has_clear_columns = |source: &ReadFrom| match source {
        ReadFrom::Relation(_) => true,
        ReadFrom::Table(name) => plan.width(name).is_some_and(|width| width <= 1),
        ReadFrom::Itself | ReadFrom::Values(_) | ReadFrom::Rows => false,
    };
    let n_readings_around = |source: &ReadFrom| n_readings(alternative, source, Denials::Skipped);
    let is_clear = |atom: &PlanAtom| match atom {
        // A denial inside the denial, about rows of its own or the alternative's.
        PlanAtom::None(inner) => {
            let n_readings =
                |source: &ReadFrom| n_readings_around(source) + n_readings(inner, source, Denials::Read);
            is_of_one_row(atom, &|source| has_clear_columns(source) && n_readings(source) == 1)
        }
        PlanAtom::Source(_) | PlanAtom::Compare(..) | PlanAtom::OneOf(..) => {
            is_of_one_row(atom, &|source| has_clear_columns(source) && n_readings_around(source) == 1)
        }
    };
    let is_asked = |atom: &PlanAtom| alternative.contains(atom) && is_clear(atom);
    alternative.iter().any(|atom| match atom {
        PlanAtom::None(denied) => denied.iter().all(is_asked),
        PlanAtom::Source(_) | PlanAtom::Compare(..) | PlanAtom::OneOf(..) => equates_literals(atom),
    })
}

/// Whether an atom equates two different literals. A literal has one number in a plan.
fn equates_literals(atom: &PlanAtom) -> bool {
    match atom {
        PlanAtom::Compare(CompareOp::Equal, ValueOrigin::Const(left), ValueOrigin::Const(right)) => {
            left != right
        }
        PlanAtom::Compare(..) | PlanAtom::Source(_) | PlanAtom::OneOf(..) | PlanAtom::None(_) => false,
    }
}

/// The same alternative, without denials of what never holds because it equates two literals.
pub(super) fn without_void_denials(alternative: &Alternative) -> Alternative {
    let mut kept: Alternative = alternative
        .iter()
        .filter_map(|atom| match atom {
            PlanAtom::None(denied) => {
                let denied = without_void_denials(denied);
                (!denied.iter().any(equates_literals)).then_some(PlanAtom::None(denied))
            }
            PlanAtom::Source(_) | PlanAtom::Compare(..) | PlanAtom::OneOf(..) => Some(atom.clone()),
        })
        .collect();
    kept.sort();
    kept
}

/// Whether what an alternative denies counts as its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Denials {
    Skipped,
    Read,
}

/// How often an alternative reads a source.
pub(super) fn n_readings(alternative: &Alternative, source: &ReadFrom, denials: Denials) -> usize {
    let of_atom = |atom: &PlanAtom| match atom {
        PlanAtom::Source(read) => usize::from(read == source),
        PlanAtom::None(denied) if denials == Denials::Read => n_readings(denied, source, denials),
        PlanAtom::None(_) | PlanAtom::Compare(..) | PlanAtom::OneOf(..) => 0,
    };
    alternative.iter().map(of_atom).sum()
}

/// Whether an atom can mean only one thing: all its values are of sources that are read once, and it says
/// which columns they are.
pub(super) fn is_of_one_row(atom: &PlanAtom, is_read_once: &dyn Fn(&ReadFrom) -> bool) -> bool {
    let is_clear = |value: &ValueOrigin| match value {
        ValueOrigin::Column(relation, _) => is_read_once(&ReadFrom::Relation(*relation)),
        ValueOrigin::Of(source) => is_read_once(source),
        // The key of the filter's own row is written as unconstrained.
        ValueOrigin::Unconstrained
        | ValueOrigin::Const(_)
        | ValueOrigin::Given(_)
        | ValueOrigin::Now
        | ValueOrigin::Tag(_)
        | ValueOrigin::Filler
        | ValueOrigin::TypeName(_) => true,
    };
    match atom {
        PlanAtom::Source(source) => is_read_once(source),
        PlanAtom::Compare(_, left, right) => is_clear(left) && is_clear(right),
        PlanAtom::OneOf(value, _) => is_clear(value),
        PlanAtom::None(denied) => denied.iter().all(|atom| is_of_one_row(atom, is_read_once)),
    }
}
