//! Literal rows inside a statement.

use crate::ir::ConstId;
use crate::ir::ids::id;

id!(/// Rows of literals, by their place among those of a statement. Those of a part of a local check have the
    /// part's place.
    pub(crate) EmbeddedId, "embedded");

impl EmbeddedId {
    /// The rows, or what is known of them, among those of all embedded sources of a plan.
    #[expect(clippy::indexing_slicing, reason = "rows are added before a source reads them, and stay")]
    pub(crate) fn of<T>(self, embedded: &[T]) -> &T {
        &embedded[self.index()]
    }

    /// The rows, or what is known of them, among those of all embedded sources of a plan.
    #[expect(clippy::indexing_slicing, reason = "rows are added before a source reads them, and stay")]
    pub(crate) fn of_mut<T>(self, embedded: &mut [T]) -> &mut T {
        &mut embedded[self.index()]
    }

    /// Adds rows.
    pub(crate) fn push<T>(embedded: &mut Vec<T>, rows: T) -> Self {
        embedded.push(rows);
        Self::from_index(embedded.len() - 1)
    }
}

/// Rows of literals.
pub(crate) type Rows = Vec<Vec<ConstId>>;

/// Literal rows inside a statement, and where they come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Embedded {
    /// The rows, each once; `None` if there are too many.
    pub(crate) rows: Option<Rows>,
    /// The part that they come from, if it is one.
    pub(crate) part: Option<EmbeddedId>,
}
