//! The writer of an environment: one thread with one connection to the primary.
//!
//! ```text
//! queue ─▶ take what waits ─▶ BEGIN ─▶ lock the clock ─▶ savepoint · batch · release, for each
//!          reply to all ◀─ publish ◀─ COMMIT ◀─ raise the clock ◀─ a row of `revision` for each
//! ```
//!
//! Every writer of every node locks the clock first, so batches are applied one after the other, and the
//! order of their revisions is that of their commits. Batches that wait share a transaction.
//!
//! If the answer to COMMIT does not come, the write may be stored or not. The random number of the
//! transaction is in the rows of its revisions: once the writer has the lock of the clock again, the former
//! transaction has ended, and that row is there or it will never be. So a batch is acknowledged once and
//! stored once.

mod panicked;

use super::address::Address;
use super::error::{of_whole_group, passing};
use super::keys;
use super::probe::judged;
use super::row_change::RowChange;
use super::runtime::OwnRuntime;
use super::transaction::WriterConnection;
use super::writer_source::WriterSource;
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use crate::store::fact::Applied;
use crate::store::key::{Access, KeyRing, NewKey};
use crate::store::policy::PolicyVersion;
use crate::store::token::Token;
use flume::RecvTimeoutError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// How many batches may be queued; further ones wait to be queued.
const QUEUE: usize = 1024;

/// How many facts and patterns fill a shared transaction.
const GROUP_WEIGHT: usize = 10_000;

/// How long the writer waits before it connects again, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// How long the writer must have nothing to do until it does what can wait.
const IDLE: Duration = Duration::from_secs(1);

/// How long that may take, each time.
const TIDY_TIME: Duration = Duration::from_secs(2);

/// How often a key's last use is saved, in seconds.
const SAVED: i64 = 3_600;

/// What a batch did, and the moment after it.
pub(super) type Written = Result<(WriteDone, Token), StoreError>;

/// What a batch did.
#[derive(Debug)]
pub(super) enum WriteDone {
    /// It changed facts.
    Applied(Applied),
    /// It stored this policy.
    Policy(PolicyVersion),
    /// It created this key.
    Created(NewKey),
    /// It revoked a key, if there is one.
    Revoked(bool),
}

impl WriteDone {
    /// The error for the result of a different kind of work.
    pub(super) fn unexpected(self) -> StoreError {
        let what = match self {
            Self::Applied(_) => "facts",
            Self::Policy(_) => "a policy",
            Self::Created(_) | Self::Revoked(_) => "a key",
        };
        StoreError::Bug(format!("the writer changed {what}, and that was not asked for"))
    }
}

/// A batch that waits.
pub(super) struct QueuedBatch {
    pub(super) work: BatchWork,
    queued: Instant,
    reply: oneshot::Sender<Written>,
}

/// What a batch is to do.
pub(super) enum BatchWork {
    /// Applies changes in order. Fails if a pattern of a deletion matches more facts than allowed.
    Apply {
        /// The changes.
        changes: Vec<RowChange>,
        /// How many facts a pattern may match.
        delete_reach: Option<u64>,
    },
    /// Removes all facts and all policies.
    Clear,
    /// Stores a policy as the active one.
    PutPolicy { src: String, filename: String },
    /// Creates a key.
    CreateKey { name: String, access: Access },
    /// Revokes the key with this id.
    RevokeKey(String),
}

/// The writing thread and its queue.
#[derive(Debug)]
pub(super) struct BatchWriter {
    address: Address,
    /// `None` once the store is closing.
    queue: Option<flume::Sender<QueuedBatch>>,
    thread: Option<JoinHandle<()>>,
    is_closing: Arc<AtomicBool>,
}

/// The thread.
struct WriterThread {
    source: WriterSource,
    connection: Option<WriterConnection>,
    is_closing: Arc<AtomicBool>,
    // Dropped last: the connection runs on it.
    runtime: OwnRuntime,
}

impl BatchWriter {
    /// Starts the thread, which connects at its first batch.
    pub(super) fn start(source: WriterSource) -> Result<Self, StoreError> {
        let (queue, batches) = flume::bounded::<QueuedBatch>(QUEUE);
        let (address, is_closing) = (source.address.clone(), Arc::new(AtomicBool::new(false)));
        let closing = Arc::clone(&is_closing);
        let mut state =
            WriterThread { is_closing: closing, source, connection: None, runtime: OwnRuntime::new()? };
        let serve = move || {
            while let Some(first) = state.next_guarded(&batches) {
                let mut weight = first.weight();
                let mut group = vec![first];
                while weight < GROUP_WEIGHT
                    && let Ok(next) = batches.try_recv()
                {
                    weight += next.weight();
                    group.push(next);
                }
                let _ = state.guarded(|state| state.write_all(group));
                if state.is_closing.load(Ordering::SeqCst) && state.connection.is_none() {
                    // No server answers, and the process must end.
                    batches.try_iter().for_each(|batch| batch.reply(Err(StoreError::Closed)));
                }
            }
            let _ = state.guarded(|state| state.save_uses(1));
        };
        let thread = thread::Builder::new().name("store-writer".into()).spawn(serve);
        let thread = thread.map_err(|error| StoreError::no_thread(&error))?;
        Ok(Self { address, queue: Some(queue), thread: Some(thread), is_closing })
    }

    /// Queues a batch and waits until it is committed. It is carried out even if the future is dropped. While
    /// the primary is silent, it fails at once.
    pub(super) async fn write(&self, work: BatchWork) -> Written {
        self.address.silence.check()?;
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        let (reply, written) = oneshot::channel();
        let batch = QueuedBatch { work, queued: Instant::now(), reply };
        queue.send_async(batch).await.map_err(|_| StoreError::Closed)?;
        // Queued batches get a reply, even if the store is closing.
        written.await.map_err(|_| StoreError::Bug("the writer panicked: the log has the details".into()))?
    }

    /// Finishes the queued batches, then closes the connection. If no server answers, they fail.
    pub(super) fn stop(&mut self) {
        self.is_closing.store(true, Ordering::SeqCst);
        self.queue = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the writer panicked");
        }
    }
}

impl QueuedBatch {
    fn weight(&self) -> usize {
        match &self.work {
            BatchWork::Apply { changes, .. } => changes.iter().map(RowChange::len).sum(),
            BatchWork::Clear
            | BatchWork::PutPolicy { .. }
            | BatchWork::CreateKey { .. }
            | BatchWork::RevokeKey(_) => 1,
        }
    }

    fn reply(self, written: Written) {
        // The receiver may be gone; the batch is committed anyway.
        let _ = self.reply.send(written);
    }
}

impl WriterThread {
    /// The next batch. Until there is one, the writer does what can wait.
    fn next(&mut self, batches: &flume::Receiver<QueuedBatch>) -> Option<QueuedBatch> {
        loop {
            match batches.recv_timeout(IDLE) {
                Ok(batch) => return Some(batch),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if self.source.published.fault().is_some() && self.brief(async |_| Ok(())).is_ok() {
                        self.source.published.note_fault(None);
                    }
                    self.save_uses(SAVED);
                    self.tidy_tables();
                }
            }
        }
    }

    /// Saves the last uses of keys that are at least this many seconds later than the saved ones. If that
    /// fails, it is tried again within the hour.
    fn save_uses(&mut self, least: i64) {
        let ring: Arc<KeyRing> = self.source.published.keys();
        let uses = ring.unsaved(least);
        if uses.is_empty() {
            return;
        }
        let schema = self.source.schema.clone();
        let save =
            async |connection: &WriterConnection| keys::save_uses(connection.session(), &schema, &uses).await;
        if let Err(error) = self.brief(save) {
            tracing::warn!(%error, "cannot save when keys were last used");
        }
        ring.note_saved(&uses);
    }

    /// Has the server analyse and vacuum the tables that have changed a lot.
    fn tidy_tables(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        for tidy in connection.take_tidying(&self.source.schema) {
            if let Err(error) = self.brief(async |connection| connection.session().run(&tidy).await) {
                tracing::warn!(%error, "cannot tidy the tables of the store; autovacuum does so later");
            }
        }
    }

    /// Does something on the connection that must end soon.
    fn brief(
        &mut self,
        work: impl AsyncFnOnce(&WriterConnection) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let Self { source, connection, runtime, .. } = self;
        runtime.block_on(async {
            let done = source.address.silence.unless_on(async {
                let connection = match connection {
                    Some(connection) => connection,
                    None => connection.insert(WriterConnection::open(source).await?),
                };
                work(connection).await
            });
            let done = timeout(TIDY_TIME, done).await.unwrap_or(Err(StoreError::Timeout(TIDY_TIME)));
            if let Err(error) = &done
                && let Some(connection) = connection.take()
            {
                connection.abandon(error).await;
            }
            done
        })
    }

    /// Writes a group in one transaction. If that fails and the server answers, each batch is tried
    /// alone: one that is too large for the server must not take the others with it. A group that may
    /// be stored must not be sent again.
    fn write_all(&mut self, mut group: Vec<QueuedBatch>) {
        #[cfg(test)]
        panicked::tests::panic_as_asked(&group);
        match self.write(&group) {
            Ok(outcomes) => group.into_iter().zip(outcomes).for_each(|(batch, written)| batch.reply(written)),
            Err(error) if of_whole_group(&error).is_some() => {
                for batch in group {
                    batch.reply(Err(of_whole_group(&error).unwrap_or(StoreError::Busy)));
                }
            }
            Err(error) => match group.pop() {
                Some(only) if group.is_empty() => only.reply(Err(error)),
                last => {
                    tracing::warn!(%error, "a shared transaction failed: trying its batches one by one");
                    group.into_iter().chain(last).for_each(|batch| self.write_all(vec![batch]));
                }
            },
        }
    }

    /// Writes a group in one transaction, as soon as there is a primary.
    fn write(&mut self, group: &[QueuedBatch]) -> Result<Vec<Written>, StoreError> {
        let Self { source, connection, is_closing, runtime } = self;
        // Batches that waited behind others have less time left.
        let first = group.iter().map(|batch| batch.queued).min().unwrap_or_else(Instant::now);
        let until = first.checked_add(source.wait);
        let mut sent = None;
        runtime.block_on(async {
            let mut pause = PAUSE.0;
            loop {
                let began = Instant::now();
                let advanced = source.advance(connection, group, &mut sent).await;
                let error = match judged(&source.address, began, advanced).await {
                    Ok(outcomes) => {
                        source.published.note_fault(None);
                        return Ok(outcomes);
                    }
                    Err(error) => error,
                };
                if let Some(connection) = connection.take() {
                    connection.abandon(&error).await;
                }
                match &error {
                    StoreError::Database(DatabaseError::TakenOver { revision }) => {
                        source.published.note_lost(*revision);
                    }
                    StoreError::Database(DatabaseError::Outdated { .. }) => source.published.note_outdated(),
                    _ => {}
                }
                let is_late = until.is_some_and(|until| Instant::now() + pause >= until)
                    || is_closing.load(Ordering::SeqCst);
                // One that may be stored is asked for as long as there is time.
                let is_given_up = sent.is_none() && source.address.silence.is_on();
                let passing = passing(&error);
                if passing.is_none() || is_late || is_given_up {
                    if let Some(fault) = passing {
                        source.published.note_fault(Some(fault.clone()));
                    }
                    return Err(if sent.is_some() { DatabaseError::UnknownWrite.into() } else { error });
                }
                sleep(super::pause::scattered(pause)).await;
                pause = (pause * 2).min(PAUSE.1);
            }
        })
    }
}
