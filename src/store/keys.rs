//! API keys: `e_<environment>_<key id>_<secret>`.
//!
//! Only a SHA-256 digest of the whole key is stored. A slow password hash would protect guessable secrets; these
//! have 256 random bits, which nobody finds by hashing candidates, and a key is checked on every request.
//! The id, which is no secret, only selects the digest to compare with; the comparison takes the same time whatever
//! differs, and an unknown id is compared with a digest that nothing has. So how long a refusal takes tells at most
//! whether there is a key with that id.
//!
//! All keys are held in memory as a [`KeyRing`], so that checking one touches no connection. The writer replaces
//! it before it acknowledges a change: a revoked key is refused from that moment on.

use super::digest::KeyDigest;
use super::error::StoreError;
use rusqlite::Connection;
use rustc_hash::FxHashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Characters of an environment's name.
pub(super) const MAX_ENVIRONMENT: usize = 64;

/// Characters of a key's name: a line of a list.
pub(super) const MAX_NAME: usize = 200;

/// Seconds between two notes of a key's use in memory, and in the file: a check is no write.
const NOTED: i64 = 60;
const SAVED: i64 = 3_600;

/// What stands for a key that was never used.
const NEVER: i64 = 0;

/// What a key's bearer may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everything.
    ReadWrite,
    /// Ask, but change nothing.
    ReadOnly,
}

impl Access {
    fn stored(self) -> &'static str {
        match self {
            Self::ReadWrite => "read-write",
            Self::ReadOnly => "read-only",
        }
    }

    fn from_stored(text: &str) -> Result<Self, StoreError> {
        match text {
            "read-write" => Ok(Self::ReadWrite),
            "read-only" => Ok(Self::ReadOnly),
            other => Err(StoreError::Corrupt(format!("a key has the access level `{other}`"))),
        }
    }
}

/// What is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The part of the key that is no secret.
    pub id: String,
    /// The environment that it opens.
    pub environment: String,
    /// What its owner calls it.
    pub name: String,
    /// What its bearer may do.
    pub access: Access,
    /// When it was made, in seconds since the epoch.
    pub created: i64,
    /// Whether it is refused.
    pub revoked: bool,
}

/// A key at the only moment when its text is known.
#[derive(Clone)]
pub struct NewKey {
    /// What is known of it from now on.
    pub key: Key,
    /// What its bearer presents.
    pub text: String,
}

impl std::fmt::Debug for NewKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewKey").field("key", &self.key).field("text", &"(secret)").finish()
    }
}

/// All keys, by id.
#[derive(Debug, Default)]
pub(super) struct KeyRing {
    keys: FxHashMap<String, KeyEntry>,
}

/// A key in memory.
#[derive(Debug)]
struct KeyEntry {
    digest: KeyDigest,
    key: Key,
    used: Arc<Use>,
}

/// When a key was used last, to the minute; shared by the rings that follow each other.
#[derive(Debug, Default)]
struct Use {
    noted: AtomicI64,
    /// What the file says.
    saved: AtomicI64,
}

impl Use {
    fn note(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        if now - self.noted.load(Ordering::Relaxed) >= NOTED {
            self.noted.store(now, Ordering::Relaxed);
        }
    }
}

impl KeyRing {
    /// Reads the tables `key` and `key_use`; what a former ring knows of uses is kept.
    pub(super) fn load(conn: &Connection, former: &Self) -> Result<Self, StoreError> {
        let saved = saved_uses(conn)?;
        let mut statement =
            conn.prepare("SELECT id, environment, name, access, created, revoked, hash FROM key")?;
        let mut rows = statement.query([])?;
        let mut ring = Self::default();
        while let Some(row) = rows.next()? {
            let key = Key {
                id: row.get(0)?,
                environment: row.get(1)?,
                name: row.get(2)?,
                access: Access::from_stored(row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?)?,
                created: row.get(4)?,
                revoked: row.get(5)?,
            };
            let used = former.keys.get(&key.id).map(|held| Arc::clone(&held.used));
            let used = used.unwrap_or_else(|| {
                let used = saved.get(&key.id).copied().unwrap_or(NEVER);
                Arc::new(Use { noted: used.into(), saved: used.into() })
            });
            ring.keys.insert(key.id.clone(), KeyEntry { digest: row.get(6)?, key, used });
        }
        Ok(ring)
    }

    /// The key with this text, unless it is unknown or revoked.
    pub(super) fn verify(&self, text: &str) -> Option<Key> {
        let mut parts = text.splitn(4, '_').skip(2);
        let id = parts.next().unwrap_or_default();
        let presented = KeyDigest::of(text);
        let (expected, held) = match self.keys.get(id) {
            Some(held) => (&held.digest, Some(held)),
            None => (&KeyDigest::NONE, None),
        };
        let same = presented.is(expected);
        let held = held.filter(|held| same && !held.key.revoked)?;
        held.used.note();
        Some(held.key.clone())
    }

    /// When a key was used last, in seconds since the epoch and to the minute; `None` if never.
    pub(super) fn last_used(&self, id: &str) -> Option<i64> {
        let used = self.keys.get(id)?.used.noted.load(Ordering::Relaxed);
        (used != NEVER).then_some(used)
    }

    /// Uses that the file shall know of: all of them at the end, before that those that are long past what it says.
    fn unsaved(&self, at_end: bool) -> Vec<(String, i64)> {
        let least = if at_end { 1 } else { SAVED };
        let unsaved = |(id, held): (&String, &KeyEntry)| {
            let [noted, saved] =
                [&held.used.noted, &held.used.saved].map(|time| time.load(Ordering::Relaxed));
            (noted - saved >= least).then(|| (id.clone(), noted))
        };
        self.keys.iter().filter_map(unsaved).collect()
    }

    /// Remembers what the file says now.
    fn note_saved(&self, uses: &[(String, i64)]) {
        for (id, used) in uses {
            if let Some(held) = self.keys.get(id) {
                held.used.saved.store(*used, Ordering::Relaxed);
            }
        }
    }

    /// All of them, oldest first.
    pub(super) fn list(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.keys.values().map(|held| held.key.clone()).collect();
        keys.sort_unstable_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        keys
    }
}

/// When keys were used last, by the file; a file of a former release does not say.
fn saved_uses(conn: &Connection) -> Result<FxHashMap<String, i64>, StoreError> {
    let counts = "SELECT count(*) FROM sqlite_schema WHERE name = 'key_use'";
    if conn.query_row(counts, [], |row| row.get::<_, u64>(0))? == 0 {
        return Ok(FxHashMap::default());
    }
    let mut statement = conn.prepare("SELECT id, used FROM key_use")?;
    let uses = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(uses.collect::<Result<_, _>>()?)
}

/// Writes down when keys were used last. Nobody waits for it, and where it fails the next hour will do.
pub(super) fn note_uses(conn: &Connection, ring: &KeyRing, at_end: bool) {
    let uses = ring.unsaved(at_end);
    if uses.is_empty() {
        return;
    }
    if let Err(error) = save_uses(conn, &uses) {
        tracing::warn!(%error, "when keys were used last could not be written");
    }
    ring.note_saved(&uses);
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

/// Makes a key.
pub(super) fn create(
    conn: &Connection,
    environment: &str,
    name: &str,
    access: Access,
    now: i64,
) -> Result<NewKey, StoreError> {
    let fits = environment.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if environment.is_empty() || environment.len() > MAX_ENVIRONMENT || !fits {
        return Err(StoreError::EnvironmentName(environment.into()));
    }
    if name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(StoreError::KeyName);
    }
    let id = hex(&random::<8>()?);
    let text = format!("e_{environment}_{id}_{}", hex(&random::<32>()?));
    conn.execute(
        "INSERT INTO key (id, environment, name, access, created, revoked, hash) VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6)",
        (&id, environment, name, access.stored(), now, KeyDigest::of(&text)),
    )?;
    let key =
        Key { id, environment: environment.into(), name: name.into(), access, created: now, revoked: false };
    Ok(NewKey { key, text })
}

/// Revokes a key; returns whether it exists.
pub(super) fn revoke(conn: &Connection, id: &str) -> Result<bool, StoreError> {
    Ok(conn.execute("UPDATE key SET revoked = 1 WHERE id = ?1", [id])? > 0)
}

/// Random bytes from the operating system.
pub(super) fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Io(format!("no random bytes: {error}")))?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
