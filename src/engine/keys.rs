//! The keys of an environment.

use super::{Engine, EngineError};
use crate::store::{Access, Key, NewKey};

impl Engine {
    /// The key with this text, unless it is unknown or revoked. Also learns what other processes have
    /// changed, the policy too.
    pub async fn find_key(&self, text: &str) -> Result<Option<Key>, EngineError> {
        let key = self.store().find_key(text).await?;
        self.follow_policy().await?;
        Ok(key)
    }

    /// The key with this text, unless it is unknown or revoked, as far as this process knows. A request that
    /// only asks questions may use it, and see at its end whether the key [was valid](Self::was_valid). In a
    /// store that other processes change, that takes one statement less.
    pub fn known_key(&self, text: &str) -> Option<Key> {
        self.store().known_key(text)
    }

    /// The key with this text, even if it is revoked, as far as this process knows.
    pub fn held_key(&self, text: &str) -> Option<Key> {
        self.store().held_key(text)
    }

    /// Whether a known key was still valid when this engine's request began
    /// ([`on_account`](Self::on_account)).
    pub async fn was_valid(&self, text: &str) -> Result<bool, EngineError> {
        Ok(self.store().was_valid(text).await?)
    }

    /// All keys, oldest first, including revoked ones.
    pub fn keys(&self) -> Vec<Key> {
        self.store().keys()
    }

    /// When a key was last used, in seconds since the epoch; `None` if never.
    pub fn key_last_used(&self, id: &str) -> Option<i64> {
        self.store().key_last_used(id)
    }

    /// Creates a key, which works at once. Its text is available only now.
    pub async fn create_key(
        &self,
        environment: String,
        name: String,
        access: Access,
    ) -> Result<NewKey, EngineError> {
        Ok(self.store().create_key(environment, name, access).await?)
    }

    /// Revokes a key; returns whether it exists.
    pub async fn revoke_key(&self, id: String) -> Result<bool, EngineError> {
        Ok(self.store().revoke_key(id).await?)
    }
}
