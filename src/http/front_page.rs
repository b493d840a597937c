//! Redirects a browser that opens the bare address to the studio or the page of the API.

use super::PREFIX;
use axum::extract::Request;
use axum::http::header::{ACCEPT, LOCATION};
use axum::http::{HeaderValue, Method, StatusCode};

/// The answer that leads to the studio, or else to the description of the interface.
pub(super) fn address(has_studio: bool) -> (StatusCode, [(axum::http::HeaderName, &'static str); 1]) {
    let page = if has_studio { "/studio/" } else { "/api/docs" };
    (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, page)])
}

/// Whether a browser asks for an address without a path of its own.
pub(super) fn is_asked(request: &Request) -> bool {
    let wants_page = |accepted: &HeaderValue| accepted.as_bytes().starts_with(b"text/html");
    let path = request.uri().path().trim_end_matches('/');
    (path.is_empty() || path == PREFIX)
        && request.method() == Method::GET
        && request.headers().get(ACCEPT).is_some_and(wants_page)
}
