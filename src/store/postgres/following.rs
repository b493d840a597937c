//! Learns what other processes have changed.
//!
//! The clock counts the changes of keys, of relations and of the policy. A process reads again what is newer
//! than what it knows, and never from a server that lacks what it has seen.

use super::PostgresStore;
use super::catalog::Catalog;
use super::clock::{self, Clock, WantedWrites};
use super::connect::{WantedServer, connect};
use super::keys;
use super::pool::AskedRead;
use super::probe::judged;
use super::reader::PgReader;
use super::session::PgSession;
use crate::share::Asker;
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use crate::store::signature::Relations;
use crate::store::token::Token;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long the clock alone may take: it is one row.
const CONFIRM_TIME: Duration = Duration::from_secs(5);

impl PostgresStore {
    /// Reads keys and relations again unless these generations, or newer ones, are known. Concurrent callers
    /// share one read.
    ///
    /// # Errors
    /// [`DatabaseError::TakenOver`] if the server that answers does not have them.
    pub(in crate::store) async fn catch_up(&self, keys: i64, relations: u64) -> Result<(), StoreError> {
        let is_behind = || self.keys_generation() < keys || self.relations().generation < relations;
        if is_behind() {
            let read = async {
                let _one_reads = self.refreshing.lock().await;
                if is_behind() { self.refresh().await.map(drop) } else { Ok(()) }
            };
            let began = Instant::now();
            let outcome = self.address.silence.unless_on(Box::pin(async {
                timeout(CONFIRM_TIME, read).await.map_err(|_| self.silent(CONFIRM_TIME))?
            }));
            judged(&self.address, began, outcome.await).await?;
        }
        if is_behind() {
            return self.unless_taken_over(Err(self.taken_over().into()));
        }
        Ok(())
    }

    /// Reads the relations and the keys again, after another process has changed them.
    ///
    /// # Errors
    /// [`DatabaseError::TakenOver`] if the server does not have what this process has seen.
    pub async fn refresh(&self) -> Result<Arc<Relations>, StoreError> {
        let (client, server) = connect(&self.address, WantedServer::ReadWrite).await?;
        let (session, schema) = (PgSession::new(&client, &server.at), self.schema());
        let keys = keys::load(session, &schema, self.environment()).await?;
        let catalog = Catalog::load(session, &schema).await?;
        // Read last: no later failover can lose what is published, unless this process notices it.
        let seen = self.frontier();
        let wanted = WantedWrites { seen: Some(seen.clone()), ..WantedWrites::default() };
        let clock = self.unless_taken_over(clock::read(session, &schema, &wanted).await)?;
        self.published.note(clock.token, Some(&seen));
        self.published.offer_keys(keys);
        Ok(self.published.offer_relations(catalog.published(&schema)))
    }

    /// The outcome of a question of the primary that must see what this process has seen. If that is lost, so
    /// may be its policy, its keys and its relations, from now on. If this release cannot use the store any
    /// more, replicas that have not received the migration must not answer either.
    pub(in crate::store) fn unless_taken_over<T>(
        &self,
        outcome: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match &outcome {
            Err(StoreError::Database(DatabaseError::TakenOver { revision })) => {
                self.published.note_lost(*revision);
            }
            Err(StoreError::Database(DatabaseError::Outdated { .. })) => self.published.note_outdated(),
            Ok(_) | Err(_) => {}
        }
        match self.published.lost() {
            Some(revision) => Err(DatabaseError::TakenOver { revision }.into()),
            None => outcome,
        }
    }

    /// Reads the clock, and what other processes have changed of keys and relations.
    ///
    /// # Errors
    /// [`DatabaseError::NoEnvironment`] once the environment was deleted, and [`DatabaseError::TakenOver`]
    /// once another server turns out not to have what this process has seen.
    pub async fn follow(&self, asker: Asker) -> Result<(), StoreError> {
        let clock = self.confirm(asker, None, None).await?;
        self.catch_up(clock.keys, u64::try_from(clock.catalog).unwrap_or_default()).await
    }

    /// Reads the clock alone, not after `until`.
    ///
    /// # Errors
    /// [`DatabaseError::NoEnvironment`] once the environment was deleted.
    /// [`DatabaseError::TakenOver`] once another server turns out not to have what this process has seen: its
    /// policy, keys and relations may be of lost writes.
    /// [`DatabaseError::LostWrite`] if one of the writes up to `after` was lost.
    pub(in crate::store) async fn confirm(
        &self,
        asker: Asker,
        after: Option<Token>,
        until: Option<Instant>,
    ) -> Result<Clock, StoreError> {
        let soon = Instant::now().checked_add(CONFIRM_TIME);
        let has_time = until.zip(soon).is_none_or(|(until, soon)| until >= soon);
        let until = until.into_iter().chain(soon).min();
        let asked = AskedRead { asker, seen: Some(self.frontier()), after, until, known: None };
        let confirmed = self.read_brief(asked, PgReader::confirm).await;
        match confirmed {
            Err(StoreError::Timeout(_)) if has_time => Err(self.silent(CONFIRM_TIME).into()),
            Err(StoreError::Database(DatabaseError::NoTable(_))) => {
                Err(DatabaseError::NoEnvironment(self.environment().to_owned()).into())
            }
            confirmed => Ok(self.unless_taken_over(confirmed)?.0),
        }
    }

    /// The error of a server that did not answer for so long.
    fn silent(&self, time: Duration) -> DatabaseError {
        let reason = format!("no answer within {time:?}");
        DatabaseError::Unreachable { at: self.address.to_string(), reason }
    }

    fn taken_over(&self) -> DatabaseError {
        DatabaseError::TakenOver { revision: self.latest().revision }
    }
}
