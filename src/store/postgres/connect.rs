//! Connects to the first server of an address that can be the store.
//!
//! Each server has a limited time, so one that accepts a connection and says nothing does not keep the others
//! from being tried. The settings of the server that matter are read as plain text, without a prepared
//! statement.

use super::address::{Address, ServerAddress};
use super::error::of_connecting;
use super::tls::Connector;
use crate::store::database_error::{DatabaseError, OLDEST_SERVER};
use crate::store::error::StoreError;
use std::future::poll_fn;
use std::sync::atomic::Ordering;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_postgres::{AsyncMessage, Client, Connection, Error, SimpleQueryMessage, SimpleQueryRow};

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedServer {
    /// Writing: only the primary will do.
    ReadWrite,
    /// Reading.
    Any,
}

/// A server that accepted a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedServer {
    /// Its host and port, for messages.
    pub at: String,
    /// Its version as a number: 150018 for 15.18.
    pub version_number: u32,
    /// Its version as a text.
    pub version: String,
    /// Whether it follows another server, and accepts no writes.
    pub is_standby: bool,
    /// Whether a setting makes its transactions read-only.
    pub is_read_only: bool,
    /// The role of the connection, quoted for SQL.
    pub role: String,
    /// The database, quoted for SQL.
    pub database: String,
    /// The encoding of the database.
    pub encoding: String,
    /// Whether a backslash in a literal is an ordinary character.
    pub has_plain_literals: bool,
    /// Whether the connection is encrypted; `None` on a socket of this machine.
    pub is_encrypted: Option<bool>,
}

/// Everything read from a server. The server is asked for its address only where it has one.
const DESCRIBE: &str = "
    SELECT current_setting('server_version_num'), current_setting('server_version'),
      pg_is_in_recovery(), current_setting('default_transaction_read_only')::bool,
      quote_ident(current_user), quote_ident(current_database()), pg_encoding_to_char(encoding),
      current_setting('standard_conforming_strings'),
      (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND inet_server_addr() IS NOT NULL),
      current_setting('portcullis.session', true)
    FROM pg_database WHERE datname = current_database()";

/// Connects to a server that can be the store. The connection runs on the caller's runtime. Fails at once
/// while the primary is wanted and silent.
pub async fn connect(address: &Address, wanted: WantedServer) -> Result<(Client, ReachedServer), StoreError> {
    unless_silent(address, wanted)?;
    let (client, server) = reach(address, wanted).await?;
    server.check()?;
    Ok((client, server))
}

/// The same for a connection that hears notifications, which are lost while the queue is full.
pub(super) async fn connect_listening(
    address: &Address,
    wanted: WantedServer,
    heard: flume::Sender<String>,
) -> Result<(Client, ReachedServer), StoreError> {
    unless_silent(address, wanted)?;
    let (client, server) = reach_hearing(address, wanted, Some(&heard)).await?;
    server.check()?;
    Ok((client, server))
}

fn unless_silent(address: &Address, wanted: WantedServer) -> Result<(), DatabaseError> {
    match wanted {
        WantedServer::ReadWrite => address.silence.check(),
        WantedServer::Any => Ok(()),
    }
}

/// Connects to a server of any version and settings.
pub(super) async fn reach(
    address: &Address,
    wanted: WantedServer,
) -> Result<(Client, ReachedServer), StoreError> {
    reach_hearing(address, wanted, None).await
}

async fn reach_hearing(
    address: &Address,
    wanted: WantedServer,
    heard: Option<&flume::Sender<String>>,
) -> Result<(Client, ReachedServer), StoreError> {
    let mut failures = Vec::new();
    for (nth, server) in address.likely_first() {
        match attempt(&address.tls, server, heard).await {
            Ok(found) if wanted == WantedServer::Any => return Ok(found),
            Ok(found) => match found.1.check_writes() {
                Ok(()) => {
                    address.primary.store(nth, Ordering::SeqCst);
                    return Ok(found);
                }
                Err(failure) => failures.push(failure),
            },
            Err(failure) => failures.push(failure),
        }
    }
    Err(summary(failures).into())
}

/// Connects to one server.
pub(super) async fn attempt(
    tls: &Connector,
    server: &ServerAddress,
    heard: Option<&flume::Sender<String>>,
) -> Result<(Client, ReachedServer), DatabaseError> {
    let connected = async {
        let (client, connection) = server.config.connect(tls.clone()).await?;
        // Its end shows as an error of the next statement.
        match heard {
            None => drop(tokio::spawn(connection)),
            Some(heard) => drop(tokio::spawn(pass_on(connection, heard.clone()))),
        }
        let messages = client.simple_query(DESCRIBE).await?;
        Ok::<_, Error>((client, messages))
    };
    let at = server.at.clone();
    let silent = |_| {
        let reason = format!("no answer within {:?}", server.limit);
        DatabaseError::Unreachable { at: at.clone(), reason }
    };
    let connected = timeout(server.limit, connected).await.map_err(silent)?;
    let (client, messages) = connected.map_err(|error| of_connecting(&at, &error))?;
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    // Only a connection that another session has used can be marked.
    if row.and_then(|row| row.get(9)).is_some_and(|mark| !mark.is_empty()) {
        return Err(DatabaseError::Pooler(at));
    }
    let described = row.and_then(|row| ReachedServer::read(&at, row));
    let reason = "its answer is not PostgreSQL's".to_owned();
    Ok((client, described.ok_or(DatabaseError::Unreachable { at, reason })?))
}

/// Runs a connection, and passes on what it is notified of.
async fn pass_on<S, T>(mut connection: Connection<S, T>, heard: flume::Sender<String>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notification(notification) = message {
            // It is dropped if the queue is full or its reader is gone.
            let _ = heard.try_send(notification.payload().to_owned());
        }
    }
}

/// One reason of several: a server that answers says more than one that does not.
fn summary(failures: Vec<DatabaseError>) -> DatabaseError {
    let (mut places, mut reasons, mut standbys) = (Vec::new(), Vec::new(), Vec::new());
    for failure in failures {
        match failure {
            DatabaseError::Unreachable { at, reason } => {
                places.push(at);
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
            DatabaseError::Standby(at) => standbys.push(at),
            definite => return definite,
        }
    }
    if standbys.is_empty() {
        return DatabaseError::Unreachable { at: places.join(", "), reason: reasons.join(", ") };
    }
    DatabaseError::Standby(standbys.join(", "))
}

impl ReachedServer {
    fn read(at: &str, row: &SimpleQueryRow) -> Option<Self> {
        let text = |column: usize| row.get(column).map(str::to_owned);
        Some(Self {
            at: at.to_owned(),
            version_number: row.get(0)?.parse().ok()?,
            version: text(1)?,
            is_standby: row.get(2)? == "t",
            is_read_only: row.get(3)? == "t",
            role: text(4)?,
            database: text(5)?,
            encoding: text(6)?,
            has_plain_literals: row.get(7)? == "on",
            is_encrypted: row.get(8).map(|encrypted| encrypted == "t"),
        })
    }

    /// Refuses a server that cannot be the store.
    fn check(&self) -> Result<(), DatabaseError> {
        self.check_version()?;
        self.check_encoding()?;
        self.check_literals()
    }

    pub(super) fn check_version(&self) -> Result<(), DatabaseError> {
        if self.version_number / 10_000 < OLDEST_SERVER {
            return Err(DatabaseError::OldServer(self.version.clone()));
        }
        Ok(())
    }

    pub(super) fn check_encoding(&self) -> Result<(), DatabaseError> {
        if self.encoding != "UTF8" {
            return Err(DatabaseError::Encoding(self.encoding.clone()));
        }
        Ok(())
    }

    pub(super) fn check_literals(&self) -> Result<(), DatabaseError> {
        if !self.has_plain_literals {
            return Err(DatabaseError::Literals { role: self.role.clone() });
        }
        Ok(())
    }

    /// Refuses a server that accepts no writes.
    pub(super) fn check_writes(&self) -> Result<(), DatabaseError> {
        if self.is_standby {
            return Err(DatabaseError::Standby(self.at.clone()));
        }
        if self.is_read_only {
            return Err(DatabaseError::ReadOnly(self.at.clone()));
        }
        Ok(())
    }

    /// The role may not make schemas.
    pub(super) fn may_not_create(&self) -> DatabaseError {
        let Self { role, database, .. } = self;
        let reason = format!("{role} may not create schemas in the database");
        let help = format!("ask an administrator for GRANT CREATE ON DATABASE {database} TO {role}");
        DatabaseError::Rights { reason, help }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> ReachedServer {
        ReachedServer {
            at: "one port 5432".to_owned(),
            version_number: 150_000,
            version: "15.0".to_owned(),
            is_standby: false,
            is_read_only: false,
            role: "ada".to_owned(),
            database: "store".to_owned(),
            encoding: "UTF8".to_owned(),
            has_plain_literals: true,
            is_encrypted: Some(true),
        }
    }

    #[test]
    fn a_server_that_cannot_be_the_store_is_refused_with_what_to_do() {
        let refused = |server: ReachedServer| server.check().unwrap_err().to_string();
        assert_eq!(server().check(), Ok(()));
        let old = ReachedServer { version_number: 149_999, version: "14.20 (Debian)".to_owned(), ..server() };
        assert_eq!(refused(old), "PostgreSQL 14.20 (Debian) is too old: the store needs 15 or later");
        let encoded = refused(ReachedServer { encoding: "SQL_ASCII".to_owned(), ..server() });
        assert!(encoded.contains("SQL_ASCII") && encoded.contains("TEMPLATE template0"), "{encoded}");
        let literals = refused(ReachedServer { has_plain_literals: false, ..server() });
        assert!(literals.contains("ALTER ROLE ada SET standard_conforming_strings = on"), "{literals}");
    }

    /// A standby also has the settings of its primary.
    #[test]
    fn a_server_that_accepts_no_writes_says_why() {
        let refused =
            |is_standby, is_read_only| ReachedServer { is_standby, is_read_only, ..server() }.check_writes();
        let at = || server().at;
        assert_eq!(refused(false, false), Ok(()));
        assert_eq!(refused(false, true), Err(DatabaseError::ReadOnly(at())));
        assert_eq!(refused(true, false), Err(DatabaseError::Standby(at())));
        assert_eq!(refused(true, true), Err(DatabaseError::Standby(at())));
    }

    #[test]
    fn of_several_servers_the_one_that_answers_says_why() {
        let silent =
            |at: &str, reason: &str| DatabaseError::Unreachable { at: at.into(), reason: reason.into() };
        let standby = || DatabaseError::Standby("two port 1".to_owned());
        let login = || DatabaseError::Login { at: "two port 1".to_owned(), reason: "no".to_owned() };
        let all = summary(vec![silent("one port 1", "refused"), silent("two port 1", "refused")]);
        assert_eq!(all, silent("one port 1, two port 1", "refused"));
        assert_eq!(summary(vec![silent("one port 1", "refused"), standby()]), standby());
        let read_only = || DatabaseError::ReadOnly("three port 1".to_owned());
        assert_eq!(summary(vec![standby(), read_only()]), read_only());
        assert_eq!(summary(vec![standby(), login(), silent("three port 1", "refused")]), login());
    }
}
