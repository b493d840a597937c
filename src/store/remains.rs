//! What is left of a store that lacks something, and how to go on with it on purpose.
//!
//! In: a directory whose start is refused. Out: what is missing, and what there is; if somebody wants that, a store at
//! rest that can be served. A log that does not belong to the file is put aside first, as SQLite would mix the two.

use super::backup::beside;
use super::connect::{DATABASE, lock, open_file, sync_directory};
use super::error::StoreError;
use super::mark::{self, Loss, Progress, Seen, Session};
use super::migrate;
use super::snapshot::{Holdings, holdings};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::fs;
use std::path::{Path, PathBuf};

/// What is left of a store that lacks something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remains {
    /// What is missing, or does not belong to it.
    pub loss: Loss,
    /// What is there.
    pub held: Holdings,
    /// The log that does not belong to it, under the name that it has after it was put aside.
    pub aside: Option<PathBuf>,
}

/// Tells what is left of a store that nobody serves; nothing if it lacks nothing. With `go_on` it is made a store that
/// can be served as it is.
pub fn accept_loss(dir: &Path, go_on: bool) -> Result<Option<Remains>, StoreError> {
    let database = dir.join(DATABASE);
    if !database.is_file() {
        return Err(StoreError::Missing(dir.into()));
    }
    let _lock = lock(dir)?;
    let log = beside(&database, "-wal");
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
    let aside = is_foreign.then(|| beside(&log, ".aside"));
    if go_on {
        if let Some(aside) = &aside {
            fs::rename(&log, aside).map_err(|error| StoreError::io(&log, &error))?;
            sync_directory(dir)?;
        }
        settle(&database)?;
        mark::forget(dir)?;
    }
    Ok(Some(Remains { loss, held, aside }))
}

/// What a database lacks and what it holds, after a look at all of it. Changes nothing.
fn look(mut conn: Connection, dir: &Path) -> Result<(Option<Loss>, Holdings), StoreError> {
    // Closing it would copy a log into the file to which it may not belong.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    migrate::examine(&conn, &dir.join(DATABASE))?;
    if migrate::is_new(&conn)? {
        return Err(StoreError::Corrupt(format!("`{DATABASE}` holds nothing")));
    }
    migrate::check_structure(&mut conn)?;
    Ok((Seen::in_directory(dir)?.loss(&conn)?, holdings(&conn)?))
}

/// A database as it is without its log.
fn alone(database: &Path) -> Result<Connection, StoreError> {
    let escaped = database.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let mode = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    open_file(Path::new(&format!("file:{escaped}?immutable=1")), mode)
}

/// Makes a file, with the log beside it, one that is at rest.
fn settle(database: &Path) -> Result<(), StoreError> {
    let conn = open_file(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    rest(&conn)?;
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    conn.close().map_err(|(_, error)| error.into())
}

/// Makes a database say that it is at rest.
pub(super) fn rest(conn: &Connection) -> Result<(), StoreError> {
    match Progress::load(conn)? {
        Some(progress) => Progress { session: Session::Rest, ..progress }.save(conn),
        None => Ok(()),
    }
}
