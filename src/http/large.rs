//! Bodies and answers over [`SMALL`] bytes: counted in the memory budget, and decoded and encoded off the
//! async workers.
//!
//! ```text
//! body ─received─▶ bytes, counted as they arrive ─decoded, in its turn─▶ value ─▶ handler
//! handler ─▶ value ─encoded, in its turn─▶ bytes, counted until they are sent ─▶ body
//! ```
//!
//! A body is charged for what has arrived, not for its declared length, so a client that sends nothing uses
//! nothing. But a body whose declared length shows that it would have no room is not read: it waits for a
//! moment, and is refused if there is still none. So clients that retry at once cost little time. The size of
//! the decoded value is estimated in advance ([`decoded_bytes`]) and remains charged until the answer has
//! been sent.

use super::AppState;
use super::error::ApiError;
use crate::share::{Account, Meter, NoRoom, SMALL, Turns};
use axum::body::{Body, Bytes, HttpBody};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;
use serde::Serialize;
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// How many bytes of a large answer are handed to the connection at once; little more waits to be sent.
const PART: usize = 64 * 1024;

/// About how many bytes a JSON value takes once it is decoded, in addition to its text.
const VALUE_BYTES: usize = 48;

/// About how many times its length a body of facts takes until it is decoded.
const DECODED: usize = 6;

/// How long a large body waits for room before it is read.
const PATIENCE: Duration = Duration::from_millis(500);

/// How often it looks whether there is room.
const LOOK: Duration = Duration::from_millis(20);

/// Receives a body. Beyond [`SMALL`] bytes the account is charged as memory is reserved.
pub(super) async fn received(mut body: Body, limit: usize, account: &Account) -> Result<Vec<u8>, ApiError> {
    let too_large = || {
        ApiError::TooLarge(format!(
            "the body is larger than the limit of {limit} bytes: send less at once, or raise `max_body`"
        ))
    };
    let least = body.size_hint().lower();
    if least > limit as u64 {
        return Err(too_large());
    }
    if least > SMALL as u64 {
        has_room(usize::try_from(least).unwrap_or(limit), account).await?;
    }
    // If the head has a length, this is it.
    let most = body.size_hint().upper().map_or(limit, |upper| usize::try_from(upper).unwrap_or(limit));
    let mut bytes: Vec<u8> = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| ApiError::BadRequest(format!("the body ended early: {error}")))?;
        let Ok(part) = frame.into_data() else { continue };
        let length = bytes.len().saturating_add(part.len());
        if length > limit {
            return Err(too_large());
        }
        if length > bytes.capacity() {
            let room = bytes.capacity().saturating_mul(2).min(most).max(length);
            if room > SMALL {
                account.hold(room.saturating_sub(account.bytes()))?;
            }
            bytes.reserve_exact(room - bytes.len());
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

/// Waits until there is room for a body of this length, without taking any.
async fn has_room(length: usize, account: &Account) -> Result<(), ApiError> {
    let until = Instant::now() + PATIENCE;
    let needed = length.saturating_mul(DECODED);
    loop {
        match account.has_room(needed) {
            Err(NoRoom::Now) if Instant::now() < until => tokio::time::sleep(LOOK).await,
            Err(NoRoom::Now) => {
                // `has_room` does not count refusals; `hold` does.
                account.hold(needed)?;
                account.release(needed);
                return Ok(());
            }
            // It may hold long texts, and take less.
            Ok(()) | Err(NoRoom::Ever(_)) => return Ok(()),
        }
    }
}

/// Decodes a large body in its turn.
pub(super) async fn decoded<T: Send + 'static>(
    bytes: Vec<u8>,
    account: Arc<Account>,
    turns: &Arc<Turns>,
    decode: impl FnOnce(&[u8]) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let asker = account.asker();
    let work = move || {
        let text_bytes = account.bytes();
        account.hold(decoded_bytes(&bytes))?;
        let decoded = decode(&bytes);
        drop(bytes);
        account.release(text_bytes);
        decoded
    };
    turns.run(asker, work).await?
}

/// About how many bytes a body takes once it is decoded: its text, and its values.
fn decoded_bytes(body: &[u8]) -> usize {
    let n_values = body.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    body.len() + VALUE_BYTES * n_values
}

/// The value as text, if that is small.
pub(super) fn encode_brief(value: &impl Serialize) -> Result<Option<Vec<u8>>, ApiError> {
    let mut text = Brief { text: Vec::with_capacity(128), is_full: false };
    match serde_json::to_writer(&mut text, value) {
        Ok(()) => Ok(Some(text.text)),
        Err(_) if text.is_full => Ok(None),
        Err(error) => Err(not_encoded(&error)),
    }
}

fn not_encoded(error: &serde_json::Error) -> ApiError {
    ApiError::Internal(format!("cannot encode the answer: {error}"))
}

/// A buffer with a limited capacity.
struct Brief {
    text: Vec<u8>,
    is_full: bool,
}

impl Write for Brief {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if self.text.len() + part.len() > SMALL {
            self.is_full = true;
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.text.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Encodes an answer, charging its account.
type Encode = Box<dyn FnOnce(&Arc<Account>) -> Result<Vec<u8>, ApiError> + Send>;

/// The encoder of a large answer, in its extensions until it is encoded. It is taken once; it is `Clone` only
/// because extensions require that.
#[derive(Clone)]
struct Unencoded(Arc<Mutex<Option<Encode>>>);

/// An answer whose value is encoded later, by [`encoded`].
pub(super) fn left_for_later(mut response: Response, value: impl Serialize + Send + 'static) -> Response {
    let encode: Encode = Box::new(move |account| {
        let mut text = EncodedText { text: Vec::new(), meter: Meter::new(Some(account)), refused: None };
        let outcome = serde_json::to_writer(&mut text, &value);
        match (outcome, text.refused) {
            (Ok(()), _) => Ok(text.text),
            (Err(_), Some(refused)) => Err(refused.into()),
            (Err(error), None) => Err(not_encoded(&error)),
        }
    });
    response.extensions_mut().insert(Unencoded(Arc::new(Mutex::new(Some(encode)))));
    response
}

/// The same answer, encoded if it was not yet.
pub(super) async fn encoded(mut response: Response, app: &AppState, account: Arc<Account>) -> Response {
    let left: Option<Unencoded> = response.extensions_mut().remove();
    let Some(encode) = left.and_then(|Unencoded(encode)| encode.lock().take()) else { return response };
    let asker = account.asker();
    let work = move || {
        let text = encode(&account)?;
        // The value and the request have been dropped.
        account.shrink_to(text.capacity());
        Ok::<_, ApiError>(Sending { text: text.into(), _account: account })
    };
    match app.turns.run(asker, work).await.map_err(ApiError::from).flatten() {
        Ok(sending) => {
            *response.body_mut() = Body::new(sending);
            response
        }
        Err(error) => error.into_response(),
    }
}

/// A buffer that charges an account as it grows.
struct EncodedText {
    text: Vec<u8>,
    meter: Meter,
    refused: Option<NoRoom>,
}

impl Write for EncodedText {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let length = self.text.len() + part.len();
        if length > self.text.capacity() {
            let room = self.text.capacity().saturating_mul(2).max(length).max(2 * SMALL);
            if let Err(refused) = self.meter.grow(room - self.text.capacity()) {
                self.refused = Some(refused);
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            self.text.reserve_exact(room - self.text.len());
        }
        self.text.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A large answer that is being sent in parts; its account is charged until the last part has been taken.
struct Sending {
    text: Bytes,
    _account: Arc<Account>,
}

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.text.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.text.len().min(PART);
        Poll::Ready(Some(Ok(Frame::data(self.text.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.text.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.text.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::{Asker, Budget};

    fn account(budget: &Arc<Budget>) -> Account {
        let account = Account::new(budget);
        account.belongs_to(Asker::new("environment", "key"));
        account
    }

    #[tokio::test]
    async fn a_large_body_waits_for_room_but_not_for_long() {
        let budget = Arc::new(Budget::new(100 * SMALL));
        let (first, second) = (account(&budget), account(&budget));
        first.hold(40 * SMALL).unwrap();
        let body = || Body::from(vec![b' '; 2 * SMALL]);
        let begun = Instant::now();
        assert!(matches!(received(body(), 4 * SMALL, &second).await, Err(ApiError::Unavailable(_))));
        assert!(begun.elapsed() >= PATIENCE && second.bytes() == 0);
        let later = async {
            tokio::time::sleep(2 * LOOK).await;
            drop(first);
        };
        let (bytes, ()) = tokio::join!(received(body(), 4 * SMALL, &second), later);
        assert_eq!(bytes.unwrap().len(), 2 * SMALL);
    }
}
