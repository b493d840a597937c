//! The files of the page, compressed as they are in the repository (`studio/dist`).

use super::NO_PATH;
use crate::http::error::ApiError;
use axum::body::Body;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::sync::LazyLock;

/// A file of the page.
struct StudioFile {
    name: &'static str,
    content_type: &'static str,
    /// Its bytes, compressed with gzip.
    bytes: &'static [u8],
}

/// Declares files by their names.
macro_rules! files {
    ($($name:literal: $content_type:literal,)+) => {
        &[$(StudioFile {
            name: $name,
            content_type: $content_type,
            bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/studio/dist/", $name, ".gz")),
        },)+]
    };
}

/// The files of the page; the first is the page itself.
const FILES: &[StudioFile] = files! {
    "index.html": "text/html; charset=utf-8",
    "studio.js": "text/javascript; charset=utf-8",
    "layout.js": "text/javascript; charset=utf-8",
    "studio.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
};

/// The tags of the files, by which browsers know that theirs is the same.
static TAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tag = |file: &StudioFile| {
        let digest = Sha256::digest(file.bytes);
        let mut tag = "\"".to_owned();
        for byte in digest.iter().take(16) {
            // Writing to a String cannot fail.
            let _ = write!(tag, "{byte:02x}");
        }
        tag + "\""
    };
    FILES.iter().map(tag).collect()
});

/// The page
pub(super) async fn page(headers: HeaderMap) -> Result<Response, ApiError> {
    sent("index.html", &headers)
}

/// A file of the page
pub(super) async fn file(
    headers: HeaderMap,
    name: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    let name = name.map_err(|_| ApiError::NotFound(NO_PATH.to_owned()))?;
    sent(&name, &headers)
}

/// The path without its slash leads to the page: its files are relative to it.
pub(super) async fn to_page() -> Response {
    Redirect::permanent("studio/").into_response()
}

fn sent(name: &str, headers: &HeaderMap) -> Result<Response, ApiError> {
    let found = FILES.iter().zip(TAGS.iter()).find(|(file, _)| file.name == name);
    let (file, tag) = found.ok_or_else(|| ApiError::NotFound(NO_PATH.to_owned()))?;
    let takes_gzip = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    if !takes_gzip.is_some_and(|value| value.contains("gzip")) {
        return Err(ApiError::BadRequest("the studio needs a browser that accepts gzip".to_owned()));
    }
    let is_known = headers.get(IF_NONE_MATCH).is_some_and(|sent| sent.as_bytes() == tag.as_bytes());
    let mut response = Response::new(if is_known { Body::empty() } else { Body::from(file.bytes) });
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(ETAG, tag);
    }
    Ok(response)
}
