//! The store's files, and connections to them with the right settings.
//!
//! ```text
//! DIR/            0700
//!   lock          held by the process that serves DIR; records that a store existed
//!   store.db      0600, SQLite; -wal and -shm next to it inherit the mode
//!   store.db-mark 0600, how many writes it must contain (`mark`)
//!   store.db-name 0600, the name of DIR when it was first served (`name`)
//! ```
//!
//! Only a writing process needs the lock. A process that only reads, for a backup say, works on a snapshot by
//! SQLite.
//!
//! A store in memory is the same database under a name that is unique in this process, without a log.

use super::{mark, migrate};
use crate::store::error::StoreError;
use crate::store::options::StoreOptions;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The page size of a new file in bytes. A batch in random order touches most leaves of a large tree once:
/// larger pages mean fewer writes, smaller pages fewer bytes. Measured: 8 KiB loads a quarter faster than 4
/// KiB and reads as fast.
const PAGE_BYTES: i64 = 8_192;

/// The writer's page cache in KiB: a batch of 10,000 facts touches about half as much.
const WRITER_CACHE_KIB: i64 = 32 * 1024;

/// Each reader's page cache in KiB; mapped pages are not copied into it.
const READER_CACHE_KIB: i64 = 8 * 1024;

/// The name of the file in its directory.
pub(super) const DATABASE: &str = "store.db";

/// The name of the lock file.
pub(super) const LOCK: &str = "lock";

/// The longest that a reader waits while a log is being set up; SQLite's own limit is a few weeks.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// A smaller file contains no page, and SQLite treats it as new.
const SMALLEST: u64 = 512;

/// The content of the lock file once a store existed. SQLite treats an empty file as a new database and
/// removes the log of an empty one, so a lost store would silently start over without this.
const BEGUN: &str = "there has been a store beside this file\n";

/// How many prepared statements each connection caches.
const PREPARED: usize = 512;

/// Where a store is kept.
#[derive(Debug)]
pub(super) enum Location {
    /// In a directory, locked by the file.
    Directory { database: PathBuf, lock: File },
    /// In memory, under this name.
    Memory { name: String },
}

impl Location {
    /// Creates the directory and its files if they are missing, and locks it.
    pub(super) fn directory(dir: &Path) -> Result<Self, StoreError> {
        let mut lock = lock(dir)?;
        let database = dir.join(DATABASE);
        let length = database.metadata().ok().map(|found| found.len());
        if length.is_none_or(|bytes| bytes < SMALLEST) && has_begun(&mut lock) {
            let state = if length.is_some() { "is empty" } else { "is missing" };
            return Err(StoreError::Corrupt(format!("`{DATABASE}` {state}")));
        }
        private_file(&database)?;
        sync_directory(dir)?;
        Ok(Self::Directory { database, lock })
    }

    /// Records that a store existed here.
    pub(super) fn note_store(&mut self) {
        let Self::Directory { lock, .. } = self else { return };
        if has_begun(lock) {
            return;
        }
        if let Err(error) = lock.write_all(BEGUN.as_bytes()).and_then(|()| lock.sync_all()) {
            // For example, a store of an earlier release on a full disk. The store itself is intact.
            tracing::warn!(%error, "cannot write the lock file");
        }
    }

    /// A new location in memory.
    pub(super) fn memory() -> Self {
        static STORES: AtomicU64 = AtomicU64::new(0);
        let n = STORES.fetch_add(1, Ordering::Relaxed);
        Self::Memory { name: format!("file:/portcullis-{n}?vfs=memdb") }
    }

    /// Its name in error messages.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Directory { database, .. } => database,
            Self::Memory { name } => Path::new(name),
        }
    }

    /// The directory, if there is one.
    pub(super) fn dir(&self) -> Option<&Path> {
        match self {
            Self::Directory { database, .. } => database.parent(),
            Self::Memory { .. } => None,
        }
    }

    /// Refuses an empty file if a store existed here: its content was in a log that is lost.
    pub(super) fn check_begun(&mut self, conn: &Connection) -> Result<(), StoreError> {
        let Self::Directory { lock, .. } = self else { return Ok(()) };
        if migrate::is_new(conn)? && has_begun(lock) {
            return Err(StoreError::Corrupt(format!("`{DATABASE}` is empty, and its log is missing")));
        }
        Ok(())
    }

    /// The files that grow with what is stored: the database, its log, and the log's index.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Directory { database, .. } => {
                let beside = |suffix: &str| {
                    let mut name = database.clone().into_os_string();
                    name.push(suffix);
                    PathBuf::from(name)
                };
                vec![database.clone(), beside("-wal"), beside("-shm")]
            }
            Self::Memory { .. } => Vec::new(),
        }
    }

    /// The other files, which are read only at the start.
    pub(super) fn notes(&self) -> Vec<PathBuf> {
        self.dir().map(|dir| vec![dir.join(LOCK), mark::path(dir)]).unwrap_or_default()
    }

    /// Opens a connection without reading or changing anything.
    fn connect(&self, mode: OpenFlags) -> Result<Connection, StoreError> {
        let conn = match self {
            Self::Directory { database, .. } => return open_file(database, mode),
            // Any mode but read-write makes a second, empty database of the same name.
            Self::Memory { name } => Connection::open_with_flags(
                name,
                OpenFlags::SQLITE_OPEN_READ_WRITE
                    | OpenFlags::SQLITE_OPEN_CREATE
                    | OpenFlags::SQLITE_OPEN_NO_MUTEX
                    | OpenFlags::SQLITE_OPEN_URI,
            )?,
        };
        settle(&conn)?;
        Ok(conn)
    }

    /// Opens the writing connection; [`prepare_writer`] completes it.
    pub(super) fn writer(&self) -> Result<Connection, StoreError> {
        let conn = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        conn.busy_timeout(super::log::READERS_TIME)?;
        // Closing would checkpoint the log, which is not yet known to belong to the file.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        Ok(conn)
    }

    /// Opens a read-only connection.
    pub(super) fn reader(&self, options: &StoreOptions) -> Result<Connection, StoreError> {
        let conn = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        conn.busy_timeout(options.query_time.min(LONGEST_WAIT))?;
        conn.pragma_update(None, "query_only", true)?;
        conn.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
        let mapped = i64::try_from(options.mapped_bytes).unwrap_or(i64::MAX);
        // SQLite returns the new value as a row, which may be smaller.
        conn.pragma_update_and_check(None, "mmap_size", mapped, |_| Ok(())).or_else(no_row)?;
        Ok(conn)
    }
}

/// Opens a connection to a file without reading or changing anything.
pub(super) fn open_file(database: &Path, mode: OpenFlags) -> Result<Connection, StoreError> {
    let conn = Connection::open_with_flags(database, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    settle(&conn)?;
    Ok(conn)
}

/// The settings that all connections share.
fn settle(conn: &Connection) -> Result<(), StoreError> {
    harden(conn)?;
    conn.set_prepared_statement_cache_capacity(PREPARED);
    Ok(conn.pragma_update(None, "temp_store", "MEMORY")?)
}

/// Creates a directory if it is missing, and locks it for as long as the returned file is open.
pub(super) fn lock(dir: &Path) -> Result<File, StoreError> {
    create_directory(dir)?;
    let path = dir.join(LOCK);
    let lock = private_file(&path)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked(dir.into())),
        Err(TryLockError::Error(error)) => Err(StoreError::io(&path, &error)),
    }
}

/// Whether a store existed next to this lock file.
fn has_begun(lock: &mut File) -> bool {
    let mut text = String::new();
    lock.rewind().and_then(|()| lock.read_to_string(&mut text)).is_ok() && text == BEGUN
}

/// Makes the writer's connection durable. The file has been identified as a store, and its log as its own.
pub(super) fn prepare_writer(
    conn: &Connection,
    place: &Location,
    options: &StoreOptions,
) -> Result<(), StoreError> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    match place {
        Location::Directory { .. } => {
            conn.pragma_update(None, "page_size", PAGE_BYTES)?;
            let mode: String = conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
            if mode != "wal" {
                return Err(StoreError::Io(format!(
                    "the file system does not support a write-ahead log, only `{mode}`: use a data folder on a local disk"
                )));
            }
            conn.pragma_update(None, "synchronous", "FULL")?;
            conn.pragma_update_and_check(None, "journal_size_limit", 1_i64 << 27, |_| Ok(()))?;
        }
        Location::Memory { .. } => {}
    }
    conn.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    if let Some(bytes) = options.max_bytes {
        let page: u64 = conn.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = i64::try_from(bytes / page.max(1)).unwrap_or(i64::MAX);
        conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(())
}

fn no_row(error: rusqlite::Error) -> rusqlite::Result<()> {
    match error {
        rusqlite::Error::QueryReturnedNoRows => Ok(()),
        other => Err(other),
    }
}

/// Turns off unused features that an attacker could use.
fn harden(conn: &Connection) -> Result<(), StoreError> {
    // Otherwise statements are prepared again each time values are bound.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    for unused in [
        DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY,
        DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER,
        DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW,
        DbConfig::SQLITE_DBCONFIG_DQS_DML,
        DbConfig::SQLITE_DBCONFIG_DQS_DDL,
        DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA,
    ] {
        conn.set_db_config(unused, false)?;
    }
    conn.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    Ok(())
}

fn create_directory(dir: &Path) -> Result<(), StoreError> {
    if dir.is_dir() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|error| StoreError::io(dir, &error))
}

/// Opens a file for reading and writing; a new one is accessible to its owner only.
pub(super) fn private_file(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| StoreError::io(path, &error))
}

/// Syncs a directory: only then does the name of a new file survive a power failure.
pub(super) fn sync_directory(dir: &Path) -> Result<(), StoreError> {
    let synced = fs::File::open(dir).and_then(|dir| dir.sync_all());
    synced.map_err(|error| StoreError::io(dir, &error))
}
