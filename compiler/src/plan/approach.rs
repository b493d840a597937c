//! The ways to plan one program.

use crate::question::QuestionVarId;
use crate::rewrite::RoleFormId;

/// How a question is planned; planned again in the same way, it has the same plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Approach {
    /// The form of its program.
    pub(crate) form: RoleFormId,
    /// The results that become shared tables.
    pub(super) shares: Shares,
    /// From which end closures over stored facts start.
    pub(super) ends: Ends,
    /// The variable whose value is one of the caller's columns, if any. Alternatives that cannot enumerate it
    /// take its value as given.
    pub(super) column: Option<QuestionVarId>,
}

/// What becomes a table that is made once and read wherever it is needed. Sharing less keeps a plan close to
/// the question; sharing more makes it smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shares {
    /// What binds values; tests are branches where they are made.
    Rows,
    /// The same, and tests that are inside a few others.
    DeepTests,
    /// Tests too.
    Tests,
    /// Every relation with several clauses, for the values of the question and no others.
    Relations,
}

/// From which end a closure over stored facts starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ends {
    /// From the values that it is asked for, wherever they are.
    #[default]
    Demanded,
    /// From what the question gives and the store knows.
    Stored,
}
