//! Brings the schemas of a store to the newest format.
//!
//! Each step is a transaction under one lock of the database, so processes that migrate at the same time take
//! turns, and a process that is killed leaves the format of the last complete step.

use super::address::Address;
use super::connect::{ReachedServer, WantedServer, connect};
use super::error::of_statement;
use super::schema::{self, STEPS, SchemaFormat, SchemaStep, StoredEnvironment};
use super::session::{PgSession, value};
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use crate::store::key::random;
use std::time::Duration;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Transaction};

/// "Ptcl": the advisory lock that a migration holds.
const LOCK: i64 = 0x5074_636c;

/// How long a migration waits for a lock, that of another one or that of a statement on a table.
const LOCK_TIME: Duration = Duration::from_mins(1);

/// What a migration did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigratedSchema {
    /// The format before; `None` if there was no store.
    pub from: Option<i32>,
    /// The format now.
    pub to: i32,
}

/// A migration on a connection.
struct SchemaMigration<'m> {
    server: &'m ReachedServer,
    steps: &'m [SchemaStep],
    environment: &'m str,
}

/// What one transaction of a migration found and did.
enum Advance {
    /// It took the step after this format.
    Step(Option<i32>),
    /// There is no step after this format.
    End(i32),
}

/// Brings the store at an address to the newest format, and makes an environment with this name if there is
/// none. A store of a later release that this one can use stays as it is.
pub async fn migrate(address: &Address, environment: &str) -> Result<MigratedSchema, StoreError> {
    let (mut client, server) = connect(address, WantedServer::ReadWrite).await?;
    SchemaMigration { server: &server, steps: STEPS, environment }.run(&mut client).await
}

/// Makes the store at an address ready for a service: a new one in a database without one, and an environment
/// with this name if there is none. Returns the names of all environments.
///
/// # Errors
/// [`DatabaseError::OlderSchema`] if the store must be migrated: other services may use it.
pub async fn prepare(address: &Address, environment: &str) -> Result<Vec<String>, StoreError> {
    let (client, server) = connect(address, WantedServer::ReadWrite).await?;
    let session = PgSession::new(&client, &server.at);
    let names = match schema::format(session).await? {
        SchemaFormat::Missing => Vec::new(),
        found @ (SchemaFormat::Foreign | SchemaFormat::Known { .. }) => {
            found.usable()?;
            schema::environments(session).await?
        }
    };
    if names.iter().all(|found| found.name != environment) {
        migrate(address, environment).await?;
    }
    let all = schema::environments(session).await?;
    Ok(all.into_iter().map(|found| found.name).collect())
}

/// The names of all environments of the store at an address.
pub async fn names_at(address: &Address) -> Result<Vec<String>, StoreError> {
    let (client, server) = connect(address, WantedServer::ReadWrite).await?;
    let all = schema::environments(PgSession::new(&client, &server.at)).await?;
    Ok(all.into_iter().map(|found| found.name).collect())
}

/// Removes an environment with its facts, policies and keys. Services that have it open refuse its keys from
/// their next request on.
///
/// # Errors
/// [`DatabaseError::NoEnvironment`], and [`DatabaseError::Locked`] if something reads its tables for too
/// long.
pub async fn delete_environment(address: &Address, environment: &str) -> Result<(), StoreError> {
    const REMOVE: &str = "DELETE FROM portcullis.environment WHERE name = $1 RETURNING number";
    let (mut client, server) = connect(address, WantedServer::ReadWrite).await?;
    let session = PgSession::new(&client, &server.at);
    set_patience(session).await?;
    schema::format(session).await?.usable()?;
    let failed = |error| of_statement(&server.at, &error);
    let transaction = client.transaction().await.map_err(failed)?;
    let session = PgSession::new(&transaction, &server.at);
    lock(session).await?;
    let removed = session.rows(REMOVE, &[(&environment, Type::TEXT)]).await?;
    let number = removed.first().map(|row| value(row, 0)).transpose()?;
    let number = number.ok_or_else(|| DatabaseError::NoEnvironment(environment.to_owned()))?;
    let schema = StoredEnvironment { number, name: environment.to_owned() }.schema();
    session.run(&format!("DROP SCHEMA {schema} CASCADE")).await.map_err(locked)?;
    transaction.commit().await.map_err(failed)
}

/// Bounds how long statements wait for locks.
async fn set_patience(session: PgSession<'_, Client>) -> Result<(), StoreError> {
    let wait = LOCK_TIME.as_millis();
    session.run(&format!("SET lock_timeout = {wait}; SET client_min_messages = warning")).await
}

impl SchemaMigration<'_> {
    async fn run(&self, client: &mut Client) -> Result<MigratedSchema, StoreError> {
        set_patience(PgSession::new(client, &self.server.at)).await?;
        let mut first = None;
        loop {
            match self.advance(client).await? {
                Advance::Step(from) => _ = first.get_or_insert(from),
                Advance::End(to) => return Ok(MigratedSchema { from: first.unwrap_or(Some(to)), to }),
            }
        }
    }

    /// The newest format that this release knows.
    fn known(&self) -> i32 {
        i32::try_from(self.steps.len()).unwrap_or(i32::MAX)
    }

    /// Takes the next step, or makes the environment after the last.
    async fn advance(&self, client: &mut Client) -> Result<Advance, StoreError> {
        let failed = |error| of_statement(&self.server.at, &error);
        let transaction = client.transaction().await.map_err(failed)?;
        let session = PgSession::new(&transaction, &self.server.at);
        lock(session).await?;
        let found = self.usable(session).await?;
        let done = found.unwrap_or(0);
        let step = usize::try_from(done).ok().and_then(|done| self.steps.get(done));
        if let Some(step) = step {
            self.take(session, step, done + 1).await?;
        } else {
            self.make_environment(session, done).await?;
        }
        transaction.commit().await.map_err(failed)?;
        Ok(if step.is_some() { Advance::Step(found) } else { Advance::End(done) })
    }

    /// The format of the store, if there is one; an error if this release cannot use it.
    async fn usable(&self, session: PgSession<'_, Transaction<'_>>) -> Result<Option<i32>, StoreError> {
        let known = self.known();
        match schema::format(session).await? {
            SchemaFormat::Missing => Ok(None),
            SchemaFormat::Foreign => Err(DatabaseError::ForeignSchema(schema::CONTROL.to_owned()).into()),
            SchemaFormat::Known { format, min_reader } if min_reader > known => {
                Err(DatabaseError::NewerSchema { found: format, known }.into())
            }
            SchemaFormat::Known { format, .. } => Ok(Some(format)),
        }
    }

    /// Takes one step, in the control schema and in that of every environment.
    ///
    /// As in a batch, the clock is locked first: a step that copies a table has all that was committed, and
    /// no writer waits for a table while it has the clock. And as a batch, a step makes a revision: a server
    /// that takes over without it lacks what nodes have seen since.
    async fn take(
        &self,
        session: PgSession<'_, Transaction<'_>>,
        step: &SchemaStep,
        to: i32,
    ) -> Result<(), StoreError> {
        const NOTE: &str = "UPDATE portcullis.meta SET format = $1, min_reader = greatest(min_reader, $2)";
        self.check_rights(session).await?;
        session.run(step.control).await?;
        for environment in schema::environments(session).await? {
            schema::enter(session, &environment).await?;
            session.rows("SELECT FROM clock FOR UPDATE", &[]).await.map_err(locked)?;
            session.run(step.environment).await.map_err(locked)?;
            note_step(session, step.min_reader).await?;
        }
        session.rows(NOTE, &[(&to, Type::INT4), (&step.min_reader, Type::INT4)]).await?;
        Ok(())
    }

    /// Makes the environment unless there is one. A later release may have tables that this one does not
    /// know, so only a store of a known format gets another environment.
    async fn make_environment(
        &self,
        session: PgSession<'_, Transaction<'_>>,
        found: i32,
    ) -> Result<(), StoreError> {
        let environments = schema::environments(session).await?;
        if !environments.iter().any(|found| found.name == self.environment) {
            let known = self.known();
            if found > known {
                return Err(DatabaseError::NewerSchema { found, known }.into());
            }
            self.check_rights(session).await?;
            schema::make_environment(session, self.steps, self.environment).await?;
        }
        Ok(())
    }

    /// Whether the role may make schemas. PostgreSQL's own message would not say how to change that.
    async fn check_rights(&self, session: PgSession<'_, Transaction<'_>>) -> Result<(), StoreError> {
        const MAY: &str = "SELECT has_database_privilege(current_database(), 'CREATE')";
        if value(&session.row(MAY, &[]).await?, 0)? {
            Ok(())
        } else {
            Err(self.server.may_not_create().into())
        }
    }
}

/// Makes the revision of a step in the environment that was entered, whose clock is locked.
async fn note_step(session: PgSession<'_, Transaction<'_>>, min_reader: i32) -> Result<(), StoreError> {
    const RAISE: &str = "UPDATE clock SET revision = revision + 1, nonce = $1, beat = now(),
        min_reader = greatest(min_reader, $2) RETURNING revision";
    const NOTE: &str = "INSERT INTO revision (revision, nonce, at, batch) VALUES ($1, $2, now(), $3)";
    let (nonce, batch) = (i64::from_ne_bytes(random()?), random::<16>()?.to_vec());
    let raised = session.row(RAISE, &[(&nonce, Type::INT8), (&min_reader, Type::INT4)]).await?;
    let revision: i64 = value(&raised, 0)?;
    session.rows(NOTE, &[(&revision, Type::INT8), (&nonce, Type::INT8), (&batch, Type::BYTEA)]).await?;
    Ok(())
}

/// Waits until no other process migrates, and keeps the others waiting until the transaction ends.
async fn lock(session: PgSession<'_, Transaction<'_>>) -> Result<(), StoreError> {
    let lock = session.rows("SELECT pg_advisory_xact_lock($1)", &[(&LOCK, Type::INT8)]).await;
    lock.map(|_| ()).map_err(locked)
}

/// The error of a statement that may have waited for a lock.
fn locked(error: StoreError) -> StoreError {
    match error {
        StoreError::Busy => DatabaseError::Locked(LOCK_TIME).into(),
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::FORMAT;
    use super::*;
    use portcullis_testkit::cluster::Cluster;

    /// A server with a store that has the environment `default`.
    async fn stored() -> (Cluster, Address) {
        let cluster = Cluster::start(&["shared_buffers=16MB"]).unwrap();
        let address = format!("postgres://postgres@/postgres?host={}", cluster.folder);
        let address = Address::parse(&address).unwrap();
        migrate(&address, "default").await.unwrap();
        (cluster, address)
    }

    /// Takes the known steps, then these, and makes the environment `other`.
    async fn run(address: &Address, more: &[SchemaStep]) -> Result<MigratedSchema, StoreError> {
        let (mut client, server) = connect(address, WantedServer::ReadWrite).await?;
        let copy = |known: &SchemaStep| SchemaStep { ..*known };
        let steps: Vec<SchemaStep> = STEPS.iter().chain(more).map(copy).collect();
        SchemaMigration { server: &server, steps: &steps, environment: "other" }.run(&mut client).await
    }

    /// The first value of a statement.
    async fn number(client: &Client, statement: &str) -> i64 {
        client.query_one(statement, &[]).await.unwrap().get(0)
    }

    const fn step(control: &'static str, environment: &'static str) -> SchemaStep {
        SchemaStep { min_reader: 1, control, environment }
    }

    /// A process that is killed at a step, and one that does not end it, leave the last complete format.
    #[tokio::test]
    async fn a_migration_that_is_cut_off_continues_where_it_stopped() {
        let (_cluster, address) = stored().await;
        let second = || step("CREATE TABLE portcullis.second ()", "CREATE TABLE second ()");
        let third = |environment| run_third(&address, second(), environment);
        let killed = "CREATE TABLE third (); SELECT pg_terminate_backend(pg_backend_pid())";
        let cut = third(killed).await.unwrap_err();
        assert!(matches!(cut, StoreError::Database(DatabaseError::Unreachable { .. })), "{cut}");
        let wrong = third("CREATE TABLE third (); SELECT 1 / 0").await.unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "internal error of the store: PostgreSQL refuses a value (22012); report this as a bug"
        );

        let done = third("CREATE TABLE third ()").await.unwrap();
        assert_eq!(done, MigratedSchema { from: Some(FORMAT + 1), to: FORMAT + 2 });
        let (client, _) = connect(&address, WantedServer::Any).await.unwrap();
        let count = "SELECT count(*) FROM pg_tables WHERE tablename IN ('second', 'third')";
        // One in the control schema, two in each environment: the new one has all steps, too.
        assert_eq!(number(&client, count).await, 5);
    }

    async fn run_third(
        address: &Address,
        second: SchemaStep,
        environment: &'static str,
    ) -> Result<MigratedSchema, StoreError> {
        run(address, &[second, step("", environment)]).await
    }

    /// A server that takes over without the step lacks a revision that nodes have seen.
    #[tokio::test]
    async fn a_step_makes_a_revision_and_no_release_may_read_again_that_was_excluded() {
        let (_cluster, address) = stored().await;
        let (client, _) = connect(&address, WantedServer::Any).await.unwrap();
        let nonce = number(&client, "SELECT nonce FROM portcullis_e1.clock").await;
        let newer = SchemaStep { min_reader: FORMAT + 1, ..step("", "") };
        run(&address, &[newer, step("", "")]).await.unwrap();
        assert_eq!(number(&client, "SELECT revision FROM portcullis_e1.clock").await, 2);
        assert_ne!(number(&client, "SELECT nonce FROM portcullis_e1.clock").await, nonce);
        let same =
            "SELECT count(*) FROM portcullis_e1.revision JOIN portcullis_e1.clock USING (revision, nonce)";
        assert_eq!(number(&client, same).await, 1);
        assert_eq!(number(&client, "SELECT count(DISTINCT nonce) FROM portcullis_e1.revision").await, 3);
        for table in ["portcullis.meta", "portcullis_e1.clock", "portcullis_e2.clock"] {
            let least = number(&client, &format!("SELECT min_reader::bigint FROM {table}")).await;
            assert_eq!(least, i64::from(FORMAT) + 1, "{table}");
        }
    }

    /// A batch that has the clock is in what a step copies.
    #[tokio::test]
    async fn a_step_that_copies_a_table_has_every_batch_that_was_committed() {
        let (_cluster, address) = stored().await;
        let (writer, _) = connect(&address, WantedServer::Any).await.unwrap();
        writer.batch_execute("BEGIN; SELECT FROM portcullis_e1.clock FOR UPDATE").await.unwrap();
        let copying = tokio::spawn({
            let address = address.clone();
            async move { run(&address, &[step("", "CREATE TABLE copied AS SELECT * FROM key_use")]).await }
        });
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        let (watcher, _) = connect(&address, WantedServer::Any).await.unwrap();
        while number(&watcher, waiting).await == 0 {
            assert!(!copying.is_finished(), "it does not wait for the batch");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        writer.batch_execute("INSERT INTO portcullis_e1.key_use VALUES ('one', 1); COMMIT").await.unwrap();
        copying.await.unwrap().unwrap();
        assert_eq!(number(&watcher, "SELECT count(*) FROM portcullis_e1.copied").await, 1);
    }
}
