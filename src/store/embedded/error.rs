//! What SQLite's errors mean for the store.

use crate::store::error::StoreError;
use rusqlite::ErrorCode;
use std::path::Path;

/// SQLite's message for it. It has no code of its own.
const TOO_DEEP: &str = "subqueries nested too deep";

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let text = message(&error);
        if text.contains(TOO_DEEP) {
            return Self::TooManyReadings;
        }
        let Some(code) = error.sqlite_error_code() else {
            return Self::Bug(text);
        };
        match code {
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Self::Corrupt(text),
            ErrorCode::DiskFull => Self::Full,
            ErrorCode::ReadOnly => Self::ReadOnly(text),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy,
            ErrorCode::TooBig => Self::TooLarge(format!(
                "a value or an answer is too large for the database: {text}; send or ask for less at once"
            )),
            ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::NoLargeFileSupport
            | ErrorCode::OutOfMemory => Self::Io(text),
            // The driver's enum is non-exhaustive; other codes can only come from the store's own statements.
            _ => Self::Bug(text),
        }
    }
}

/// The driver's message without the statement, which may contain ids as literals.
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
    /// The error as an operator needs it at the start: what it is about, and what to do.
    pub(super) fn at_start(self, dir: &Path) -> Self {
        match self {
            // The file has been identified as a store of this format, so the store's own statements fail only
            // if it was changed. A failed migration has its own error.
            Self::Corrupt(reason) | Self::Bug(reason) => Self::Damaged { dir: dir.into(), reason },
            Self::Full => {
                Self::IoAt { path: dir.into(), reason: "there is no space left on the disk".to_owned() }
            }
            Self::Io(reason) | Self::ReadOnly(reason) => Self::IoAt { path: dir.into(), reason },
            other => other,
        }
    }
}
