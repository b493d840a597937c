//! One attempt of a writer to have a group of batches committed.

use super::address::Address;
use super::error::passing;
use super::published::PublishedState;
use super::transaction::{PreparedWrite, WriterConnection};
use super::writer::{QueuedBatch, Written};
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Where a writer writes.
#[derive(Debug)]
pub(super) struct WriterSource {
    /// Where the servers are.
    pub(super) address: Address,
    /// The schema of the environment.
    pub(super) schema: String,
    /// The name of the environment.
    pub(super) environment: String,
    /// How long a transaction may take.
    pub(super) limit: Duration,
    /// How long a batch waits for a primary.
    pub(super) wait: Duration,
    /// What its batches change for others.
    pub(super) published: Arc<PublishedState>,
}

impl WriterSource {
    /// Takes a group as far as it gets on this connection: finds out whether the transaction that was sent
    /// before was committed, and else sends another one.
    pub(super) async fn advance(
        &self,
        connection: &mut Option<WriterConnection>,
        group: &[QueuedBatch],
        sent: &mut Option<PreparedWrite>,
    ) -> Result<Vec<Written>, StoreError> {
        // What was sent on it may be lost.
        connection.take_if(|connection| connection.n_silences != self.address.silence.count());
        let connection = match connection {
            Some(connection) => connection,
            None => connection.insert(WriterConnection::open(self).await?),
        };
        if let Some(stamp) = sent.as_ref().and_then(|former| former.stamp) {
            let is_stored = self.within(connection.has(&self.schema, stamp)).await?;
            if let Some(former) = sent.take().filter(|_| is_stored) {
                return Ok(self.acknowledge(former));
            }
        }
        let prepared = self.within(connection.prepare(self, group)).await?;
        if prepared.stamp.is_some() {
            *sent = Some(prepared);
            let committed = self.within(connection.commit()).await;
            if committed.as_ref().is_err_and(|error| passing(error).is_none()) {
                // The server refuses, so it has answered.
                *sent = None;
            }
            committed?;
            return Ok(sent.take().map(|sent| self.acknowledge(sent)).unwrap_or_default());
        }
        self.within(connection.commit()).await?;
        Ok(self.acknowledge(prepared))
    }

    /// Publishes what was committed. INVARIANT: before any of the batches is acknowledged.
    fn acknowledge(&self, committed: PreparedWrite) -> Vec<Written> {
        if let Some(relations) = committed.relations {
            self.published.offer_relations(relations);
        }
        if let Some(keys) = committed.keys {
            self.published.offer_keys(keys);
        }
        if let Some((_, token)) = committed.outcomes.iter().flatten().last() {
            self.published.note(*token, Some(&committed.named));
        }
        committed.outcomes
    }

    /// The outcome of work that must end even if the network hangs. What was sent may still arrive.
    async fn within<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let silent = |_| {
            let reason = format!("no answer within {:?}", self.limit);
            DatabaseError::Unreachable { at: self.address.to_string(), reason }
        };
        let work = async { timeout(self.limit, work).await.map_err(silent)? };
        self.address.silence.unless_on(Box::pin(work)).await
    }
}
