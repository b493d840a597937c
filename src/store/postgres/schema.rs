//! The schemas of a store, step by step from nothing to the newest format.
//!
//! The schema `portcullis` has the format and the list of environments. An environment has a number, and its
//! schema is named after that: its own name may be longer than PostgreSQL allows.
//!
//! Every step says what it does in both. A new environment is made by all steps in turn, so it has the same
//! tables as one that took part in every migration.

use super::session::{PgSession, value};
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use crate::store::key::random;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;

/// The newest format of the schemas, which is that of the last step.
pub const FORMAT: i32 = 1;

/// The name of the schema that lists the environments.
pub(super) const CONTROL: &str = "portcullis";

/// A step from one format to the next.
pub(super) struct SchemaStep {
    /// The oldest format whose releases can still use a store after this step.
    pub(super) min_reader: i32,
    /// What it does in the schema `portcullis`.
    pub(super) control: &'static str,
    /// What it does in the schema of each environment.
    pub(super) environment: &'static str,
}

/// All steps.
///
/// Questions run while a step is taken, some in a snapshot from before. PostgreSQL shows them an empty table
/// where one was rewritten meanwhile, as by a change of a column's type. So a step that changes what is in a
/// table makes another one, and retires the old one as after `clear`. A migration has the lock of the clock
/// while it takes a step, so no batch changes what is copied.
///
/// No step may rename or retype `clock`, the columns `revision` and `nonce` of the table `revision`, or
/// `portcullis.meta`: older releases read them to learn that they are too old.
pub(super) const STEPS: &[SchemaStep] =
    &[SchemaStep { min_reader: 1, control: CONTROL_TABLES, environment: ENVIRONMENT_TABLES }];

const CONTROL_TABLES: &str = "
    CREATE SCHEMA portcullis;
    CREATE TABLE portcullis.meta (
      single boolean PRIMARY KEY DEFAULT true CHECK (single),
      format integer NOT NULL,
      min_reader integer NOT NULL
    );
    INSERT INTO portcullis.meta (format, min_reader) VALUES (0, 0);
    CREATE TABLE portcullis.environment (
      number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      name text COLLATE \"C\" UNIQUE NOT NULL,
      created bigint NOT NULL
    );";

/// The clock has one row, which every batch updates: with room in its page, no update touches an index.
/// Revisions say which batch made which one.
const ENVIRONMENT_TABLES: &str = "
    CREATE TABLE clock (
      single boolean PRIMARY KEY DEFAULT true CHECK (single),
      revision bigint NOT NULL,
      nonce bigint NOT NULL,
      policy bigint NOT NULL,
      catalog bigint NOT NULL,
      keys bigint NOT NULL,
      beat timestamptz NOT NULL,
      secret bytea NOT NULL,
      min_reader integer NOT NULL
    ) WITH (fillfactor = 10);
    CREATE TABLE revision (
      revision bigint PRIMARY KEY,
      nonce bigint NOT NULL,
      at timestamptz NOT NULL,
      batch bytea NOT NULL
    );
    CREATE TABLE relation (
      id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      predicate text COLLATE \"C\" NOT NULL,
      args jsonb NOT NULL,
      facts bigint NOT NULL,
      used boolean NOT NULL,
      UNIQUE (predicate, args)
    ) WITH (fillfactor = 50);
    CREATE TABLE policy (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      src text NOT NULL,
      filename text NOT NULL,
      created bigint NOT NULL,
      active boolean NOT NULL,
      seal bytea NOT NULL
    );
    CREATE UNIQUE INDEX policy_active ON policy (active) WHERE active;
    CREATE TABLE key (
      id text COLLATE \"C\" PRIMARY KEY,
      name text NOT NULL,
      access text NOT NULL,
      created bigint NOT NULL,
      revoked boolean NOT NULL,
      hash bytea NOT NULL
    );
    CREATE TABLE key_use (id text COLLATE \"C\" PRIMARY KEY, used bigint NOT NULL);
    CREATE TABLE retired (name text COLLATE \"C\" PRIMARY KEY, at timestamptz NOT NULL);";

/// The format of the store in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaFormat {
    /// There is no store.
    Missing,
    /// The schema of this name was not created by Portcullis.
    Foreign,
    /// There is one.
    Known {
        /// Its format.
        format: i32,
        /// The oldest format whose releases can use it.
        min_reader: i32,
    },
}

impl SchemaFormat {
    /// The format, if this release can use the store.
    pub(super) fn usable(self) -> Result<i32, DatabaseError> {
        match self {
            Self::Missing => Err(DatabaseError::NoSchema),
            Self::Foreign => Err(DatabaseError::ForeignSchema(CONTROL.to_owned())),
            Self::Known { format: found, min_reader } if min_reader > FORMAT => {
                Err(DatabaseError::NewerSchema { found, known: FORMAT })
            }
            Self::Known { format: found, .. } if found < FORMAT => {
                Err(DatabaseError::OlderSchema { found, known: FORMAT })
            }
            Self::Known { format, .. } => Ok(format),
        }
    }
}

/// Refuses a store that this release cannot use any more, because it was migrated.
pub(super) fn check_reader(min_reader: i64) -> Result<(), DatabaseError> {
    if min_reader > i64::from(FORMAT) {
        return Err(DatabaseError::Outdated { needed: min_reader, known: FORMAT });
    }
    Ok(())
}

/// An environment in a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEnvironment {
    /// Its number.
    pub number: i32,
    /// Its name.
    pub name: String,
}

impl StoredEnvironment {
    /// The name of its schema. It needs no quotes.
    pub fn schema(&self) -> String {
        format!("portcullis_e{}", self.number)
    }
}

/// The format of the store that a connection leads to. This requires no privilege.
pub(super) async fn format(session: PgSession<'_, impl GenericClient>) -> Result<SchemaFormat, StoreError> {
    const FIND: &str = "SELECT c.oid IS NOT NULL FROM pg_namespace n LEFT JOIN pg_class c
        ON c.relnamespace = n.oid AND c.relname = 'meta' WHERE n.nspname = $1";
    let Some(row) = session.rows(FIND, &[(&CONTROL, Type::TEXT)]).await?.into_iter().next() else {
        return Ok(SchemaFormat::Missing);
    };
    let has_meta: bool = value(&row, 0)?;
    if !has_meta {
        return Ok(SchemaFormat::Foreign);
    }
    let row = session.row("SELECT format, min_reader FROM portcullis.meta", &[]).await?;
    Ok(SchemaFormat::Known { format: value(&row, 0)?, min_reader: value(&row, 1)? })
}

/// All environments, by name.
pub(super) async fn environments(
    session: PgSession<'_, impl GenericClient>,
) -> Result<Vec<StoredEnvironment>, StoreError> {
    let rows = session.rows("SELECT number, name FROM portcullis.environment ORDER BY name", &[]).await?;
    rows.iter().map(|row| Ok(StoredEnvironment { number: value(row, 0)?, name: value(row, 1)? })).collect()
}

/// Makes an environment with the tables of these steps, in the caller's transaction.
pub(super) async fn make_environment(
    session: PgSession<'_, impl GenericClient>,
    steps: &[SchemaStep],
    name: &str,
) -> Result<StoredEnvironment, StoreError> {
    const ADD: &str = "INSERT INTO portcullis.environment (name, created) VALUES ($1, $2) RETURNING number";
    const START: &str = "INSERT INTO clock SELECT true, 0, $1, 0, 0, 0, now(), $2, min_reader
        FROM portcullis.meta";
    const FIRST: &str = "INSERT INTO revision VALUES (0, $1, now(), $2)";
    let row = session.row(ADD, &[(&name, Type::TEXT), (&now(), Type::INT8)]).await?;
    let environment = StoredEnvironment { number: value(&row, 0)?, name: name.to_owned() };
    session.run(&format!("CREATE SCHEMA {}", environment.schema())).await?;
    enter(session, &environment).await?;
    for step in steps {
        session.run(step.environment).await?;
    }
    let nonce = i64::from_ne_bytes(random()?);
    let (secret, batch) = (random::<32>()?.to_vec(), random::<16>()?.to_vec());
    session.rows(START, &[(&nonce, Type::INT8), (&secret, Type::BYTEA)]).await?;
    session.rows(FIRST, &[(&nonce, Type::INT8), (&batch, Type::BYTEA)]).await?;
    Ok(environment)
}

/// Lets names without a schema be those of an environment, until the transaction ends.
pub(super) async fn enter(
    session: PgSession<'_, impl GenericClient>,
    environment: &StoredEnvironment,
) -> Result<(), StoreError> {
    session.run(&format!("SET LOCAL search_path = {}, pg_catalog", environment.schema())).await
}

/// The time in seconds since the epoch.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_format_is_that_of_the_last_step() {
        assert_eq!(STEPS.len(), usize::try_from(FORMAT).unwrap());
        assert!(STEPS.iter().zip(1..).all(|(step, format)| step.min_reader <= format));
        assert!(STEPS.iter().is_sorted_by_key(|step| step.min_reader));
        assert_eq!(StoredEnvironment { number: 7, name: "a b".to_owned() }.schema(), "portcullis_e7");
    }
}
