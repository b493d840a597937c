//! What PostgreSQL's errors mean for the store.

use crate::libpq;
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// How the driver begins its message about a failed encryption.
const HANDSHAKE: &str = "error performing TLS handshake";

/// How it begins its message about a password that is missing, or that it cannot use.
const NO_LOGIN: [&str; 2] = ["invalid configuration", "authentication error"];

/// A class of errors whose messages may quote a value: data exceptions.
const DATA: &str = "22";

/// How to find out which right is missing.
const MISSING_GRANT: &str = "`portcullis store check URL` says how to give it";

/// Why a server did not accept a connection.
pub(super) fn of_connecting(at: &str, error: &Error) -> DatabaseError {
    let (at, reason) = (at.to_owned(), libpq::reason(error));
    match error.code().map_or("", |code| code.code()) {
        "28000" | "28P01" => DatabaseError::Login { at, reason },
        "3D000" => DatabaseError::NoDatabase { at, reason },
        "42501" => {
            DatabaseError::Rights { reason, help: "give it the right CONNECT on the database".to_owned() }
        }
        "53300" => DatabaseError::Crowded(reason),
        _ if reason.starts_with(HANDSHAKE) => DatabaseError::Encryption { at, reason },
        _ if NO_LOGIN.iter().any(|start| reason.starts_with(start)) => DatabaseError::Login { at, reason },
        _ => DatabaseError::Unreachable { at, reason },
    }
}

/// Why a statement on a connection to this server failed.
pub(super) fn of_statement(at: &str, error: &Error) -> StoreError {
    let reason = libpq::reason(error);
    let Some(code) = error.code() else {
        return DatabaseError::Unreachable { at: at.to_owned(), reason }.into();
    };
    match code.code() {
        "25006" => DatabaseError::NoMoreWrites(at.to_owned()).into(),
        "42501" => DatabaseError::Rights { reason, help: MISSING_GRANT.to_owned() }.into(),
        "42P01" | "3F000" => DatabaseError::NoTable(reason).into(),
        "53100" => StoreError::Full,
        "53300" => DatabaseError::Crowded(reason).into(),
        // A statement that was prepared on another connection.
        "26000" | "42P05" => DatabaseError::Pooler(at.to_owned()).into(),
        // A lock that was not free in time, a statement that was cancelled, two that waited for
        // each other, too little memory: another attempt may succeed.
        "55P03" | "57014" | "40001" | "40P01" | "53200" => StoreError::Busy,
        // The server stops, or ends the connection.
        code if code.starts_with("08") || code.starts_with("57P") => {
            DatabaseError::Unreachable { at: at.to_owned(), reason }.into()
        }
        code if code.starts_with(DATA) => StoreError::Bug(format!("PostgreSQL refuses a value ({code})")),
        code => StoreError::Bug(format!("{reason} (PostgreSQL code {code})")),
    }
}

/// Why facts were not added on a connection to this server. An index takes rows of a third of a page.
pub(super) fn of_new_facts(at: &str, error: &Error) -> StoreError {
    match error.code() {
        Some(&SqlState::PROGRAM_LIMIT_EXCEEDED) => StoreError::LongIds(libpq::reason(error)),
        _ => of_statement(at, error),
    }
}

/// The error for each batch of a group, if it is not the fault of one of them.
pub(super) fn of_whole_group(error: &StoreError) -> Option<StoreError> {
    match error {
        StoreError::Busy => Some(StoreError::Busy),
        StoreError::Database(
            error @ (DatabaseError::UnknownWrite
            | DatabaseError::TakenOver { .. }
            | DatabaseError::Outdated { .. }),
        ) => Some(error.clone().into()),
        other => passing(other).map(|reason| reason.clone().into()),
    }
}

/// The reason, if another attempt may find a primary.
pub(super) fn passing(error: &StoreError) -> Option<&DatabaseError> {
    match error {
        StoreError::Database(reason) if reason.is_passing() => Some(reason),
        _ => None,
    }
}
