//! Keeps SQLite's write-ahead log small.
//!
//! A commit appends pages to the log; a checkpoint copies them into the file, and the log starts over when no reader
//! needs it any more. A checkpoint that readers hold up is tried again; a log that grows past [`LIMIT`] makes the
//! writer wait for them. When no write has come for a while the log is emptied: it takes no space then, and
//! readers need not look into it.

use super::error::StoreError;
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Pages of the log at which it is copied into the file: 32 MiB. Readers look for each page of theirs in what has not been
/// copied, four thousand pages at a time; a page that several batches touch is copied once.
const TARGET: i32 = 4_000;

/// Pages of the log at which the writer waits for readers to let go of it: 512 MiB.
const LIMIT: i32 = 65_536;

/// How long a write, or the checkpoint of a log that is too large, waits for readers.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The log of one file, as the connection that writes sees it. A store in memory has none, and it stays empty.
#[derive(Debug)]
pub(super) struct Log {
    /// Pages in it after the last commit.
    pages: Arc<AtomicI32>,
}

impl Log {
    /// Counts the pages from now on; nothing but this module runs checkpoints then.
    pub(super) fn watch(conn: &mut Connection) -> Result<Self, StoreError> {
        let pages = Arc::new(AtomicI32::new(0));
        let counter = Arc::clone(&pages);
        conn.wal_hook(Some(move |_: &mut _, pages| {
            counter.store(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self { pages })
    }

    /// Whether there is nothing to copy.
    pub(super) fn is_empty(&self) -> bool {
        self.pages.load(Ordering::Relaxed) == 0
    }

    /// Whether writes wait until readers let go of it.
    pub(super) fn is_full(&self) -> bool {
        self.pages.load(Ordering::Relaxed) >= LIMIT
    }

    /// Copies it into the file if it is large.
    pub(super) fn keep_small(&self, conn: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if self.is_full() {
            checkpoint(conn, "RESTART");
        } else if pages >= TARGET {
            checkpoint(conn, "PASSIVE");
        }
    }

    /// Gives its space back, unless a reader needs it: then it is tried again later.
    pub(super) fn empty(&self, conn: &Connection) {
        if conn.busy_timeout(Duration::ZERO).is_ok() && checkpoint(conn, "TRUNCATE") {
            self.pages.store(0, Ordering::Relaxed);
        }
        if let Err(error) = conn.busy_timeout(PATIENCE) {
            tracing::warn!(%error, "the writer lost its patience");
        }
    }
}

/// Copies as much of a log into its file as readers allow.
pub(super) fn copy(conn: &Connection) {
    checkpoint(conn, "PASSIVE");
}

/// Whether the whole log has been copied.
fn checkpoint(conn: &Connection, mode: &str) -> bool {
    match conn.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| row.get::<_, bool>(0)) {
        Ok(busy) => !busy,
        Err(error) => {
            tracing::warn!(%error, mode, "the log could not be copied into the file");
            false
        }
    }
}
