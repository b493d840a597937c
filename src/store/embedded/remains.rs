//! Continues with a damaged store on purpose (`portcullis accept-loss`).
//!
//! In: a directory that the service refuses. Out: what is missing and what remains; on request, a store that
//! can be served. A log that does not belong to the file is put aside first, because SQLite would mix the
//! two.

use super::backup::with_suffix;
use super::connect::{DATABASE, lock, open_file, sync_directory};
use super::mark::{self, MarkFile, Progress, Session};
use super::migrate;
use super::snapshot::{Holdings, holdings};
use crate::store::error::{Loss, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// What remains of a damaged store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remains {
    /// What is missing or does not belong to it.
    pub loss: Loss,
    /// What remains.
    pub held: Holdings,
    /// The path of the foreign log after it was put aside.
    pub aside: Option<PathBuf>,
}

/// What remains of a store that is not being served; `None` if nothing is missing.
pub fn find_loss(dir: &Path) -> Result<Option<Remains>, StoreError> {
    let _lock = lock_existing(dir)?;
    examined(dir)
}

/// What remains of a store that is not being served, which becomes a store that can be served as it is;
/// `None` if nothing is missing.
pub fn accept_loss(dir: &Path) -> Result<Option<Remains>, StoreError> {
    let _lock = lock_existing(dir)?;
    let remains = examined(dir)?;
    if let Some(Remains { aside, .. }) = &remains {
        let database = dir.join(DATABASE);
        if let Some(aside) = aside {
            let log = with_suffix(&database, "-wal");
            fs::rename(&log, aside).map_err(|error| StoreError::io(&log, &error))?;
            sync_directory(dir)?;
        }
        settle(&database)?;
        mark::forget(dir)?;
    }
    Ok(remains)
}

fn lock_existing(dir: &Path) -> Result<File, StoreError> {
    if !dir.join(DATABASE).is_file() {
        return Err(StoreError::Missing(dir.into()));
    }
    lock(dir)
}

fn examined(dir: &Path) -> Result<Option<Remains>, StoreError> {
    let database = dir.join(DATABASE);
    let log = with_suffix(&database, "-wal");
    let together = open_file(&database, OpenFlags::SQLITE_OPEN_READ_WRITE).and_then(|conn| look(conn, dir));
    let (loss, held, is_foreign) = match together {
        Ok((None, _)) => return Ok(None),
        Ok((Some(loss @ (Loss::Behind { .. } | Loss::Unmarked | Loss::BadMark)), held)) => {
            (loss, held, false)
        }
        Ok((Some(Loss::Foreign), _)) | Err(_) if log.exists() => {
            let (_, held) = alone(&database).and_then(|conn| look(conn, dir))?;
            (Loss::Foreign, held, true)
        }
        Ok((Some(Loss::Foreign), held)) => (Loss::Foreign, held, false),
        Err(error) => return Err(error),
    };
    let aside = is_foreign.then(|| with_suffix(&log, ".aside"));
    Ok(Some(Remains { loss, held, aside }))
}

/// Reads a whole database; returns what it lacks and what it contains. Changes nothing.
fn look(mut conn: Connection, dir: &Path) -> Result<(Option<Loss>, Holdings), StoreError> {
    // Closing would checkpoint a log that may not belong to the file.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    migrate::examine(&conn, &dir.join(DATABASE))?;
    if migrate::is_new(&conn)? {
        return Err(StoreError::Corrupt(format!("`{DATABASE}` is empty")));
    }
    migrate::check_structure(&mut conn)?;
    Ok((MarkFile::in_directory(dir)?.loss(&conn)?, holdings(&conn)?))
}

/// Opens a database without its log.
fn alone(database: &Path) -> Result<Connection, StoreError> {
    let escaped = database.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let mode = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    open_file(Path::new(&format!("file:{escaped}?immutable=1")), mode)
}

/// Checkpoints the log of a file and marks the file as cleanly shut down.
fn settle(database: &Path) -> Result<(), StoreError> {
    let conn = open_file(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    rest(&conn)?;
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    conn.close().map_err(|(_, error)| error.into())
}

/// Marks a database as cleanly shut down.
pub(super) fn rest(conn: &Connection) -> Result<(), StoreError> {
    match Progress::load(conn)? {
        Some(progress) => Progress { session: Session::Rest, ..progress }.save(conn),
        None => Ok(()),
    }
}
