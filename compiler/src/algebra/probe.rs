//! Probes: tests whether a set has a value.

use super::aliases::{TakenAliases, renumber};
use super::select::{Condition, Expr, Select};
use crate::ir::CompareOp;

/// A select that has a row exactly if a set contains a value: it filters the set's rows by the value. Its
/// sources get new aliases, so they do not clash with those of the query around it.
pub(crate) fn probe_of(mut set: Select, value: Expr, taken: &mut TakenAliases) -> Select {
    renumber(&mut set, taken);
    let equal = |shown| Condition::Compare { op: CompareOp::Equal, left: shown, right: value };
    let shown = std::mem::take(&mut set.output);
    set.filter.extend(shown.into_iter().map(equal));
    set
}
