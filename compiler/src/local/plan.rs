//! A question of one shape, planned for a caller's database.

use super::ways::Ways;
use crate::refusal::Refusal;

/// A question of one shape, planned for a caller's database.
#[derive(Clone, Debug)]
pub struct LocalPlan {
    /// The plans of the question as it was asked.
    pub(super) ways: Result<Ways, Refusal>,
    /// When the rows are not the whole answer, and why.
    pub(super) refusal: Option<(Ways, Refusal)>,
    /// For a filter: the question with the column's value given.
    pub(super) row: Option<Ways>,
    /// How many relations the catalog has over which it was made.
    pub(super) n_relations: usize,
}
