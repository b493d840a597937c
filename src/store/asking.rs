//! Lends a reader of either engine to a question.
//!
//! A question to a store on PostgreSQL must see all that this process has seen, and the writes that its
//! request names. Its answer comes with the clock, which shows whether other processes have changed anything.

use super::postgres::{AskedRead, Clock, PgReader, PostgresStore};
use super::{Backend, Reader, Store, StoreError};
use std::any::Any;
use std::time::Instant;

/// What is asked of a reader on PostgreSQL. The answer is of any type, so that the code around the question
/// is compiled once: answers have about forty types.
type PgRead = Box<dyn FnOnce(&PgReader) -> Result<AnyAnswer, StoreError> + Send>;

/// The same, if it may be asked again.
type PgBriefRead = Box<dyn Fn(&PgReader) -> Result<AnyAnswer, StoreError> + Send>;

type AnyAnswer = Box<dyn Any + Send>;

impl Store {
    /// Runs a possibly slow closure with a reader, on a thread that may block.
    pub async fn read<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Reader<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        Ok(self.ask(None, read).await?.0)
    }

    /// The same until a deadline, or for the time of one question. Returns also the clock of a store on
    /// PostgreSQL, if it was read.
    pub(super) async fn ask<T, F>(
        &self,
        until: Option<Instant>,
        read: F,
    ) -> Result<(T, Option<Clock>), StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Reader<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        match &self.backend {
            Backend::Embedded(store) => {
                let read = move |reader: &_| read(&Reader::Embedded(reader));
                Ok((store.read(self.asker, until, read).await?, None))
            }
            Backend::Postgres(store) => {
                let read: PgRead =
                    Box::new(move |reader| Ok(Box::new(read(&Reader::Postgres(reader))?) as AnyAnswer));
                Self::answered(store, store.read(self.asked(store, until), read).await)
            }
        }
    }

    /// Like [`Store::read`], for a closure that is probably fast. A slow one is started again as a long
    /// question.
    pub async fn read_brief<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Reader<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        Ok(self.ask_briefly(None, read).await?.0)
    }

    /// The same with a deadline and a clock, as for [`ask`](Self::ask).
    pub(super) async fn ask_briefly<T, F>(
        &self,
        until: Option<Instant>,
        read: F,
    ) -> Result<(T, Option<Clock>), StoreError>
    where
        T: Send + 'static,
        F: Fn(&Reader<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        match &self.backend {
            Backend::Embedded(store) => {
                let read = move |reader: &_| read(&Reader::Embedded(reader));
                Ok((store.read_brief(self.asker, until, read).await?, None))
            }
            Backend::Postgres(store) => {
                let read: PgBriefRead =
                    Box::new(move |reader| Ok(Box::new(read(&Reader::Postgres(reader))?) as AnyAnswer));
                Self::answered(store, store.read_brief(self.asked(store, until), read).await)
            }
        }
    }

    /// A question to a store on PostgreSQL.
    fn asked(&self, store: &PostgresStore, until: Option<Instant>) -> AskedRead {
        AskedRead { asker: self.asker, seen: Some(store.frontier()), after: self.after, until }
    }

    /// The answer of a store on PostgreSQL, which may have come with its clock.
    fn answered<T: 'static>(
        store: &PostgresStore,
        outcome: Result<(AnyAnswer, Option<Clock>), StoreError>,
    ) -> Result<(T, Option<Clock>), StoreError> {
        let (answer, clock) = store.unless_taken_over(outcome)?;
        let answer = answer.downcast();
        let answer = answer.map_err(|_| StoreError::Bug("an answer is of another type".to_owned()))?;
        Ok((*answer, clock))
    }
}
