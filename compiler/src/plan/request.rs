//! What is planned.

use crate::catalog::Catalog;
use crate::deadline::Deadline;
use crate::ir::Program;
use crate::question::Shape;
use crate::rewrite;

/// A question to plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'r> {
    /// The policy.
    pub(crate) program: &'r Program,
    /// The relations that hold facts.
    pub(crate) catalog: &'r Catalog,
    /// The question, without its values.
    pub(crate) shape: &'r Shape,
    /// Whether the rows are those of a caller's query, for which it is a condition.
    pub(crate) filters: bool,
    /// When it must be compiled.
    pub(crate) deadline: Deadline,
}

impl<'r> Request<'r> {
    /// What the passes over the question's program know of it.
    pub(crate) fn context(&self) -> rewrite::Context<'r> {
        let Self { program, catalog, shape, filters, deadline } = *self;
        // Each clause of a list starts from what leads to few rows, which may be its condition.
        let factors = catalog.has_bound() && (filters || !shape.wants_ids());
        rewrite::Context { program, catalog, factors, deadline }
    }
}
