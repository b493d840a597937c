//! The table of policy versions.

use super::reader::SqliteReader;
use crate::store::error::StoreError;
use crate::store::policy::{PolicyVersion, StoredPolicy, seal};
use rusqlite::{Connection, OptionalExtension, Row};

/// Stores a policy and makes it the active one.
pub(super) fn put(
    conn: &Connection,
    src: &str,
    filename: &str,
    now: i64,
) -> Result<PolicyVersion, StoreError> {
    conn.execute("UPDATE policy SET active = 0 WHERE active = 1", [])?;
    conn.execute(
        "INSERT INTO policy (src, filename, created, active) VALUES (?1, ?2, ?3, 1)",
        (src, filename, now),
    )?;
    let id = conn.last_insert_rowid().unsigned_abs();
    conn.execute("INSERT OR REPLACE INTO meta VALUES ('policy', ?1)", [seal(id, src)])?;
    Ok(PolicyVersion { id, filename: filename.into(), created: now, active: true })
}

/// Checks that the active policy is the one that was stored. One without a digest is from an earlier release.
pub(super) fn check(conn: &Connection) -> Result<(), StoreError> {
    let Some(active) = get(conn, None)? else { return Ok(()) };
    let sealed: Option<Vec<u8>> =
        conn.query_row("SELECT value FROM meta WHERE name = 'policy'", [], |row| row.get(0)).optional()?;
    let expected = seal(active.version.id, &active.src);
    match sealed {
        Some(sealed) if sealed.get(..8) == expected.get(..8) && sealed != expected => {
            Err(StoreError::Corrupt("the active policy does not match its SHA-256".into()))
        }
        Some(_) | None => Ok(()),
    }
}

impl SqliteReader {
    /// The policy with this id, or the active one.
    pub(in crate::store) fn policy(&self, id: Option<u64>) -> Result<Option<StoredPolicy>, StoreError> {
        self.with(|conn| get(conn, id))
    }

    /// All versions, oldest first.
    pub(in crate::store) fn policy_versions(&self) -> Result<Vec<PolicyVersion>, StoreError> {
        self.with(versions)
    }
}

/// The policy with this id, or the active one.
pub(super) fn get(conn: &Connection, id: Option<u64>) -> rusqlite::Result<Option<StoredPolicy>> {
    let found = |row: &Row<'_>| Ok(StoredPolicy { version: version(row)?, src: row.get(4)? });
    match id.map(i64::try_from) {
        None => conn
            .prepare_cached("SELECT id, filename, created, active, src FROM policy WHERE active = 1")?
            .query_row([], found)
            .optional(),
        Some(Ok(id)) => conn
            .prepare_cached("SELECT id, filename, created, active, src FROM policy WHERE id = ?1")?
            .query_row([id], found)
            .optional(),
        Some(Err(_)) => Ok(None),
    }
}

fn versions(conn: &Connection) -> rusqlite::Result<Vec<PolicyVersion>> {
    conn.prepare_cached("SELECT id, filename, created, active FROM policy ORDER BY id")?
        .query_map([], version)?
        .collect()
}

/// Removes all versions; returns how many there were.
pub(super) fn clear(conn: &Connection) -> Result<usize, StoreError> {
    Ok(conn.execute("DELETE FROM policy", [])?)
}

fn version(row: &Row<'_>) -> rusqlite::Result<PolicyVersion> {
    Ok(PolicyVersion { id: row.get(0)?, filename: row.get(1)?, created: row.get(2)?, active: row.get(3)? })
}
