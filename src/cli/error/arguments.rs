//! What is wrong with the arguments of a command, beyond what clap checks.

use super::CommandCode;
use crate::engine::notation::NotationError;
use crate::store::DatabaseError;

/// An argument that the command cannot use.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ArgumentError {
    /// The question cannot be parsed.
    #[error("the question `{question}` cannot be read: {error}")]
    Notation {
        /// The question, as it was given.
        question: String,
        /// What is wrong with it.
        error: NotationError,
    },
    /// A policy and a question in the wrong order; this is what stands for the question.
    #[error("`{0}` is not a question: give the policy first, and then the question")]
    Exchanged(String),
    /// A question that no service can answer.
    #[error("cannot ask `{question}`: {reason}")]
    Question {
        /// The question, as it was given.
        question: String,
        /// Why it cannot be asked.
        reason: String,
    },
    /// The question cannot be compiled for the caller's own database.
    #[error("cannot compile `{question}` for your own database: {reason}")]
    Unfit {
        /// The question, as it was given.
        question: String,
        /// Why it cannot be compiled, and what to change.
        reason: String,
    },
    /// An argument that is not a check.
    #[error(
        "`{0}` is not a check: give an actor, an action and a resource, as in `User:alice read Repo:docs`, or one question, as in `allow(User:alice, \"read\", Repo:docs)`"
    )]
    Check(String),
    /// An argument that is not a value.
    #[error("`{text}` is not a value: {error}")]
    Value {
        /// The argument, as it was given.
        text: String,
        /// What is wrong with it.
        error: NotationError,
    },
    /// A fact that cannot be stored.
    #[error("cannot store `{fact}`: {reason}")]
    Fact {
        /// The fact, as it was given.
        fact: String,
        /// Why it cannot be stored.
        reason: String,
    },
    /// Several facts where one is expected.
    #[error("`{0}` is more than one fact: give each fact as a separate argument")]
    SeveralFacts(String),
    /// A pattern with the same variable in two places.
    #[error("`{pattern}`: a pattern cannot say that two arguments are equal; write `_` for `?{variable}`")]
    RepeatedVariable {
        /// The pattern, as it was given.
        pattern: String,
        /// The variable.
        variable: String,
    },
    /// An address that is not a service's.
    #[error("`{address}` {reason}")]
    ServiceAddress {
        /// The address, as it was given.
        address: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An address that is not a database's.
    #[error("the address of a database must start with `postgresql://` or `sqlite:`")]
    DatabaseAddress,
    /// An address that is not a store's.
    #[error(transparent)]
    StoreAddress(DatabaseError),
    /// A command that works on a data folder, where the settings name a database.
    #[error(
        "this command works on a data folder, and the settings name a PostgreSQL database as the store: give `--data DIR`, or use the tools of PostgreSQL"
    )]
    NeedsFolder,
    /// There is no primary.
    #[error("`store_replica` and `max_staleness` are for replicas of a store: give its address as `store`")]
    ReplicaWithoutStore,
    /// `why` with more than a policy and a question.
    #[error("give a policy file and a question, or a question alone: `{0}` is too much")]
    ManyQuestions(String),
    /// `why --facts` without a policy file.
    #[error("--facts are those of a policy file: give <POLICY> before the question")]
    FactsWithoutPolicy,
    /// `why` with a policy file, and a service or a data folder.
    #[error("a policy file cannot be used with a service or a data folder, which have a policy")]
    TwoOrigins,
}

impl ArgumentError {
    /// The code of the error.
    pub(super) fn code(&self) -> CommandCode {
        match self {
            Self::Notation { .. }
            | Self::Exchanged(_)
            | Self::Question { .. }
            | Self::Unfit { .. }
            | Self::Check(_)
            | Self::Value { .. } => CommandCode::InvalidQuestion,
            Self::Fact { .. } | Self::SeveralFacts(_) | Self::RepeatedVariable { .. } => {
                CommandCode::InvalidFact
            }
            Self::ServiceAddress { .. }
            | Self::DatabaseAddress
            | Self::StoreAddress(_)
            | Self::NeedsFolder
            | Self::ReplicaWithoutStore
            | Self::ManyQuestions(_)
            | Self::FactsWithoutPolicy
            | Self::TwoOrigins => CommandCode::InvalidArguments,
        }
    }
}

/// Arguments that do not go together, or lack one.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum UsageError {
    /// `facts import - --resume`.
    #[error("the standard input cannot be resumed: give a file")]
    ResumedInput,
    /// `test - --watch`.
    #[error("the standard input cannot be watched: give files")]
    WatchedInput,
    /// `fmt -` with anything else.
    #[error("`-` cannot be combined with other files, `--check` or `--format json`")]
    FormattedInput,
    /// `generate --out -`.
    #[error("`--out` names a file: leave it out to write to the standard output")]
    GeneratedOutput,
    /// `generate --out` with a file that something else wrote.
    #[error("`{}` is not a generated file: remove it first, or name another", .0.display())]
    NotGenerated(std::path::PathBuf),
    /// `review` without an actor and without a resource.
    #[error("give an --actor or a --resource")]
    NothingReviewed,
    /// `why` without a question and without a request.
    #[error("give a question, or a request with --request")]
    NothingExplained,
    /// `bindings check --analyze` on SQLite.
    #[error("SQLite does not measure the steps of a statement: leave out --analyze")]
    UnmeasuredSteps,
}
