//! JSON bodies, with errors that name the wrong field.
//!
//! As an extractor, [`Json`] refuses bodies that are not `application/json` (415), exceed the limit (413), do
//! not arrive in time (408) or do not decode (400), each as an [`ApiError`]. Extractors of the head come
//! before it in a handler, so a body is read only for a key that may send it. [`Object`] restricts a derived
//! type to JSON objects: serde would also accept an array of the fields in order, which is never intended.
//!
//! A body is decoded directly into its type. Only if that fails is it decoded again with the path tracked, so
//! good requests do not pay for good messages. Large bodies and answers are handled in `large`.

use super::auth::account;
use super::error::ApiError;
use super::{AppState, large};
use crate::share::SMALL;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use utoipa::ToSchema;

/// A body of type `T`.
#[derive(Debug)]
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<Arc<AppState>> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<AppState>) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        is_json(&head.headers)?;
        let account = account(&head.extensions, app);
        let arriving = large::received(body, app.config.max_body, &account);
        let Ok(received) = tokio::time::timeout(app.config.body_time, arriving).await else {
            return Err(ApiError::SlowBody(app.config.body_time));
        };
        let bytes = received?;
        if bytes.len() <= SMALL {
            return decode(&bytes).map(Json);
        }
        large::decoded(bytes, account, &app.turns, decode).await.map(Json)
    }
}

impl<T: Serialize + Send + 'static> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match large::encode_brief(&self.0) {
            Ok(Some(text)) => of_json(Body::from(text)),
            Ok(None) => large::left_for_later(of_json(Body::empty()), self.0),
            Err(error) => error.into_response(),
        }
    }
}

/// A JSON answer.
pub(super) fn of_json(body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A `T` with a status other than 200.
pub(super) fn with_status(status: StatusCode, body: impl Serialize + Send + 'static) -> Response {
    let mut response = Json(body).into_response();
    if response.status() == StatusCode::OK {
        *response.status_mut() = status;
    }
    response
}

/// Decodes a body; the error names the field.
fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // Check all of it: the decoder skips the content of unknown fields.
    let text = std::str::from_utf8(bytes)
        .map_err(|error| ApiError::InvalidJson(format!("malformed JSON: the body is not UTF-8, {error}")))?;
    serde_json::from_str(text).map_err(|quick| explain::<T>(text, &quick))
}

/// What is wrong with a body, and where.
fn explain<T: DeserializeOwned>(text: &str, quick: &serde_json::Error) -> ApiError {
    if text.is_empty() {
        return ApiError::InvalidJson("a JSON body is expected".to_owned());
    }
    if quick.is_syntax() || quick.is_eof() {
        return ApiError::InvalidJson(format!("malformed JSON: {quick}"));
    }
    // The first wrong value may come before the place where the text ends too early.
    if let Err(broken) = serde_json::from_str::<IgnoredAny>(text) {
        return ApiError::InvalidJson(format!("malformed JSON: {broken}"));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    ApiError::BadRequest(in_plain_words(match serde_path_to_error::deserialize::<_, T>(&mut json) {
        Err(error) if error.path().iter().len() > 0 => format!("`{}`: {}", error.path(), error.inner()),
        Err(_) | Ok(_) => quick.to_string(),
    }))
}

/// The decoder's names for forms of JSON and types of Rust, and the common names.
const PLAIN_WORDS: &[(&str, &str)] = &[
    ("a sequence", "an array"),
    ("a map", "an object"),
    ("a boolean", "true or false"),
    ("u8", "a whole number from 0 on"),
    ("u64", "a whole number from 0 on"),
    ("usize", "a whole number from 0 on"),
];

/// Rewrites a decoder's message in common terms. What was sent is quoted before what was expected, and stays
/// as it is.
fn in_plain_words(message: String) -> String {
    let Some((found, rest)) = message.rsplit_once(", expected ") else { return message };
    let (expected, place) = rest.find(" at line ").map_or((rest, ""), |at| rest.split_at(at));
    // The decoder's place for the body as a whole.
    let place = if place == " at line 1 column 0" { "" } else { place };
    let plain = PLAIN_WORDS.iter().find(|(word, _)| *word == expected).map_or(expected, |(_, plain)| plain);
    let plain = if plain.starts_with("struct ") { "an object" } else { plain };
    let (start, form) = found.rsplit_once("invalid type: ").unwrap_or((found, ""));
    let found = match form {
        "sequence" => format!("{start}invalid type: array"),
        "map" => format!("{start}invalid type: object"),
        _ => found.to_owned(),
    };
    format!("{found}, expected {plain}{place}")
}

/// Decodes a body whose fields have been inspected; the error names the field.
pub(super) fn decode_fields<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, ApiError> {
    serde_path_to_error::deserialize(Value::Object(fields)).map_err(|error| {
        ApiError::BadRequest(in_plain_words(match error.path().iter().len() {
            0 => error.inner().to_string(),
            _ => format!("`{}`: {}", error.path(), error.inner()),
        }))
    })
}

/// Refuses any content type but `application/json`; parameters such as a charset are fine.
fn is_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = named.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(ApiError::UnsupportedMediaType)
    }
}

/// A `T` that must be sent as a JSON object.
#[derive(Debug)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(Fields(PhantomData))
    }
}

/// A JSON object whose names the client chooses, each once: of two restrictions, none may be lost.
#[derive(Debug)]
pub(super) struct NamedEntries<T>(pub(super) BTreeMap<String, T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NamedEntries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = NamedEntries<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NamedEntries<T>, A::Error> {
                let mut named = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, T>()? {
                    if named.contains_key(&name) {
                        return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
                    }
                    named.insert(name, value);
                }
                Ok(NamedEntries(named))
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// The answer of an endpoint that only reports success.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Message {
    /// What was done.
    pub(super) message: String,
}

/// The answer of an endpoint that returns rows.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Results<T> {
    /// The rows.
    pub(super) results: Vec<T>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only decoding is looked at")]
    struct Pair {
        name: String,
        parts: Vec<u8>,
    }

    fn message(body: &str) -> String {
        match decode::<Object<Pair>>(body.as_bytes()) {
            Err(ApiError::BadRequest(message) | ApiError::InvalidJson(message)) => message,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_message_names_the_field() {
        assert_eq!(
            message(r#"{"name":"a","parts":[1,"x"]}"#),
            "`parts[1]`: invalid type: string \"x\", expected a whole number from 0 on at line 1 column 26"
        );
        assert_eq!(message(r#"{"parts":[]}"#), "missing field `name` at line 1 column 12");
        assert_eq!(message(r#"["a",[1]]"#), "invalid type: array, expected an object");
    }

    #[test]
    fn a_message_speaks_of_json_and_quotes_what_was_sent() {
        let stated = |body: &str| match decode::<Vec<Vec<usize>>>(body.as_bytes()) {
            Err(ApiError::BadRequest(message)) => message,
            other => format!("{other:?}"),
        };
        assert_eq!(stated("{}"), "invalid type: object, expected an array");
        assert!(stated("[{}]").ends_with("invalid type: object, expected an array at line 1 column 1"));
        assert!(stated("[[-1]]").contains("integer `-1`, expected a whole number from 0 on at line"));
        let quoted = r#"[["invalid type: map, expected usize"]]"#;
        assert!(stated(quoted).contains(
            r#"string "invalid type: map, expected usize", expected a whole number from 0 on at line"#
        ));
    }

    #[test]
    fn a_name_that_the_client_chooses_counts_once() {
        let decoded =
            |body: &str| decode::<NamedEntries<u8>>(body.as_bytes()).map(|NamedEntries(named)| named.len());
        assert!(matches!(decoded(r#"{"a":1,"b":1}"#), Ok(2)));
        match decoded(r#"{"a":1,"a":2}"#) {
            Err(ApiError::BadRequest(message)) => {
                assert!(message.contains("duplicate field `a`"), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn broken_json_is_named_as_such() {
        assert_eq!(message(""), "a JSON body is expected");
        assert!(message(r#"{"name":"a""#).starts_with("malformed JSON: EOF"));
        assert!(message(r#"{"name":"a","parts":[]} x"#).starts_with("malformed JSON: trailing characters"));
        assert!(message("[{").starts_with("malformed JSON: EOF"), "although an object is expected");
        assert!(message(&"[".repeat(100_000)).starts_with("malformed JSON: EOF"));
        assert!(message("[]").contains("invalid type: array"));
    }

    #[test]
    fn a_charset_does_not_matter_and_another_type_does() {
        let with = |text: &'static str| {
            is_json(&HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(text))])).is_ok()
        };
        assert!(with("application/json"));
        assert!(with("Application/JSON; charset=utf-8"));
        assert!(!with("text/plain"));
        assert!(!with("application/json-patch"));
        assert!(is_json(&HeaderMap::new()).is_err());
    }
}
