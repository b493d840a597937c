//! Which requests reach the studio, and what a browser may do with its answers.
//!
//! `Host` must be a name that no one else can give this service (`own_host`). And a request that changes
//! something, or opens a socket, must come from a page of this service, according to its `Origin`.

use super::StudioState;
use crate::http::error::ApiError;
use crate::http::own_host::{authority, is_ours};
use axum::extract::{Request, State};
use axum::http::header::{ORIGIN, UPGRADE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// What the page may load and ask: this service alone. Styles and scripts are files.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The headers of every answer, unless a handler has set another value.
const HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Refuses what does not come from a page of this service.
pub(super) async fn guarded(State(state): State<StudioState>, request: Request, next: Next) -> Response {
    let public = state.app.config.public_url.as_ref();
    let headers = request.headers();
    let mut response = if !is_ours(headers, public) {
        let text = "the studio can be opened at an IP address, at `localhost` or at the host of `public_url`: use \
                    one of these, or set `public_url`";
        ApiError::ForeignPage(text).into_response()
    } else if acts(request.method(), headers) && !is_from_here(headers) {
        let text = "a request that changes something must come from the studio's own page, and the address of the \
                    page differs from the header `Host`: let the proxy pass `Host` on unchanged";
        ApiError::ForeignPage(text).into_response()
    } else {
        next.run(request).await
    };
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Whether a request does more than read.
fn acts(method: &Method, headers: &HeaderMap) -> bool {
    !matches!(*method, Method::GET | Method::HEAD) || headers.contains_key(UPGRADE)
}

/// Whether a request comes from a page of this service. The scheme may differ: a proxy may handle TLS.
fn is_from_here(headers: &HeaderMap) -> bool {
    let origin = || headers.get(ORIGIN)?.to_str().ok()?.parse::<Uri>().ok();
    let (Some(origin), Some(host)) = (origin(), authority(headers)) else { return false };
    origin.authority().is_some_and(|origin| *origin == host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header::HOST;

    fn sent(host: &str, origin: Option<&str>) -> HeaderMap {
        let origin = origin.map(|origin| (ORIGIN, HeaderValue::try_from(origin).unwrap()));
        let host = (HOST, HeaderValue::try_from(host).unwrap());
        std::iter::once(host).chain(origin).collect()
    }

    #[test]
    fn an_act_comes_from_the_same_origin() {
        let is_from = |origin| is_from_here(&sent("localhost:8081", origin));
        assert!(is_from(Some("http://localhost:8081")) && is_from(Some("https://LOCALHOST:8081")));
        for origin in ["http://localhost:3000", "http://attacker.example", "null", ""] {
            assert!(!is_from(Some(origin)), "{origin}");
        }
        assert!(!is_from(None));
        assert!(acts(&Method::POST, &HeaderMap::new()) && !acts(&Method::GET, &HeaderMap::new()));
        let upgrade = HeaderMap::from_iter([(UPGRADE, HeaderValue::from_static("websocket"))]);
        assert!(acts(&Method::GET, &upgrade));
    }
}
