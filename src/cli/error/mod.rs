//! The errors of commands.

mod arguments;
mod code;
mod file;
mod logged;
mod service;

pub(super) use arguments::{ArgumentError, UsageError};
pub(super) use code::{CommandCode, of_store};
pub(super) use file::reason as system_reason;
pub(super) use logged::LoggedError;
pub(super) use service::ServiceError;

use super::facts::ResumeError;
use super::output::{self, Format};
use super::precautions::Precaution;
use super::restore::RestoreError;
use super::shown;
use crate::config::ConfigError;
use crate::engine::{EngineError, TooManyTables};
use crate::http::{DecisionLogError, TlsError};
use crate::lsp::ServerError;
use crate::store::StoreError;
use file::{reason, remedy};
use portcullis_compiler::bindings::BindingsError;
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// A file or a folder cannot be read.
    #[error("cannot read `{}`: {}{}", .path.display(), reason(.error), remedy(.error))]
    Unreadable {
        /// The file or the folder.
        path: PathBuf,
        /// Why it cannot be read.
        error: io::Error,
    },
    /// A file or a folder cannot be written, created or removed.
    #[error("cannot write `{}`: {}", .path.display(), reason(.error))]
    Unwritable {
        /// The file or the folder.
        path: PathBuf,
        /// Why it cannot be written.
        error: io::Error,
    },
    /// A file that would be created is already there.
    #[error("`{}` exists: move it, or choose another folder; nothing was written", .0.display())]
    Exists(PathBuf),
    /// A file was changed after the command had read it.
    #[error("`{}` was changed in the meantime: run the command again", .0.display())]
    Changed(PathBuf),
    /// A folder without policies.
    #[error("`{}` has no file with a name that ends with `.polar`", .0.display())]
    NoPolicyFile(PathBuf),
    /// Output cannot be written.
    #[error("cannot write {to}: {error}")]
    Output {
        /// The stream or the file, as a message names it.
        to: String,
        /// Why writing failed.
        error: io::Error,
    },
    /// The reader of the output is gone, so nothing is reported.
    #[error("the output was closed")]
    OutputClosed,
    /// The admin socket of a running service does not work.
    #[error("cannot use the admin socket of the service in `{}`: {error}", .data.display())]
    AdminSocket {
        /// The data folder of the service.
        data: PathBuf,
        /// Why it does not work.
        error: io::Error,
    },
    /// The service cannot listen on an address.
    #[error(
        "cannot listen on {address}: {error}; stop the program that uses the address, or choose another one with `listen` or `metrics_listen`"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why it failed.
        error: io::Error,
    },
    /// The operating system gave no threads.
    #[error("cannot start the threads of the command: {0}; raise the system's limit of threads")]
    Threads(io::Error),
    /// The streams to and from the editor failed.
    #[error("cannot exchange messages with the editor: {0}")]
    Editor(io::Error),
    /// The session with the editor failed.
    #[error(transparent)]
    Session(#[from] ServerError),
    /// A policy file is too long to be read.
    #[error("`{}` is longer than {limit} bytes, the most that is read: use a smaller file", .path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// How much is read at most.
        limit: u64,
    },
    /// A policy would be too long once it is formatted.
    #[error(
        "`{file}` would have {bytes} bytes when it is formatted, more than the limit of {limit}: store what changes often as facts"
    )]
    LongPolicy {
        /// The name of the file.
        file: String,
        /// How long it would be.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// Formatting would change what a policy says.
    #[error(
        "`{0}` cannot be formatted without changing what it says, which is a fault of Portcullis: report it with the file; the file is unchanged"
    )]
    Unformatted(String),
    /// The printed SQL would need too many tables.
    #[error(transparent)]
    TooManyTables(#[from] TooManyTables),
    /// A policy that does not validate, or whose tests fail; all findings, rendered.
    #[error("{0}")]
    Policy(String),
    /// No test has the wanted name.
    #[error("no test has a name that contains `{0}`")]
    NoTest(String),
    /// An argument is wrong, with what to write instead.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// The arguments do not go together.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// The question cannot be explained.
    #[error("cannot explain `{question}`: {reason}")]
    Unexplained {
        /// The question, as it was given.
        question: String,
        /// Why it cannot be explained.
        reason: String,
    },
    /// The explanation of a local check does not end.
    #[error("the explanation needs too many statements: ask a narrower question")]
    ManyStatements,
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
    /// An interrupted import cannot be resumed.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// A part of an import failed.
    #[error("{place}: {error}")]
    At {
        /// The file and its lines.
        place: String,
        /// Why it failed.
        error: Box<Self>,
    },
    /// The same error occurred again and again, until the command gave up.
    #[error("{error}, for {} s", .time.as_secs())]
    GaveUp {
        /// The last of these errors.
        error: ServiceError,
        /// How long the command tried.
        time: Duration,
    },
    /// A data-bindings document is refused.
    #[error("{}", .errors.iter().map(|error| format!("error: `{file}`: {error}")).collect::<Vec<_>>().join("\n"))]
    Bindings {
        /// The document.
        file: String,
        /// Each mistake.
        errors: Vec<BindingsError>,
    },
    /// The layout of a data-bindings document prevents its correction.
    #[error(
        "`{file}` cannot be corrected without changing something else, because of its layout. Make these changes yourself:{}",
        .changes.iter().map(|(change, reason)| format!("\n  {change}: {reason}")).collect::<Vec<_>>().concat()
    )]
    NotCorrectable {
        /// The document.
        file: String,
        /// Each change with its reason.
        changes: Vec<(String, String)>,
    },
    /// The bindings are for a different kind of database.
    #[error("the bindings are for {bound}, but the database is {found}: set `dialect: {found}` in them")]
    OtherDatabase {
        /// What the bindings name.
        bound: String,
        /// What the database is.
        found: String,
    },
    /// The caller's database does not answer.
    #[error(
        "the database does not answer: {reason}{}; check its address, and that it runs",
        .at.as_ref().map_or(String::new(), |at| format!(", at {at}"))
    )]
    Database {
        /// What the database or its client reports.
        reason: String,
        /// Where the command looked for it.
        at: Option<String>,
    },
    /// The caller's database answers a statement with an error.
    #[error("the database answers with an error: {reason}; {remedy}")]
    Answered {
        /// What the database reports.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The engine refused or failed.
    #[error(transparent)]
    Engine(EngineError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A service has the environment in a data folder open.
    #[error("a service has `{}` open: import through the service, with --url instead of --data", .0.display())]
    FolderInUse(PathBuf),
    /// A data folder without environments.
    #[error("there is no environment in `{}`: check the data folder", .0.display())]
    NoEnvironment(PathBuf),
    /// A backup is not restored.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// A setting cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The key of a login cannot be read.
    #[error("cannot read the key: {0}")]
    Key(io::Error),
    /// The user has no folder in which a login could be kept.
    #[error("there is no folder for a login: set HOME or XDG_CONFIG_HOME to a folder")]
    NoUserFolder,
    /// A login that another program wrote or changed.
    #[error("`{}` is not a login: {error}; log in again with `portcullis login`", .path.display())]
    Login {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// Settings with which strangers could get in.
    #[error(transparent)]
    Precaution(#[from] Precaution),
    /// The service's certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The decision log cannot be written.
    #[error(transparent)]
    DecisionLog(#[from] DecisionLogError),
    /// A logged decision cannot be explained.
    #[error(transparent)]
    Logged(#[from] LoggedError),
    /// The collector of traces is misconfigured.
    #[error("cannot send traces: {0}; check the setting `otlp_endpoint`")]
    Traces(String),
    /// A running service refused, or did not answer.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// A question has no answer.
    #[error("{message}")]
    Unanswered {
        /// Why it has no answer.
        message: String,
        /// The code of the error.
        code: String,
    },
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
    pub(super) fn unreadable(path: &Path, error: io::Error) -> Self {
        Self::Unreadable { path: path.into(), error }
    }

    /// A file or a folder that cannot be written, created or removed.
    pub(super) fn unwritable(path: &Path, error: io::Error) -> Self {
        Self::Unwritable { path: path.into(), error }
    }

    /// An error in a part of a file.
    pub(super) fn at(place: &str, error: Self) -> Self {
        Self::At { place: place.to_owned(), error: Box::new(error) }
    }

    /// Reports the error: as text on the standard error, or as JSON on the standard output. Returns the exit
    /// code.
    pub(super) fn report(self, format: Format) -> ExitCode {
        let exit_code = if matches!(self, Self::Argument(_)) { ExitCode::from(2) } else { ExitCode::FAILURE };
        let message = self.to_string();
        match (self, format) {
            (Self::OutputClosed, _) => {}
            // Each finding in the text starts with its own `error`.
            (Self::Policy(_) | Self::Bindings { .. }, Format::Text) => output::to_stderr(&message),
            (_, Format::Text) => output::to_stderr(&format!("error: {}", shown::printable(&message))),
            (error, Format::Json) => {
                // If the standard output cannot be written, the exit code still says that it failed.
                let _ = output::to_stdout(&format!("{:#}", error.into_json()));
            }
        }
        exit_code
    }

    /// The error for programs.
    pub(super) fn into_json(self) -> Value {
        json!({ "message": self.to_string(), "code": self.code() })
    }
}
