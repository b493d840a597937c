//! Bodies and answers over [`SMALL`] bytes: counted in the budget, and decoded and encoded beside the async workers.
//!
//! ```text
//! body ─received─▶ bytes, held as they arrive ─decoded, in its turn─▶ value ─▶ handler
//! handler ─▶ value ─encoded, in its turn─▶ bytes, held until they are sent ─▶ body
//! ```
//!
//! A body takes what has arrived, not what it says that it will have, so that who sends nothing holds nothing. What
//! it decodes to is guessed before ([`decoded_bytes`]) and stays held until the answer has been sent.

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

/// How much of a large answer is handed over at once; what waits to be sent is little more.
const PART: usize = 64 * 1024;

/// About how many bytes a value of JSON takes once it is decoded, beside its text.
const VALUE_BYTES: usize = 48;

/// A body as it arrives; beyond [`SMALL`] the account holds as much as is made room for.
pub(super) async fn received(mut body: Body, limit: usize, account: &Account) -> Result<Vec<u8>, ApiError> {
    let too_large = || ApiError::TooLarge(format!("the body is larger than the limit of {limit} bytes"));
    let least = body.size_hint().lower();
    if least > limit as u64 {
        return Err(too_large());
    }
    // With a length in the head this is the length.
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

/// Decodes a large body when its turn comes.
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

/// About how many bytes a body takes once it is decoded: its text, and each of its values.
fn decoded_bytes(body: &[u8]) -> usize {
    let n_values = body.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    body.len() + VALUE_BYTES * n_values
}

/// A value as text if it is small, else nothing.
pub(super) fn encode_brief(value: &impl Serialize) -> Result<Option<Vec<u8>>, ApiError> {
    let mut text = Brief { text: Vec::with_capacity(128), is_full: false };
    match serde_json::to_writer(&mut text, value) {
        Ok(()) => Ok(Some(text.text)),
        Err(_) if text.is_full => Ok(None),
        Err(error) => Err(not_encoded(&error)),
    }
}

fn not_encoded(error: &serde_json::Error) -> ApiError {
    ApiError::Internal(format!("an answer does not encode: {error}"))
}

/// A text that takes so much and no more.
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

/// Makes the text of an answer, which the account holds.
type Encode = Box<dyn FnOnce(&Arc<Account>) -> Result<Vec<u8>, ApiError> + Send>;

/// What a large answer carries until it has a text. It is taken once; that it can be cloned and shared is for the map of
/// extensions alone.
#[derive(Clone)]
struct Unencoded(Arc<Mutex<Option<Encode>>>);

/// An answer whose value is encoded by [`encoded`].
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

/// The same answer, with its text if it has none yet.
pub(super) async fn encoded(mut response: Response, app: &AppState, account: Arc<Account>) -> Response {
    let left: Option<Unencoded> = response.extensions_mut().remove();
    let Some(encode) = left.and_then(|Unencoded(encode)| encode.lock().take()) else { return response };
    let asker = account.asker();
    let work = move || {
        let text = encode(&account)?;
        // The value is gone, and so is what the request was made of.
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

/// A text that grows on an account.
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

/// A large answer on its way, part by part; the account holds it until the last part has been taken.
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
