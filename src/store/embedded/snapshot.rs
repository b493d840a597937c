//! A store at one moment, which any process can take.
//!
//! In: a directory. Out: its content at the moment of the snapshot: facts one by one, or the whole file. It
//! contains each batch completely or not at all, and every batch that was acknowledged before.
//!
//! It needs neither the lock nor the serving process: SQLite keeps the pages that an open read transaction
//! needs, in any process. The writer continues, but its log cannot start over until the snapshot is dropped,
//! so a writer that fills the log to its limit must wait (`log`).

use super::connect::{DATABASE, open_file};
use super::directory::Directory;
use super::mark::MarkFile;
use super::policy;
use super::{migrate, value};
use crate::store::error::StoreError;
use crate::store::fact::Fact;
use crate::store::policy::StoredPolicy;
use crate::store::query::lacks_value;
use crate::store::signature::StoredRelation;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// How long to wait while a log is being set up.
const LOG_SETUP_TIME: Duration = Duration::from_secs(10);

/// How often to look again at a store that seems damaged, and the pause before each.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// How many pages are copied between two reports: 8 MiB.
const STEP: i32 = 1_024;

/// A store at one moment.
#[derive(Debug)]
pub struct Snapshot {
    /// Has an open read transaction.
    conn: Connection,
    relations: Vec<StoredRelation>,
}

/// What a store contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// The number of its last changing write.
    pub offset: u64,
    /// The number of facts.
    pub facts: u64,
    /// The number of policy versions.
    pub policies: u64,
    /// The number of keys, including revoked ones.
    pub keys: u64,
}

impl Snapshot {
    /// Takes a snapshot of the store in a directory.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let mut attempts = 0;
        loop {
            match Self::try_open(dir) {
                // The store was opened or closed, or the mark was written, between the two reads.
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
        // Read the mark first: it must not be newer than the database that is read.
        let mark = MarkFile::in_directory(dir)?;
        let conn = open_file(&database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        conn.busy_timeout(LOG_SETUP_TIME)?;
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
        if let Some(loss) = mark.loss(&conn)? {
            return Err(StoreError::Lost { dir: dir.into(), loss });
        }
        let relations = Directory::load(&conn)?.snapshot(0).relations;
        Ok(Self { conn, relations })
    }

    /// The relations, ordered by predicate, then arguments.
    pub(super) fn relations(&self) -> &[StoredRelation] {
        &self.relations
    }

    /// The connection, whose statements read the snapshot.
    pub(super) fn connection(&self) -> &Connection {
        &self.conn
    }

    /// What it contains.
    pub fn holdings(&self) -> Result<Holdings, StoreError> {
        holdings(&self.conn)
    }

    /// A version of the policy, or the active one; `None` if there is none.
    pub fn policy(&self, version: Option<u64>) -> Result<Option<StoredPolicy>, StoreError> {
        policy::check(&self.conn)?;
        Ok(policy::get(&self.conn, version)?)
    }

    /// Passes every fact to `each`, ordered by signature, then ids, until `each` breaks.
    pub fn facts(&self, mut each: impl FnMut(Fact) -> ControlFlow<()>) -> Result<(), StoreError> {
        for relation in &self.relations {
            let columns = relation.key();
            let sql = format!("SELECT {columns} FROM {} ORDER BY {columns}", relation.table);
            let mut statement = self.conn.prepare(&sql)?;
            let n_columns = statement.column_count();
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let id = |idx| {
                    let id = value::read(row, idx)?.ok_or_else(|| lacks_value(&relation.table))?;
                    Ok(id.into_owned())
                };
                let ids: Vec<String> = (0..n_columns).map(id).collect::<Result<_, StoreError>>()?;
                if each(relation.fact(ids)).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Copies everything into an empty database, reporting the pages done and their total.
    pub(super) fn copy_into(
        &self,
        target: &mut Connection,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<(), StoreError> {
        let backup = Backup::new(&self.conn, target)?;
        loop {
            // INVARIANT: the read transaction is open, so no step restarts at a later moment.
            let step = backup.step(STEP)?;
            let done = backup.progress();
            let (all, left) = (done.pagecount.unsigned_abs(), done.remaining.unsigned_abs());
            progress(all.saturating_sub(left).into(), all.into());
            match step {
                StepResult::Done => return Ok(()),
                StepResult::More => {}
                // Nothing else uses the copy, and readers of the log never block.
                _ => return Err(StoreError::Busy),
            }
        }
    }
}

/// What a file contains.
pub(super) fn holdings(conn: &Connection) -> Result<Holdings, StoreError> {
    let count = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, u64>(0));
    Ok(Holdings {
        offset: count("SELECT value FROM meta WHERE name = 'offset'")?,
        facts: count("SELECT coalesce(sum(facts), 0) FROM relation")?,
        policies: count("SELECT count(*) FROM policy")?,
        keys: count("SELECT count(*) FROM key")?,
    })
}
