//! Orders to a running service, from a command on the same machine.
//!
//! In: an [`Order`], through a socket in the data folder. Out: an [`Outcome`]. The commands that manage keys use it
//! while the service runs, and open the store themselves while it does not, so that whoever may read the data folder
//! may manage its keys at any time, and nobody else ever.
//!
//! ```text
//! DIR/.control/        0700: whoever cannot enter it cannot connect
//!   socket             0600: one order a connection, a line of JSON each way
//! ```
//!
//! The service stays the only process that writes. It has published a new key, or the loss of one, before it says so:
//! the next request sees it, and checking a key costs what it did. The folder's name is none that an environment can
//! have. It is no part of the HTTP interface, because a key of one environment must not manage another.

#[cfg(unix)]
mod client;
#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod server;

use crate::store::{Access, Key};
use serde::{Deserialize, Serialize};
#[cfg(unix)]
use std::fs::File;
#[cfg(unix)]
use std::io;
#[cfg(unix)]
use std::path::{Path, PathBuf};

#[cfg(unix)]
pub use client::ask;
#[cfg(not(unix))]
pub use elsewhere::{Control, ask};
#[cfg(unix)]
pub use server::Control;

/// Bytes of one order or outcome: more than every key of an environment takes.
#[cfg(unix)]
const MOST_BYTES: u64 = 64 << 20;

/// A path of more bytes does not fit into the address of a socket, on any system.
#[cfg(unix)]
const MOST_PATH: usize = 100;

/// What a service can be told to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Make a key, and its environment where there is none.
    CreateKey {
        /// The environment that it opens.
        environment: String,
        /// What its owner calls it.
        name: String,
        /// Whether its bearer may only ask.
        read_only: bool,
    },
    /// List the keys of an environment.
    ListKeys {
        /// The environment.
        environment: String,
    },
    /// Refuse a key from now on.
    RevokeKey {
        /// Its environment.
        environment: String,
        /// Its id.
        id: String,
    },
    /// Answer for an environment that was put into the data folder.
    OpenEnvironment {
        /// The environment.
        environment: String,
    },
}

/// What came of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// A key was made.
    KeyCreated {
        /// Its text, which is known only now.
        key: String,
    },
    /// The keys, oldest first.
    Keys {
        /// All of them.
        keys: Vec<ListedKey>,
    },
    /// A key is refused.
    KeyRevoked,
    /// The service answers for the environment.
    EnvironmentOpened,
    /// Nothing was done.
    Refused {
        /// Why.
        message: String,
    },
}

/// A key without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedKey {
    /// Its id.
    pub id: String,
    /// What its owner calls it.
    pub name: String,
    /// Whether its bearer may only ask.
    pub read_only: bool,
    /// Whether it is refused.
    pub revoked: bool,
    /// When it was made, in seconds since the epoch.
    pub created: i64,
    /// When it was used last, if it ever was.
    pub used: Option<i64>,
}

impl ListedKey {
    /// A key, and when it was used last.
    pub fn new(key: Key, used: Option<i64>) -> Self {
        let read_only = match key.access {
            Access::ReadWrite => false,
            Access::ReadOnly => true,
        };
        Self { id: key.id, name: key.name, read_only, revoked: key.revoked, created: key.created, used }
    }
}

/// Why a key was not revoked.
pub fn unknown_key(environment: &str, id: &str) -> Outcome {
    Outcome::Refused { message: format!("the environment `{environment}` has no key `{id}`") }
}

/// The folder of the socket in a data folder.
#[cfg(unix)]
fn folder(data: &Path) -> PathBuf {
    data.join(".control")
}

/// The socket in its folder, by a path that is short enough while the folder is open.
#[cfg(unix)]
fn socket(folder: &Path, opened: &File) -> io::Result<PathBuf> {
    let path = folder.join("socket");
    if path.as_os_str().len() <= MOST_PATH {
        return Ok(path);
    }
    let short = PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(opened)));
    if !short.is_dir() {
        let text = format!("the path `{}` is too long for a socket", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(short.join("socket"))
}
