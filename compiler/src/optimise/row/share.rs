//! Asks once, before several alternatives, for the set that a column of the row must be in for any of them.
//!
//! A probe that starts from the actor has a set in front, which is implied. Alternatives with sets for the
//! same column get one set together: PostgreSQL then finds the rows by one index, and takes fewer of them for
//! candidates than it does for each alternative by itself.
//!
//! ```text
//! f in A and exists (a) or f in B and exists (b)   ─▶   f in (A ∪ B) and (exists (a) or exists (b))
//! ```

use crate::algebra::aliases::TakenAliases;
use crate::algebra::{Condition, Expr, From, FromKind, Select, SetUse};
use crate::catalog::ColumnId;
use crate::id_vec::IdVec;
use crate::ir::CompareOp;
use crate::others::Others;

/// A value of the row, whichever source of an alternative exposes it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowValue {
    /// A column of a bound query that exposes the row, or reads it again, in the alternative itself.
    Shown(FromKind, ColumnId),
    /// The filter's column, or a column of a source around the alternative.
    Around(Expr),
}

/// Merges the implied sets of alternatives; `taken` grows.
pub(super) fn share_sets(alternatives: &mut Vec<Select>, taken: &mut TakenAliases) {
    let mut at = 0;
    while at < alternatives.len() {
        if let Some(value) = alternatives.get(at).and_then(implied_set).map(|set| set.value) {
            let has_same = |select: &Select| implied_set(select).is_some_and(|set| set.value == value);
            if alternatives.iter().filter(|select| has_same(select)).count() > 1 {
                let (same, others): (Vec<Select>, Vec<Select>) =
                    std::mem::take(alternatives).into_iter().partition(has_same);
                *alternatives = others;
                alternatives.insert(at, shared(value, same, taken));
            }
        }
        at += 1;
    }
}

/// One alternative for several whose sets are of the same value.
fn shared(value: RowValue, mut same: Vec<Select>, taken: &mut TakenAliases) -> Select {
    let mut sets = Vec::new();
    for select in &mut same {
        if let Some(set) = implied_set(select) {
            sets.extend_from_slice(set.selects);
            select.filter = set.others.to_vec();
        }
    }
    let (from, expr) = match value {
        RowValue::Around(expr) => (Vec::new(), expr),
        RowValue::Shown(kind, column) => {
            let alias = taken.take();
            (vec![From { alias, kind }], Expr::Column { alias, column })
        }
    };
    let filter = vec![Condition::In { expr, selects: sets, used: SetUse::ToFind }, Condition::Any(same)];
    Select { from, filter, output: IdVec::new() }
}

/// A set that a probe implies.
struct ImpliedSet<'s> {
    /// The value that is in the set.
    value: RowValue,
    selects: &'s [Select],
    /// The other conditions of the alternative.
    others: Others<'s, Condition>,
}

/// The first set of an alternative that a probe of it implies. It exposes a source of that very probe:
/// another set of the same value is a condition of its own.
fn implied_set(select: &Select) -> Option<ImpliedSet<'_>> {
    Others::each(&select.filter).find_map(|(others, condition)| {
        let Condition::In { expr, selects, .. } = condition else { return None };
        let [Select { output, .. }] = selects.as_slice() else { return None };
        let [shown] = output.as_slice() else { return None };
        let is_implied = select.filter.iter().any(|condition| match condition {
            Condition::Any(branches) => match branches.as_slice() {
                [probe] => links(probe, *expr, *shown),
                _ => false,
            },
            _ => false,
        });
        let own = select.from.iter().find(|from| expr.alias() == Some(from.alias));
        let value = match (own, *expr) {
            (Some(own), Expr::Column { column, .. }) => RowValue::Shown(own.kind, column),
            (_, expr) => RowValue::Around(expr),
        };
        is_implied.then_some(ImpliedSet { value, selects, others })
    })
}

/// Whether a probe reads the source that a set exposes, and equates what it exposes with the row's value.
fn links(probe: &Select, value: Expr, shown: Expr) -> bool {
    probe.from.iter().any(|from| from.kind.is_read() && shown.alias() == Some(from.alias))
        && probe.filter.iter().any(|condition| match condition {
            Condition::Compare { op: CompareOp::Equal, left, right } => {
                (*left, *right) == (value, shown) || (*left, *right) == (shown, value)
            }
            _ => false,
        })
}
