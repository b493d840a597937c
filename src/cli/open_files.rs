//! How many files the process may have open, and how many connections fit into that.
//!
//! A connection is an open file, and so is much else: the stores of all environments, the log, the listeners. A process that
//! uses up its files can neither accept a connection nor write a store, so connections are bounded below that.

use crate::config::Config;

/// Files that connections leave to whatever else is opened later, an environment say, which takes about fifteen.
const SPARE: u64 = 128;

/// Raises the number of files that the process may open as far as it may raise it itself.
#[cfg(unix)]
pub(super) fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum
        && let Err(error) =
            setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
    {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

/// Bounds the connections to what the process may open beside what it has open already.
#[cfg(unix)]
pub(super) fn fit_connections(config: &mut Config) {
    use rustix::process::{Resource, getrlimit};
    let Some(limit) = getrlimit(Resource::Nofile).current else { return };
    let open = std::fs::read_dir("/dev/fd").map_or(0, |entries| entries.count() as u64);
    let most = usize::try_from(limit.saturating_sub(open + SPARE)).unwrap_or(usize::MAX).max(1);
    if config.max_connections > most {
        tracing::warn!(
            limit,
            max_connections = most,
            "fewer connections than configured, as the process may not open more files: raise its limit (`ulimit -Hn`)"
        );
        config.max_connections = most;
    }
}

#[cfg(not(unix))]
pub(super) fn raise_limit() {}

#[cfg(not(unix))]
pub(super) fn fit_connections(_config: &mut Config) {}
