//! The tables of keys, and of when each was last used.
//!
//! The clock counts how often the set of keys has changed. A process checks keys in its memory; the clock of
//! any answer shows whether another one has created or revoked a key since, so that it reads them again.

use super::PostgresStore;
use super::schema::{FORMAT, now};
use super::session::{PgSession, value};
use super::writer::{BatchWork, WriteDone};
use crate::share::Asker;
use crate::store::digest::KeyDigest;
use crate::store::error::StoreError;
use crate::store::key::{Access, Key, NewKey, StoredKey};
use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Row};

/// All keys of an environment.
pub(super) struct LoadedKeys {
    /// How often their set had changed.
    pub(super) generation: i64,
    pub(super) keys: Vec<StoredKey>,
}

impl PostgresStore {
    /// Creates a key of this environment. Its text is available only now.
    pub async fn create_key(&self, name: String, access: Access) -> Result<NewKey, StoreError> {
        match self.writer.write(BatchWork::CreateKey { name, access }).await?.0 {
            WriteDone::Created(key) => Ok(key),
            other => Err(other.unexpected()),
        }
    }

    /// Revokes a key; returns whether it exists.
    pub async fn revoke_key(&self, id: String) -> Result<bool, StoreError> {
        match self.writer.write(BatchWork::RevokeKey(id)).await?.0 {
            WriteDone::Revoked(exists) => Ok(exists),
            other => Err(other.unexpected()),
        }
    }

    /// All keys, oldest first, the revoked ones too.
    pub fn keys(&self) -> Vec<Key> {
        self.published.keys().list()
    }

    /// How often the set of the keys that this process knows had changed. If the clock of an answer has
    /// another [`Clock::keys`](super::Clock::keys), they must be [read again](Self::refresh).
    pub fn keys_generation(&self) -> i64 {
        self.published.keys_generation()
    }

    /// The key with this text, unless it is unknown or revoked. Reads memory only.
    pub fn verify_key(&self, text: &str) -> Option<Key> {
        self.published.keys().verify(text)
    }

    /// The key with this text, even if it is revoked. Reads memory only.
    pub fn held_key(&self, text: &str) -> Option<Key> {
        self.published.keys().find(text)
    }

    /// Like [`verify_key`](Self::verify_key), but first reads what other processes have changed. For an
    /// unknown key, the clock is read at most once a second, so guessing keys does not load the database.
    pub async fn find_key(&self, asker: Asker, text: &str) -> Result<Option<Key>, StoreError> {
        if self.verify_key(text).is_none() && !self.published.may_look_up_keys() {
            // Not even if it is known by now: what was read may be older than its revocation.
            return Ok(None);
        }
        self.follow(asker).await?;
        Ok(self.verify_key(text))
    }

    /// When this process, or another one before it was opened, last saw the key used: in seconds since the
    /// epoch, `None` if never. Uses within the last hour before a kill may be missing.
    pub fn key_last_used(&self, id: &str) -> Option<i64> {
        self.published.keys().last_used(id)
    }
}

/// Reads the keys, and how often their set has changed.
pub(super) async fn load(
    session: PgSession<'_, impl GenericClient>,
    schema: &str,
    environment: &str,
) -> Result<LoadedKeys, StoreError> {
    // One statement: the number belongs to these keys.
    let load = format!(
        "SELECT c.keys, k.id, k.name, k.access, k.created, k.revoked, k.hash, u.used FROM {schema}.clock c
         LEFT JOIN {schema}.key k ON true LEFT JOIN {schema}.key_use u ON u.id = k.id"
    );
    let rows = session.rows(&load, &[]).await?;
    let first = rows.first().ok_or_else(|| StoreError::Bug("the environment has no clock".to_owned()))?;
    let generation = value(first, 0)?;
    let keys = rows.iter().filter_map(|row| stored(row, environment).transpose());
    Ok(LoadedKeys { generation, keys: keys.collect::<Result<_, _>>()? })
}

/// The key in a row; `None` if there are no keys.
fn stored(row: &Row, environment: &str) -> Result<Option<StoredKey>, StoreError> {
    let Some(id) = value::<Option<String>>(row, 1)? else { return Ok(None) };
    let hash: &[u8] = value(row, 6)?;
    let hash = hash.try_into();
    let hash =
        hash.map_err(|_| StoreError::Corrupt(format!("the hash of the key `{id}` has a wrong length")))?;
    let key = Key {
        id,
        environment: environment.to_owned(),
        name: value(row, 2)?,
        access: Access::from_stored(value(row, 3)?)?,
        created: value(row, 4)?,
        revoked: value(row, 5)?,
    };
    Ok(Some(StoredKey { key, digest: KeyDigest::from_stored(hash), used: value(row, 7)? }))
}

/// Creates a key.
pub(super) async fn create(
    session: PgSession<'_, impl GenericClient>,
    schema: &str,
    environment: &str,
    name: &str,
    access: Access,
) -> Result<NewKey, StoreError> {
    let new = NewKey::make(environment, name, access, now())?;
    let (access, digest) = (access.stored(), KeyDigest::of(&new.text));
    let add = format!(
        "INSERT INTO {schema}.key (id, name, access, created, revoked, hash)
         VALUES ($1, $2, $3, $4, false, $5)"
    );
    let params = [
        (&new.key.id as _, Type::TEXT),
        (&name as _, Type::TEXT),
        (&access as _, Type::TEXT),
        (&new.key.created as _, Type::INT8),
        (&&digest.stored()[..] as _, Type::BYTEA),
    ];
    session.execute(&add, &params).await?;
    Ok(new)
}

/// Revokes a key; returns whether it exists.
pub(super) async fn revoke(
    session: PgSession<'_, impl GenericClient>,
    schema: &str,
    id: &str,
) -> Result<bool, StoreError> {
    let revoke = format!("UPDATE {schema}.key SET revoked = true WHERE id = $1");
    Ok(session.execute(&revoke, &[(&id, Type::TEXT)]).await? > 0)
}

/// Saves when keys were last used, unless this release cannot use the store any more. The rows are locked in
/// one order: other processes do the same.
pub(super) async fn save_uses(
    session: PgSession<'_, impl GenericClient>,
    schema: &str,
    uses: &[(String, i64)],
) -> Result<(), StoreError> {
    let (ids, times): (Vec<&str>, Vec<i64>) = uses.iter().map(|(id, used)| (id.as_str(), *used)).unzip();
    let save = format!(
        "INSERT INTO {schema}.key_use AS saved
         SELECT u.id, u.used FROM unnest($1::text[], $2::bigint[]) u (id, used), {schema}.clock c
         WHERE c.min_reader <= {FORMAT} ORDER BY u.id
         ON CONFLICT (id) DO UPDATE SET used = greatest(saved.used, excluded.used)"
    );
    let params = [(&ids as _, Type::TEXT_ARRAY), (&times as _, Type::INT8_ARRAY)];
    session.execute(&save, &params).await.map(drop)
}
