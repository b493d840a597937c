//! The errors of commands.

use super::output::{self, Format};
use super::shown;
use crate::config::ConfigError;
use crate::engine::EngineError;
use crate::engine::notation::NotationError;
use crate::http::{DecisionLogError, ErrorCode, TlsError};
use crate::store::StoreError;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::net::SocketAddr;
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
    /// The service cannot listen on an address.
    #[error(
        "cannot listen on {address}: {error}; stop the program that uses the address, or choose another one with `listen` or `metrics_listen`"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why it failed.
        error: std::io::Error,
    },
    /// The operating system gave no threads.
    #[error("cannot start the threads of the command: {0}; raise the system's limit of threads")]
    Threads(std::io::Error),
    /// A policy file is too long to be read.
    #[error("`{}` is longer than {limit} bytes, the most that is read: use a smaller file", .path.display())]
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
    /// Wrong arguments, with what to write instead.
    #[error("{0}")]
    Arguments(String),
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
    #[error("the database does not answer: {0}; check its address, and that it runs")]
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
    /// The decision log cannot be written.
    #[error(transparent)]
    DecisionLog(#[from] DecisionLogError),
    /// The collector of traces is misconfigured.
    #[error("cannot send traces: {0}; check the setting `otlp_endpoint`")]
    Traces(String),
    /// There is no answer from the service.
    #[error("no answer from the service: {0}; check its address, and that it runs")]
    Unreachable(String),
    /// A service refused a request.
    #[error("{message}")]
    Service {
        /// Why.
        message: String,
        /// What kind of error it says it is.
        code: String,
    },
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
            | EngineError::UnknownPredicate { .. }
            | EngineError::Bindings(_)
            | EngineError::Contradiction(_)
            | EngineError::NotFound(_)
            | EngineError::TooLarge(_)
            | EngineError::Timeout(_)
            | EngineError::Store(_)
            | EngineError::Bug(_) => Self::Engine(error),
        }
    }
}

impl CliError {
    /// A file or a folder that cannot be read.
    pub(super) fn unreadable(path: &Path, error: std::io::Error) -> Self {
        Self::Io { what: format!("cannot read `{}`", path.display()), error }
    }

    /// A file or a folder that cannot be written, created or removed.
    pub(super) fn unwritable(path: &Path, error: std::io::Error) -> Self {
        Self::Io { what: format!("cannot write `{}`", path.display()), error }
    }

    /// Reports the error: as text on the standard error, or as JSON on the standard output. Returns the exit
    /// code.
    pub(super) fn report(self, format: Format) -> ExitCode {
        let wrong_arguments =
            matches!(self, Self::Notation { .. } | Self::Arguments(_) | Self::Unfit { .. } | Self::Address);
        let message = self.to_string();
        match (self, format) {
            (Self::OutputClosed, _) => {}
            // Each finding in the text starts with its own `error`.
            (Self::Policy(_) | Self::Bindings(_), Format::Text) => output::to_stderr(&message),
            (_, Format::Text) => output::to_stderr(&format!("error: {}", shown::printable(&message))),
            (error, Format::Json) => {
                // If the standard output cannot be written, the exit code still says that it failed.
                let _ = output::to_stdout(&format!("{:#}", error.into_json()));
            }
        }
        if wrong_arguments { ExitCode::from(2) } else { ExitCode::FAILURE }
    }

    /// The error for programs.
    pub(super) fn into_json(self) -> Value {
        json!({ "message": self.to_string(), "code": self.code() })
    }

    /// What kind of error it is, for programs: see `docs/errors.md`.
    fn code(self) -> Cow<'static, str> {
        let code = match self {
            Self::Io { .. }
            | Self::Listen { .. }
            | Self::Threads(_)
            | Self::DecisionLog(_)
            | Self::OutputClosed => return "file_error".into(),
            Self::Database(_) => return "database_error".into(),
            Self::Unreachable(_) => return "service_unreachable".into(),
            Self::Config(_) | Self::Tls(_) | Self::Traces(_) => return "invalid_settings".into(),
            Self::Service { code, .. } if !code.is_empty() => return code.into(),
            Self::TooLong { .. } => ErrorCode::LimitExceeded,
            Self::TooManyTables { .. } => ErrorCode::QuestionTooLarge,
            Self::Policy(_) => ErrorCode::InvalidPolicy,
            Self::Bindings(_) | Self::OtherDatabase { .. } => ErrorCode::InvalidBindings,
            Self::Notation { .. }
            | Self::Arguments(_)
            | Self::Unfit { .. }
            | Self::Fact { .. }
            | Self::Input { .. }
            | Self::Address
            | Self::Service { .. }
            | Self::Refused(_) => ErrorCode::InvalidRequest,
            Self::Engine(error) => ErrorCode::from(error),
            Self::Store(error) => ErrorCode::from(EngineError::Store(error)),
        };
        code.as_str().into()
    }
}
