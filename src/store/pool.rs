//! The threads that read: each owns one [`Reader`] and takes the next closure from a shared queue.
//!
//! The queue is bounded, so a flood of questions waits where it came from. A question whose asker has
//! gone is skipped, and the time limit counts from the moment of asking: a store that is overloaded
//! answers late questions with a timeout at once instead of working for nobody.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use super::{error::StoreError, reader::Reader};

/// Questions that may wait for each thread.
const QUEUE_PER_READER: usize = 256;

type Job = Box<dyn FnOnce(&Reader) + Send>;

/// The reading threads and their queue.
#[derive(Debug)]
pub(super) struct Pool {
    /// `None` once the store closes.
    queue: Option<flume::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    limit: Duration,
}

impl Pool {
    /// Starts a thread for each reader.
    pub(super) fn start(readers: Vec<Reader>, limit: Duration) -> Result<Self, StoreError> {
        let (queue, jobs) = flume::bounded(QUEUE_PER_READER * readers.len().max(1));
        let mut pool = Self { queue: Some(queue), threads: Vec::new(), limit };
        for reader in readers {
            let jobs = jobs.clone();
            let thread = thread::Builder::new()
                .name("store-reader".into())
                .spawn(move || serve(&reader, &jobs))
                .map_err(|error| StoreError::Io(format!("no thread for a reader: {error}")))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Runs `work` on one of the threads.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        let limit = self.limit;
        let deadline = Instant::now().checked_add(limit);
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |reader| {
            if reply.is_closed() {
                return;
            }
            reader.set_deadline(deadline);
            let outcome = catch_unwind(AssertUnwindSafe(|| work(reader)));
            // A panic can leave a snapshot open, which the next closure must not see.
            reader.end_snapshot();
            let outcome = outcome.unwrap_or_else(|_| Err(StoreError::Bug("a question panicked".into())));
            // The asker may have gone meanwhile; nobody wants the answer then.
            let _ = reply.send(outcome);
        });
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        queue.send_async(job).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Answers what waits, then ends the threads.
    pub(super) fn stop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            join(thread);
        }
    }
}

fn serve(reader: &Reader, jobs: &flume::Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        job(reader);
    }
}

/// Waits for a thread of the store, unless it is the caller: a closure can hold the last handle of the store.
pub(super) fn join(thread: JoinHandle<()>) {
    if thread.thread().id() != thread::current().id() && thread.join().is_err() {
        tracing::error!("a thread of the store panicked");
    }
}
