//! Turns the alternatives of a filter into conditions on the caller's row.
//!
//! A filter tests the rows of a table one by one. If the bindings read a fact about the row from the same
//! table by the same key, the fact is a column of the row. So each alternative becomes a condition on the
//! row, as an expert would write it, in fourteen passes:
//!
//! 1. [`ask`] equates what an alternative returns with the caller's column;
//! 2. [`apply`] lists the rows of an alternative for each row of another source, where several of its
//!    conditions depend on that;
//! 3. [`ask`] also uses [the row itself](crate::algebra::FromKind::Row) instead of looking it up by its key,
//!    under [the condition](crate::algebra::Condition::Meets) of the bound query, and inlines tables that
//!    return such rows, so that `(a or b) and c` stays a condition on the row;
//! 4. [`instances`] makes one alternative of two that differ only in where a value comes from;
//! 5. [`split_denials`] denies each branch of a denial by itself;
//! 6. [`lone_denials`] makes each denial a condition on the caller's row alone;
//! 7. [`share_guards`] tests once a guard that alternatives have on their containers;
//! 8. [`sets`] splits the rest by its connection with the row. Sources that start from the actor become a
//!    set, in which the row's column is looked up; all others become a probe. [`share`] builds one set for
//!    several alternatives;
//! 9. [`arms`] reads the alternatives of a table where a set reads nothing but the table, and so for the
//!    tables that these alternatives read;
//! 10. [`choices`] makes one alternative of those that have a choice, or may ask for it instead of one
//!     branch;
//! 11. [`common`] evaluates the conditions on the row that alternatives share once, before them; it runs once
//!     more after the others, where [`guards`] has made sets the same;
//! 12. [`containers`] tests the container of a row by its key, where other conditions find the row;
//! 13. [`guards`] moves a probe that depends on one column into the sets of that column, which have few
//!     values;
//! 14. [`denials`] moves denials into the probes next to them.
//!
//! ```text
//! documents(d, f) ⋈ roles(u, f) ⋈ not archived(f)
//!     ─▶   row.f in (roles(u, f) where not archived(f))
//! ```
//!
//! The steps are sound for any contents of the tables, if one promise holds: that the key is unique.

pub(super) mod apply;
pub(super) mod arms;
pub(super) mod ask;
pub(super) mod choices;
pub(super) mod common;
pub(super) mod containers;
pub(super) mod denials;
pub(super) mod guards;
pub(super) mod instances;
pub(super) mod lone_denials;
pub(super) mod sets;
mod share;
pub(super) mod share_guards;
pub(super) mod split_denials;

use super::setting::Row;
use crate::algebra::aliases::free_aliases;
use crate::algebra::links::asks_row;
use crate::algebra::{Condition, Expr, From, FromKind};
use crate::catalog::SourceId;
use crate::keys::Keys;

/// The condition that the row being filtered must meet to be a fact of a bound query of its table, if there
/// is one.
pub(super) fn fact_condition(source: SourceId, row: Row<'_>, keys: Keys<'_>) -> Option<Condition> {
    keys.condition(source).map(|source| Condition::Meets { row: Expr::Given(row.var), source })
}

/// Whether a condition asks, perhaps in a branch, for that of a bound query: it is about the row being
/// filtered, and about no other one with the same key.
fn meets_condition(condition: &Condition) -> bool {
    let mut branches = condition.branches().iter().flat_map(|branch| &branch.filter);
    matches!(condition, Condition::Meets { .. }) || branches.any(meets_condition)
}

/// Whether an expression reads the row being filtered: its key, or a column of a [`FromKind::Row`].
pub(super) fn is_of_row(expr: Expr, rows: &[From]) -> bool {
    let is_row = |alias| rows.iter().any(|from| from.alias == alias);
    matches!(expr, Expr::Given(_)) || expr.alias().is_some_and(is_row)
}

/// Whether a condition has the same value for all rows.
pub(crate) fn is_same_for_all_rows(condition: &Condition) -> bool {
    free_aliases(condition).is_empty() && !asks_row(std::slice::from_ref(condition))
}

/// The sources that expose the caller's row.
pub(super) fn rows_of(from: &[From]) -> impl Iterator<Item = From> {
    from.iter().copied().filter(|from| matches!(from.kind, FromKind::Row { .. }))
}
