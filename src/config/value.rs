//! The types of settings: how they are parsed, read from TOML, and shown.

use super::file::TomlValue;
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The form of a setting's values on a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagForm {
    /// A flag that needs no value.
    Switch,
    /// A text, with this name in the help.
    Text(&'static str),
    /// Texts without spaces, each given by itself.
    Texts(&'static str),
    /// A text that appears neither on a command line nor in output.
    Secret,
}

/// A type of settings.
pub(super) trait SettingValue: Sized {
    /// The form of its values.
    const FORM: FlagForm;
    /// What is expected if a value is of the wrong type.
    const EXPECTED: &'static str;
    /// Whether a value may contain a password, so that not even a wrong one is shown.
    const IS_SECRET: bool = false;

    /// Parses a value; the error is what is expected instead.
    fn parse(text: &str) -> Result<Self, &'static str>;

    /// The text of a value in a file, if it has the right type.
    fn text_of(written: &TomlValue) -> Option<Cow<'_, str>> {
        match written {
            TomlValue::Text(text) => Some(text.into()),
            TomlValue::Number(_) | TomlValue::Truth(_) | TomlValue::Other => None,
        }
    }

    /// Resolves relative paths against a folder.
    fn seen_from(self, _folder: &Path) -> Self {
        self
    }

    /// A text that is not a value, as far as it may be shown.
    fn show_wrong(text: String) -> String {
        if Self::IS_SECRET { "(secret)".to_owned() } else { text }
    }

    /// The value as data.
    fn show(&self) -> Json;
}

/// The text of a number.
fn number(written: &TomlValue) -> Option<Cow<'_, str>> {
    match written {
        TomlValue::Number(text) => Some(text.into()),
        TomlValue::Text(_) | TomlValue::Truth(_) | TomlValue::Other => None,
    }
}

impl SettingValue for SocketAddr {
    const FORM: FlagForm = FlagForm::Text("ADDRESS");
    const EXPECTED: &'static str = "an address and a port like \"127.0.0.1:8081\"";

    fn parse(text: &str) -> Result<Self, &'static str> {
        text.parse().map_err(|_| Self::EXPECTED)
    }

    fn show(&self) -> Json {
        json!(self.to_string())
    }
}

impl SettingValue for PathBuf {
    const FORM: FlagForm = FlagForm::Text("PATH");
    const EXPECTED: &'static str = "a path in quotes";

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() { Err("a path that is not empty") } else { Ok(Self::from(text)) }
    }

    fn seen_from(self, folder: &Path) -> Self {
        folder.join(self)
    }

    fn show(&self) -> Json {
        json!(self.display().to_string())
    }
}

impl SettingValue for bool {
    const FORM: FlagForm = FlagForm::Switch;
    const EXPECTED: &'static str = "true or false";

    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(Self::EXPECTED),
        }
    }

    fn text_of(written: &TomlValue) -> Option<Cow<'_, str>> {
        match written {
            TomlValue::Truth(true) => Some("true".into()),
            TomlValue::Truth(false) => Some("false".into()),
            TomlValue::Text(_) | TomlValue::Number(_) | TomlValue::Other => None,
        }
    }

    fn show(&self) -> Json {
        json!(self)
    }
}

impl SettingValue for String {
    const FORM: FlagForm = FlagForm::Text("TEXT");
    const EXPECTED: &'static str = "a text in quotes";

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() { Err("a text that is not empty") } else { Ok(text.to_owned()) }
    }

    fn show(&self) -> Json {
        json!(self)
    }
}

macro_rules! counts {
    ($($ty:ty: $expected:literal,)+) => {
        $(impl SettingValue for $ty {
            const FORM: FlagForm = FlagForm::Text("COUNT");
            const EXPECTED: &'static str = $expected;

            fn parse(text: &str) -> Result<Self, &'static str> {
                text.parse().map_err(|_| Self::EXPECTED)
            }

            fn text_of(written: &TomlValue) -> Option<Cow<'_, str>> {
                number(written)
            }

            fn show(&self) -> Json {
                json!(self)
            }
        })+
    };
}

counts! {
    usize: "a whole number",
    u64: "a whole number",
    NonZeroU32: "a whole number above zero",
    NonZeroUsize: "a whole number above zero",
}

impl SettingValue for Duration {
    const FORM: FlagForm = FlagForm::Text("SECONDS");
    const EXPECTED: &'static str = "a number of seconds";

    fn parse(text: &str) -> Result<Self, &'static str> {
        let seconds: f64 = text.parse().map_err(|_| Self::EXPECTED)?;
        Self::try_from_secs_f64(seconds).map_err(|_| "a number of seconds that is not negative")
    }

    fn text_of(written: &TomlValue) -> Option<Cow<'_, str>> {
        number(written)
    }

    fn show(&self) -> Json {
        if self.subsec_nanos() == 0 { json!(self.as_secs()) } else { json!(self.as_secs_f64()) }
    }
}

/// A text that is never shown in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl SettingValue for Secret {
    const FORM: FlagForm = FlagForm::Secret;
    const EXPECTED: &'static str = String::EXPECTED;
    const IS_SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, &'static str> {
        String::parse(text).map(Self)
    }

    fn show(&self) -> Json {
        json!("(secret)")
    }
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs: one JSON object per line.
    Json,
}

impl SettingValue for LogFormat {
    const FORM: FlagForm = FlagForm::Text("FORMAT");
    const EXPECTED: &'static str = "\"text\" or \"json\"";

    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(Self::EXPECTED),
        }
    }

    fn show(&self) -> Json {
        json!(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

/// Which context facts the decision log shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoggedFacts {
    /// None of them.
    None,
    /// All of them.
    All,
    /// Those of these predicates.
    Only(Vec<String>),
    /// Those of other predicates than these.
    Except(Vec<String>),
}

impl LoggedFacts {
    /// Whether facts of this predicate are shown.
    pub fn covers(&self, predicate: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| name == predicate);
        match self {
            Self::None => false,
            Self::All => true,
            Self::Only(names) => is_named(names),
            Self::Except(names) => !is_named(names),
        }
    }
}

impl SettingValue for LoggedFacts {
    const FORM: FlagForm = FlagForm::Text("FACTS");
    const EXPECTED: &'static str = "\"none\", \"all\", \"only p, q\" or \"except p, q\"";

    fn parse(text: &str) -> Result<Self, &'static str> {
        let (kind, names) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let names: Vec<String> =
            names.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
        match (kind, names.is_empty()) {
            ("none", true) => Ok(Self::None),
            ("all", true) => Ok(Self::All),
            ("only", false) => Ok(Self::Only(names)),
            ("except", false) => Ok(Self::Except(names)),
            _ => Err(Self::EXPECTED),
        }
    }

    fn show(&self) -> Json {
        json!(match self {
            Self::None => "none".to_owned(),
            Self::All => "all".to_owned(),
            Self::Only(names) => format!("only {}", names.join(", ")),
            Self::Except(names) => format!("except {}", names.join(", ")),
        })
    }
}

/// The address of this service for its clients, over TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(pub String);

impl SettingValue for PublicUrl {
    const FORM: FlagForm = FlagForm::Text("URL");
    const EXPECTED: &'static str = "an address like \"https://pdp.example.com\", without `?` and `#`";

    fn parse(text: &str) -> Result<Self, &'static str> {
        let is_part = |c: char| c.is_ascii_graphic() && !matches!(c, '?' | '#' | '"' | '\\' | '<' | '>');
        match text.strip_prefix("https://") {
            Some(rest) if !rest.starts_with('/') && !rest.is_empty() && rest.chars().all(is_part) => {
                Ok(Self(text.trim_end_matches('/').to_owned()))
            }
            Some(_) | None => Err(Self::EXPECTED),
        }
    }

    fn show(&self) -> Json {
        json!(self.0)
    }
}

/// The address of a store in a PostgreSQL database. It may contain a password, so it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(pub String);

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreUrl(…)")
    }
}

impl SettingValue for StoreUrl {
    const FORM: FlagForm = FlagForm::Text("URL");
    const EXPECTED: &'static str = "an address like \"postgres://portcullis@db.internal/portcullis\"";
    const IS_SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, &'static str> {
        let is_address = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        if is_address { Ok(Self(text.to_owned())) } else { Err(Self::EXPECTED) }
    }

    fn show(&self) -> Json {
        json!("(set)")
    }
}

/// The addresses of several of them. They may contain passwords, so they are never shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreUrls(pub Vec<StoreUrl>);

impl SettingValue for StoreUrls {
    const FORM: FlagForm = FlagForm::Texts("URL");
    const EXPECTED: &'static str = StoreUrl::EXPECTED;
    const IS_SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, &'static str> {
        Ok(Self(text.split_whitespace().map(StoreUrl::parse).collect::<Result<_, _>>()?))
    }

    fn show(&self) -> Json {
        match self.0.len() {
            0 => Json::Null,
            n_urls => json!(format!("({n_urls} set)")),
        }
    }
}

impl<T: SettingValue> SettingValue for Option<T> {
    const FORM: FlagForm = T::FORM;
    const EXPECTED: &'static str = T::EXPECTED;
    const IS_SECRET: bool = T::IS_SECRET;

    fn parse(text: &str) -> Result<Self, &'static str> {
        T::parse(text).map(Some)
    }

    fn text_of(written: &TomlValue) -> Option<Cow<'_, str>> {
        T::text_of(written)
    }

    fn seen_from(self, folder: &Path) -> Self {
        self.map(|value| value.seen_from(folder))
    }

    fn show_wrong(text: String) -> String {
        T::show_wrong(text)
    }

    fn show(&self) -> Json {
        self.as_ref().map_or(Json::Null, SettingValue::show)
    }
}
