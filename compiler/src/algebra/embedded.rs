//! Literal rows inside a statement.

use super::ids::EmbeddedId;
use crate::ir::ConstId;

/// Rows of literals.
pub(crate) type LiteralRows = Vec<Vec<ConstId>>;

/// Literal rows inside a statement, and where they come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Embedded {
    /// The rows, each once; `None` if there are too many.
    pub(crate) rows: Option<LiteralRows>,
    /// The part that they come from, if it is one.
    pub(crate) part: Option<EmbeddedId>,
}
