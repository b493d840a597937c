//! A write while it waits and while it runs.
//!
//! A [`Write`] is a closure with the channel for its answer; as a [`Job`] it has lost the answer's type, so that writes
//! of all kinds share a queue. The closure runs in a [`Transaction`], and more than once if that is rolled back.

use super::error::StoreError;
use super::relation::Directory;
use rusqlite::Connection;
use tokio::sync::oneshot;

/// A transaction that a write runs in.
#[derive(Debug)]
pub(super) struct Transaction<'w> {
    /// The connection that writes.
    pub(super) conn: &'w Connection,
    /// The relations, kept equal to the table `relation`.
    pub(super) directory: &'w mut Directory,
    /// Seconds since the epoch.
    pub(super) now: i64,
    /// The number of the last write that changed something.
    pub(super) offset: &'w mut u64,
    /// What must follow the commit.
    pub(super) pending: &'w mut Pending,
}

/// What a transaction changes besides the file; it counts only after the commit.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// The keys must be read again.
    pub(super) keys_changed: bool,
    /// Empty tables, which may go once nobody can name them.
    pub(super) retired: Vec<String>,
}

impl Transaction<'_> {
    /// Counts this write among those that changed something; returns its number.
    pub(super) fn advance(&mut self) -> u64 {
        *self.offset += 1;
        *self.offset
    }
}

/// A write that waits, without the type of its answer.
pub(super) trait Job: Send {
    /// How many facts and patterns it names.
    fn weight(&self) -> usize;
    /// May be called again after its transaction was rolled back.
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<(), StoreError>;
    /// Tells the asker.
    fn reply(self: Box<Self>, outcome: Result<(), StoreError>);
}

/// A write that waits.
pub(super) struct Write<T, F> {
    weight: usize,
    work: F,
    answer: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Write<T, F> {
    /// A write, and where its answer will come.
    pub(super) fn new(weight: usize, work: F) -> (Self, oneshot::Receiver<Result<T, StoreError>>) {
        let (reply, answer) = oneshot::channel();
        (Self { weight, work, answer: None, reply }, answer)
    }
}

impl<T, F> Job for Write<T, F>
where
    T: Send,
    F: FnMut(&mut Transaction<'_>) -> Result<T, StoreError> + Send,
{
    fn weight(&self) -> usize {
        self.weight
    }

    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
        self.answer = Some((self.work)(transaction)?);
        Ok(())
    }

    fn reply(self: Box<Self>, outcome: Result<(), StoreError>) {
        let answer = match (outcome, self.answer) {
            (Ok(()), Some(answer)) => Ok(answer),
            (Ok(()), None) => Err(StoreError::Bug("a write has no answer".into())),
            (Err(error), _) => Err(error),
        };
        // The asker may have gone; the write stands all the same.
        let _ = self.reply.send(answer);
    }
}
