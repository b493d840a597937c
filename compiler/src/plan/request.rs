//! What is planned.

use crate::catalog::Catalog;
use crate::deadline::Deadline;
use crate::ir::Program;
use crate::question::Shape;

/// A question to plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'r> {
    /// The policy.
    pub(crate) program: &'r Program,
    /// The relations that hold facts.
    pub(crate) catalog: &'r Catalog,
    /// The question, without its values.
    pub(crate) shape: &'r Shape,
    /// When it must be compiled.
    pub(crate) deadline: Deadline,
}
