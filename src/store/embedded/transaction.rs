//! A queued or running write.
//!
//! A [`Write`] is a closure with a channel for its result. As a [`Job`] its result type is erased, so that
//! all kinds of writes share one queue. The closure runs in a [`Transaction`], and again if that was rolled
//! back.

use super::directory::Directory;
use crate::store::error::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

/// The transaction in which a write runs.
#[derive(Debug)]
pub(super) struct Transaction<'w> {
    /// The writing connection.
    pub(super) conn: &'w Connection,
    /// The relations, kept equal to the table `relation`.
    pub(super) directory: &'w mut Directory,
    /// Seconds since the epoch.
    pub(super) now: i64,
    /// The number of the last write that changed something.
    pub(super) offset: &'w mut u64,
    /// What must be done after the commit.
    pub(super) pending: &'w mut Pending,
}

/// What a transaction changes apart from the file; it takes effect only after the commit.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// The keys must be reloaded.
    pub(super) keys_changed: bool,
    /// Empty tables, which may be dropped once no snapshot names them.
    pub(super) retired: Vec<String>,
}

impl Transaction<'_> {
    /// Counts this write as a change; returns its number.
    pub(super) fn advance(&mut self) -> u64 {
        *self.offset += 1;
        *self.offset
    }
}

/// A queued write without its result type.
pub(super) trait Job: Send {
    /// How many facts and patterns it contains.
    fn weight(&self) -> usize;
    /// May be called again after its transaction was rolled back.
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<(), StoreError>;
    /// Sends the result.
    fn reply(self: Box<Self>, outcome: Result<(), StoreError>);
}

/// A queued write.
pub(super) struct Write<T, F> {
    weight: usize,
    work: F,
    answer: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Write<T, F> {
    /// A write, and the receiver of its result.
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
            (Ok(()), None) => Err(StoreError::Bug("a write has no result".into())),
            (Err(error), _) => Err(error),
        };
        // The receiver may be gone; the write is committed anyway.
        let _ = self.reply.send(answer);
    }
}
