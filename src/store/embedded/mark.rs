//! Detects lost writes: counts the acknowledged writes in the database and in a second file.
//!
//! If the log of a database is missing, SQLite reads the database as if there had never been one; a log of
//! another time or another store it reads as if it belonged to the file. So each write is counted in the
//! table `meta`, in its own transaction, and again after the commit in `store.db-mark`. At the start, file
//! and log together must contain at least as many writes as the mark says.
//!
//! ```text
//! meta        session, writes     committed with each write, so in the log before it is in the file
//! store.db-mark  session, next, writes     overwritten after each commit, before it is acknowledged; 80 bytes
//! ```
//!
//! A session lasts from a start to the next clean shutdown, and has a random name. After a clean shutdown the
//! file names no session. So a file that names a session and has no mark is a copy that was made without its
//! log, and a log from elsewhere is detected by the session that it names. The mark announces the next
//! session before the file names it, so that a kill between the two leaves a matching pair.
//!
//! The mark is not synced after a commit: that would take as long as the commit itself. A killed process
//! leaves it intact anyway. After a power failure it may lag behind and then detects less. It is never ahead
//! of the disk, because the commit is synced first; so it never refuses an intact store.

use super::connect::{Location, private_file, sync_directory};
use super::log;
use crate::store::error::{Loss, StoreError};
use crate::store::key::random;
use rusqlite::{Connection, OptionalExtension};
use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

/// The name of the file in its directory.
const MARK: &str = "store.db-mark";

/// The first line of the file.
const HEADING: &str = "portcullis mark 1";

/// The name for no session.
const AT_REST: &str = "at rest";

/// The time from a start to the next clean shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Session {
    /// No session: the file contains everything.
    Rest,
    /// The session with this name: a log may contain more than the file.
    Open(u64),
}

impl Session {
    fn new() -> Result<Self, StoreError> {
        Ok(Self::Open(u64::from_ne_bytes(random()?)))
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            AT_REST => Some(Self::Rest),
            name => u64::from_str_radix(name, 16).ok().map(Self::Open),
        }
    }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rest => write!(f, "{AT_REST:<16}"),
            Self::Open(name) => write!(f, "{name:016x}"),
        }
    }
}

/// How many writes a database contains, according to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) session: Session,
    /// Writes that changed something, counted since the first release that counts them.
    pub(super) writes: u64,
}

impl Progress {
    /// Reads it from a database; `None` if that is new or of a release that did not count.
    pub(super) fn load(conn: &Connection) -> Result<Option<Self>, StoreError> {
        let counts = "SELECT count(*) FROM sqlite_schema WHERE name = 'meta'";
        if conn.query_row(counts, [], |row| row.get::<_, u64>(0))? == 0 {
            return Ok(None);
        }
        let sql =
            "SELECT (SELECT value FROM meta WHERE name = 'session'), value FROM meta WHERE name = 'writes'";
        let row = conn.query_row(sql, [], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)));
        let Some((session, writes)) = row.optional()? else { return Ok(None) };
        let session = Session::parse(session.trim())
            .ok_or_else(|| StoreError::Corrupt(format!("`{session}` is not the name of a session")))?;
        Ok(Some(Self { session, writes }))
    }

    /// Saves it in the database.
    pub(super) fn save(&self, conn: &Connection) -> Result<(), StoreError> {
        let sql = "INSERT INTO meta VALUES ('session', ?1), ('writes', ?2)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        conn.execute(sql, (self.session.to_string(), self.writes))?;
        Ok(())
    }
}

/// How many writes a database must contain, according to the file next to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    /// The session that the database names, and the one that it may name next.
    sessions: [Session; 2],
    writes: u64,
}

impl Mark {
    /// The mark in a directory; `None` if it does not exist, or if a kill at the very first start left it
    /// empty.
    fn read(dir: &Path) -> Result<Result<Option<Self>, Loss>, StoreError> {
        let path = dir.join(MARK);
        match fs::read(&path) {
            Ok(bytes) if bytes.is_empty() => Ok(Ok(None)),
            Ok(bytes) => {
                let mark = std::str::from_utf8(&bytes).ok().and_then(Self::parse);
                Ok(mark.map(Some).ok_or(Loss::BadMark))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Ok(None)),
            Err(error) => Err(StoreError::io(&path, &error)),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_prefix(HEADING)?.strip_prefix('\n')?.lines();
        let mut value = |name: &str| Some(lines.next()?.strip_prefix(name)?.strip_prefix(' ')?.trim());
        let writes = value("writes")?.parse().ok()?;
        let sessions = [Session::parse(value("session")?)?, Session::parse(value("next")?)?];
        Some(Self { sessions, writes })
    }

    /// Overwrites the former mark, which has the same length.
    fn write(&self, mut file: &File) -> std::io::Result<()> {
        let Self { sessions: [session, next], writes } = self;
        file.rewind()?;
        file.write_all(format!("{HEADING}\nwrites {writes:020}\nsession {session}\nnext {next}\n").as_bytes())
    }
}

/// Compares a mark with a database.
fn compare(mark: Option<Mark>, held: Option<Progress>) -> Option<Loss> {
    match (mark, held) {
        (None, None | Some(Progress { session: Session::Rest, .. })) => None,
        (None, Some(Progress { session: Session::Open(_), .. })) => Some(Loss::Unmarked),
        (Some(_), None) => Some(Loss::Foreign),
        (Some(mark), Some(held)) if !mark.sessions.contains(&held.session) => Some(Loss::Foreign),
        (Some(mark), Some(held)) if held.writes < mark.writes => {
            Some(Loss::Behind { held: held.writes, acknowledged: mark.writes })
        }
        (Some(_), Some(_)) => None,
    }
}

/// The mark of a directory as it was read.
#[derive(Debug)]
pub(super) struct MarkFile(Result<Option<Mark>, Loss>);

impl MarkFile {
    /// Reads it.
    pub(super) fn in_directory(dir: &Path) -> Result<Self, StoreError> {
        Mark::read(dir).map(Self)
    }

    /// What a database lacks. The database must have been opened after the mark was read. Changes nothing.
    pub(super) fn loss(&self, conn: &Connection) -> Result<Option<Loss>, StoreError> {
        match self.0 {
            Ok(mark) => Ok(compare(mark, Progress::load(conn)?)),
            Err(loss) => Ok(Some(loss)),
        }
    }
}

/// Removes the mark of a directory: from now on its file is the complete store.
pub(super) fn forget(dir: &Path) -> Result<(), StoreError> {
    let path = dir.join(MARK);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::io(&path, &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Where the mark of a directory is.
pub(super) fn path(dir: &Path) -> PathBuf {
    dir.join(MARK)
}

/// Counts the writes of an open store, in the database and in the mark.
#[derive(Debug)]
pub(super) struct Tally {
    progress: Progress,
    /// `None` in memory, and if a full disk had no room for it.
    mark: Option<File>,
}

impl Tally {
    /// Starts a session of a store whose mark has been checked.
    pub(super) fn begin(conn: &Connection, place: &Location) -> Result<Self, StoreError> {
        let held = Progress::load(conn)?;
        let mut tally =
            Self { progress: held.unwrap_or(Progress { session: Session::Rest, writes: 0 }), mark: None };
        let Some(dir) = place.dir() else { return Ok(tally) };
        match tally.try_begin(conn, dir, held.is_none()) {
            // Questions must be answered even if the disk is full.
            Err(StoreError::Full) => {
                tracing::warn!("the disk is full: if the log is lost, the next start may not detect it");
            }
            begun => begun?,
        }
        Ok(tally)
    }

    fn try_begin(&mut self, conn: &Connection, dir: &Path, is_first: bool) -> Result<(), StoreError> {
        if is_first {
            self.progress.save(conn)?;
        }
        let path = dir.join(MARK);
        let file = private_file(&path)?;
        let next = match self.progress.session {
            Session::Rest => Session::new()?,
            // It was killed; the session continues.
            open @ Session::Open(_) => open,
        };
        let mark = Mark { sessions: [self.progress.session, next], writes: self.progress.writes };
        let written = mark.write(&file).and_then(|()| file.sync_data());
        written.map_err(|error| StoreError::io(&path, &error))?;
        sync_directory(dir)?;
        self.mark = Some(file);
        if next != self.progress.session {
            let progress = Progress { session: next, ..self.progress };
            progress.save(conn)?;
            self.progress = progress;
            // The file alone must name the session.
            log::copy(conn);
        }
        Ok(())
    }

    /// Counts writes in the open transaction; returns the new total.
    pub(super) fn count(&self, conn: &Connection, more: u64) -> Result<u64, StoreError> {
        let writes = self.progress.writes + more;
        if more > 0 && self.mark.is_some() {
            conn.prepare_cached("UPDATE meta SET value = ?1 WHERE name = 'writes'")?.execute([writes])?;
        }
        Ok(writes)
    }

    /// Records what was committed. Failures are only logged, because the commit is final.
    pub(super) fn note(&mut self, writes: u64) {
        if writes == self.progress.writes {
            return;
        }
        self.progress.writes = writes;
        let mark = Mark { sessions: [self.progress.session; 2], writes };
        if let Some(file) = &self.mark
            && let Err(error) = mark.write(file)
        {
            tracing::warn!(%error, "cannot write `{MARK}`: if the log is lost, the next start may not detect it");
        }
    }

    /// Ends the session cleanly: after the next checkpoint the file is complete without its log.
    pub(super) fn end(&mut self, conn: &Connection) {
        let Some(file) = &self.mark else { return };
        let rest = Progress { session: Session::Rest, ..self.progress };
        let mark = Mark { sessions: [self.progress.session, Session::Rest], writes: self.progress.writes };
        let announced = mark.write(file).and_then(|()| file.sync_data());
        // If this fails, the session continues at the next start, as after a kill.
        if let Err(error) = announced {
            return tracing::warn!(%error, "cannot write `{MARK}`");
        }
        match rest.save(conn) {
            Ok(()) => self.progress = rest,
            Err(error) => tracing::warn!(%error, "cannot shut the store down cleanly"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Session = Session::Open(0x1234);

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Mark::read(dir.path()).unwrap(), Ok(None));
        let file = private_file(&dir.path().join(MARK)).unwrap();
        assert_eq!(Mark::read(dir.path()).unwrap(), Ok(None), "killed at the very first start");
        for mark in [
            Mark { sessions: [Session::Rest, OPEN], writes: u64::MAX },
            Mark { sessions: [OPEN, OPEN], writes: 7 },
            Mark { sessions: [Session::Open(u64::MAX), Session::Rest], writes: 0 },
        ] {
            mark.write(&file).unwrap();
            assert_eq!(Mark::read(dir.path()).unwrap(), Ok(Some(mark)));
        }
        file.set_len(40).unwrap();
        assert_eq!(Mark::read(dir.path()).unwrap(), Err(Loss::BadMark));
    }

    #[test]
    fn a_mark_fits_what_a_kill_can_leave_and_nothing_else() {
        let held = |session, writes| Some(Progress { session, writes });
        let mark = |session, next, writes| Some(Mark { sessions: [session, next], writes });
        for (mark, held, expected) in [
            (None, None, None),
            (None, held(Session::Rest, 9), None),
            (None, held(OPEN, 9), Some(Loss::Unmarked)),
            (mark(Session::Rest, OPEN, 9), held(Session::Rest, 9), None),
            (mark(Session::Rest, OPEN, 9), held(OPEN, 9), None),
            (mark(OPEN, OPEN, 9), held(OPEN, 10), None),
            (mark(OPEN, Session::Rest, 9), held(Session::Rest, 9), None),
            (mark(OPEN, OPEN, 9), held(OPEN, 8), Some(Loss::Behind { held: 8, acknowledged: 9 })),
            (mark(OPEN, OPEN, 9), held(Session::Rest, 9), Some(Loss::Foreign)),
            (mark(OPEN, OPEN, 0), held(Session::Open(1), 9), Some(Loss::Foreign)),
            (mark(Session::Rest, OPEN, 0), None, Some(Loss::Foreign)),
        ] {
            assert_eq!(compare(mark, held), expected, "{mark:?} {held:?}");
        }
    }
}
