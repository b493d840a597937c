//! A store at one moment, for a process that need not be the one that serves it.
//!
//! In: a directory. Out: everything in it as it stood when the snapshot was taken: facts one by one, or the whole file.
//! A batch is in it wholly or not at all, and so is every batch that was acknowledged before it was taken.
//!
//! It takes no lock of ours and asks nobody: SQLite keeps the pages that an open read transaction needs, in whatever
//! process. The writer goes on meanwhile. Only its log cannot start over until the snapshot is dropped, so a writer
//! that fills the log to its limit has to wait then (`log`).

use super::connect::{DATABASE, open_file};
use super::error::StoreError;
use super::fact::Fact;
use super::mark::Seen;
use super::relation::Directory;
use super::signature::StoredRelation;
use super::{migrate, value};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// How long the one moment is waited for in which a log is set up.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a store is looked at again that seems to lack something, and how long is waited before.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// Pages that are copied between two reports: 8 MiB.
const STEP: i32 = 1_024;

/// A store at one moment.
#[derive(Debug)]
pub struct Snapshot {
    /// In a read transaction for as long as it lives.
    conn: Connection,
    relations: Vec<StoredRelation>,
}

/// How much a store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// The number of its last changing write.
    pub offset: u64,
    /// Facts.
    pub facts: u64,
    /// Policy versions.
    pub policies: u64,
    /// Keys, the revoked ones too.
    pub keys: u64,
}

impl Snapshot {
    /// The store in a directory as it is now.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let mut attempts = 0;
        loop {
            match Self::try_open(dir) {
                // Between the two looks it was opened or closed, or the mark was being written.
                Err(StoreError::Lost { .. }) if attempts < ATTEMPTS => {
                    attempts += 1;
                    std::thread::sleep(PAUSE);
                }
                opened => return opened,
            }
        }
    }

    fn try_open(dir: &Path) -> Result<Self, StoreError> {
        let database = dir.join(DATABASE);
        if !database.is_file() {
            return Err(StoreError::Missing(dir.into()));
        }
        // First of all, as it must not be ahead of what is read.
        let seen = Seen::in_directory(dir)?;
        let conn = open_file(&database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        conn.busy_timeout(PATIENCE)?;
        conn.pragma_update(None, "query_only", true)?;
        conn.execute_batch("BEGIN")?;
        migrate::examine(&conn, &database)?;
        let format: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if format == 0 {
            // A service that is killed at its very first start leaves an empty file.
            return Err(StoreError::Missing(dir.into()));
        }
        if format < migrate::FORMAT {
            return Err(StoreError::OlderFormat { found: format });
        }
        if let Some(loss) = seen.loss(&conn)? {
            return Err(StoreError::Lost { dir: dir.into(), loss });
        }
        let relations = Directory::load(&conn)?.snapshot(0).relations;
        Ok(Self { conn, relations })
    }

    /// The relations, ordered by predicate, then arguments.
    pub(super) fn relations(&self) -> &[StoredRelation] {
        &self.relations
    }

    /// The connection, whose statements see that moment.
    pub(super) fn connection(&self) -> &Connection {
        &self.conn
    }

    /// How much there is.
    pub fn holdings(&self) -> Result<Holdings, StoreError> {
        holdings(&self.conn)
    }

    /// Hands over every fact, by signature, then ids, until there is none left or nobody wants more.
    pub fn facts(&self, mut each: impl FnMut(Fact) -> ControlFlow<()>) -> Result<(), StoreError> {
        for relation in &self.relations {
            let columns = relation.key();
            let sql = format!("SELECT {columns} FROM {} ORDER BY {columns}", relation.table);
            let mut statement = self.conn.prepare(&sql)?;
            let n_columns = statement.column_count();
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let id = |idx| Ok(value::read(row, idx)?.unwrap_or_default().into_owned());
                let ids: Vec<String> = (0..n_columns).map(id).collect::<Result<_, StoreError>>()?;
                if each(relation.fact(ids)).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Copies everything into an empty database; tells after each part how many pages of how many are done.
    pub(super) fn copy_into(
        &self,
        target: &mut Connection,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<(), StoreError> {
        let backup = Backup::new(&self.conn, target)?;
        loop {
            // INVARIANT: the read transaction is open, so that no step starts over at a later moment.
            let step = backup.step(STEP)?;
            let told = backup.progress();
            let (all, left) = (told.pagecount.unsigned_abs(), told.remaining.unsigned_abs());
            progress(all.saturating_sub(left).into(), all.into());
            match step {
                StepResult::Done => return Ok(()),
                StepResult::More => {}
                // Nobody else has the copy, and a reader of the log waits for nobody.
                _ => return Err(StoreError::Busy),
            }
        }
    }
}

/// How much a file holds.
pub(super) fn holdings(conn: &Connection) -> Result<Holdings, StoreError> {
    let count = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, u64>(0));
    Ok(Holdings {
        offset: count("SELECT value FROM meta WHERE name = 'offset'")?,
        facts: count("SELECT coalesce(sum(facts), 0) FROM relation")?,
        policies: count("SELECT count(*) FROM policy")?,
        keys: count("SELECT count(*) FROM key")?,
    })
}
