//! Lends readers to questions, in turns by asker.
//!
//! A brief question has [`BRIEF`] of time, and readers that serve nothing else; one that needs more starts
//! again as a long question. Waiting has a limit of its own.

use super::clock::Clock;
use super::pinned::ReaderSource;
use super::reader::PgReader;
use crate::share::Asker;
use crate::store::error::StoreError;
use crate::store::long_queue::LongQueue;
use crate::store::options::StoreOptions;
use crate::store::token::Token;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a question may run until it counts as long.
const BRIEF: Duration = Duration::from_millis(100);

/// Whose question it is, and what it must see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AskedRead {
    /// The asker whose turn it takes.
    pub asker: Asker,
    /// The writes that it must see.
    pub after: Option<Token>,
}

/// The readers of one server or group of servers.
#[derive(Debug)]
pub(super) struct ReaderPool {
    brief: LongQueue<PgReader>,
    long: LongQueue<PgReader>,
    /// How long a question may run.
    limit: Duration,
    /// How long it may wait before it runs.
    wait: Duration,
}

impl ReaderPool {
    /// A pool of as many readers as the options say. They connect when they are used.
    pub(super) fn new(source: &Arc<ReaderSource>, options: &StoreOptions) -> Result<Self, StoreError> {
        let readers = |n: usize| {
            (0..n.max(1)).map(|_| PgReader::new(Arc::clone(source))).collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            brief: LongQueue::new(readers(options.readers)?, false),
            long: LongQueue::new(readers(options.long_readers)?, true),
            limit: options.query_time,
            wait: options.query_wait,
        })
    }

    /// Runs a possibly slow closure; returns also the clock that it saw, if it read anything.
    pub(super) async fn run<T, F>(&self, asked: AskedRead, read: F) -> Result<(T, Option<Clock>), StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&PgReader) -> Result<T, StoreError> + Send + 'static,
    {
        let (AskedRead { asker, after }, limit) = (asked, self.limit);
        let begin = move |reader: &PgReader| reader.allow(after, Instant::now().checked_add(limit));
        let read = |reader: &PgReader| reader.guarded(read).map(|answer| (answer, reader.seen()));
        self.long.ask(asker, self.wait, begin, read).await
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
        let AskedRead { asker, after } = asked;
        let time = BRIEF.min(self.limit);
        let begin = move |reader: &PgReader| reader.allow(after, Instant::now().checked_add(time));
        let tried = move |reader: &PgReader| {
            let outcome = reader.guarded(&read).map(|answer| (answer, reader.seen()));
            Ok((outcome, read))
        };
        match self.brief.ask(asker, self.wait, begin, tried).await? {
            (Err(StoreError::Timeout(_)), read) if time < self.limit => self.run(asked, read).await,
            (outcome, _) => outcome,
        }
    }

    /// Lets nothing start any more, and waits for what runs.
    pub(super) fn close(&self) {
        self.brief.close();
        self.long.close();
    }
}
