//! The errors of commands.

use super::output;
use crate::config::ConfigError;
use crate::engine::EngineError;
use crate::engine::notation::NotationError;
use crate::http::TlsError;
use crate::store::StoreError;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// An operating-system error.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        error: std::io::Error,
    },
    /// A policy file is too long to be read.
    #[error("`{}` is longer than {limit} bytes", .path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// How much is read at most.
        limit: u64,
    },
    /// The printed SQL would need too many tables.
    #[error("the policy has more than {limit} kinds of facts: add types to the variables of its rules")]
    TooManyTables {
        /// How many are created at most.
        limit: usize,
    },
    /// A policy that does not validate, or whose tests fail; all findings, rendered.
    #[error("{0}")]
    Policy(String),
    /// The question cannot be parsed.
    #[error("the question `{question}` cannot be read: {error}")]
    Notation {
        /// As it was given.
        question: String,
        /// What is wrong with it.
        error: NotationError,
    },
    /// The question cannot be compiled for the caller's own database.
    #[error("cannot compile `{question}` for your own database: {reason}")]
    Unfit {
        /// As it was given.
        question: String,
        /// Why, and what to change.
        reason: String,
    },
    /// A line in a file of facts is wrong.
    #[error("`{}`, line {line}: {reason}", .path.display())]
    Fact {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// An imported file has an error.
    #[error("{name}, line {line}, column {column}: {reason}")]
    Input {
        /// The file, in backticks, or the standard input.
        name: String,
        /// The line, from 1.
        line: u64,
        /// In JSON the byte in the line, in a table the number of the column; from 1.
        column: u64,
        /// What is wrong there.
        reason: String,
    },
    /// A data-bindings document is refused; one line for each finding.
    #[error("{0}")]
    Bindings(String),
    /// An address that is not a database's.
    #[error("the address of a database must start with `postgresql://` or `sqlite:`")]
    Address,
    /// The bindings are for another kind of database.
    #[error("the bindings are for {bound}, but the database is {found}: set `dialect: {found}` in them")]
    OtherDatabase {
        /// What the bindings name.
        bound: String,
        /// What the database is.
        found: String,
    },
    /// The caller's database does not answer.
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
    /// The service's certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The collector of traces is misconfigured.
    #[error("cannot send traces: {0}")]
    Traces(String),
    /// Refused, with the reason.
    #[error("{0}")]
    Refused(String),
    /// The reader of the output is gone, so nothing is reported.
    #[error("the output was closed")]
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

    /// Reports the error on the standard error.
    pub(super) fn report(&self) -> ExitCode {
        match self {
            Self::OutputClosed => {}
            // Each finding in the text starts with its own `error`.
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
