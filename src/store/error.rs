//! The store's errors.
//!
//! Every message makes sense on its own in a log. None contains the values of a statement's parameters:
//! users' data stays out of error messages.

use super::database_error::DatabaseError;
use super::key::{MAX_ENVIRONMENT, MAX_NAME};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A failure of the store. A failed write has changed nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused to read or write.
    #[error(
        "the store cannot use its files: {0}; check their permissions, and the state and free space of the disk"
    )]
    Io(String),
    /// The same, at this place.
    #[error(
        "the store cannot use its files: `{}`: {reason}; check their permissions, and the state and free space of the disk",
        .path.display()
    )]
    IoAt {
        /// The file or folder.
        path: PathBuf,
        /// Why, in the words of the operating system or of SQLite.
        reason: String,
    },
    /// A file outside of the store, or the data folder, cannot be read.
    #[error("cannot read `{}`: {reason}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why, in the words of the operating system.
        reason: String,
    },
    /// The operating system refused something other than a file; the text says what to do.
    #[error("{0}")]
    System(String),
    /// The file's content contradicts itself.
    #[error("the store's file is damaged: {0}; restore a backup with `portcullis restore --overwrite`")]
    Corrupt(String),
    /// A directory cannot be served, because its content contradicts itself.
    #[error(
        "the store in `{}` is damaged: {reason}; restore a backup with `portcullis restore --overwrite`",
        .dir.display()
    )]
    Damaged {
        /// The directory.
        dir: PathBuf,
        /// What contradicts itself.
        reason: String,
    },
    /// A directory lacks acknowledged writes, or contains files that do not belong together.
    #[error(
        "the store in `{}` is damaged: {loss}; put the missing files back, or restore a backup with `portcullis restore --overwrite`; `portcullis accept-loss` shows what remains, and can make the service continue without the rest",
        .dir.display()
    )]
    Lost {
        /// The directory.
        dir: PathBuf,
        /// What is wrong.
        loss: Loss,
    },
    /// Files were removed, replaced or changed by another program while the store is open.
    #[error("the store does not accept writes: {0}; put the files back, and start the service again")]
    Moved(String),
    /// The file belongs to another program.
    #[error("`{}` is not a Portcullis store: use another data folder, or move this file away", .0.display())]
    NotAStore(PathBuf),
    /// The directory was copied from, or was, an environment of another name.
    #[error(
        "`{}` is a copy of the environment `{name}`, or was renamed: move it out of the data folder, or remove \
         `store.db-name` in it to serve it as it is. `portcullis restore` makes an environment of any name \
         from a backup",
        .dir.display()
    )]
    OtherName {
        /// The directory.
        dir: PathBuf,
        /// Its name when it was first served.
        name: String,
    },
    /// Another process serves this directory.
    #[error("another process has the store in `{}` open: stop it first, or use another data folder", .0.display())]
    Locked(PathBuf),
    /// There is nothing to read in this directory.
    #[error("there is no store in `{}`: check the data folder and the name of the environment", .0.display())]
    Missing(PathBuf),
    /// A restore would replace a store.
    #[error(
        "there is a store in `{}` already: restore into another folder, or move this one away first",
        .0.display()
    )]
    Exists(PathBuf),
    /// A file is not a complete backup.
    #[error("`{}` is not a complete backup: {reason}; copy it again, or use another backup", .file.display())]
    BadBackup {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A later release wrote this file.
    #[error(
        "the store has format {found}, and this release knows formats up to {known}: use the release that wrote it, or restore a backup of this release"
    )]
    NewerFormat {
        /// The file's format.
        found: i64,
        /// The newest format that this release reads.
        known: i64,
    },
    /// An earlier release wrote this file, and a read-only process cannot migrate it.
    #[error("the store has format {found} of an earlier release: start the service once to migrate it")]
    OlderFormat {
        /// The file's format.
        found: i64,
    },
    /// An earlier release wrote this file, and migrating it failed because of a bug.
    #[error(
        "`{}` has format {found} of an earlier release, and Portcullis could not migrate it: {reason}; this is a bug in Portcullis, and the file is unchanged: keep using the earlier release, and report this",
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
    /// The disk is full, or the file has reached its maximum size.
    #[error("the store's disk is full: free space on it")]
    Full,
    /// The store does not accept writes; it still answers questions.
    #[error(
        "the store does not accept writes: {0}; see the log, check the disk, and start the service again"
    )]
    ReadOnly(String),
    /// A question took longer than this.
    #[error("the question took longer than {0:?}: ask for less at once, or raise `query_time`")]
    Timeout(Duration),
    /// A long query did not get its turn in time, or was shed for others.
    #[error(
        "too many long queries: this one did not get its turn within {0:?}; ask again later, or raise `long_readers`"
    )]
    Overloaded(Duration),
    /// Readers or a checkpoint blocked the file for longer than a write may wait.
    #[error("the store is busy: try again")]
    Busy,
    /// A value, a statement or an answer is too large; the text says what to do.
    #[error("{0}")]
    TooLarge(String),
    /// A statement reads its own tables in more places than SQLite has cursors for, after SQLite has expanded
    /// it.
    #[error("a statement reads its tables in too many places for SQLite")]
    TooManyReadings,
    /// A pattern of a deletion matches more facts than allowed.
    #[error(
        "a pattern to delete matches {matched} facts, at most {allowed} are allowed: delete fewer at once, or raise `max_delete`"
    )]
    Reach {
        /// How many it matches.
        matched: u64,
        /// How many are allowed.
        allowed: u64,
    },
    /// The store is shutting down.
    #[error("the store is closed, because the service stops: try again once it runs")]
    Closed,
    /// A key cannot be created for an environment with this name.
    #[error("`{0}` is not a name for an environment: use 1 to {MAX_ENVIRONMENT} letters, digits and `-`")]
    EnvironmentName(String),
    /// A key cannot have this name.
    #[error("the name of a key must be one line of 1 to {MAX_NAME} visible characters")]
    KeyName,
    /// A policy or its name contains a character that PostgreSQL does not store.
    #[error("a policy that is stored in PostgreSQL cannot contain a NUL character: remove it")]
    PolicyText,
    /// A fact without arguments.
    #[error("a fact of `{0}` has no arguments: give it at least one")]
    NoArguments(String),
    /// The ids of a fact are too long for an index of PostgreSQL. The engine's limits keep them much shorter.
    #[error("the ids of a fact are too long for PostgreSQL: {0}; use ids of at most 2,600 bytes together")]
    LongIds(String),
    /// A backup would replace a file.
    #[error("`{}` already exists: choose another file, or give --overwrite to replace it", .0.display())]
    FileExists(PathBuf),
    /// The PostgreSQL that should be the store cannot be it, or fails.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// An internal invariant was violated.
    #[error("internal error of the store: {0}; report this as a bug")]
    Bug(String),
}

/// What is missing from a store, or does not belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Acknowledged writes are missing.
    Behind {
        /// How many it contains.
        held: u64,
        /// How many were acknowledged.
        acknowledged: u64,
    },
    /// Its file or its log belongs to another store, or is older or newer.
    Foreign,
    /// Its mark is missing, and it was not shut down cleanly.
    Unmarked,
    /// Its mark cannot be read.
    BadMark,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Behind { held, acknowledged } => {
                let (n, writes) = (acknowledged - held, if acknowledged - held == 1 { "write is" } else { "writes are" });
                write!(
                    f,
                    "{n} acknowledged {writes} not in it: its log `store.db-wal` or its file is missing, truncated \
                     or older"
                )
            }
            Self::Foreign => {
                f.write_str("its log `store.db-wal` or its file belongs to another store, or is older or newer")
            }
            Self::Unmarked => f.write_str(
                "`store.db-mark` is missing, although the file was in service: it was removed, or the file was copied \
                 without its log and without `portcullis backup`",
            ),
            Self::BadMark => f.write_str("`store.db-mark` is damaged"),
        }
    }
}

impl StoreError {
    /// Whether there was no time or no server to ask. Such an error says nothing about policy and facts, and
    /// asking more would make it worse.
    pub fn is_unanswered(&self) -> bool {
        match self {
            Self::Timeout(_) | Self::Busy | Self::Overloaded(_) | Self::Closed | Self::Locked(_) => true,
            Self::Database(error) => !matches!(error, DatabaseError::NoTable(_)),
            Self::Io(_)
            | Self::IoAt { .. }
            | Self::Unreadable { .. }
            | Self::System(_)
            | Self::Corrupt(_)
            | Self::Damaged { .. }
            | Self::Lost { .. }
            | Self::Moved(_)
            | Self::NotAStore(_)
            | Self::OtherName { .. }
            | Self::Missing(_)
            | Self::Exists(_)
            | Self::BadBackup { .. }
            | Self::NewerFormat { .. }
            | Self::OlderFormat { .. }
            | Self::NotMigrated { .. }
            | Self::Full
            | Self::ReadOnly(_)
            | Self::TooLarge(_)
            | Self::TooManyReadings
            | Self::Reach { .. }
            | Self::EnvironmentName(_)
            | Self::KeyName
            | Self::PolicyText
            | Self::NoArguments(_)
            | Self::LongIds(_)
            | Self::FileExists(_)
            | Self::Bug(_) => false,
        }
    }

    /// An operating-system failure at a path.
    pub(super) fn io(path: &Path, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::IoAt { path: path.into(), reason: error.to_string() },
        }
    }

    /// A file outside of the store that cannot be read.
    pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        Self::Unreadable { path: path.into(), reason: error.to_string() }
    }

    /// The operating system gave no thread.
    pub(super) fn no_thread(error: &std::io::Error) -> Self {
        Self::System(format!("cannot start a thread: {error}; raise the system's limit of threads"))
    }
}
