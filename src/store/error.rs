//! Why the store did not do what it was asked.
//!
//! Every variant's text can stand in a log line alone. None carries the values of a statement's
//! parameters: what users stored stays out of error texts.

use super::keys::{MAX_ENVIRONMENT, MAX_NAME};
use super::mark::Loss;
use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A failure of the store; a failed write has changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused to read or write.
    #[error("the store cannot use its files: {0}")]
    Io(String),
    /// The file's content contradicts itself.
    #[error("the store's file is damaged: {0}")]
    Corrupt(String),
    /// What is in a directory cannot be served, as it contradicts itself.
    #[error(
        "the store in `{}` is damaged: {reason}; put a backup in its place with `portcullis restore --overwrite`",
        .dir.display()
    )]
    Damaged {
        /// The directory.
        dir: PathBuf,
        /// What contradicts what.
        reason: String,
    },
    /// A directory lacks what was acknowledged, or holds what does not belong to it.
    #[error(
        "the store in `{}` is damaged: {loss}; bring back what is missing, or put a backup in its place with `portcullis restore --overwrite`; what is there is told, and served if you can do without the rest, by `portcullis accept-loss`",
        .dir.display()
    )]
    Lost {
        /// The directory.
        dir: PathBuf,
        /// What is wrong.
        loss: Loss,
    },
    /// Files were removed or replaced while the store is open.
    #[error("the store takes no writes: {0}")]
    Moved(String),
    /// The file belongs to another program.
    #[error("`{}` is not a Portcullis store", .0.display())]
    NotAStore(PathBuf),
    /// Another process serves this directory.
    #[error("another process has the store in `{}` open", .0.display())]
    Locked(PathBuf),
    /// There is nothing to read in this directory.
    #[error("there is no store in `{}`", .0.display())]
    Missing(PathBuf),
    /// What would be restored would replace something.
    #[error("there is a store in `{}` already", .0.display())]
    Exists(PathBuf),
    /// A file that is not a whole backup.
    #[error("`{}` is not a whole backup: {reason}", .file.display())]
    BadBackup {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A later release wrote this file.
    #[error("the store has format {found}, and this release knows formats up to {known}")]
    NewerFormat {
        /// The file's format.
        found: i64,
        /// The newest format that this release reads.
        known: i64,
    },
    /// An earlier release wrote this file, and who only reads cannot change it.
    #[error(
        "the store has format {found} of an earlier release: start the service on it once, which brings it up to date"
    )]
    OlderFormat {
        /// The file's format.
        found: i64,
    },
    /// An earlier release wrote this file, and this one failed to bring it up to date by a fault of its own.
    #[error(
        "`{}` has format {found} of an earlier release, and Portcullis could not bring it up to date: {reason}; this is a fault of Portcullis, and what is stored is as it was: go on with the earlier release, and report this",
        .file.display()
    )]
    NotMigrated {
        /// The file.
        file: PathBuf,
        /// Its format.
        found: i64,
        /// What went wrong.
        reason: String,
    },
    /// The disk, or the size allowed to the file, is used up.
    #[error("the store's disk is full")]
    Full,
    /// The store takes no writes, for the reason given; it still answers.
    #[error("the store takes no writes: {0}")]
    ReadOnly(String),
    /// A query ran longer than it may.
    #[error("the query exceeded its time limit of {0:?}")]
    Timeout(Duration),
    /// A long query had no turn within this time, or others had more right to wait.
    #[error("too many long queries: this one had no turn, for which it may wait {0:?}")]
    Overloaded(Duration),
    /// Readers or a checkpoint kept the file longer than a write may wait.
    #[error("the store is busy")]
    Busy,
    /// A value, statement or result is larger than the store can hold.
    #[error("a value is too large for the store: {0}")]
    TooLarge(String),
    /// A statement reads its own tables in more places than SQLite has cursors for, by its own count of what it makes of it.
    #[error("a statement reads its own tables in too many places")]
    TooDeep,
    /// A pattern of a deletion matches more facts than it may.
    #[error("a pattern to delete matches {matched} facts, at most {allowed} are allowed")]
    Reach {
        /// How many it matches.
        matched: u64,
        /// How many it may.
        allowed: u64,
    },
    /// The store is shutting down.
    #[error("the store is closed")]
    Closed,
    /// A key cannot be created for an environment with this name.
    #[error("`{0}` is not a name for an environment: use 1 to {MAX_ENVIRONMENT} letters, digits and `-`")]
    EnvironmentName(String),
    /// A key cannot have this name.
    #[error("the name of a key must be one line of at most {MAX_NAME} characters")]
    KeyName,
    /// A fact without arguments.
    #[error("a fact of `{0}` has no arguments")]
    NoArguments(String),
    /// A backup would replace a file.
    #[error("`{}` already exists", .0.display())]
    FileExists(PathBuf),
    /// An invariant of ours did not hold.
    #[error("internal fault of the store: {0}")]
    Bug(String),
}

/// What SQLite says then.
const TOO_DEEP: &str = "subqueries nested too deep";

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let text = message(&error);
        if text.contains(TOO_DEEP) {
            return Self::TooDeep;
        }
        let Some(code) = error.sqlite_error_code() else {
            return Self::Bug(text);
        };
        match code {
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Self::Corrupt(text),
            ErrorCode::DiskFull => Self::Full,
            ErrorCode::ReadOnly => Self::ReadOnly(text),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy,
            ErrorCode::TooBig => Self::TooLarge(text),
            ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::NoLargeFileSupport
            | ErrorCode::OutOfMemory => Self::Io(text),
            // The driver's list is open; what is left can only come from a statement of ours.
            _ => Self::Bug(text),
        }
    }
}

/// The driver's text without the statement, which can hold an id when it was compiled with literals.
fn message(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::SqliteFailure(code, Some(text)) => {
            format!("{text} (SQLite code {})", code.extended_code)
        }
        other => other.to_string(),
    }
}

impl StoreError {
    /// The error as whoever starts the service needs it: what it is about, and what can be done.
    pub(super) fn at_start(self, dir: &Path) -> Self {
        match self {
            // Statements of ours fail on a file that was checked to be ours, and whose format is this release's, only
            // if it is not as we left it. A migration has an error of its own.
            Self::Corrupt(reason) | Self::Bug(reason) => Self::Damaged { dir: dir.into(), reason },
            Self::Full => Self::Io(format!("`{}`: there is no space left on the disk", dir.display())),
            Self::Io(text) | Self::ReadOnly(text) if !text.starts_with('`') => {
                Self::Io(format!("`{}`: {text}", dir.display()))
            }
            other => other,
        }
    }

    /// An operating-system failure at a path.
    pub(super) fn io(path: &Path, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Io(format!("`{}`: {error}", path.display())),
        }
    }
}
