//! The options of a store.

use std::time::Duration;

/// How a store is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Connections for brief questions only.
    pub readers: usize,
    /// Connections for long questions, each on a low-priority thread. One asker gets at most all but one of
    /// them; with one more than there are processors, a single asker is not slowed down.
    pub long_readers: usize,
    /// How long a question may run.
    pub query_time: Duration,
    /// How long a long question may wait for its turn before it runs.
    pub query_wait: Duration,
    /// How long the check of the file's structure may take at the start; zero skips it.
    pub check_time: Duration,
    /// How many bytes of the file readers map into memory. Reading mapped pages costs no system call, but a
    /// disk that fails under a mapped page kills the process. 0 disables it.
    pub mapped_bytes: u64,
    /// The maximum size of the file in bytes; `None` for no limit.
    pub max_bytes: Option<u64>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            readers: processors.max(4),
            long_readers: processors.max(2) + 1,
            query_time: Duration::from_secs(20),
            query_wait: Duration::from_secs(20),
            check_time: Duration::from_secs(2),
            mapped_bytes: 1 << 32,
            max_bytes: None,
        }
    }
}
