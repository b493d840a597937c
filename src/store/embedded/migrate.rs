//! Migrates a file to the newest format, or reports why it cannot be used.
//!
//! In: a connection that has changed nothing yet. Out: a file of format [`FORMAT`] whose tables agree with
//! each other. The format is SQLite's `user_version`. Each of the [`MIGRATIONS`] raises it by one, all in one
//! transaction, so if a step fails or the process is killed the file keeps its former format.
//!
//! Before the first step a file of a former format is checked completely, however long that takes: the steps
//! would copy damage, and afterwards no index would reveal it. So if a step fails on such a file, the cause
//! is a bug in Portcullis or a failure of the machine, and the error says so: an intact file must not be
//! replaced by a backup.
//!
//! Every start checks that the file is a store (`application_id`) and not newer, that it is as long as its
//! header says (SQLite's own check), that every relation has its table, and, within the time limit, first the
//! structure of its trees (`PRAGMA quick_check`, half a second per million facts) and then that indexes and
//! tables agree (`PRAGMA integrity_check`, four seconds). The last two stop without a verdict when the time
//! is over; the others always complete. Damage in unread parts is reported by the first statement that meets
//! it. What no check finds is a text that turned into another one and is in no index: SQLite keeps no
//! checksums of its pages.

use super::directory::{self, Directory};
use super::facts;
use crate::store::error::StoreError;
use crate::store::key::random;
use rusqlite::{Connection, ErrorCode};
use std::path::Path;
use std::time::{Duration, Instant};

/// "Ptcl": marks a file as a Portcullis store.
const APPLICATION_ID: i64 = 0x5074_636c;

/// A migration from one format to the next.
enum Migration {
    Sql(&'static str),
    Code(fn(&Connection) -> Result<(), StoreError>),
}

/// The migrations, in order.
const MIGRATIONS: &[Migration] = &[Migration::Sql(TABLES), Migration::Code(compact_values)];

/// All tables except those of facts, which are created for each signature.
const TABLES: &str = "
    CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
    INSERT INTO meta VALUES ('offset', 0);
    CREATE TABLE relation (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        predicate TEXT NOT NULL,
        types TEXT NOT NULL,
        facts INTEGER NOT NULL,
        UNIQUE (predicate, types)
    );
    CREATE TABLE policy (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        src TEXT NOT NULL,
        filename TEXT NOT NULL,
        created INTEGER NOT NULL,
        active INTEGER NOT NULL
    );
    CREATE UNIQUE INDEX policy_active ON policy (active) WHERE active = 1;
    CREATE TABLE key (
        id TEXT PRIMARY KEY,
        environment TEXT NOT NULL,
        name TEXT NOT NULL,
        access TEXT NOT NULL,
        created INTEGER NOT NULL,
        revoked INTEGER NOT NULL,
        hash BLOB NOT NULL
    ) WITHOUT ROWID;
";

/// The newest format.
pub(super) const FORMAT: i64 = 2;

/// How many facts are moved at a time.
const MOVED: usize = 10_000;

/// Whether a file is still empty.
pub(super) fn is_new(conn: &Connection) -> Result<bool, StoreError> {
    let application: i64 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok(application != APPLICATION_ID)
}

/// Whether a file can be used at all; changes nothing.
pub(super) fn examine(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    let application: i64 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let found: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if application == APPLICATION_ID {
        if found > FORMAT {
            return Err(StoreError::NewerFormat { found, known: FORMAT });
        }
        return Ok(());
    }
    let n_objects: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application == 0 && found == 0 && n_objects == 0 {
        return Ok(());
    }
    Err(StoreError::NotAStore(path.into()))
}

/// Runs the missing migrations; `path` names the file in messages.
pub(super) fn migrate(conn: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let found: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let done = usize::try_from(found).map_err(|_| StoreError::Corrupt(format!("the format is {found}")))?;
    if done == MIGRATIONS.len() {
        return Ok(());
    }
    if done == 0 {
        return take_steps(conn, done);
    }
    ask(conn, "integrity_check", None)?;
    take_steps(conn, done).map_err(|error| {
        let reason = match error {
            // The machine failed, or the file is damaged after all.
            StoreError::Io(_)
            | StoreError::IoAt { .. }
            | StoreError::Corrupt(_)
            | StoreError::Full
            | StoreError::ReadOnly(_)
            | StoreError::Busy => return error,
            StoreError::Bug(reason) => reason,
            ours => ours.to_string(),
        };
        StoreError::NotMigrated { file: path.into(), found, reason }
    })
}

/// Runs all migrations but the first `done`, or none.
fn take_steps(conn: &mut Connection, done: usize) -> Result<(), StoreError> {
    // Dropping it before the commit rolls back.
    let transaction = conn.transaction()?;
    for migration in MIGRATIONS.iter().skip(done) {
        match migration {
            Migration::Sql(sql) => transaction.execute_batch(sql)?,
            Migration::Code(run) => run(&transaction)?,
        }
    }
    if done == 0 {
        transaction.execute("INSERT INTO meta VALUES ('secret', ?1)", [random::<32>()?])?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    transaction.pragma_update(None, "user_version", FORMAT)?;
    Ok(transaction.commit()?)
}

/// Format 1 stored every id as text, and the name of a relationship in each fact.
fn compact_values(conn: &Connection) -> Result<(), StoreError> {
    conn.execute_batch("ALTER TABLE relation RENAME COLUMN types TO args")?;
    let former = Directory::load(conn)?;
    directory::unnamed(conn, &former)?;
    let former = former.snapshot(0).relations;
    conn.execute("DELETE FROM relation", [])?;
    let mut directory = Directory::default();
    let (mut n_read, mut n_kept) = (0_u64, 0);
    for relation in former {
        let mut statement = conn.prepare(&format!("SELECT {} FROM {}", relation.key(), relation.table))?;
        let n_columns = statement.column_count();
        let mut rows = statement.query([])?;
        let mut batch = Vec::new();
        while let Some(row) = rows.next()? {
            let ids = (0..n_columns).map(|idx| row.get(idx)).collect::<Result<Vec<String>, _>>();
            let ids = ids.map_err(|error| StoreError::Corrupt(format!("`{}`: {error}", relation.table)))?;
            n_read += 1;
            batch.push(relation.fact(ids));
            if batch.len() == MOVED {
                n_kept += facts::insert(conn, &mut directory, &std::mem::take(&mut batch))?;
            }
        }
        n_kept += facts::insert(conn, &mut directory, &batch)?;
        drop(rows);
        drop(statement);
        conn.execute(&format!("DROP TABLE {}", relation.table), [])?;
    }
    if n_kept != n_read {
        return Err(StoreError::Bug(format!("only {n_kept} of {n_read} facts were kept")));
    }
    directory.save_counts(conn)
}

/// Checks the trees and then the indexes within `budget`, and that relations and tables agree.
pub(super) fn check(conn: &mut Connection, budget: Duration) -> Result<(), StoreError> {
    if !budget.is_zero() {
        let end = Instant::now().checked_add(budget);
        let is_whole = ask(conn, "quick_check", end)? && ask(conn, "integrity_check", end)?;
        if !is_whole {
            tracing::info!(?budget, "the store is too large to be checked completely within `check_time`");
        }
    }
    directory::reconcile(conn)
}

/// Checks all trees, however long it takes, and that relations and tables agree.
pub(super) fn check_trees(conn: &mut Connection) -> Result<(), StoreError> {
    check_structure(conn)?;
    directory::reconcile(conn)
}

/// Checks all trees, however long it takes, and changes nothing.
pub(super) fn check_structure(conn: &mut Connection) -> Result<(), StoreError> {
    ask(conn, "quick_check", None).map(drop)
}

/// Runs one of SQLite's checks; returns whether it finished in time.
fn ask(conn: &mut Connection, check: &str, end: Option<Instant>) -> Result<bool, StoreError> {
    conn.progress_handler(100, Some(move || end.is_some_and(|end| Instant::now() > end)))?;
    let verdict = conn.query_row(&format!("PRAGMA {check}(1)"), [], |row| row.get::<_, String>(0));
    conn.progress_handler(0, None::<fn() -> bool>)?;
    match verdict {
        Ok(text) if text == "ok" => Ok(true),
        Ok(text) => {
            // Its first line may be a heading.
            let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("***")).collect();
            Err(StoreError::Corrupt(lines.join(", ")))
        }
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
