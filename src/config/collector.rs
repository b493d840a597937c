//! Where a collector of OpenTelemetry is, and what it wants to know of who sends.

use super::value::{FlagForm, SettingValue};
use crate::percent::decoded;
use serde_json::{Value as Json, json};
use std::fmt;
use std::net::Ipv6Addr;

/// The address of a collector, without its paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorUrl(pub String);

impl SettingValue for CollectorUrl {
    const FORM: FlagForm = FlagForm::Text("URL");
    const EXPECTED: &'static str = "an address like \"http://127.0.0.1:4318\" or \"https://collector.example.com\", without `@`, `?` and `#`";

    fn parse(text: &str) -> Result<Self, &'static str> {
        let rest = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let (authority, path) = rest.map_or(("", ""), |rest| rest.split_once('/').unwrap_or((rest, "")));
        // The address is shown, so a password must not be in it. Paths are added to it.
        let is_part = |c: char| c.is_ascii_graphic() && !"?#@\"<>\\^`{|}".contains(c);
        if is_authority(authority) && path.chars().all(is_part) {
            Ok(Self(text.trim_end_matches('/').to_owned()))
        } else {
            Err(Self::EXPECTED)
        }
    }

    fn show_wrong(text: String) -> String {
        let may_be_secret = text.contains(['@', '?', '#']);
        if may_be_secret { "(an address that may have a secret)".to_owned() } else { text }
    }

    fn show(&self) -> Json {
        json!(self.0)
    }
}

/// Whether a text is a host, perhaps with a port.
fn is_authority(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => (host, Some(port)),
        Some(_) | None => (text, None),
    };
    let is_host = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok()),
        None => !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)),
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok() && !port.starts_with('+');
    is_host && port.is_none_or(is_port)
}

/// Headers of the requests to a collector, as in `OTEL_EXPORTER_OTLP_HEADERS`. Collectors that someone else
/// hosts want a key in one, so they are never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CollectorHeaders(pub Vec<(String, String)>);

impl fmt::Debug for CollectorHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CollectorHeaders({})", self.0.len())
    }
}

impl SettingValue for CollectorHeaders {
    const FORM: FlagForm = FlagForm::Secret;
    const EXPECTED: &'static str =
        "headers like \"api-key=secret, tenant=blue\", with `%2C` for a comma in a value";
    const IS_SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, &'static str> {
        let header = |text: &str| {
            let (name, value) = text.split_once('=')?;
            let (name, value) = (name.trim(), decoded(value.trim())?);
            let is_name = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            let is_valid = !name.is_empty()
                && name.chars().all(is_name)
                && value.chars().all(|c| c == ' ' || c.is_ascii_graphic());
            is_valid.then(|| (name.to_owned(), value))
        };
        let headers = text.split(',').filter(|text| !text.trim().is_empty()).map(header);
        headers.collect::<Option<_>>().map(Self).ok_or(Self::EXPECTED)
    }

    fn show(&self) -> Json {
        match self.0.len() {
            0 => Json::Null,
            n_headers => json!(format!("({n_headers} set)")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_written_as_opentelemetry_writes_them() {
        let headers = |text: &str| CollectorHeaders::parse(text).map(|headers| headers.0);
        let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let expected = owned(&[("Authorization", "Basic aGk6aG8="), ("x-tenant", "a,b")]);
        assert_eq!(headers(" Authorization=Basic%20aGk6aG8= , x-tenant=a%2Cb,"), Ok(expected));
        assert_eq!(headers(""), Ok(Vec::new()));
        for wrong in ["key", "=value", "a b=c", "a=%0Ab: c", "a=b%2", "a=b%zz", "a=\u{e9}", "a=b\nc: d"] {
            assert_eq!(headers(wrong), Err(CollectorHeaders::EXPECTED), "{wrong:?}");
        }
    }

    #[test]
    fn a_header_is_not_shown() {
        let headers = CollectorHeaders::parse("api-key=hush, b=c").unwrap();
        assert_eq!(
            (format!("{headers:?}").as_str(), headers.show()),
            ("CollectorHeaders(2)", json!("(2 set)"))
        );
        assert_eq!(CollectorHeaders::default().show(), Json::Null);
    }

    #[test]
    fn an_address_has_a_scheme_and_a_host_and_no_password_and_no_query() {
        for (text, url) in [
            ("https://api.example.com/otlp/", Some("https://api.example.com/otlp")),
            ("http://localhost:4318", Some("http://localhost:4318")),
            ("https://ada:hush@example.com", None),
            ("https://", None),
            ("ftp://example.com", None),
            ("localhost:4318", None),
            ("http://[::1]:4318/otlp", Some("http://[::1]:4318/otlp")),
            ("http://[::1]", Some("http://[::1]")),
            ("http://localhost:4318?x=y", None),
            ("http://localhost:4318/a?x=y", None),
            ("http://localhost:4318/a#b", None),
            ("http://localhost:4318/a b", None),
            ("http://local host", None),
            ("http://localhost:", None),
            ("http://localhost:port", None),
            ("http://localhost:65536", None),
            ("http://:4318", None),
            ("http://[::1", None),
            ("http:///otlp", None),
        ] {
            assert_eq!(CollectorUrl::parse(text).ok().map(|url| url.0).as_deref(), url, "{text}");
        }
    }
}
