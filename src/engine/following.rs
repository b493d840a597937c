//! Follows what other processes do to the same store.
//!
//! Only a store on PostgreSQL has several. What they add to facts and relations, questions see by themselves.
//! The policy is different: an engine keeps it in memory with its compiled questions. So each answer shows
//! which policy was active at its moment ([`Store::newest_policy`]). An answer is discarded, and the question
//! asked again, if the policy was replaced while it was made, by another process or by this one: it might be
//! what the old policy says of facts that came after the new one.

use super::versions::Active;
use super::{Engine, EngineError, view};
use crate::store::{ConsistentRead, StoreError};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Engine {
    /// Learns what other processes have changed: afterwards everything acknowledged earlier is visible.
    pub async fn follow(&self) -> Result<(), EngineError> {
        self.store().follow().await?;
        self.follow_policy().await?;
        Ok(())
    }

    /// Whether questions can be answered: by the primary, or by a replica while it is out of reach.
    pub async fn is_ready(&self) -> Result<(), EngineError> {
        Ok(self.store().ready().await?)
    }

    /// Runs a closure that reads, from one set of relations and under one policy; repeats it if one of them
    /// was replaced meanwhile.
    pub(super) async fn consistently<'s, T, F>(
        &'s self,
        read: impl Fn(ConsistentRead<'s>) -> F,
    ) -> Result<T, EngineError>
    where
        F: Future<Output = Result<T, EngineError>>,
    {
        let limit = self.settings().query_time;
        let until = Instant::now().checked_add(limit);
        loop {
            // Not the version: two may become the active one in the wrong order for a moment.
            let before = self.shared.activations.load(Ordering::SeqCst);
            let outcome = self.store().consistently(&read).await;
            // An older version stays what it is.
            if self.older.is_some() || !self.follow_policy().await? && !self.has_activated_since(before) {
                return outcome;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                tracing::warn!(?limit, "a question was given up: the policy was replaced again and again");
                return Err(StoreError::Busy.into());
            }
        }
    }

    /// Whether a policy was activated since this count of activations.
    fn has_activated_since(&self, before: u64) -> bool {
        // With the lock: one that is under way counts.
        let _plans = self.shared.plans.read();
        self.shared.activations.load(Ordering::SeqCst) != before
    }

    /// The version of the active policy; 0 without one.
    fn version(&self) -> u64 {
        self.current().map_or(0, |active| active.version)
    }

    /// Loads the policy that another process has made the active one; returns whether there is such a one.
    pub(super) async fn follow_policy(&self) -> Result<bool, EngineError> {
        let is_current = || self.store().newest_policy().is_none_or(|newest| newest == self.version());
        if is_current() {
            return Ok(false);
        }
        // One question loads it, and others wait.
        let _turn = self.shared.following.lock().await;
        if !is_current() {
            let active = match self.store().policy(None).await? {
                Some(policy) => Some(Arc::new(view::off_the_workers(move || Active::of(&policy)).await??)),
                None => None,
            };
            self.activate(active);
        }
        Ok(true)
    }
}
