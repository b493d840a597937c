//! The connection of a reader, with its prepared statements.

use super::address::Address;
use super::connect::{WantedServer, connect};
use super::error::of_statement;
use super::session::{PgSession, SessionMark};
use super::tls::Connector;
use super::value::SentParam;
use crate::store::error::StoreError;
use futures_core::Stream;
use quick_cache::unsync::Cache;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::pin::pin;
use std::time::Duration;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row, Statement};

/// How many statements a connection keeps prepared. The server needs about 50 KiB for each.
const PREPARED: usize = 512;

/// What readers of one environment have in common.
#[derive(Debug)]
pub(super) struct ReaderSource {
    /// Where the servers are.
    pub(super) address: Address,
    /// Which of them will do.
    pub(super) wanted: WantedServer,
    /// The schema of the environment.
    pub(super) schema: String,
    /// How long a question may run.
    pub(super) limit: Duration,
}

/// A connection that only one reader uses.
pub(super) struct PinnedConnection {
    client: Client,
    at: String,
    tls: Connector,
    statements: Cache<String, Statement>,
    limit: Duration,
    /// How often the primary had become silent before.
    n_silences: u64,
}

impl ReaderSource {
    /// Connects, and sets what all statements of readers rely on: names are qualified, plans do not depend
    /// on values, and no part of a plan runs in parallel.
    ///
    /// Reading a page by an index is planned as hardly more expensive than reading the next page of a table.
    /// With the server's default, which is meant for spinning disks, each step of a recursion would read a
    /// whole table of a thousand rows to find one.
    pub(super) async fn connect(&self, mark: &SessionMark) -> Result<PinnedConnection, StoreError> {
        let n_silences = self.address.silence.count();
        let (client, server) = connect(&self.address, self.wanted).await?;
        let limit = self.limit.as_millis().max(1);
        let settings = format!(
            "SET search_path = pg_catalog; SET default_transaction_read_only = on; SET jit = off;
             SET plan_cache_mode = force_generic_plan; SET max_parallel_workers_per_gather = 0;
             SET random_page_cost = 1.1;
             SET statement_timeout = {limit}; SET idle_in_transaction_session_timeout = {limit};
             {}",
            mark.set()
        );
        PgSession::new(&client, &server.at).run(&settings).await?;
        let statements = Cache::new(PREPARED);
        Ok(PinnedConnection {
            client,
            at: server.at,
            tls: self.address.tls.clone(),
            statements,
            limit: self.limit,
            n_silences,
        })
    }

    /// Whether a connection can be used. Where the network has lost it in a silence, it would never answer.
    pub(super) fn may_use(&self, connection: &PinnedConnection) -> bool {
        connection.n_silences == self.address.silence.count()
    }
}

impl PinnedConnection {
    /// Its connection, for statements that do not stay prepared.
    pub(super) fn session(&self) -> PgSession<'_, Client> {
        PgSession::new(&self.client, &self.at)
    }

    /// Begins a snapshot.
    pub(super) async fn begin(&self) -> Result<(), StoreError> {
        self.session().run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
    }

    /// Ends a snapshot.
    pub(super) async fn roll_back(&self) -> Result<(), StoreError> {
        self.session().run("ROLLBACK").await
    }

    /// Calls `each` with each row of a statement, until it breaks or fails. The statement stays prepared.
    pub(super) async fn stream(
        &mut self,
        text: &str,
        params: &[SentParam],
        each: &mut dyn FnMut(&Row) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let statement = self.prepared(text, params).await?;
        let rows = self.client.query_raw(&statement, params).await.map_err(|error| self.failed(&error))?;
        let mut rows = pin!(rows);
        while let Some(row) = poll_fn(|context| rows.as_mut().poll_next(context)).await {
            let row = row.map_err(|error| self.failed(&error))?;
            if each(&row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Stops the running statement.
    pub(super) async fn cancel(&self) -> Result<(), StoreError> {
        let cancelled = self.client.cancel_token().cancel_query(self.tls.clone()).await;
        cancelled.map_err(|error| self.failed(&error))
    }

    async fn prepared(&mut self, text: &str, params: &[SentParam]) -> Result<Statement, StoreError> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let types: Vec<Type> = params.iter().map(SentParam::ty).collect();
        let prepared = self.client.prepare_typed(text, &types).await;
        let statement = prepared.map_err(|error| self.failed(&error))?;
        self.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    fn failed(&self, error: &Error) -> StoreError {
        if error.code() == Some(&SqlState::QUERY_CANCELED) {
            return StoreError::Timeout(self.limit);
        }
        of_statement(&self.at, error)
    }
}
