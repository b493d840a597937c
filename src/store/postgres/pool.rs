//! Lends readers to questions, whose askers take turns.
//!
//! A brief question has [`BRIEF`] of time, and readers that serve nothing else; one that needs more starts
//! again as a long question. Waiting has a limit of its own.
//!
//! A question that is out of time may be slow, or its server or the network may be silent. So the clock is
//! read then: if that does not come either, the server does not answer, which is not the question's fault.
//! Meanwhile the [probe] tries whether the primary is silent.
//!
//! [probe]: super::probe

use super::clock::{Clock, WantedWrites};
use super::connect::WantedServer;
use super::frontier::Frontier;
use super::pinned::ReaderSource;
use super::probe::{self, PROBE_TIME};
use super::reader::{PgReader, RunningQuestion};
use crate::share::Asker;
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use crate::store::long_queue::{LongQueue, QueueUsage};
use crate::store::options::StoreOptions;
use crate::store::token::Token;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a clock may take in addition if a connection must be made first.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// How long the clock may take until a server counts as silent.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// How long a question may run until it counts as long.
const BRIEF: Duration = Duration::from_millis(100);

/// Whose question it is, and what it must see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedRead {
    /// The asker whose turn it takes.
    pub asker: Asker,
    /// The writes that this process has seen. That another server has lost one of them is
    /// [`TakenOver`](super::super::DatabaseError::TakenOver).
    pub seen: Option<Frontier>,
    /// The writes that it must see besides. That one of them is lost is
    /// [`LostWrite`](super::super::DatabaseError::LostWrite).
    pub after: Option<Token>,
    /// A moment that the server must know: its own, or one whose random number it still has. If it does not,
    /// that is [`LostWrite`](super::super::DatabaseError::LostWrite).
    pub known: Option<Token>,
    /// Until when it may run, not counting the time in which it waits; as long as any question if `None`.
    pub until: Option<Instant>,
}

/// How the readers of a server are used. Each keeps a connection once it has had a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolUsage {
    /// Those for brief questions.
    pub brief: QueueUsage,
    /// Those for long questions.
    pub long: QueueUsage,
}

/// The readers of one server or group of servers.
#[derive(Debug)]
pub(super) struct ReaderPool {
    /// Where the servers are.
    source: Arc<ReaderSource>,
    brief: LongQueue<PgReader>,
    long: LongQueue<PgReader>,
    /// How long a question may run.
    limit: Duration,
    /// How long it may wait before it runs.
    wait: Duration,
    /// Cancels all questions when dropped.
    all: Mutex<Vec<RunningQuestion>>,
}

impl ReaderPool {
    /// A pool of as many readers as the options say. They connect when they are used.
    pub(super) fn new(source: &Arc<ReaderSource>, options: &StoreOptions) -> Result<Self, StoreError> {
        let readers = |n: usize| {
            (0..n.max(1)).map(|_| PgReader::new(Arc::clone(source))).collect::<Result<Vec<_>, _>>()
        };
        let (brief, long) = (readers(options.readers)?, readers(options.long_readers)?);
        let all = brief.iter().chain(&long).map(PgReader::end).collect();
        Ok(Self {
            source: Arc::clone(source),
            brief: LongQueue::new(brief, false),
            long: LongQueue::new(long, true),
            limit: options.query_time,
            wait: options.query_wait,
            all: Mutex::new(all),
        })
    }

    /// How long a question may run.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// How its readers are used.
    pub(super) fn usage(&self) -> PoolUsage {
        PoolUsage { brief: self.brief.usage(), long: self.long.usage() }
    }

    /// Runs a possibly slow closure; returns also the clock that it saw, if it read anything.
    pub(super) async fn run<T, F>(&self, asked: AskedRead, read: F) -> Result<(T, Option<Clock>), StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&PgReader) -> Result<T, StoreError> + Send + 'static,
    {
        let (asker, begin) = (asked.asker, allowing(asked.clone(), self.limit));
        let read = |reader: &PgReader| reader.guarded(read).map(|answer| (answer, reader.seen()));
        let outcome = self.long.ask(asker, self.wait, begin, read).await;
        if matches!(outcome, Err(StoreError::Timeout(_))) {
            self.check_answers(asked).await?;
        }
        outcome
    }

    /// The same for a closure that is probably fast.
    pub(super) async fn run_brief<T, F>(
        &self,
        asked: AskedRead,
        read: F,
    ) -> Result<(T, Option<Clock>), StoreError>
    where
        T: Send + 'static,
        F: Fn(&PgReader) -> Result<T, StoreError> + Send + 'static,
    {
        match self.try_briefly(asked.clone(), read).await? {
            (Err(StoreError::Timeout(_)), read) if BRIEF < self.limit => {
                self.check_answers(asked.clone()).await?;
                self.run(asked, read).await
            }
            (outcome, _) => outcome,
        }
    }

    /// The same, but one that turns out to be slow ends with a timeout. Returns also the closure.
    pub(super) async fn try_briefly<T, F>(
        &self,
        asked: AskedRead,
        read: F,
    ) -> Result<(Result<(T, Option<Clock>), StoreError>, F), StoreError>
    where
        T: Send + 'static,
        F: Fn(&PgReader) -> Result<T, StoreError> + Send + 'static,
    {
        let (asker, begin) = (asked.asker, allowing(asked, BRIEF.min(self.limit)));
        let tried = move |reader: &PgReader| {
            let outcome = reader.guarded(&read).map(|answer| (answer, reader.seen()));
            Ok((outcome, read))
        };
        self.brief.ask(asker, self.wait, begin, tried).await
    }

    /// Reads the clock within this time, and one that is enough to connect if it must.
    pub(super) async fn confirm_within(&self, asked: AskedRead, time: Duration) -> Result<Clock, StoreError> {
        let asker = asked.asker;
        let begin = move |reader: &PgReader| {
            let more = if reader.is_connected() { Duration::ZERO } else { CONNECT_TIME };
            allowing(asked, time + more)(reader)
        };
        self.brief.ask(asker, self.wait, begin, |reader: &PgReader| reader.guarded(PgReader::confirm)).await
    }

    /// Reads the clock after a question that was out of time.
    ///
    /// # Errors
    /// [`DatabaseError::Unreachable`] if the server is silent. What the clock shows may be an error, too.
    async fn check_answers(&self, asked: AskedRead) -> Result<(), StoreError> {
        let confirmed = tokio::select! {
            confirmed = self.confirm_within(AskedRead { until: None, ..asked }, ANSWER_TIME) => confirmed,
            () = self.is_found_silent() => Err(StoreError::Timeout(ANSWER_TIME)),
        };
        match confirmed {
            // All readers are busy, which says nothing about the server.
            Ok(_) | Err(StoreError::Overloaded(_) | StoreError::Busy) => Ok(()),
            Err(StoreError::Timeout(_)) => {
                let reason = format!("no answer within {ANSWER_TIME:?}");
                Err(DatabaseError::Unreachable { at: self.source.address.to_string(), reason }.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Waits until the primary turns out to be silent. It is tried so that this is known in the time in which
    /// it must answer.
    async fn is_found_silent(&self) {
        tokio::time::sleep(ANSWER_TIME.saturating_sub(PROBE_TIME)).await;
        let is_primary = self.source.wanted == WantedServer::ReadWrite;
        if !is_primary || !probe::is_silent(&self.source.address).await {
            std::future::pending::<()>().await;
        }
    }

    /// Cancels what runs, and lets nothing start.
    pub(super) fn end(&self) {
        self.all.lock().clear();
    }

    /// Cancels what runs, and waits until it has ended.
    pub(super) fn close(&self) {
        self.end();
        self.brief.close();
        self.long.close();
    }
}

/// Prepares a reader for a question that may run for so long, and at most until this time, which is put off
/// while the question waits.
fn allowing(
    AskedRead { seen, after, known, until, .. }: AskedRead,
    time: Duration,
) -> impl FnOnce(&PgReader) -> RunningQuestion + Send + 'static {
    let asked = Instant::now();
    move |reader| {
        let now = Instant::now();
        let end = until.and_then(|until| until.checked_add(now.saturating_duration_since(asked)));
        let late = now.checked_add(time);
        reader.allow(WantedWrites { seen, after, known }, end.into_iter().chain(late).min())
    }
}
