//! Turns the alternatives of a filter into conditions on the caller's row.
//!
//! A filter is asked of a table's rows, one by one, and the row at hand has columns: a fact about it that the
//! bindings read from the same table by the same key is one of them. So each alternative becomes a condition on
//! the row, as an expert writes it, in steps that are passes of their own:
//!
//! 1. [`ask`] replaces what an alternative answers with by the caller's column, and what it looks up by the
//!    table's key by [the row itself](crate::algebra::FromKind::Row);
//! 2. [`ask`] also moves the alternatives of a table that answers with rows into the condition:
//!    `(a or b) and c` stays a condition on the row;
//! 3. [`sets`] splits the rest by what connects it with the row: what starts from the actor is a set, which
//!    the row's column is looked up in; everything else is a probe for the row at hand. [`share`] asks for the
//!    set of several alternatives once;
//! 4. [`guards`] moves a probe that depends on one column into the sets of that column, where its values are
//!    few.
//!
//! ```text
//! documents(d, f) ⋈ roles(u, f) ⋈ not archived(f)
//!     ─▶   row.f in (roles(u, f) where not archived(f))
//! ```
//!
//! The steps are sound whatever the tables hold, but for one promise: that the key is unique.

pub(super) mod ask;
pub(super) mod guards;
pub(super) mod sets;
mod share;

use crate::algebra::{Expr, From, FromKind};

/// Whether a value is one of the caller's row: its key, or a column of a source that shows the row.
fn is_of_row(expr: Expr, rows: &[From]) -> bool {
    match expr {
        Expr::Given(_) => true,
        Expr::Column { alias, .. } => rows.iter().any(|from| from.alias == alias),
        Expr::Const(_) | Expr::Now | Expr::Tag(_) | Expr::TypeName(_) | Expr::Unconstrained => false,
    }
}

/// The sources that show the caller's row.
fn rows_of(from: &[From]) -> impl Iterator<Item = From> {
    from.iter().copied().filter(|from| matches!(from.kind, FromKind::Row { .. }))
}
