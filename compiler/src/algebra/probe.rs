//! Probes: tests whether a set has a value.

use super::aliases::{TakenAliases, renumber};
use super::select::{Condition, Expr, Select};
use crate::ir::CompareOp;

/// The select that has a row if a set has a value: the set's own rows with this value. Its sources get
/// aliases that are not taken yet, as it stands beside the row of the value.
pub(crate) fn probe_of(mut set: Select, value: Expr, taken: &mut TakenAliases) -> Select {
    renumber(&mut set, taken);
    let equal = |shown| Condition::Compare { op: CompareOp::Equal, left: shown, right: value };
    let shown = std::mem::take(&mut set.output);
    set.filter.extend(shown.into_iter().map(equal));
    set
}
