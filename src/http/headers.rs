//! The headers of every answer: request id, offset of a write, duration.
//!
//! `X-Request-ID` is echoed, or generated if the client sent none that is fit for a log. `OsoOffset` is the
//! moment after a mutation. It is opaque to clients, which send it back with their reads. Every read sees all
//! acknowledged writes anyway, unless the database of the store has lost some: then a read that carries the
//! offset of a lost write is refused. An offset that cannot be read may stand for any write, so no replica
//! answers a read that carries one. Clients subtract `Server-Timing: oso;dur=MS` to get the time on
//! the network.

use crate::engine::{Engine, WriteMark};
use crate::store::Token;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponseParts, Response, ResponseParts};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const OFFSET: HeaderName = HeaderName::from_static("osooffset");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// The longest request id that is echoed; a longer one is replaced.
const LONGEST_ID: usize = 128;

/// The id of a request in the logs and in its answer.
#[derive(Clone, Debug)]
pub(super) struct RequestId(HeaderValue);

impl RequestId {
    /// The id that the client sent, or a fresh one.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        match headers.get(&REQUEST_ID) {
            Some(sent) if is_fit_for_log(sent.as_bytes()) => Self(sent.clone()),
            Some(_) | None => Self::fresh(),
        }
    }

    /// A unique id: a random prefix for the process, and a counter.
    pub(super) fn fresh() -> Self {
        static PREFIX: LazyLock<u64> = LazyLock::new(|| getrandom::u64().unwrap_or_default());
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let text = format!("{:016x}-{count:08x}", *PREFIX);
        Self(HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("unknown")))
    }

    /// Sets the id in a request, so that its handler sees the same id as the client.
    pub(super) fn note(&self, request: &mut HeaderMap) {
        request.insert(REQUEST_ID, self.0.clone());
    }

    /// The id as text.
    pub(super) fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self::of(&head.headers))
    }
}

/// Whether a text can be the id of a request.
pub(super) fn is_fit_for_log(id: &[u8]) -> bool {
    (1..=LONGEST_ID).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

/// Sets the headers of every answer.
pub(super) fn stamp(response: &mut Response, id: RequestId, took: Duration) {
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id.0);
    let micros = took.as_micros();
    let timing = format!("oso;dur={}.{:03}", micros / 1000, micros % 1000);
    if let Ok(timing) = HeaderValue::try_from(timing) {
        headers.insert(SERVER_TIMING, timing);
    }
}

/// The offset of a mutation, for its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offset(pub(super) WriteMark);

/// Which writes a request must see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SentOffset {
    /// It does not say.
    Missing,
    /// All up to this moment.
    Moment(Token),
    /// Its text is not that of a moment: the embedded store gave it, or another program. The writes that it
    /// stands for are not known.
    Unreadable,
}

impl SentOffset {
    /// What a request says.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut sent = headers.get_all(&OFFSET).iter();
        match (sent.next(), sent.next()) {
            (None, _) => Self::Missing,
            (Some(text), None) => {
                text.to_str().ok().and_then(WriteMark::token).map_or(Self::Unreadable, Self::Moment)
            }
            (Some(_), Some(_)) => Self::Unreadable,
        }
    }

    /// An engine whose questions see these writes.
    pub(super) fn bind(self, engine: &Engine) -> Engine {
        match self {
            Self::Missing => engine.after(None),
            Self::Moment(token) => engine.after(Some(token)),
            Self::Unreadable => engine.of_primary(),
        }
    }
}

impl IntoResponseParts for Offset {
    type Error = std::convert::Infallible;

    fn into_response_parts(self, mut response: ResponseParts) -> Result<ResponseParts, Self::Error> {
        if let Ok(mark) = HeaderValue::try_from(self.0.to_string()) {
            response.headers_mut().insert(OFFSET, mark);
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_that_cannot_be_read_is_not_the_same_as_none() {
        let sent = |texts: &[&str]| {
            let values = texts.iter().map(|text| (OFFSET, HeaderValue::from_str(text).unwrap()));
            let mut headers = HeaderMap::new();
            values.for_each(|(name, value)| _ = headers.append(name, value));
            SentOffset::of(&headers)
        };
        let token = WriteMark::token("7-00000000000000ff").unwrap();
        assert_eq!(sent(&[]), SentOffset::Missing);
        assert_eq!(sent(&["7-00000000000000ff"]), SentOffset::Moment(token));
        for texts in [&["7"][..], &[""], &["?!"], &["7-ff-1"], &["7-00000000000000ff", "8-00000000000000ff"]]
        {
            assert_eq!(sent(texts), SentOffset::Unreadable, "{texts:?}");
        }
    }

    fn id(sent: &[u8]) -> String {
        let headers = HeaderMap::from_iter([(REQUEST_ID, HeaderValue::from_bytes(sent).unwrap())]);
        RequestId::of(&headers).as_str().to_owned()
    }

    #[test]
    fn an_id_is_echoed_if_a_log_can_hold_it() {
        assert_eq!(id(b"7b3f-42"), "7b3f-42");
        assert_ne!(id(b"with space"), "with space");
        assert_ne!(id(&[b'x'; 129]), "x".repeat(129));
        assert_ne!(id("ü".as_bytes()), "ü");
        assert_ne!(id(b""), "");
    }

    #[test]
    fn made_ids_differ() {
        let [one, other] = [RequestId::fresh(), RequestId::fresh()];
        assert_ne!(one.as_str(), other.as_str());
    }

    #[test]
    fn the_duration_is_in_milliseconds() {
        let mut response = Response::default();
        stamp(&mut response, RequestId::fresh(), Duration::from_micros(12_034));
        assert_eq!(response.headers().get(SERVER_TIMING).unwrap(), "oso;dur=12.034");
    }
}
