//! A question of one shape, planned for a caller's database.

use super::variant::Variant;
use super::ways::Ways;
use crate::refusal::Refusal;

/// A question of one shape, planned for a caller's database.
#[derive(Clone, Debug)]
pub struct LocalPlan {
    /// The plans of the original question.
    pub(super) ways: Result<Ways, Refusal>,
    /// If the rows may be incomplete: the plan that decides whether they are, and its refusal.
    pub(super) refusal: Option<(Ways, Refusal)>,
    /// For a filter: the question with the column's value given.
    pub(super) row: Option<Ways>,
    /// The same with the deep tests as tables, for a text that is too deep for the database's parser.
    pub(super) shallow: Option<Box<LocalPlan>>,
    /// How many relations the catalog has over which it was made.
    pub(super) n_relations: usize,
}

impl LocalPlan {
    /// All plans that may make its text.
    pub(super) fn variants(&self) -> impl Iterator<Item = &Variant> {
        [Some(self), self.shallow.as_deref()].into_iter().flatten().flat_map(|plan| {
            let refusal = plan.refusal.as_ref().map(|(ways, _)| ways);
            plan.ways.iter().chain(refusal).chain(&plan.row).flat_map(Ways::variants)
        })
    }

    /// How many tests and sets are nested.
    pub(super) fn nesting_depth(&self) -> usize {
        self.variants().map(|variant| variant.residual.plan.nesting_depth()).max().unwrap_or(0)
    }
}
