//! Why a body cannot be planned.

use crate::deadline::OutOfTime;
use crate::ir::{PredId, RuleId};
use crate::refusal::VarName;

/// Why a body cannot be planned in one way; another way may work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlanError {
    /// Nothing binds a variable that a test, a negation or the answer needs.
    Unbound {
        /// The variable.
        var: VarName,
        /// The rule that needs it.
        rule: Option<RuleId>,
        /// The predicate whose negation needs it, if it is one.
        denied: Option<String>,
    },
    /// A walk would have to start from the middle of another fixpoint.
    Unseeded {
        /// The predicate that is walked.
        pred: PredId,
        /// The variable with whose values the walk would start.
        var: VarName,
        /// The rule that calls for it.
        rule: Option<RuleId>,
    },
    /// More alternatives, branches or tables than [`crate::limits`] allows.
    TooLarge {
        /// The rule that was planned then.
        rule: Option<RuleId>,
    },
    /// The time is over.
    OutOfTime(OutOfTime),
    /// An invariant did not hold.
    Bug(&'static str),
}

impl From<OutOfTime> for PlanError {
    fn from(out_of_time: OutOfTime) -> Self {
        Self::OutOfTime(out_of_time)
    }
}
