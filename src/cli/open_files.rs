//! Adapts the number of connections to the limit of open files.
//!
//! Connections are open files, and so are stores, the log and listeners. A process without free file
//! descriptors can neither accept a connection nor write a store, so connections are limited below that.

use crate::config::Config;
use std::num::NonZeroUsize;

/// How many descriptors connections leave free for anything opened later; an environment, for example, takes
/// about fifteen.
const SPARE: u64 = 128;

/// Raises the limit of open files as far as the process may do so itself.
#[cfg(unix)]
pub(super) fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum
        && let Err(error) =
            setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
    {
        tracing::debug!(%error, "cannot raise the limit of open files");
    }
}

/// Limits the connections to the descriptors that are still free.
#[cfg(unix)]
pub(super) fn fit_connections(config: &mut Config) {
    use rustix::process::{Resource, getrlimit};
    let Some(limit) = getrlimit(Resource::Nofile).current else { return };
    let open = std::fs::read_dir("/dev/fd").map_or(0, |entries| entries.count() as u64);
    let most = usize::try_from(limit.saturating_sub(open + SPARE)).unwrap_or(usize::MAX);
    let most = NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN);
    if config.max_connections > most {
        tracing::warn!(
            limit,
            max_connections = most,
            "fewer connections than configured, because the process may not open more files: raise its limit (`ulimit -Hn`)"
        );
        config.max_connections = most;
    }
}

#[cfg(not(unix))]
pub(super) fn raise_limit() {}

#[cfg(not(unix))]
pub(super) fn fit_connections(_config: &mut Config) {}
