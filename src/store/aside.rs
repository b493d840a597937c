//! Runs what needs a reader and no fact.
//!
//! The tests of a policy bring their own facts, so they need no connection to the store, and nobody who asks the store
//! waits for them.

use super::connect::{Location, StoreOptions};
use super::error::StoreError;
use super::pool::guarded;
use super::reader::Reader;
use super::writer;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Runs a closure with a reader of an empty database, on a thread that gives way to those that answer.
///
/// The closure has so much time in all, as the reader's [`check`](Reader::check) tells, and ends with who waits for it.
pub async fn aside<T, F>(time: Duration, work: F) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
{
    let options = StoreOptions { query_time: time, ..StoreOptions::default() };
    let reader = Reader::new(Location::memory().reader(&options)?, time)?;
    // Dropped with this future, which ends the closure.
    let _running = reader.allow(Instant::now().checked_add(time), None);
    let (tell, answer) = oneshot::channel();
    let work = move || {
        writer::give_way();
        // Whoever does not wait any more needs no answer.
        let _ = tell.send(guarded(&reader, work));
    };
    let thread = thread::Builder::new().name("store-aside".into()).spawn(work);
    thread.map_err(|error| StoreError::Io(format!("no thread for the work: {error}")))?;
    answer.await.map_err(|_| StoreError::Closed)?
}
