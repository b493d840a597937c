//! Refusals as a client sees them, and what kinds there are.

use super::hosted::FAULT;
use portcullis::engine::EngineError;
use portcullis_compiler::question::Question;
use portcullis_compiler::refusal::{Limit, Refusal};
use std::fmt;
use std::ops::Deref;

/// Why there is no answer; reads as its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAnswer {
    /// What kind of refusal it is; `None` for a bug and for what is wrong with a request.
    pub kind: Option<Kind>,
    message: String,
}

/// A kind of refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The policy has no such predicate.
    UnknownPredicate,
    /// A rule only tests a variable whose values are asked for.
    NotEnumerable,
    /// The answer depends on a value that nothing binds, and cannot be explained.
    NotExplainable,
    /// A rule tests a variable of any type.
    Untyped,
    /// A recursion starts from values that nothing enumerates.
    Unseeded,
    /// Too many copies of rules.
    RuleCopies,
    /// Too many alternatives for one statement.
    Alternatives,
    /// The results of rules are read in too many places for one statement.
    Readings,
    /// The same, of a statement that the compiler let pass: its count was wrong.
    StoreReadings,
    /// Nested conditions that are too deep for the caller's database.
    Nesting,
    /// Too much in one select.
    Select,
    /// Too many values of stored facts for one text.
    Values,
    /// Bound facts of a type that the policy does not mention.
    Unmentioned,
    /// The statement reached its time limit.
    Late,
}

impl Kind {
    /// Whether one statement of a caller's database is not enough for a question. Facts of one signature may
    /// be in several places, and each is read by each rule; and its parser takes less than the store's.
    pub fn is_too_large(self) -> bool {
        matches!(self, Self::Alternatives | Self::Readings | Self::Nesting)
    }
}

impl NoAnswer {
    /// A refusal of a question.
    pub fn refused(question: &Question, refusal: Refusal) -> Self {
        let kind = Some(kind(&refusal));
        Self { kind, message: question.refused(refusal).message }
    }

    /// A bug.
    pub fn fault(message: impl fmt::Display) -> Self {
        Self { kind: None, message: format!("{FAULT}{message}") }
    }

    /// The message.
    pub fn into_message(self) -> String {
        self.message
    }
}

impl From<EngineError> for NoAnswer {
    /// Only what the asker did wrong is a refusal; anything else is our fault.
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::BadRequest(message) | EngineError::Bindings(message) => message.into(),
            EngineError::Refused(refused) => {
                Self { kind: Some(kind(&refused.refusal)), message: refused.message }
            }
            EngineError::UnknownPredicate { .. } => {
                Self { kind: Some(Kind::UnknownPredicate), message: error.to_string() }
            }
            EngineError::Timeout(_) => Self { kind: Some(Kind::Late), ..Self::fault(error) },
            EngineError::Policy(_)
            | EngineError::Contradiction(_)
            | EngineError::NotFound(_)
            | EngineError::TooLarge(_)
            | EngineError::Store(_)
            | EngineError::Bug(_) => Self::fault(error),
        }
    }
}

impl From<String> for NoAnswer {
    /// What is wrong with a request, or the message that a page expects.
    fn from(message: String) -> Self {
        Self { kind: None, message }
    }
}

impl Deref for NoAnswer {
    type Target = str;

    fn deref(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The kind of a refusal.
pub fn kind(refusal: &Refusal) -> Kind {
    match refusal {
        Refusal::NotEnumerable { .. } => Kind::NotEnumerable,
        Refusal::NotExplainable { .. } => Kind::NotExplainable,
        Refusal::Untyped { .. } => Kind::Untyped,
        Refusal::Unseeded { .. } => Kind::Unseeded,
        Refusal::TooLarge { limit, .. } => match limit {
            Limit::RuleCopies { .. } | Limit::Denials { .. } => Kind::RuleCopies,
            Limit::Alternatives { .. } | Limit::UnionArms { .. } | Limit::StatementBytes { .. } => {
                Kind::Alternatives
            }
            Limit::Readings { .. } => Kind::Readings,
            Limit::StoreReadings => Kind::StoreReadings,
            Limit::Nesting { .. } => Kind::Nesting,
            Limit::SelectAlternatives { .. } | Limit::JoinedRelations { .. } => Kind::Select,
        },
        Refusal::TooManyValues { .. } => Kind::Values,
        Refusal::Unmentioned { .. } => Kind::Unmentioned,
    }
}
