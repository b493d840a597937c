//! The writer: the only thread that writes.
//!
//! In: a queue of writes. Out: each is completely in the file, or has changed nothing and its caller gets the
//! error.
//!
//! ```text
//! queue ─▶ take what waits ─▶ BEGIN ─▶ savepoint · run · release ─▶ read changes ─▶ COMMIT ─▶ publish ─▶ reply to all
//!                                      └─ an error rolls back to the savepoint only
//! ```
//!
//! Making a commit durable costs more than a small batch, so waiting writes share one transaction. If the
//! shared transaction itself fails (the disk is full, say), each write is retried alone: one that is too
//! large for the disk must not take the others with it.
//!
//! Replies are sent after the commit has reached the disk and readers can see the changes. What readers will
//! see is read before the commit, because nothing may fail between commit and reply, or a committed write
//! would be reported as failed. If the disk fails in the middle of a commit, its content is unknown; the
//! thread then refuses writes until the store is opened again, which reads the log again.
//!
//! The log is checkpointed here too, after the replies, so that no batch waits for its own checkpoint.
//!
//! The thread has a lower priority than those that answer questions. If processors are busy, a batch waits a
//! little longer, instead of every question that meets it.

mod panicked;

use super::connect::Location;
use super::directory::{Directory, Retired};
use super::keys;
use super::log::Log;
use super::mark::Tally;
use super::published::{Fault, Published};
use super::transaction::{Job, Pending, Transaction, Write};
use super::watch::Watch;
use crate::share::give_way;
use crate::store::error::StoreError;
use crate::store::key::KeyRing;
use crate::store::signature::Relations;
use flume::RecvTimeoutError;
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How many writes may be queued; further ones wait to be queued.
const QUEUE: usize = 1024;

/// How many facts and patterns fill a shared transaction.
const GROUP_WEIGHT: usize = 10_000;

/// How long the writer must be idle before the log is emptied.
const IDLE: Duration = Duration::from_secs(1);

/// What a transaction changes for readers.
struct News {
    relations: Option<Arc<Relations>>,
    keys: Option<Arc<KeyRing>>,
    retired: Vec<String>,
}

/// The writing thread and its queue.
#[derive(Debug)]
pub(super) struct Writer {
    /// `None` once the store is closing.
    queue: Option<flume::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Publishes the content of the file and starts the thread, which keeps the location locked until it
    /// ends.
    pub(super) fn start(
        conn: Connection,
        place: Location,
        tally: Tally,
        published: Arc<Published>,
    ) -> Result<Self, StoreError> {
        let (queue, jobs) = flume::bounded(QUEUE);
        let mut state = WriterState::new(conn, place, tally, published)?;
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || {
                give_way();
                state.serve_or_refuse(&jobs);
            })
            .map_err(|error| StoreError::no_thread(&error))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues a write and waits until it is durable. It is carried out even if the future is dropped.
    pub(super) async fn write<T, F>(&self, weight: usize, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        let (job, answer) = Write::new(weight, work);
        queue.send_async(Box::new(job) as Box<dyn Job>).await.map_err(|_| StoreError::Closed)?;
        // Queued writes get a reply, even if the store is closing.
        answer.await.map_err(|_| StoreError::Bug("the writer panicked: the log has the details".into()))?
    }

    /// Finishes the queued writes, then closes the file.
    pub(super) fn stop(&mut self) {
        self.queue = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the writer panicked");
        }
    }
}

struct WriterState {
    // Fields are dropped in this order: the file is closed before the lock is released.
    conn: Connection,
    place: Location,
    published: Arc<Published>,
    directory: Directory,
    retired: Retired,
    generation: u64,
    offset: u64,
    log: Log,
    tally: Tally,
    watch: Watch,
}

impl WriterState {
    fn new(
        mut conn: Connection,
        place: Location,
        tally: Tally,
        published: Arc<Published>,
    ) -> Result<Self, StoreError> {
        let log = Log::watch(&mut conn)?;
        let offset = conn.query_row("SELECT value FROM meta WHERE name = 'offset'", [], |row| row.get(0))?;
        let directory = Directory::load(&conn)?;
        let mut state = Self {
            conn,
            watch: Watch::new(place.files().into_iter().chain(place.notes()), place.path()),
            place,
            published,
            directory,
            retired: Retired::default(),
            generation: 0,
            offset,
            log,
            tally,
        };
        state.directory.changed = true;
        let news = state.news(Pending { keys_changed: true, ..Pending::default() })?;
        state.publish(news);
        Ok(state)
    }

    fn serve(&mut self, jobs: &flume::Receiver<Box<dyn Job>>) {
        self.watch.note_write();
        while let Some(first) = self.next(jobs) {
            let mut weight = first.weight();
            let mut group = vec![first];
            while weight < GROUP_WEIGHT
                && let Ok(next) = jobs.try_recv()
            {
                weight += next.weight();
                group.push(next);
            }
            self.run_group(group);
            self.tidy();
        }
    }

    /// The next write. When idle, it empties the log.
    fn next(&mut self, jobs: &flume::Receiver<Box<dyn Job>>) -> Option<Box<dyn Job>> {
        loop {
            match jobs.recv_timeout(IDLE) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if self.check_content().is_ok() => {
                    keys::save_late_uses(&self.conn, &self.published.keys.read().clone());
                    self.log.empty(&self.conn);
                    self.watch.note_write();
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Stops accepting writes once files were moved or removed.
    fn check_files(&mut self) -> Result<(), StoreError> {
        self.stop_if(self.watch.missing())
    }

    /// The same, and once another program changed them. INVARIANT: the last own write was noted.
    fn check_content(&mut self) -> Result<(), StoreError> {
        self.stop_if(self.watch.missing().or_else(|| self.watch.changed()))
    }

    fn stop_if(&mut self, moved: Option<String>) -> Result<(), StoreError> {
        if let Some(reason) = moved {
            self.published.stop_writes(Fault::Moved(reason));
        }
        self.fault().map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// Why no more writes are accepted.
    fn fault(&self) -> Option<Fault> {
        self.published.fault.read().clone()
    }

    /// Shuts the store down cleanly.
    fn end(&mut self) {
        // A file that replaced the store's must not be changed.
        if self.watch.is_in_place(self.place.path()) && self.watch.changed().is_none() {
            keys::save_all_uses(&self.conn, &self.published.keys.read().clone());
            self.tally.end(&self.conn);
        }
    }

    fn run_group(&mut self, mut group: Vec<Box<dyn Job>>) {
        if self.check_content().is_err()
            && let Some(fault) = self.fault()
        {
            for job in group {
                job.reply(Err(fault.clone().into()));
            }
            return;
        }
        if group.len() == 1 {
            for job in group {
                self.run_alone(job);
            }
            return;
        }
        match self.run_shared(&mut group) {
            Ok(outcomes) => {
                for (job, outcome) in group.into_iter().zip(outcomes) {
                    job.reply(outcome);
                }
            }
            Err(error) => {
                tracing::warn!(%error, n_writes = group.len(), "a shared transaction failed: retrying its writes one by one");
                self.roll_back(&error);
                for job in group {
                    self.run_alone(job);
                }
            }
        }
    }

    fn run_alone(&mut self, mut job: Box<dyn Job>) {
        // The commit before this one noted the files, so what is checked here is what was done since.
        let outcome = self.check_content().and_then(|()| self.try_alone(&mut *job));
        if let Err(error) = &outcome {
            self.roll_back(error);
        }
        job.reply(outcome);
    }

    fn try_alone(&mut self, job: &mut dyn Job) -> Result<(), StoreError> {
        let mut pending = Pending::default();
        let before = self.offset;
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.run_job(job, &mut pending)?;
        self.commit(before, pending)
    }

    /// One outcome per job, or an error of the transaction as a whole.
    fn run_shared(&mut self, group: &mut [Box<dyn Job>]) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        let mut pending = Pending::default();
        let before = self.offset;
        let mut outcomes = Vec::with_capacity(group.len());
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for job in group {
            self.conn.prepare_cached("SAVEPOINT job")?.execute([])?;
            let offset = self.offset;
            let mut own = Pending::default();
            let outcome = self.run_job(&mut **job, &mut own);
            if outcome.is_ok() {
                pending.keys_changed |= own.keys_changed;
                pending.retired.append(&mut own.retired);
            } else {
                // This fails if the error ended the whole transaction; then all writes are retried.
                self.conn.prepare_cached("ROLLBACK TO job")?.execute([])?;
                self.offset = offset;
                self.directory.reload(&self.conn)?;
            }
            self.conn.prepare_cached("RELEASE job")?.execute([])?;
            outcomes.push(outcome);
        }
        self.commit(before, pending)?;
        Ok(outcomes)
    }

    fn run_job(&mut self, job: &mut dyn Job, pending: &mut Pending) -> Result<(), StoreError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        job.run(&mut Transaction {
            conn: &self.conn,
            directory: &mut self.directory,
            now: i64::try_from(now).unwrap_or(i64::MAX),
            offset: &mut self.offset,
            pending,
        })?;
        self.directory.save_counts(&self.conn)
    }

    fn commit(&mut self, offset_before: u64, pending: Pending) -> Result<(), StoreError> {
        if self.offset != offset_before {
            self.conn
                .prepare_cached("UPDATE meta SET value = ?1 WHERE name = 'offset'")?
                .execute([self.offset])?;
        }
        let changes = self.offset - offset_before + u64::from(pending.keys_changed);
        let writes = self.tally.count(&self.conn, changes)?;
        let news = self.news(pending)?;
        if self.directory.changed {
            self.published.pending_generation.store(self.generation + 1, Ordering::SeqCst);
        }
        // A transaction without changes writes nothing here and costs nothing.
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        // Before the reply: what another program does after it must not count as the store's own.
        self.watch.note_write();
        self.tally.note(writes);
        self.publish(news);
        // If files were removed meanwhile, the commit is lost with them.
        self.check_files()
    }

    /// What the open transaction changes for readers.
    fn news(&self, pending: Pending) -> Result<News, StoreError> {
        let relations = || Arc::new(self.directory.snapshot(self.generation + 1));
        let former = Arc::clone(&self.published.keys.read());
        let keys = if pending.keys_changed { Some(Arc::new(keys::load(&self.conn, &former)?)) } else { None };
        Ok(News { relations: self.directory.changed.then(relations), keys, retired: pending.retired })
    }

    /// Publishes what was committed. INVARIANT: runs before any of the writes is acknowledged, and cannot
    /// fail.
    fn publish(&mut self, news: News) {
        if let Some(relations) = news.relations {
            self.generation = relations.generation;
            self.retired.watch(&relations);
            *self.published.relations.write() = relations;
            self.published.pending_generation.store(self.generation, Ordering::SeqCst);
            self.directory.changed = false;
        }
        if let Some(keys) = news.keys {
            *self.published.keys.write() = keys;
        }
        self.published.offset.store(self.offset, Ordering::SeqCst);
        self.retired.add(news.retired);
    }

    /// Returns to the content of the file.
    fn roll_back(&mut self, error: &StoreError) {
        let restored = self.restore();
        let reason = match (error, restored) {
            (StoreError::Io(reason) | StoreError::IoAt { reason, .. } | StoreError::Corrupt(reason), _) => {
                reason.clone()
            }
            (_, Err(error)) => error.to_string(),
            (_, Ok(())) => return,
        };
        self.published.stop_writes(Fault::Failed(reason));
    }

    fn restore(&mut self) -> Result<(), StoreError> {
        // The announced generation will not appear; readers must not wait for it.
        self.published.pending_generation.store(self.generation, Ordering::SeqCst);
        if !self.conn.is_autocommit() {
            self.conn.execute_batch("ROLLBACK")?;
        }
        self.offset =
            self.conn.query_row("SELECT value FROM meta WHERE name = 'offset'", [], |row| row.get(0))?;
        self.directory.reload(&self.conn)
    }

    /// Work that can wait until all replies are sent.
    fn tidy(&mut self) {
        if self.check_content().is_err() {
            return;
        }
        if self.log.is_full() {
            self.published.readings.cut();
        }
        self.log.keep_small(&self.conn);
        if let Err(error) = self.retired.drop_unused(&self.conn) {
            tracing::warn!(%error, "cannot drop cleared tables: they remain until the next start");
        }
        self.watch.note_write();
    }
}
