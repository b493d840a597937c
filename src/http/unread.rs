//! Reads what a request's handler left unread of its body, so that the connection stays usable.
//!
//! Many answers are ready before the body has been read, or has even arrived: 401, 403, 404, 413, 429, 503.
//! hyper closes such a connection without a word to the client, whose next request there is lost. So the
//! connection lends each body to its request. What comes back before its end is read and dropped before the
//! answer is sent, if that is little and arrives soon; otherwise the answer says `Connection: close`.
//!
//! A body that its handler reads costs no allocation: there is one place for all requests of a connection,
//! which come one after another.

use super::seats::Leave;
use axum::body::{Bytes, HttpBody};
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};
use parking_lot::Mutex;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// How many unread bytes are read for the sake of the connection, and how long that may take.
const MOST_UNREAD: u64 = 64 * 1024;
const UNREAD_TIME: Duration = Duration::from_secs(1);

/// Lends the bodies of a connection to its requests, and takes back those that are not read to their end.
#[derive(Debug, Default)]
pub(super) struct Lender(Arc<Mutex<Option<Incoming>>>);

impl Lender {
    /// Lends a body to its request.
    pub(super) fn lend(&self, body: Incoming) -> LentBody {
        LentBody { body: Some(body), came_back: Arc::clone(&self.0) }
    }

    /// Reads the rest of the body that has come back, if there is one. If that fails, or the connection has
    /// to leave, or the client waits to be asked for the body, the answer is the last on its connection.
    pub(super) async fn settle(&self, answer: &mut Response, leave: &Leave, waits_for_100: bool) {
        let came_back = self.0.lock().take();
        if let Some(rest) = came_back
            && (waits_for_100 || !ends_soon(rest, leave).await)
        {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Reads the rest of a body; whether it had an end within the limits.
async fn ends_soon(mut rest: Incoming, leave: &Leave) -> bool {
    if rest.size_hint().lower() > MOST_UNREAD {
        return false;
    }
    let reading = async {
        let mut n_bytes = 0;
        while let Some(frame) = rest.frame().await {
            let Ok(frame) = frame else { return false };
            n_bytes += frame.data_ref().map_or(0, |part| part.len() as u64);
            if n_bytes > MOST_UNREAD {
                return false;
            }
        }
        true
    };
    tokio::select! {
        ended = tokio::time::timeout(UNREAD_TIME, reading) => ended.unwrap_or(false),
        () = leave.asked() => false,
    }
}

/// The body of a request. If it is dropped before its end, the rest goes back to the connection.
#[derive(Debug)]
pub(super) struct LentBody {
    /// Nothing once it has been read to its end.
    body: Option<Incoming>,
    came_back: Arc<Mutex<Option<Incoming>>>,
}

impl HttpBody for LentBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(context));
        if frame.is_none() {
            self.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for LentBody {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *self.came_back.lock() = Some(body);
        }
    }
}
