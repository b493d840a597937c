//! The store's files, and connections to them with the settings that matter.
//!
//! ```text
//! DIR/            0700
//!   lock          held by the one process that serves DIR; says whether there has been a store
//!   store.db      0600, SQLite; -wal and -shm beside it inherit the mode
//!   store.db-mark 0600, how far it has come (`mark`)
//! ```
//!
//! The lock is for who writes. A process that only reads, for a backup say, needs none: SQLite lets it see one moment.
//!
//! A store in memory is the same database under a name that only this process knows, without a log.

use super::error::StoreError;
use super::{mark, migrate};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How a store is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Connections that answer brief questions, and nothing else.
    pub readers: usize,
    /// Connections that answer long questions, each on a thread that gives way to those of brief ones. Who asks gets all
    /// but one of them at most, so that with one more than there are processors nobody is slowed down while alone.
    pub long_readers: usize,
    /// How long a question may run.
    pub query_time: Duration,
    /// How long a long question may wait for its turn before that.
    pub query_wait: Duration,
    /// How long the check of the file's structure may take at the start; zero leaves it out.
    pub check_time: Duration,
    /// Bytes of the file that readers map into memory. Reading mapped pages costs no system call; a disk that fails
    /// under a mapped page ends the process. 0 maps nothing.
    pub mapped_bytes: u64,
    /// How many bytes the file may have; `None` for no bound.
    pub max_bytes: Option<u64>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            readers: processors.max(4),
            long_readers: processors.max(2) + 1,
            query_time: Duration::from_secs(20),
            query_wait: Duration::from_secs(20),
            check_time: Duration::from_secs(2),
            mapped_bytes: 1 << 32,
            max_bytes: None,
        }
    }
}

/// Bytes of a page in a new file. A batch in random order touches most leaves of a large tree once: larger pages mean
/// fewer of them to write, smaller ones fewer bytes. Measured: 8 KiB loads a quarter faster than 4, reads as fast.
const PAGE_BYTES: i64 = 8_192;

/// Kibibytes of pages that the writer keeps: a batch of 10,000 facts touches about half as many.
const WRITER_CACHE_KIB: i64 = 32 * 1024;

/// Kibibytes of pages that each reader keeps; what is mapped needs no copy.
const READER_CACHE_KIB: i64 = 8 * 1024;

/// The name of the file in its directory.
pub(super) const DATABASE: &str = "store.db";

/// The name of the file that is locked.
const LOCK: &str = "lock";

/// The longest that a reader waits for a log that is being set up; SQLite takes no more than some weeks.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// Bytes below which a file holds no page, and SQLite takes it for a new one.
const SMALLEST: u64 = 512;

/// What the lock says once there has been a store beside it. SQLite takes an empty file for a new database, and
/// removes the log of an empty one: without this a store that was lost would silently begin anew.
const BEGUN: &str = "there has been a store beside this file\n";

/// Statements that each connection keeps prepared.
const PREPARED: usize = 512;

/// Where a store is.
#[derive(Debug)]
pub(super) enum Location {
    /// In a directory, which the file locks.
    Directory { database: PathBuf, lock: File },
    /// In memory, under this name.
    Memory { name: String },
}

impl Location {
    /// Makes the directory and its files where they are missing, and locks it.
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

    /// Remembers that there has been a store here.
    pub(super) fn note_store(&mut self) {
        let Self::Directory { lock, .. } = self else { return };
        if has_begun(lock) {
            return;
        }
        if let Err(error) = lock.write_all(BEGUN.as_bytes()).and_then(|()| lock.sync_all()) {
            // A store of an earlier release on a full disk, say: it is whole all the same.
            tracing::warn!(%error, "the lock cannot be written");
        }
    }

    /// A place in memory that nothing else uses.
    pub(super) fn memory() -> Self {
        static STORES: AtomicU64 = AtomicU64::new(0);
        let n = STORES.fetch_add(1, Ordering::Relaxed);
        Self::Memory { name: format!("file:/portcullis-{n}?vfs=memdb") }
    }

    /// What error texts call it.
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

    /// Refuses a file without anything in it where there has been a store: what it held was in a log that is lost.
    pub(super) fn check_begun(&mut self, conn: &Connection) -> Result<(), StoreError> {
        let Self::Directory { lock, .. } = self else { return Ok(()) };
        if migrate::is_new(conn)? && has_begun(lock) {
            return Err(StoreError::Corrupt(format!("`{DATABASE}` holds nothing, and its log is missing")));
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

    /// The files beside them that are only read at a start.
    pub(super) fn notes(&self) -> Vec<PathBuf> {
        self.dir().map(|dir| vec![dir.join(LOCK), mark::path(dir)]).unwrap_or_default()
    }

    /// Opens a connection that has neither read nor changed anything.
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

    /// Opens the connection that writes; [`prepare_writer`] completes it.
    pub(super) fn writer(&self) -> Result<Connection, StoreError> {
        let conn = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        conn.busy_timeout(super::log::PATIENCE)?;
        // Closing it copies the log into the file, and whether it belongs there is not known yet.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        Ok(conn)
    }

    /// Opens a connection that cannot write.
    pub(super) fn reader(&self, options: &StoreOptions) -> Result<Connection, StoreError> {
        let conn = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        conn.busy_timeout(options.query_time.min(LONGEST_WAIT))?;
        conn.pragma_update(None, "query_only", true)?;
        conn.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
        let mapped = i64::try_from(options.mapped_bytes).unwrap_or(i64::MAX);
        // The new value comes back as a row; SQLite may have its own bound.
        conn.pragma_update_and_check(None, "mmap_size", mapped, |_| Ok(())).or_else(no_row)?;
        Ok(conn)
    }
}

/// Opens a connection to a file, which has neither read nor changed anything.
pub(super) fn open_file(database: &Path, mode: OpenFlags) -> Result<Connection, StoreError> {
    let conn = Connection::open_with_flags(database, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    settle(&conn)?;
    Ok(conn)
}

/// What every connection has in common.
fn settle(conn: &Connection) -> Result<(), StoreError> {
    harden(conn)?;
    conn.set_prepared_statement_cache_capacity(PREPARED);
    Ok(conn.pragma_update(None, "temp_store", "MEMORY")?)
}

/// Makes a directory where it is missing, and locks it for as long as the file is open.
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

/// Whether there has been a store beside a lock.
fn has_begun(lock: &mut File) -> bool {
    let mut text = String::new();
    lock.rewind().and_then(|()| lock.read_to_string(&mut text)).is_ok() && text == BEGUN
}

/// Makes the writer's connection durable; the file is known to be ours, and its log to be its own.
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
                return Err(StoreError::Io(format!("no write-ahead log here, only `{mode}`")));
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

/// Turns off what we never use and an attacker might.
fn harden(conn: &Connection) -> Result<(), StoreError> {
    // Without it a statement is prepared again at each binding.
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

/// Opens a file for reading and writing; a new one is for its owner alone.
pub(super) fn private_file(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| StoreError::io(path, &error))
}

/// A new file's name outlives a power failure only once its directory is written.
pub(super) fn sync_directory(dir: &Path) -> Result<(), StoreError> {
    let synced = fs::File::open(dir).and_then(|dir| dir.sync_all());
    synced.map_err(|error| StoreError::io(dir, &error))
}
