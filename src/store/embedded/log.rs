//! Keeps SQLite's write-ahead log small.
//!
//! A commit appends pages to the log. A checkpoint copies them into the file, and the log starts over when no
//! reader needs it any more. A checkpoint that readers hold up is tried again; if the log grows past
//! [`LIMIT`], the writer waits for them. When no write has come for a while, the log is emptied: then it
//! takes no space, and readers need not search it.

use crate::store::error::StoreError;
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// The number of pages at which the log is copied into the file: 32 MiB. Readers search the uncopied part for
/// each of their pages, four thousand pages at a time; a page that several batches touch is copied once.
const TARGET: i32 = 4_000;

/// The number of pages at which the writer waits for readers to release the log: 512 MiB.
const LIMIT: i32 = 65_536;

/// How long a write, or the checkpoint of a log that is too large, waits for readers.
pub(super) const READERS_TIME: Duration = Duration::from_secs(5);

/// The log of one file, as the writing connection sees it. In memory it is always empty.
#[derive(Debug)]
pub(super) struct Log {
    /// Pages in it after the last commit.
    pages: Arc<AtomicI32>,
}

impl Log {
    /// Starts counting pages. From now on only this module runs checkpoints.
    pub(super) fn watch(conn: &mut Connection) -> Result<Self, StoreError> {
        let pages = Arc::new(AtomicI32::new(0));
        let counter = Arc::clone(&pages);
        conn.wal_hook(Some(move |_: &mut _, pages| {
            counter.store(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self { pages })
    }

    /// Whether writes wait until readers release it.
    pub(super) fn is_full(&self) -> bool {
        self.pages.load(Ordering::Relaxed) >= LIMIT
    }

    /// Checkpoints it if it is large.
    pub(super) fn keep_small(&self, conn: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if self.is_full() {
            checkpoint(conn, "RESTART");
        } else if pages >= TARGET {
            checkpoint(conn, "PASSIVE");
        }
    }

    /// Truncates it, unless a reader needs it; then it is tried again later.
    pub(super) fn empty(&self, conn: &Connection) {
        if self.pages.load(Ordering::Relaxed) == 0 {
            return;
        }
        if conn.busy_timeout(Duration::ZERO).is_ok() && checkpoint(conn, "TRUNCATE") {
            self.pages.store(0, Ordering::Relaxed);
        }
        if let Err(error) = conn.busy_timeout(READERS_TIME) {
            tracing::warn!(%error, "cannot reset the writer's timeout");
        }
    }
}

/// Checkpoints as much of a log as readers allow.
pub(super) fn copy(conn: &Connection) {
    checkpoint(conn, "PASSIVE");
}

/// Whether the whole log has been copied.
fn checkpoint(conn: &Connection, mode: &str) -> bool {
    match conn.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| row.get::<_, bool>(0)) {
        Ok(busy) => !busy,
        Err(error) => {
            tracing::warn!(%error, mode, "cannot copy the log into the file");
            false
        }
    }
}
