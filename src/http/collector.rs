//! The HTTP client for collectors of OpenTelemetry.

use std::time::Duration;
use ureq::tls::{RootCerts, TlsConfig};

/// A client that gives each request this much time. It trusts the certificates that this machine trusts, and
/// follows no redirect, because what it sends is for nobody else. Any status is an answer.
pub fn collector_agent(time: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(time))
        .proxy(None)
        .user_agent(concat!("portcullis/", env!("CARGO_PKG_VERSION")))
        .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build());
    config.build().into()
}
