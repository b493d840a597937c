//! Why a command did not end well.

use super::output;
use crate::config::ConfigError;
use crate::engine::EngineError;
use crate::engine::notation::NotationError;
use crate::http::TlsError;
use crate::store::StoreError;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Why a command did not end well.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// A file or another thing of the operating system.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        error: std::io::Error,
    },
    /// A policy file is over the limit of what is read.
    #[error("`{}` is longer than {limit} bytes", .path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// What is read at most.
        limit: u64,
    },
    /// The printed SQL would need too many tables.
    #[error("the policy can store more than {limit} kinds of facts: give the variables of its rules types")]
    TooManyTables {
        /// How many are assumed at most.
        limit: usize,
    },
    /// A policy that does not validate, or whose tests fail; every finding, rendered.
    #[error("{0}")]
    Policy(String),
    /// The question is not one.
    #[error("the question `{question}` cannot be read: {error}")]
    Notation {
        /// As it was given.
        question: String,
        /// What is wrong with it.
        error: NotationError,
    },
    /// The question has no form for the caller's own database.
    #[error("the question `{question}` cannot be asked of a database of yours: {reason}")]
    Unfit {
        /// As it was given.
        question: String,
        /// Why, and what to change.
        reason: String,
    },
    /// A line of a file of facts is none.
    #[error("`{}`, line {line}: {reason}", .path.display())]
    Fact {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A place in a file that is imported holds no fact that can be stored.
    #[error("{name}, line {line}, column {column}: {reason}")]
    Input {
        /// The file, in backticks, or the standard input.
        name: String,
        /// The line, from 1.
        line: u64,
        /// In JSON the column in bytes, in a table the column's number; from 1.
        column: u64,
        /// What is wrong there.
        reason: String,
    },
    /// A data-bindings document is refused; every finding, a line each.
    #[error("{0}")]
    Bindings(String),
    /// An address that is no database's.
    #[error("the address of a database begins with `postgresql://` or `sqlite:`")]
    Address,
    /// A database that the bindings are not for.
    #[error("the bindings are for {bound} and the database is {found}: write `dialect: {found}` into them")]
    OtherDatabase {
        /// What the bindings name.
        bound: String,
        /// What the database is.
        found: String,
    },
    /// A database of the caller's does not answer.
    #[error("the database does not answer: {0}")]
    Database(String),
    /// The engine refused or failed.
    #[error(transparent)]
    Engine(EngineError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A setting.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The certificate of the service, or its key.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The collector of traces is configured in a way that cannot work.
    #[error("traces cannot be sent: {0}")]
    Traces(String),
    /// The service refused, in its words.
    #[error("{0}")]
    Refused(String),
    /// The reader of our output has gone; there is nobody to tell.
    #[error("nobody reads the output")]
    OutputClosed,
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Policy(refusal) => Self::Policy(refusal.to_string()),
            EngineError::BadRequest(_)
            | EngineError::Refused(_)
            | EngineError::TooDeep
            | EngineError::UnknownPredicate { .. }
            | EngineError::Bindings(_)
            | EngineError::NotFound(_)
            | EngineError::TooLarge(_)
            | EngineError::Timeout(_)
            | EngineError::Store(_)
            | EngineError::Bug(_) => Self::Engine(error),
        }
    }
}

impl CliError {
    /// A failure of the operating system with a file.
    pub(super) fn file(path: &Path, error: std::io::Error) -> Self {
        Self::Io { what: format!("`{}`", path.display()), error }
    }

    /// Says what is wrong on the standard error.
    pub(super) fn report(&self) -> ExitCode {
        match self {
            Self::OutputClosed => {}
            // What has several findings says `error` for each itself.
            Self::Policy(text) | Self::Bindings(text) => output::to_stderr(text),
            Self::Notation { .. } | Self::Unfit { .. } | Self::Address => {
                output::to_stderr(&format!("error: {self}"));
                return ExitCode::from(2);
            }
            Self::Io { .. }
            | Self::TooLong { .. }
            | Self::TooManyTables { .. }
            | Self::Fact { .. }
            | Self::Input { .. }
            | Self::OtherDatabase { .. }
            | Self::Database(_)
            | Self::Engine(_)
            | Self::Store(_)
            | Self::Config(_)
            | Self::Tls(_)
            | Self::Traces(_)
            | Self::Refused(_) => output::to_stderr(&format!("error: {self}")),
        }
        ExitCode::FAILURE
    }
}
