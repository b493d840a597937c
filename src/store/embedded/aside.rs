//! Runs work that needs a reader but no stored facts.
//!
//! The tests of a policy bring their own facts, so they need no connection to the store and do not delay its
//! questions.

use super::connect::Location;
use super::pool::guarded;
use super::reader::SqliteReader;
use crate::share::give_way;
use crate::store::error::StoreError;
use crate::store::options::StoreOptions;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Runs a closure with a reader of an empty database, on a low-priority thread.
///
/// The closure has `limit` in total, which the reader's [`check`](SqliteReader::check) enforces. Dropping
/// the future cancels it.
pub(in crate::store) async fn aside<T, F>(limit: Duration, work: F) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: FnOnce(&SqliteReader) -> Result<T, StoreError> + Send + 'static,
{
    let options = StoreOptions { query_time: limit, ..StoreOptions::default() };
    let reader = SqliteReader::new(Location::memory().reader(&options)?, limit)?;
    // Dropping this future drops it, which cancels the closure.
    let _running = reader.allow(Instant::now().checked_add(limit), None);
    let (tell, answer) = oneshot::channel();
    let work = move || {
        give_way();
        // If the receiver is gone, no one waits for the answer.
        let _ = tell.send(guarded(&reader, work));
    };
    let thread = thread::Builder::new().name("store-aside".into()).spawn(work);
    thread.map_err(|error| StoreError::no_thread(&error))?;
    answer.await.map_err(|_| StoreError::Closed)?
}
