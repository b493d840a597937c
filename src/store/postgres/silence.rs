//! Whether the primary says nothing, although its connections stay open.
//!
//! ```text
//! answers ─▶ had no answer in time ─▶ tried ─▶ nor has a probe ─▶ silent ─▶ a probe has one ─▶ answers
//!    ▲                                  │ a probe has one
//!    └──────────────────────────────────┘
//! ```
//!
//! A network that hangs lets every request wait until its time is over. So once the primary is silent, the
//! requests that need it fail at once. What is known is shared by all that use one address. A probe decides,
//! not the request that had no answer: that may be slow, or wait for a lock.

use super::error::passing;
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A failure that took longer may come from a server that is silent. One that refuses a connection says so
/// at once.
const QUICK: Duration = Duration::from_millis(250);

/// What is known of the primary of an address.
#[derive(Debug)]
pub(super) struct Silence {
    /// Where the servers are, for messages.
    at: String,
    state: watch::Sender<PrimaryState>,
    /// How often it has become silent.
    n_silences: AtomicU64,
    /// How much of what needs it had an answer.
    n_answers: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrimaryState {
    /// Nothing is wrong, as far as it is known.
    Answers,
    /// It is about to be decided.
    Tried,
    /// It has been silent since then.
    Silent(Instant),
}

impl Silence {
    pub(super) fn new(at: String) -> Self {
        let state = watch::Sender::new(PrimaryState::Answers);
        Self { at, state, n_silences: AtomicU64::new(0), n_answers: AtomicU64::new(0) }
    }

    /// Fails while it is silent.
    pub(super) fn check(&self) -> Result<(), DatabaseError> {
        match *self.state.borrow() {
            PrimaryState::Silent(since) => Err(self.error(since)),
            PrimaryState::Answers | PrimaryState::Tried => Ok(()),
        }
    }

    /// Whether it is silent.
    pub(super) fn is_on(&self) -> bool {
        self.check().is_err()
    }

    /// How often it has become silent. A connection that was made before may have lost what was sent on it.
    pub(super) fn count(&self) -> u64 {
        self.n_silences.load(Ordering::SeqCst)
    }

    /// The outcome of some work, or an error as soon as it is silent.
    pub(super) async fn unless_on<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.check()?;
        let outcome = tokio::select! {
            biased;
            outcome = work => outcome,
            error = self.begun() => Err(error.into()),
        };
        if outcome.is_ok() {
            self.n_answers.fetch_add(1, Ordering::SeqCst);
        }
        outcome
    }

    /// How much of what needs it had an answer, so far.
    pub(super) fn n_answers(&self) -> u64 {
        self.n_answers.load(Ordering::SeqCst)
    }

    /// Waits until it is silent.
    async fn begun(&self) -> DatabaseError {
        let mut state = self.state.subscribe();
        loop {
            if let PrimaryState::Silent(since) = *state.borrow_and_update() {
                return self.error(since);
            }
            if state.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Notes that it is to be tried; returns whether the caller must do so.
    pub(super) fn suspect(&self) -> bool {
        self.state.send_if_modified(|state| {
            let is_new = *state == PrimaryState::Answers;
            if is_new {
                *state = PrimaryState::Tried;
            }
            is_new
        })
    }

    /// Waits until a probe has decided; returns whether it is silent.
    pub(super) async fn decided(&self) -> bool {
        let mut state = self.state.subscribe();
        let decided = state.wait_for(|state| *state != PrimaryState::Tried).await;
        decided.is_ok_and(|state| matches!(*state, PrimaryState::Silent(_)))
    }

    /// Notes what a probe has found.
    pub(super) fn note(&self, answers: bool) {
        self.state.send_if_modified(|state| match (*state, answers) {
            (PrimaryState::Answers, _) | (PrimaryState::Silent(_), false) => false,
            (PrimaryState::Tried, true) => {
                *state = PrimaryState::Answers;
                true
            }
            (PrimaryState::Tried, false) => {
                tracing::warn!(at = self.at, "the primary does not answer: what needs it is refused");
                self.n_silences.fetch_add(1, Ordering::SeqCst);
                *state = PrimaryState::Silent(Instant::now());
                true
            }
            (PrimaryState::Silent(since), true) => {
                tracing::info!(at = self.at, silent_for = ?since.elapsed(), "the primary answers again");
                *state = PrimaryState::Answers;
                true
            }
        });
    }

    fn error(&self, since: Instant) -> DatabaseError {
        let reason = format!("no answer for {} s", since.elapsed().as_secs());
        DatabaseError::Unreachable { at: self.at.clone(), reason }
    }
}

/// Whether the outcome of what began then is a reason to try the primary.
pub(super) fn is_suspect<T>(began: Instant, outcome: &Result<T, StoreError>) -> bool {
    began.elapsed() >= QUICK && outcome.as_ref().is_err_and(|error| passing(error).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};

    fn silence() -> Silence {
        Silence::new("one port 5432".to_owned())
    }

    fn unreachable() -> StoreError {
        DatabaseError::Unreachable { at: "one port 5432".to_owned(), reason: "no".to_owned() }.into()
    }

    #[tokio::test]
    async fn what_needs_the_primary_fails_from_the_first_probe_without_an_answer_to_one_that_has_one() {
        let silence = silence();
        assert!(silence.suspect() && !silence.suspect(), "one probe at a time");
        assert!(silence.unless_on(ready(Ok(1))).await.is_ok(), "nothing is decided yet");
        assert_eq!(silence.n_answers(), 1);
        let (failed, ()) = tokio::join!(silence.unless_on(pending::<Result<(), _>>()), async {
            silence.note(false);
        });
        let message = "the store does not answer: no answer for 0 s, at one port 5432; check the address, the \
                       network, and that PostgreSQL runs";
        assert_eq!(failed.unwrap_err().to_string(), message);
        assert!(silence.is_on() && silence.decided().await && silence.unless_on(ready(Ok(1))).await.is_err());
        silence.note(false);
        assert!(!silence.suspect() && silence.count() == 1, "the same silence");
        silence.note(true);
        assert!(
            !silence.is_on() && !silence.decided().await && silence.unless_on(ready(Ok(1))).await.is_ok()
        );
        assert!(silence.suspect());
        silence.note(true);
        assert!(!silence.is_on() && silence.count() == 1, "a probe had an answer");
    }

    #[test]
    fn only_a_server_that_was_not_reached_for_a_while_is_suspect() {
        let long_ago = Instant::now().checked_sub(QUICK).unwrap();
        assert!(is_suspect::<()>(long_ago, &Err(unreachable())));
        assert!(!is_suspect::<()>(Instant::now(), &Err(unreachable())), "it refuses");
        assert!(!is_suspect::<()>(long_ago, &Err(StoreError::Timeout(QUICK))), "it may be slow");
        assert!(!is_suspect(long_ago, &Ok(())));
    }
}
