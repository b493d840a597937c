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

use std::fmt::Write;

use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::{digest::KeyDigest, error::StoreError};

/// Characters of an environment's name.
const MAX_ENVIRONMENT: usize = 64;

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
    keys: FxHashMap<String, (KeyDigest, Key)>,
}

impl KeyRing {
    /// Reads the table `key`.
    pub(super) fn load(conn: &Connection) -> Result<Self, StoreError> {
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
            ring.keys.insert(key.id.clone(), (row.get(6)?, key));
        }
        Ok(ring)
    }

    /// The key with this text, unless it is unknown or revoked.
    pub(super) fn verify(&self, text: &str) -> Option<Key> {
        let mut parts = text.splitn(4, '_').skip(2);
        let id = parts.next().unwrap_or_default();
        let presented = KeyDigest::of(text);
        let (expected, key) = match self.keys.get(id) {
            Some((digest, key)) => (digest, Some(key)),
            None => (&KeyDigest::NONE, None),
        };
        let same = presented.is(expected);
        key.filter(|key| same && !key.revoked).cloned()
    }

    /// All of them, oldest first.
    pub(super) fn list(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.keys.values().map(|(_, key)| key.clone()).collect();
        keys.sort_unstable_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        keys
    }
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
        return Err(StoreError::Invalid(format!(
            "the environment's name `{environment}` is not 1 to {MAX_ENVIRONMENT} letters, digits and `-`"
        )));
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
