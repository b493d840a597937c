//! Whether a request names this service by a name that no one else can give it.
//!
//! Any page can make a browser send requests to this service. It can read the answers only if it has pointed
//! a name of its own at this service (DNS rebinding). So `Host` must be an IP address, which cannot be
//! rebound, `localhost`, or the host of `public_url`. The studio asks for this because a cookie could open
//! it, and `--dev` because everyone knows its key. Other keys are secret, so no page has one.

use super::error::ApiError;
use crate::config::{Config, PublicUrl};
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};
use std::net::IpAddr;

/// Refuses a request that a page may have sent under a name of its own, if everyone knows the key.
///
/// `Origin` is not needed for this: a page of another address can send neither a key nor JSON unless the
/// service agrees to it beforehand, which it never does. A browser always sends `Host`.
pub(super) fn check(headers: &HeaderMap, config: &Config) -> Result<(), ApiError> {
    if !config.dev || !headers.contains_key(HOST) || is_ours(headers, config.public_url.as_ref()) {
        return Ok(());
    }
    let text = "with `--dev` this service answers at an IP address, at `localhost` and at the host of \
                `public_url`, so that no page can reach it under a name of its own: use one of these, or set \
                `public_url`";
    Err(ApiError::ForeignPage(text))
}

/// The host and port that a request names.
pub(super) fn authority(headers: &HeaderMap) -> Option<Authority> {
    headers.get(HOST)?.to_str().ok()?.parse().ok()
}

/// Whether a request reaches this service by a name that no one else can give it.
pub(super) fn is_ours(headers: &HeaderMap, public: Option<&PublicUrl>) -> bool {
    let Some(authority) = authority(headers) else { return false };
    let host = authority.host().trim_end_matches('.');
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let public = public.and_then(|PublicUrl(url)| url.parse::<Uri>().ok());
    let is_public = public.as_ref().and_then(Uri::host).is_some_and(|name| name.eq_ignore_ascii_case(host));
    // RFC 6761: `localhost` and all names below it are this machine.
    let is_local = host.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case("localhost"));
    address.is_ok() || is_local || is_public
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn sent(host: &str) -> HeaderMap {
        HeaderMap::from_iter([(HOST, HeaderValue::try_from(host).unwrap())])
    }

    #[test]
    fn a_name_that_others_can_give_is_refused() {
        let public = PublicUrl("https://pdp.example.com".to_owned());
        let is_ours = |host: &str| is_ours(&sent(host), Some(&public));
        for host in [
            "localhost:8081",
            "LOCALHOST",
            "localhost.",
            "app.localhost",
            "127.0.0.1:8081",
            "[::1]:8081",
            "10.0.0.7",
            "pdp.example.com",
        ] {
            assert!(is_ours(host), "{host}");
        }
        for host in ["attacker.example", "localhost.attacker.example:8081", "127.0.0.1.nip.io", ""] {
            assert!(!is_ours(host), "{host}");
        }
        assert!(!super::is_ours(&sent("pdp.example.com"), None));
        assert!(!super::is_ours(&HeaderMap::new(), None));
    }

    #[test]
    fn every_name_will_do_where_keys_are_secret() {
        let is_refused =
            |dev, headers: &HeaderMap| check(headers, &Config { dev, ..Config::default() }).is_err();
        assert!(is_refused(true, &sent("attacker.example")) && is_refused(true, &sent("")));
        assert!(!is_refused(false, &sent("attacker.example")));
        assert!(!is_refused(true, &sent("localhost:8081")) && !is_refused(true, &HeaderMap::new()));
    }
}
