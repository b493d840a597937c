//! Attempts that are not yet merged by type. Data types only.

use super::super::claim::Sought;
use super::super::explanation::{Atom, Lack, MetCondition};
use super::super::state::AnswerTableId;
use crate::ir::RuleId;

/// An attempt whose lack may be that of others, too.
#[derive(Clone, Debug)]
pub(super) struct OpenAttempt {
    pub(super) rule: Option<RuleId>,
    pub(super) met: Vec<MetCondition>,
    pub(super) lacks: OpenLack,
}

/// What an attempt lacks.
#[derive(Clone, Debug)]
pub(super) enum OpenLack {
    /// A condition that nothing answers.
    Missing(MissingCondition),
    /// Anything else.
    Other(Lack),
}

/// A condition that nothing answers.
#[derive(Clone, Debug)]
pub(super) struct MissingCondition {
    pub(super) sought: Sought,
    pub(super) atom: Atom,
    /// Whether only facts could answer it.
    pub(super) is_fact: bool,
    /// The goals that say so.
    pub(super) tables: Vec<AnswerTableId>,
}
