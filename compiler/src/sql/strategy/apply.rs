//! Selects that are listed for each row of another source.

use crate::algebra::aliases::{mentioned, mentions};
use crate::algebra::{Alias, Condition, Expr, From, Select};
use crate::dialect::Features;
use crate::id_vec::IdVec;
use indexmap::IndexSet;

/// A select whose sets depend on one of its sources. They are made once for each row of that source if the
/// rest is listed for each of them, and otherwise for each row of the join.
#[derive(Clone, Debug)]
pub(in crate::sql) struct Applied {
    /// The sources on which the sets depend.
    pub(in crate::sql) outer: Select,
    /// The rest, which uses columns of theirs.
    pub(in crate::sql) inner: Select,
}

impl Applied {
    /// The parts of a select, if there is such a set and the rest has a source.
    pub(in crate::sql) fn of(select: &Select, features: &Features) -> Option<Self> {
        if !features.has_laterals {
            return None;
        }
        let mut used = IndexSet::new();
        select.filter.iter().for_each(|condition| used_by_sets(condition, &select.from, &mut used));
        let row_of = |from: &From| from.kind.seen_row().unwrap_or(from.alias);
        let outer: IndexSet<Alias> =
            select.from.iter().filter(|from| used.contains(&from.alias)).map(row_of).collect();
        let (first, rest): (Vec<From>, Vec<From>) =
            select.from.iter().copied().partition(|from| outer.contains(&row_of(from)));
        let is_shown = |value: &Expr| rest.iter().any(|from| value.alias() == Some(from.alias));
        if first.is_empty() || select.output.is_empty() || !select.output.iter().all(is_shown) {
            return None;
        }
        let is_of_rest = |condition: &Condition| {
            mentioned(condition).iter().any(|alias| rest.iter().any(|from| from.alias == *alias))
        };
        let (inner, own): (Vec<Condition>, Vec<Condition>) =
            select.filter.iter().cloned().partition(is_of_rest);
        Some(Self {
            outer: Select { from: first, filter: own, output: IdVec::new() },
            inner: Select { from: rest, filter: inner, output: select.output.clone() },
        })
    }
}

/// Adds the sources that the sets of a condition mention.
fn used_by_sets(condition: &Condition, from: &[From], used: &mut IndexSet<Alias>) {
    let branches = condition.branches();
    if matches!(condition, Condition::In { .. }) {
        let is_used = |from: &&From| branches.iter().any(|set| mentions(set, from.alias));
        used.extend(from.iter().filter(is_used).map(|from| from.alias));
    } else {
        branches.iter().flat_map(|branch| &branch.filter).for_each(|inner| used_by_sets(inner, from, used));
    }
}
