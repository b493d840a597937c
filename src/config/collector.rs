//! Where a collector of OpenTelemetry is, and what it wants to know of who sends.

use super::value::{FlagForm, SettingValue};
use crate::percent::decoded;
use serde_json::{Value as Json, json};
use std::fmt;

/// The address of a collector, without its paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorUrl(pub String);

impl SettingValue for CollectorUrl {
    const FORM: FlagForm = FlagForm::Text("URL");
    const EXPECTED: &'static str =
        "an address like \"http://127.0.0.1:4318\" or \"https://collector.example.com\", without `@`";

    fn parse(text: &str) -> Result<Self, &'static str> {
        let rest = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        // The address is shown, so a password must not be in it.
        match rest {
            Some(rest) if !rest.is_empty() && !rest.contains('@') => {
                Ok(Self(text.trim_end_matches('/').to_owned()))
            }
            Some(_) | None => Err(Self::EXPECTED),
        }
    }

    fn show_wrong(text: String) -> String {
        if text.contains('@') { "(an address that may have a password)".to_owned() } else { text }
    }

    fn show(&self) -> Json {
        json!(self.0)
    }
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
    fn an_address_has_a_scheme_and_no_password() {
        for (text, url) in [
            ("https://api.example.com/otlp/", Some("https://api.example.com/otlp")),
            ("http://localhost:4318", Some("http://localhost:4318")),
            ("https://ada:hush@example.com", None),
            ("https://", None),
            ("ftp://example.com", None),
            ("localhost:4318", None),
        ] {
            assert_eq!(CollectorUrl::parse(text).ok().map(|url| url.0).as_deref(), url, "{text}");
        }
    }
}
