//! Reports problems with a PostgreSQL as the store. It changes nothing.

use super::address::Address;
use super::connect::{ReachedServer, WantedServer, reach};
use super::schema::{self, StoredEnvironment};
use super::session::{PgSession, value};
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

/// A finding about a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFinding {
    /// What it is about: `server`, `encoding` and so on.
    pub what: &'static str,
    /// How it is.
    pub state: FindingState,
    /// What was found, and what to do if it is not good.
    pub message: String,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingState {
    /// As it should be.
    Good,
    /// It works, at a risk.
    Warning,
    /// It does not work.
    Bad,
}

impl FindingState {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Warning => "warning",
            Self::Bad => "bad",
        }
    }
}

/// Settings of the server without which acknowledged writes can be lost, with what can happen.
const DURABLE: [(&str, &str); 3] = [
    ("fsync", "a crash of the machine can damage the database"),
    ("full_page_writes", "a crash of the machine can damage the database"),
    ("synchronous_commit", "a crash of the server loses the last acknowledged writes"),
];

/// Looks at the store at an address; an error if no server accepts the login.
pub async fn check(address: &Address) -> Result<Vec<StoreFinding>, StoreError> {
    let (client, server) = match reach(address, WantedServer::ReadWrite).await {
        Err(StoreError::Database(DatabaseError::Standby(_) | DatabaseError::ReadOnly(_))) => {
            reach(address, WantedServer::Any).await?
        }
        reached => reached?,
    };
    // Not one transaction: a right that is missing would end it.
    let settings = "SET default_transaction_read_only = on; SET statement_timeout = '10s'";
    let session = PgSession::new(&client, &server.at);
    session.run(settings).await?;
    let mut findings = vec![of_server(&server), of_encryption(&server)];
    let encoding = format!("the database has the encoding {}", server.encoding);
    findings.push(of_check("encoding", encoding, server.check_encoding()));
    let literals = "backslashes in literals are ordinary characters".to_owned();
    findings.push(of_check("literals", literals, server.check_literals()));
    findings.extend(of_durability(session).await?);
    let (schema, is_usable) = of_schema(session).await?;
    findings.push(schema);
    if is_usable {
        findings.extend(of_environments(session).await?);
    }
    findings.push(of_rights(session, &server).await?);
    Ok(findings)
}

fn finding(what: &'static str, state: FindingState, message: impl Into<String>) -> StoreFinding {
    StoreFinding { what, state, message: message.into() }
}

/// The finding of a check: what is good, or what the error says.
fn of_check(what: &'static str, good: String, checked: Result<(), DatabaseError>) -> StoreFinding {
    match checked {
        Ok(()) => finding(what, FindingState::Good, good),
        Err(error) => finding(what, FindingState::Bad, error.to_string()),
    }
}

fn of_server(server: &ReachedServer) -> StoreFinding {
    let ReachedServer { at, version, .. } = server;
    let checked = server.check_writes().and_then(|()| server.check_version());
    of_check("server", format!("PostgreSQL {version}, a primary, at {at}"), checked)
}

fn of_encryption(server: &ReachedServer) -> StoreFinding {
    let (state, message) = match server.is_encrypted {
        None => (FindingState::Good, "not needed, because the connection does not leave this machine"),
        Some(true) => (FindingState::Good, "the connection is encrypted"),
        Some(false) => (
            FindingState::Warning,
            "the connection is not encrypted: turn on `ssl` on the server, and add `sslmode=verify-full` to the address",
        ),
    };
    finding("encryption", state, message)
}

/// The settings with which acknowledged writes can be lost.
async fn of_durability(session: PgSession<'_, Client>) -> Result<Vec<StoreFinding>, StoreError> {
    let mut findings = Vec::new();
    for (setting, risk) in DURABLE {
        let row = session.row("SELECT current_setting($1) = 'off'", &[(&setting, Type::TEXT)]).await?;
        if value(&row, 0)? {
            let message = format!("`{setting}` is off: {risk}; turn it on");
            findings.push(finding("durability", FindingState::Warning, message));
        }
    }
    if findings.is_empty() {
        findings.push(finding("durability", FindingState::Good, "acknowledged writes survive a crash"));
    }
    Ok(findings)
}

/// The finding about the format, and whether this release can use the store.
async fn of_schema(session: PgSession<'_, Client>) -> Result<(StoreFinding, bool), StoreError> {
    let usable = match schema::format(session).await {
        Ok(format) => format.usable(),
        Err(StoreError::Database(error @ DatabaseError::Rights { .. })) => Err(error),
        Err(error) => return Err(error),
    };
    let is_usable = usable.is_ok();
    let good = usable.as_ref().map(|format| format!("format {format}")).unwrap_or_default();
    Ok((of_check("schema", good, usable.map(|_| ())), is_usable))
}

/// The environments with their revisions.
async fn of_environments(session: PgSession<'_, Client>) -> Result<Vec<StoreFinding>, StoreError> {
    let mut findings = Vec::new();
    let environments = match schema::environments(session).await {
        // The finding about rights says how to give it.
        Err(StoreError::Database(DatabaseError::Rights { reason, .. })) => {
            return Ok(vec![finding("environment", FindingState::Bad, reason)]);
        }
        found => found?,
    };
    for environment in environments {
        findings.push(match of_environment(session, &environment).await {
            // The finding about rights says how to give it.
            Err(StoreError::Database(DatabaseError::Rights { reason, .. })) => {
                finding("environment", FindingState::Bad, format!("`{}`: {reason}", environment.name))
            }
            found => found?,
        });
    }
    Ok(findings)
}

async fn of_environment(
    session: PgSession<'_, Client>,
    environment: &StoredEnvironment,
) -> Result<StoreFinding, StoreError> {
    let (name, schema) = (&environment.name, environment.schema());
    let count = format!("SELECT revision, (SELECT count(*) FROM {schema}.relation) FROM {schema}.clock");
    let row = session.row(&count, &[]).await?;
    let (revision, n_relations): (i64, i64) = (value(&row, 0)?, value(&row, 1)?);
    let message = format!("`{name}` in the schema {schema}: revision {revision}, {n_relations} relations");
    Ok(finding("environment", FindingState::Good, message))
}

/// What the role lacks: to own a schema of the store, to use it, and to use a table or a sequence in it. A
/// role that owns a schema may have lost its rights there all the same.
const LACKING: &str = "
    SELECT format('%s may not use the schema %I; ask an administrator for GRANT %I TO %s',
      quote_ident(current_user), nspname, pg_get_userbyid(nspowner), quote_ident(current_user))
    FROM pg_namespace
    WHERE (nspname = $1 OR nspname LIKE 'portcullis\\_e%') AND NOT pg_has_role(nspowner, 'USAGE')
    UNION ALL
    SELECT format('%s may not use the schema %I; ask an administrator for '
      || 'GRANT USAGE, CREATE ON SCHEMA %I TO %s',
      quote_ident(current_user), nspname, nspname, quote_ident(current_user))
    FROM pg_namespace
    WHERE (nspname = $1 OR nspname LIKE 'portcullis\\_e%')
      AND NOT (has_schema_privilege(oid, 'USAGE') AND has_schema_privilege(oid, 'CREATE'))
    UNION ALL
    SELECT format('%s may not use the table %I.%I; ask an administrator for '
      || 'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO %s',
      quote_ident(current_user), nspname, relname, nspname, quote_ident(current_user))
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace,
      LATERAL (SELECT bool_and(has_table_privilege(c.oid, needed)) AS may
        FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) needed) rights
    WHERE (nspname = $1 OR nspname LIKE 'portcullis\\_e%') AND relkind = 'r' AND NOT may
    UNION ALL
    SELECT format('%s may not use the sequence %I.%I; ask an administrator for '
      || 'GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO %s',
      quote_ident(current_user), nspname, relname, nspname, quote_ident(current_user))
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE (nspname = $1 OR nspname LIKE 'portcullis\\_e%')
      AND CASE WHEN relkind = 'S' THEN NOT has_sequence_privilege(c.oid, 'USAGE') ELSE false END
    LIMIT 1";

/// What the role may do: make schemas, and use those of the store with their tables.
async fn of_rights(
    session: PgSession<'_, Client>,
    server: &ReachedServer,
) -> Result<StoreFinding, StoreError> {
    let lacking = session.rows(LACKING, &[(&schema::CONTROL, Type::TEXT)]).await?;
    let may_create = session.row("SELECT has_database_privilege(current_database(), 'CREATE')", &[]).await?;
    let may_create: bool = value(&may_create, 0)?;
    let lacks: Option<String> = lacking.first().map(|row| value(row, 0)).transpose()?;
    Ok(match lacks {
        Some(lacks) => finding("rights", FindingState::Bad, lacks),
        None if may_create => {
            finding("rights", FindingState::Good, format!("{} may do all that is needed", server.role))
        }
        None => finding("rights", FindingState::Bad, server.may_not_create().to_string()),
    })
}
