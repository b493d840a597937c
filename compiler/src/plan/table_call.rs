//! Calls as tables hold them: the key under which a table that was made for one call serves another.

use crate::algebra::Expr;
use crate::datalog::RelId;

/// What a table of a relation holds of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TableArg {
    /// Only the rows with this value.
    Of(Expr),
    /// A column.
    Column,
    /// Nothing.
    Ignored,
}

/// A call, by what a table of it holds.
pub(super) type TableCall = (RelId, Vec<TableArg>);
