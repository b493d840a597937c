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
            self.make_environment(session).await?;
        }
        transaction.commit().await.map_err(failed)?;
        Ok(if step.is_some() { Advance::Step(found) } else { Advance::End(done) })
    }

    /// The format of the store, if there is one; an error if this release cannot use it.
    async fn usable(&self, session: PgSession<'_, Transaction<'_>>) -> Result<Option<i32>, StoreError> {
        let known = i32::try_from(self.steps.len()).unwrap_or(i32::MAX);
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
    async fn take(
        &self,
        session: PgSession<'_, Transaction<'_>>,
        step: &SchemaStep,
        to: i32,
    ) -> Result<(), StoreError> {
        const NOTE: &str = "UPDATE portcullis.meta SET format = $1, min_reader = $2";
        self.check_rights(session).await?;
        session.run(step.control).await?;
        for environment in schema::environments(session).await? {
            schema::enter(session, &environment).await?;
            session.run(step.environment).await?;
            let note = "UPDATE clock SET min_reader = $1";
            session.rows(note, &[(&step.min_reader, Type::INT4)]).await?;
        }
        session.rows(NOTE, &[(&to, Type::INT4), (&step.min_reader, Type::INT4)]).await?;
        Ok(())
    }

    async fn make_environment(&self, session: PgSession<'_, Transaction<'_>>) -> Result<(), StoreError> {
        let environments = schema::environments(session).await?;
        if !environments.iter().any(|found| found.name == self.environment) {
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

    const fn step(control: &'static str, environment: &'static str) -> SchemaStep {
        SchemaStep { min_reader: 1, control, environment }
    }

    /// A process that is killed at a step, and one that does not end it, leave the last complete format.
    #[tokio::test]
    async fn a_migration_that_is_cut_off_continues_where_it_stopped() {
        let cluster = Cluster::start(&["shared_buffers=16MB"]).unwrap();
        let address = format!("postgres://postgres@/postgres?host={}", cluster.folder);
        let address = Address::parse(&address).unwrap();
        migrate(&address, "default").await.unwrap();
        let steps = |third| {
            let first = STEPS.iter().map(|known| step(known.control, known.environment));
            let second = step("CREATE TABLE portcullis.second ()", "CREATE TABLE second ()");
            first.chain([second, third]).collect::<Vec<_>>()
        };
        let killed = "CREATE TABLE third (); SELECT pg_terminate_backend(pg_backend_pid())";
        let run = async |steps: &[SchemaStep]| {
            let (mut client, server) = connect(&address, WantedServer::ReadWrite).await?;
            SchemaMigration { server: &server, steps, environment: "other" }.run(&mut client).await
        };
        let cut = run(&steps(step("", killed))).await.unwrap_err();
        assert!(matches!(cut, StoreError::Database(DatabaseError::Unreachable { .. })), "{cut}");
        let wrong = run(&steps(step("", "CREATE TABLE third (); SELECT 1 / 0"))).await.unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "internal error of the store: PostgreSQL refuses a value (22012); report this as a bug"
        );

        let done = run(&steps(step("", "CREATE TABLE third ()"))).await.unwrap();
        assert_eq!(done, MigratedSchema { from: Some(FORMAT + 1), to: FORMAT + 2 });
        let (client, server) = connect(&address, WantedServer::Any).await.unwrap();
        let count = "SELECT count(*) FROM pg_tables WHERE tablename IN ('second', 'third')";
        let row = PgSession::new(&client, &server.at).row(count, &[]).await.unwrap();
        // One in the control schema, two in each environment: the new one has all steps, too.
        assert_eq!(value::<i64>(&row, 0).unwrap(), 5);
    }
}
