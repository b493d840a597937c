//! Admin commands: the command line manages the keys and environments of a running service.
//!
//! In: an [`AdminCommand`], through a Unix socket in the data folder. Out: an [`AdminReply`]. The commands
//! that manage keys send them to the running service; if none runs, they open the store themselves. Either
//! way, access to the data folder is what permits managing its keys, and nothing else does.
//!
//! ```text
//! DIR/.admin/          0700: without access to the folder there is no connecting to the socket
//!   socket             0600: one command per connection, one line of JSON each way
//! ```
//!
//! The service remains the only process that writes. It replies after it has published a new or a revoked
//! key, so the next request sees the change, and checking a key stays a look-up in memory. No environment can
//! have the folder's name. The socket is not part of the HTTP interface, because a key of one environment
//! must not manage another.

#[cfg(unix)]
mod client;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod socket;
#[cfg(not(unix))]
mod unsupported;

#[cfg(unix)]
pub use client::send;
#[cfg(unix)]
pub use server::AdminSocket;
#[cfg(not(unix))]
pub use unsupported::{AdminSocket, send};

use crate::http::{DEFAULT_ENVIRONMENT, ErrorCode};
use crate::store::{Access, Key};
use serde::{Deserialize, Serialize};

/// What the command line can ask of a running service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum AdminCommand {
    /// Create a key, and its environment if that does not exist.
    CreateKey {
        /// The environment that it gives access to.
        environment: String,
        /// Its display name.
        name: String,
        /// Whether it may only read.
        read_only: bool,
    },
    /// List the keys of an environment.
    ListKeys {
        /// The environment.
        environment: String,
    },
    /// Revoke a key.
    RevokeKey {
        /// Its environment.
        environment: String,
        /// Its id.
        id: String,
    },
    /// Serve an environment that was put into the data folder.
    OpenEnvironment {
        /// The environment.
        environment: String,
    },
    /// Delete an environment with all that it stores.
    DeleteEnvironment {
        /// The environment.
        environment: String,
    },
}

/// How the service replies to a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum AdminReply {
    /// The key was created.
    KeyCreated {
        /// Its text, which is shown only now.
        key: String,
    },
    /// The keys, oldest first.
    Keys {
        /// All of them.
        keys: Vec<ListedKey>,
    },
    /// The key was revoked.
    KeyRevoked,
    /// The service serves the environment.
    EnvironmentOpened,
    /// The environment was deleted.
    EnvironmentDeleted,
    /// Nothing was done.
    Refused {
        /// Why.
        message: String,
        /// What kind of error it is, as over HTTP; empty from a service of an earlier release.
        #[serde(default)]
        code: String,
    },
}

/// A key without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedKey {
    /// Its id.
    pub id: String,
    /// Its display name.
    pub name: String,
    /// Whether it may only read.
    pub read_only: bool,
    /// Whether it is revoked.
    pub revoked: bool,
    /// When it was created, in seconds since the epoch.
    pub created: i64,
    /// When it was last used, if it ever was.
    pub used: Option<i64>,
}

impl ListedKey {
    /// A key, and when it was last used.
    pub fn new(key: Key, used: Option<i64>) -> Self {
        let read_only = match key.access {
            Access::ReadWrite => false,
            Access::ReadOnly => true,
        };
        Self { id: key.id, name: key.name, read_only, revoked: key.revoked, created: key.created, used }
    }
}

/// The reply for a key that does not exist.
pub fn unknown_key(environment: &str, id: &str) -> AdminReply {
    AdminReply::Refused {
        message: format!("the environment `{environment}` has no key `{id}`: see `portcullis keys list`"),
        code: ErrorCode::NotFound.as_str().to_owned(),
    }
}

/// The reply for the environment that every service has.
pub fn default_stays() -> AdminReply {
    AdminReply::Refused {
        message: format!(
            "every service has the environment `{DEFAULT_ENVIRONMENT}`, so it is not deleted: clear it with `POST /api/clear_data`"
        ),
        code: ErrorCode::InvalidRequest.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_an_earlier_release_keeps_its_message() {
        let reply: AdminReply = serde_json::from_str(r#"{ "reply": "refused", "message": "no" }"#).unwrap();
        assert_eq!(reply, AdminReply::Refused { message: "no".to_owned(), code: String::new() });
    }
}
