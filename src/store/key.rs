//! API keys: `e_<environment>_<key id>_<secret>`.
//!
//! Only a SHA-256 digest of the whole key is stored. A slow password hash would protect guessable secrets;
//! these have 256 random bits, which cannot be found by trying candidates, and a key is checked on every
//! request. The id is not secret and only selects the digest to compare with. The comparison always takes the
//! same time, and an unknown id is compared with a digest that no key has. So the duration of a refusal
//! reveals at most whether a key with that id exists.
//!
//! All keys are kept in memory as a [`KeyRing`], so checking one needs no connection. The writer replaces the
//! ring before it acknowledges a change: a revoked key is refused from that moment on.

use super::digest::KeyDigest;
use super::error::StoreError;
use rustc_hash::FxHashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The longest name of an environment.
pub(super) const MAX_ENVIRONMENT: usize = 64;

/// The longest name of a key in characters; it must fit on one line of a list.
pub(super) const MAX_NAME: usize = 200;

/// How often a key's last use is recorded in memory, in seconds.
const NOTED: i64 = 60;

/// The time for a key that was never used.
const NEVER: i64 = 0;

/// What a key permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everything.
    ReadWrite,
    /// Reading only.
    ReadOnly,
}

impl Access {
    /// Its text in a table.
    pub(super) fn stored(self) -> &'static str {
        match self {
            Self::ReadWrite => "read-write",
            Self::ReadOnly => "read-only",
        }
    }

    /// The access with this text in a table.
    pub(super) fn from_stored(text: &str) -> Result<Self, StoreError> {
        match text {
            "read-write" => Ok(Self::ReadWrite),
            "read-only" => Ok(Self::ReadOnly),
            other => Err(StoreError::Corrupt(format!("a key has the access level `{other}`"))),
        }
    }
}

/// A key without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The public part of the key.
    pub id: String,
    /// The environment that it gives access to.
    pub environment: String,
    /// Its display name.
    pub name: String,
    /// What it permits.
    pub access: Access,
    /// When it was created, in seconds since the epoch.
    pub created: i64,
    /// Whether it is revoked.
    pub revoked: bool,
}

/// A new key, the only time its text is available.
#[derive(Clone)]
pub struct NewKey {
    /// The key as it is stored.
    pub key: Key,
    /// The text that clients send.
    pub text: String,
}

impl NewKey {
    /// A key with these names, if they are valid.
    pub(super) fn make(environment: &str, name: &str, access: Access, now: i64) -> Result<Self, StoreError> {
        let fits = environment.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if environment.is_empty() || environment.len() > MAX_ENVIRONMENT || !fits {
            return Err(StoreError::EnvironmentName(environment.into()));
        }
        check_key_name(name)?;
        let id = hex(&random::<8>()?);
        let text = format!("e_{environment}_{id}_{}", hex(&random::<32>()?));
        let (environment, name) = (environment.into(), name.into());
        Ok(Self { key: Key { id, environment, name, access, created: now, revoked: false }, text })
    }
}

impl std::fmt::Debug for NewKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewKey").field("key", &self.key).field("text", &"(secret)").finish()
    }
}

/// A key as it is stored.
pub(super) struct StoredKey {
    pub(super) key: Key,
    pub(super) digest: KeyDigest,
    /// When it was last used, in seconds since the epoch; `None` if never.
    pub(super) used: Option<i64>,
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
    used: Arc<LastUse>,
}

/// When a key was last used, to the minute; successive rings share it.
#[derive(Debug, Default)]
struct LastUse {
    noted: AtomicI64,
    /// The stored time.
    saved: AtomicI64,
}

impl LastUse {
    fn note(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        if now - self.noted.load(Ordering::Relaxed) >= NOTED {
            self.noted.store(now, Ordering::Relaxed);
        }
    }
}

impl KeyRing {
    /// A ring of these keys. It takes over the uses that the former ring recorded.
    pub(super) fn new(stored: impl IntoIterator<Item = StoredKey>, former: &Self) -> Self {
        let entry = |StoredKey { key, digest, used }: StoredKey| {
            let held = former.keys.get(&key.id).map(|held| Arc::clone(&held.used));
            let used = held.unwrap_or_else(|| {
                let used = used.unwrap_or(NEVER);
                Arc::new(LastUse { noted: used.into(), saved: used.into() })
            });
            (key.id.clone(), KeyEntry { digest, key, used })
        };
        Self { keys: stored.into_iter().map(entry).collect() }
    }

    /// The key with this text, unless it is unknown or revoked.
    pub(super) fn verify(&self, text: &str) -> Option<Key> {
        let held = self.held(text).filter(|held| !held.key.revoked)?;
        held.used.note();
        Some(held.key.clone())
    }

    /// The key with this text, even if it is revoked.
    pub(super) fn find(&self, text: &str) -> Option<Key> {
        self.held(text).map(|held| held.key.clone())
    }

    fn held(&self, text: &str) -> Option<&KeyEntry> {
        let mut parts = text.splitn(4, '_').skip(2);
        let id = parts.next().unwrap_or_default();
        let presented = KeyDigest::of(text);
        let (expected, held) = match self.keys.get(id) {
            Some(held) => (&held.digest, Some(held)),
            None => (&KeyDigest::NONE, None),
        };
        let same = presented.is(expected);
        held.filter(|_| same)
    }

    /// When a key was last used, in seconds since the epoch and to the minute; `None` if never.
    pub(super) fn last_used(&self, id: &str) -> Option<i64> {
        let used = self.keys.get(id)?.used.noted.load(Ordering::Relaxed);
        (used != NEVER).then_some(used)
    }

    /// Uses that are at least this many seconds later than the saved ones.
    pub(super) fn unsaved(&self, least: i64) -> Vec<(String, i64)> {
        let unsaved = |(id, held): (&String, &KeyEntry)| {
            let [noted, saved] =
                [&held.used.noted, &held.used.saved].map(|time| time.load(Ordering::Relaxed));
            (noted - saved >= least).then(|| (id.clone(), noted))
        };
        self.keys.iter().filter_map(unsaved).collect()
    }

    /// Records what was saved.
    pub(super) fn note_saved(&self, uses: &[(String, i64)]) {
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

/// Checks the name of a key, which must be visible and fit on a line of a list.
pub fn check_key_name(name: &str) -> Result<(), StoreError> {
    let is_valid =
        name.chars().count() <= MAX_NAME && !name.trim().is_empty() && !name.chars().any(is_hidden);
    if is_valid { Ok(()) } else { Err(StoreError::KeyName) }
}

/// Whether a character is invisible in a list of names, or reorders the text around it: control characters,
/// and the format characters of Unicode.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Random bytes from the operating system.
pub(super) fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        StoreError::System(format!("cannot get random bytes: {error}; check the system's random source"))
    })?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
