//! A long list of facts that is read from the store while it is sent.
//!
//! ```text
//! reading ─part, in its turn─▶ text of some facts ─▶ connection ─▶ client takes it ─▶ the next part
//! ```
//!
//! A part is read only when the connection has room for it, so a slow client holds a snapshot of the store
//! and nothing else. A list that was cut cannot be mistaken for a complete one: on an error the connection
//! ends without the last chunk and the closing bracket.

use super::AppState;
use super::error::ApiError;
use super::json::of_json;
use super::values::FactText;
use crate::engine::FactReading;
use crate::share::{Account, Asker, Turns};
use crate::store::StoreError;
use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::Frame;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// How many lists are read at once, to send or to search them: each needs a connection to its store.
pub(super) const MOST_STREAMS: usize = 16;

/// About how many bytes are read at once: a few milliseconds of work.
const PART: usize = 128 * 1024;

/// The memory that a list takes: parts being sent, and pages of the store.
const STREAM_BYTES: usize = 2 << 20;

/// Why a list was cut.
#[derive(Debug, thiserror::Error)]
enum Cut {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot encode a fact: {0}")]
    Encoding(#[from] serde_json::Error),
    #[error(transparent)]
    Lost(#[from] crate::share::Lost),
    #[error("the client took longer than {0:?} for a part")]
    Slow(Duration),
}

/// A part of the list, and whether there may be more.
type ReadPart = Result<(Bytes, bool), Cut>;

/// The answer with all facts of a reading. The first part is read in advance, so that a failing store yields
/// an error.
pub(super) async fn facts(
    reading: FactReading,
    app: &AppState,
    account: &Arc<Account>,
) -> Result<Response, ApiError> {
    let seat = seat(app, account)?;
    account.hold(STREAM_BYTES)?;
    let list = List { reading, turns: Arc::clone(&app.turns), asker: account.asker() };
    let list = Arc::new(list);
    let first = Arc::clone(&list).part(true).await.map_err(|cut| match cut {
        Cut::Store(error) => error.into(),
        cut => ApiError::Internal(cut.to_string()),
    })?;
    let account = Arc::clone(account);
    let patience = app.config.answer_time;
    let next = Next::Ready(first.0, first.1);
    Ok(of_json(Body::new(Stream { list, next, patience, taken: Instant::now(), _held: (account, seat) })))
}

/// A place among those who read facts in parts.
pub(super) fn seat(app: &AppState, account: &Account) -> Result<Account, ApiError> {
    let seat = Account::new(&app.streams);
    seat.belongs_to(account.asker());
    seat.hold(1)?;
    Ok(seat)
}

/// A list that is being read.
struct List {
    reading: FactReading,
    turns: Arc<Turns>,
    asker: Asker,
}

impl List {
    /// The next part.
    async fn part(self: Arc<Self>, is_first: bool) -> ReadPart {
        let (turns, asker) = (Arc::clone(&self.turns), self.asker);
        turns.run(asker, move || self.read(is_first)).await?
    }

    fn read(&self, is_first: bool) -> ReadPart {
        let mut text = Vec::with_capacity(PART + PART / 8);
        if is_first {
            text.push(b'[');
        }
        let mut is_first = is_first;
        let mut failed = None;
        let more = self.reading.part(|fact| {
            if !std::mem::take(&mut is_first) {
                text.push(b',');
            }
            failed = serde_json::to_writer(&mut text, &FactText::from(fact)).err();
            if failed.is_some() || text.len() >= PART {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        if !more {
            text.push(b']');
        }
        Ok((text.into(), more))
    }
}

/// The state of a list.
enum Next {
    /// A text to send, and whether there may be more.
    Ready(Bytes, bool),
    /// The next part must be read once there is room for it.
    Due,
    /// The next part is being read.
    Reading(Pin<Box<dyn Future<Output = ReadPart> + Send>>),
    /// The list has ended.
    End,
}

/// The body of a list.
struct Stream {
    list: Arc<List>,
    next: Next,
    /// How long a client may take for a part.
    patience: Duration,
    /// When the last part was handed over.
    taken: Instant,
    _held: (Arc<Account>, Account),
}

impl Stream {
    /// Cuts the list.
    fn cut(&mut self, why: Cut) -> Box<dyn std::error::Error + Send + Sync> {
        self.next = Next::End;
        tracing::warn!(cause = %why, "a list of facts was cut");
        why.into()
    }
}

impl HttpBody for Stream {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        if let Next::Due = this.next {
            if this.taken.elapsed() > this.patience {
                return Poll::Ready(Some(Err(this.cut(Cut::Slow(this.patience)))));
            }
            this.next = Next::Reading(Box::pin(Arc::clone(&this.list).part(false)));
        }
        let part = match &mut this.next {
            Next::Due | Next::End => return Poll::Ready(None),
            Next::Ready(text, more) => Ok((std::mem::take(text), *more)),
            Next::Reading(part) => ready!(part.as_mut().poll(context)),
        };
        match part {
            Ok((text, more)) => {
                this.taken = Instant::now();
                this.next = if more { Next::Due } else { Next::End };
                Poll::Ready(Some(Ok(Frame::data(text))))
            }
            Err(cut) => Poll::Ready(Some(Err(this.cut(cut)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.next, Next::End)
    }
}
