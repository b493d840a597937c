//! What an explanation may read, and how much work it may take.

use crate::catalog::{Relation, SourceId};

/// The facts of a catalog, of one moment. This is the only way in which an explanation reads any.
pub trait Rows {
    /// Why reading failed.
    type Error;

    /// Rows of a relation of the catalog whose columns have these values, where there is one; `most` of them
    /// at most, each with one text a column.
    ///
    /// # Errors
    /// Those of the place where the facts are.
    fn rows(
        &mut self,
        relation: SourceId,
        of: &Relation,
        bound: &[Option<&str>],
        most: usize,
    ) -> Result<Vec<Vec<String>>, Self::Error>;

    /// Whether the time is over: the explanation then ends with what it has.
    fn is_late(&mut self) -> bool {
        false
    }
}

/// How much an explanation may look at. Beyond it, the explanation is
/// [truncated](super::Explanation::truncated).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Goals: predicates with values.
    pub goals: usize,
    /// Rows that are read, and rules that are tried with values.
    pub work: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { goals: 10_000, work: 100_000 }
    }
}
