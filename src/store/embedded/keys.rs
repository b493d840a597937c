//! The tables of keys, and of when each was last used.

use crate::store::digest::KeyDigest;
use crate::store::error::StoreError;
use crate::store::key::{Access, Key, KeyRing, NewKey, StoredKey};
use rusqlite::Connection;
use rustc_hash::FxHashMap;

/// How often a key's last use is saved in the file, in seconds: checking a key does not write.
const SAVED: i64 = 3_600;

/// Reads the tables `key` and `key_use`; the ring takes over the uses that the former one recorded.
pub(super) fn load(conn: &Connection, former: &KeyRing) -> Result<KeyRing, StoreError> {
    let saved = saved_uses(conn)?;
    let mut statement =
        conn.prepare("SELECT id, environment, name, access, created, revoked, hash FROM key")?;
    let mut rows = statement.query([])?;
    let mut stored = Vec::new();
    while let Some(row) = rows.next()? {
        let key = Key {
            id: row.get(0)?,
            environment: row.get(1)?,
            name: row.get(2)?,
            access: Access::from_stored(row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?)?,
            created: row.get(4)?,
            revoked: row.get(5)?,
        };
        let used = saved.get(&key.id).copied();
        stored.push(StoredKey { key, digest: KeyDigest::from_stored(row.get(6)?), used });
    }
    Ok(KeyRing::new(stored, former))
}

/// The saved last uses; a file of a former release has none.
fn saved_uses(conn: &Connection) -> Result<FxHashMap<String, i64>, StoreError> {
    let counts = "SELECT count(*) FROM sqlite_schema WHERE name = 'key_use'";
    if conn.query_row(counts, [], |row| row.get::<_, u64>(0))? == 0 {
        return Ok(FxHashMap::default());
    }
    let mut statement = conn.prepare("SELECT id, used FROM key_use")?;
    let uses = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(uses.collect::<Result<_, _>>()?)
}

/// Saves the last uses of keys that are much later than the saved ones. If that fails, it is tried again
/// within the hour.
pub(super) fn save_late_uses(conn: &Connection, ring: &KeyRing) {
    save(conn, ring, &ring.unsaved(SAVED));
}

/// Saves the last uses of all keys.
pub(super) fn save_all_uses(conn: &Connection, ring: &KeyRing) {
    save(conn, ring, &ring.unsaved(1));
}

fn save(conn: &Connection, ring: &KeyRing, uses: &[(String, i64)]) {
    if uses.is_empty() {
        return;
    }
    if let Err(error) = save_uses(conn, uses) {
        tracing::warn!(%error, "cannot save when keys were last used");
    }
    ring.note_saved(uses);
}

fn save_uses(conn: &Connection, uses: &[(String, i64)]) -> Result<(), StoreError> {
    let transaction = conn.unchecked_transaction()?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS key_use (id TEXT PRIMARY KEY, used INTEGER NOT NULL) WITHOUT ROWID",
    )?;
    for used in uses {
        transaction.execute("INSERT OR REPLACE INTO key_use VALUES (?1, ?2)", (&used.0, used.1))?;
    }
    Ok(transaction.commit()?)
}

/// Creates a key.
pub(super) fn create(
    conn: &Connection,
    environment: &str,
    name: &str,
    access: Access,
    now: i64,
) -> Result<NewKey, StoreError> {
    let new = NewKey::make(environment, name, access, now)?;
    conn.execute(
        "INSERT INTO key (id, environment, name, access, created, revoked, hash) VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6)",
        (&new.key.id, environment, name, access.stored(), now, KeyDigest::of(&new.text).stored()),
    )?;
    Ok(new)
}

/// Revokes a key; returns whether it exists.
pub(super) fn revoke(conn: &Connection, id: &str) -> Result<bool, StoreError> {
    Ok(conn.execute("UPDATE key SET revoked = 1 WHERE id = ?1", [id])? > 0)
}
