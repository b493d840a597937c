//! Literal rows inside a statement.

use super::ids::EmbeddedId;
use crate::catalog::ColumnId;
use crate::id_vec::IdVec;
use crate::ir::ConstId;

/// Rows of literals.
pub(crate) type LiteralRows = Vec<LiteralRow>;

/// One of them.
pub(crate) type LiteralRow = IdVec<ColumnId, ConstId>;

/// Literal rows inside a statement, and where they come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Embedded {
    /// The rows, each once; `None` if there are too many.
    pub(crate) rows: Option<LiteralRows>,
    /// The part that they come from, if it is one.
    pub(crate) part: Option<EmbeddedId>,
}
