//! The engine's errors, each with its HTTP status.
//!
//! Three parties can be at fault: the request ([`EngineError::BadRequest`] and its neighbours), the author of
//! a policy ([`EngineError::Policy`]), or the service itself ([`EngineError::Store`], [`EngineError::Bug`]).
//! Errors of the first two are shown in full; the last is for operators.

use super::report::TestReport;
use crate::store::StoreError;
use portcullis_compiler::deadline::OutOfTime;
use portcullis_compiler::question::{CompileError, Question, QuestionVarId, RefusedQuestion};

/// Why the engine refused or failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    /// The request is wrong, 400; the text says why.
    #[error("{0}")]
    BadRequest(String),
    /// The question cannot be answered under the policy, 400.
    #[error("{0}")]
    Refused(Box<RefusedQuestion>),
    /// The question is about a predicate that neither a rule nor a fact can have, 400.
    #[error(
        "the policy has no predicate `{name}` with {arity} {}: correct its name or the number of its arguments",
        if *.arity == 1 { "argument" } else { "arguments" }
    )]
    UnknownPredicate {
        /// Its name in the question.
        name: String,
        /// The number of arguments in the question.
        arity: usize,
    },
    /// The data bindings are wrong, 400; one line for each finding.
    #[error("{0}")]
    Bindings(String),
    /// What the caller's database said contradicts itself, 400; the text says what to do.
    #[error("{0}")]
    Contradiction(String),
    /// A policy, version or environment does not exist, 404.
    #[error("{0}")]
    NotFound(String),
    /// A policy was refused, 400; the active one stays.
    #[error("{0}")]
    Policy(PolicyRefusal),
    /// Over a limit, 413; the text names it.
    #[error("{0}")]
    TooLarge(String),
    /// A question took too long to compile or to run, 400.
    #[error("{0}")]
    Timeout(String),
    /// The store failed, 500 or 503.
    #[error("the store failed: {0}")]
    Store(StoreError),
    /// An internal invariant was violated, 500.
    #[error("internal error: {0}; report this as a bug")]
    Bug(String),
}

/// Why a policy was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyRefusal {
    /// It does not validate.
    Validation {
        /// Every error, rendered, one after the other.
        message: String,
        /// Each error, rendered.
        errors: Vec<String>,
    },
    /// Stored facts would no longer deny what they deny.
    UnreadFacts {
        /// Every error, one after the other.
        message: String,
        /// One for each kind of these facts.
        errors: Vec<String>,
    },
    /// It validates, but its own tests fail.
    Tests {
        /// One line for each failure.
        message: String,
        /// The results of the tests.
        report: TestReport,
    },
}

impl std::fmt::Display for PolicyRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Validation { message, .. }
            | Self::UnreadFacts { message, .. }
            | Self::Tests { message, .. } => f.write_str(message),
        }
    }
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Timeout(_) => Self::Timeout(error.to_string()),
            StoreError::TooLarge(text) => Self::TooLarge(text),
            StoreError::Reach { .. } => Self::TooLarge(error.to_string()),
            StoreError::EnvironmentName(_)
            | StoreError::KeyName
            | StoreError::PolicyText
            | StoreError::NoArguments(_)
            | StoreError::LongIds(_) => Self::BadRequest(error.to_string()),
            // A question's statement is refused where it is run.
            StoreError::TooManyReadings => Self::Bug(error.to_string()),
            StoreError::Bug(text) => Self::Bug(text),
            StoreError::Io(_)
            | StoreError::IoAt { .. }
            | StoreError::Unreadable { .. }
            | StoreError::System(_)
            | StoreError::Corrupt(_)
            | StoreError::Damaged { .. }
            | StoreError::Lost { .. }
            | StoreError::Moved(_)
            | StoreError::NotAStore(_)
            | StoreError::OtherName { .. }
            | StoreError::Missing(_)
            | StoreError::Exists(_)
            | StoreError::FileExists(_)
            | StoreError::BadBackup { .. }
            | StoreError::Locked(_)
            | StoreError::NewerFormat { .. }
            | StoreError::OlderFormat { .. }
            | StoreError::NotMigrated { .. }
            | StoreError::Full
            | StoreError::ReadOnly(_)
            | StoreError::Busy
            | StoreError::Overloaded(_)
            | StoreError::Closed
            | StoreError::Database(_) => Self::Store(error),
        }
    }
}

impl EngineError {
    /// Why a question was not compiled, with its own variable names.
    pub(crate) fn uncompiled(error: CompileError, question: &Question) -> Self {
        Self::uncompiled_over(error, question, None)
    }

    /// The same, where the values of a variable come from a column of the caller's query.
    pub(crate) fn uncompiled_over(
        error: CompileError,
        question: &Question,
        column: Option<QuestionVarId>,
    ) -> Self {
        match error {
            CompileError::Refused(refusal) => Self::Refused(Box::new(question.refused_over(refusal, column))),
            CompileError::OutOfTime(out_of_time) => out_of_time.into(),
            CompileError::Bug(text) => Self::Bug(text),
        }
    }
}

impl From<OutOfTime> for EngineError {
    fn from(OutOfTime { limit }: OutOfTime) -> Self {
        Self::Timeout(format!(
            "the question took longer than {limit:?} to compile: ask for less at once, simplify the rules that it reads, or raise `query_time`"
        ))
    }
}
