//! Why a PostgreSQL cannot be the store.
//!
//! Every message says what to do. None contains a password or the value of a parameter.

use std::time::Duration;

/// The oldest version of PostgreSQL that can be the store.
pub const OLDEST_SERVER: u32 = 15;

impl DatabaseError {
    /// Whether the server may be reached again soon, or another one may be.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Standby(_)
                | Self::ReadOnly(_)
                | Self::NoMoreWrites(_)
                | Self::Crowded(_)
        )
    }
}

/// Why a PostgreSQL database cannot be used as the store, or why a statement on it failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseError {
    /// The address cannot be read.
    #[error("the address of the store is wrong: {0}; write postgres://USER@HOST:PORT/DATABASE")]
    Address(String),
    /// No server answers.
    #[error(
        "the store does not answer: {reason}, at {at}; check the address, the network, and that PostgreSQL runs"
    )]
    Unreachable {
        /// The servers that were tried.
        at: String,
        /// What went wrong with each.
        reason: String,
    },
    /// The connection cannot be encrypted as the address demands.
    #[error(
        "cannot encrypt the connection to {at}: {reason}; check the server's certificate, and `sslmode` and `sslrootcert` of the address"
    )]
    Encryption {
        /// The server.
        at: String,
        /// Why.
        reason: String,
    },
    /// The server refuses the login.
    #[error("{at} refuses the login: {reason}; check the user and the password of the address")]
    Login {
        /// The server.
        at: String,
        /// What the server says.
        reason: String,
    },
    /// The server has no such database.
    #[error(
        "{at} says: {reason}; create it: CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0; or correct the address"
    )]
    NoDatabase {
        /// The server.
        at: String,
        /// What the server says.
        reason: String,
    },
    /// The server accepts no more connections.
    #[error("PostgreSQL accepts no more connections: {0}; raise its `max_connections`")]
    Crowded(String),
    /// A pooler stands before the server, and does not keep its connections apart.
    #[error(
        "{0} is a pooler that lends a connection for each transaction, or does not reset it: use a pool in session mode with `server_reset_query`, or the address of the server itself"
    )]
    Pooler(String),
    /// Only servers that accept no writes answer.
    #[error(
        "{0} is a standby and accepts no writes: give the address of the primary, or all servers with commas between them"
    )]
    Standby(String),
    /// The primary accepts no writes.
    #[error(
        "{0} accepts no writes, because the setting `default_transaction_read_only` is on: turn it off where it was turned on, for the role, the database or the server"
    )]
    ReadOnly(String),
    /// A statement on an open connection may not write.
    #[error(
        "{0} accepts no writes any more: it has become a standby, or its setting `default_transaction_read_only` was turned on; `portcullis store check` says which"
    )]
    NoMoreWrites(String),
    /// The server is too old.
    #[error("PostgreSQL {0} is too old: the store needs {OLDEST_SERVER} or later")]
    OldServer(String),
    /// The database does not hold Unicode texts.
    #[error(
        "the database has the encoding {0}, and the store needs UTF8: create another one with CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0"
    )]
    Encoding(String),
    /// Backslashes in literals are read as escapes.
    #[error(
        "the setting `standard_conforming_strings` is off: turn it on with ALTER ROLE {role} SET standard_conforming_strings = on"
    )]
    Literals {
        /// The role, quoted for SQL.
        role: String,
    },
    /// The role may not do what is needed.
    #[error("the role of the store lacks a right: {reason}; {help}")]
    Rights {
        /// What the server says.
        reason: String,
        /// The statement that gives the right, or how to find it.
        help: String,
    },
    /// The database contains no store.
    #[error("the database contains no store: create it with `portcullis store migrate URL`")]
    NoSchema,
    /// The database has a schema with the name of the store's, and other contents.
    #[error("the database has a schema `{0}` that Portcullis did not create: use another database")]
    ForeignSchema(String),
    /// The tables are those of an earlier release.
    #[error(
        "the store has format {found}, and this release needs format {known}: run `portcullis store migrate URL`"
    )]
    OlderSchema {
        /// The format of the tables.
        found: i32,
        /// The format that this release reads.
        known: i32,
    },
    /// The tables are those of a later release, which this one cannot read.
    #[error(
        "the store has format {found}, and this release knows formats up to {known}: use the release that migrated it"
    )]
    NewerSchema {
        /// The format of the tables.
        found: i32,
        /// The newest format that this release knows.
        known: i32,
    },
    /// The store was migrated while this process had it open, and this release cannot read it any more.
    #[error(
        "the store was migrated: it needs a release that knows format {needed}, and this one knows formats up to {known}; upgrade this node to the release that migrated it"
    )]
    Outdated {
        /// The oldest format whose releases can use the store.
        needed: i64,
        /// The newest format that this release knows.
        known: i32,
    },
    /// The store has no environment with this name.
    #[error("the store has no environment `{0}`: check its name")]
    NoEnvironment(String),
    /// A table that a statement names does not exist, or not any more.
    #[error("the store lacks a table: {0}; `portcullis store check URL` says what is wrong")]
    NoTable(String),
    /// A standby has not received the writes that a question must see.
    #[error("the server has not received revision {revision} yet: ask the primary, or try again")]
    Behind {
        /// What the question must see.
        revision: u64,
    },
    /// Writes that a question must see are lost.
    #[error(
        "revision {revision} was lost when another server took over or a backup was restored: check what it wrote, and write it again"
    )]
    LostWrite {
        /// What the question must see.
        revision: u64,
    },
    /// Writes that this process has seen are lost.
    #[error(
        "revision {revision} was lost when another server took over or a backup was restored, and this process may know more that was lost: restart it, and check what the last writes were"
    )]
    TakenOver {
        /// What it had seen.
        revision: u64,
    },
    /// The answer to a write did not come.
    #[error(
        "the store stopped responding; the batch may or may not have been stored: send it again once it answers"
    )]
    UnknownWrite,
    /// Another process holds a lock for too long.
    #[error(
        "another process had the store locked for {0:?}: look for it in pg_stat_activity, and try again once it is done"
    )]
    Locked(Duration),
}
