//! Lends a reader of either engine to a question.
//!
//! A question to a store on PostgreSQL must see the writes that its request names. The primary must also have
//! all that this process has seen; what a replica must have, `postgres::replicas` says. The answer comes with
//! the clock, which shows whether other processes have changed anything.

use super::postgres::{AnyAnswer, AskedRead, Clock, PgRead, PoolUsage, ReplicaUsage};
use super::{Backend, Expected, Reader, Store, StoreError};
use std::sync::Arc;
use std::time::Instant;

impl Store {
    /// Runs a possibly slow closure with a reader, on a thread that may block.
    pub async fn read<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Reader<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
    {
        Ok(self.ask(Expected::Long, None, read).await?.0)
    }

    /// Like [`Store::read`], for a closure that is probably fast. A slow one is started again as a long
    /// question.
    pub async fn read_brief<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Reader<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
    {
        Ok(self.ask(Expected::Brief, None, read).await?.0)
    }

    /// Runs a closure until a deadline, or for the time of one question. Returns also the clock of a store on
    /// PostgreSQL, if it was read.
    pub(super) async fn ask<T, F>(
        &self,
        expected: Expected,
        until: Option<Instant>,
        read: F,
    ) -> Result<(T, Option<Clock>), StoreError>
    where
        T: Send + 'static,
        F: Fn(&Reader<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
    {
        match &self.backend {
            Backend::Embedded(store) => {
                let read = move |reader: &_| read(&Reader::Embedded(reader));
                let answer = match expected {
                    Expected::Brief => store.read_brief(self.asker, until, read).await,
                    Expected::Long => store.read(self.asker, until, read).await,
                };
                Ok((answer?, None))
            }
            Backend::Postgres(store) => {
                let read: PgRead =
                    Arc::new(move |reader| Ok(Box::new(read(&Reader::Postgres(reader))?) as AnyAnswer));
                let asked = AskedRead {
                    asker: self.asker,
                    seen: Some(store.frontier()),
                    after: self.after,
                    known: None,
                    until,
                };
                let answered = if self.asks_primary {
                    store.ask_primary(asked, expected, read).await
                } else {
                    store.ask(asked, expected, read).await
                };
                let (answer, clock) = store.unless_taken_over(answered)?;
                let answer = answer.downcast();
                let answer =
                    answer.map_err(|_| StoreError::Bug("an answer is of another type".to_owned()))?;
                Ok((*answer, clock))
            }
        }
    }

    /// How the connections of a store on PostgreSQL are used: those to the primary, then those to each
    /// replica.
    pub fn pool_usage(&self) -> Vec<PoolUsage> {
        match &self.backend {
            Backend::Embedded(_) => Vec::new(),
            Backend::Postgres(store) => store.pool_usage(),
        }
    }

    /// How often each replica of a store on PostgreSQL was asked.
    pub fn replica_usage(&self) -> Vec<ReplicaUsage> {
        match &self.backend {
            Backend::Embedded(_) => Vec::new(),
            Backend::Postgres(store) => store.replica_usage(),
        }
    }

    /// Whether the primary of a store on PostgreSQL is silent: what needs it is refused at once.
    pub fn primary_is_silent(&self) -> Option<bool> {
        match &self.backend {
            Backend::Embedded(_) => None,
            Backend::Postgres(store) => Some(store.primary_is_silent()),
        }
    }

    /// Whether replicas answer questions although the primary is out of reach.
    pub fn answers_without_primary(&self) -> bool {
        match &self.backend {
            Backend::Embedded(_) => false,
            Backend::Postgres(store) => store.answers_without_primary(),
        }
    }

    /// Whether questions can be answered: by the primary, or by a replica while it is out of reach.
    pub async fn ready(&self) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Embedded(_) => Ok(()),
            Backend::Postgres(store) => store.ready(self.asker).await,
        }
    }
}
