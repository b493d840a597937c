//! Every setting of the service, its default and the reason for it.
//!
//! In: the process environment, once, at start. Out: a [`Config`] in which every setting has a value.
//! Afterwards nothing else reads the environment; flags of the command line are laid over the value
//! that stands here. A variable is named like its setting, in capitals, after `PORTCULLIS_`; a variable
//! that is set to the empty text counts as absent. Durations are seconds and may have a fraction.
//!
//! ```
//! let config = portcullis::config::Config::default();
//! assert!(config.listen.ip().is_loopback(), "nothing listens on a public address unless told to");
//! ```

use std::{
    net::{Ipv4Addr, SocketAddr},
    num::NonZeroU32,
    path::PathBuf,
    time::Duration,
};

/// Declares the settings once: field, variable, default and reason cannot drift apart.
macro_rules! settings {
    ($($(#[doc = $why:literal])+ $name:ident: $ty:ty = $default:expr, $variable:literal;)+) => {
        /// The settings, each with its default and why.
        #[derive(Clone, Debug)]
        pub struct Config {
            $($(#[doc = $why])+ pub $name: $ty,)+
        }

        impl Default for Config {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl Config {
            /// The name of every variable that is read.
            pub const VARIABLES: &[&str] = &[$($variable,)+];

            /// The defaults, with what `variable` knows laid over them.
            fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
                let mut config = Self::default();
                $(
                    if let Some(text) = variable($variable).filter(|text| !text.is_empty()) {
                        config.$name = Setting::parse(&text)
                            .map_err(|expected| ConfigError { variable: $variable, text, expected })?;
                    }
                )+
                Ok(config)
            }
        }
    };
}

settings! {
    /// Where it listens; loopback, because a service that decides about access must not be reachable
    /// by accident. The port is the one that the clients' development setups use.
    listen: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 8081)), "PORTCULLIS_LISTEN";
    /// The folder of the embedded store; a relative one, so that a first try leaves nothing elsewhere.
    data: PathBuf = PathBuf::from("portcullis-data"), "PORTCULLIS_DATA";
    /// Whether the well-known development key is accepted; off, because everybody knows that key.
    dev: bool = false, "PORTCULLIS_DEV";
    /// A key of full access to the only environment, for a deployment that takes its key from its
    /// secrets; none, because no key is built in. Only its hash is kept.
    api_key: Option<Secret> = None, "PORTCULLIS_API_KEY";
    /// A policy file that is loaded at start; none, because the policy usually comes over HTTP.
    policy: Option<PathBuf> = None, "PORTCULLIS_POLICY";
    /// The largest body in bytes; 10 MiB is the cap of the clients themselves.
    max_body: usize = 10 * 1024 * 1024, "PORTCULLIS_MAX_BODY";
    /// The most context facts of one request; as published for the hosted product.
    max_context_facts: usize = 100, "PORTCULLIS_MAX_CONTEXT_FACTS";
    /// The most facts and patterns of one batch, if any limit; none beyond the body's size, so that
    /// bulk loads need no chunking. The hosted product uses 1,000.
    max_batch: Option<usize> = None, "PORTCULLIS_MAX_BATCH";
    /// The most facts that one pattern of a deletion may match, if any limit; none, because who may delete
    /// them one by one may delete them at once. The hosted product uses 10,000.
    max_delete: Option<u64> = None, "PORTCULLIS_MAX_DELETE";
    /// The largest policy in bytes; as published, and the most that the compiler reads.
    max_policy: usize = 1_000_000, "PORTCULLIS_MAX_POLICY";
    /// The most values of stored facts for one condition in the SQL of a local check; a text is sent, parsed
    /// and planned each time, and a condition that needs more is better bound to a table.
    embedded_values: usize = 10_000, "PORTCULLIS_EMBEDDED_VALUES";
    /// How long one question may run; as published. A question over it is the asker's, so it gets 400.
    query_time: Duration = Duration::from_secs(20), "PORTCULLIS_QUERY_TIME";
    /// How long a request may take in all; the query time, plus waiting for a reader or the writer.
    request_time: Duration = Duration::from_mins(1), "PORTCULLIS_REQUEST_TIME";
    /// How long a body may take to arrive; 10 MiB in this time is a slow line, not a stalled client.
    body_time: Duration = Duration::from_secs(30), "PORTCULLIS_BODY_TIME";
    /// How long a client may leave an answer unread before its connection is cut; as generous as for the
    /// way in.
    answer_time: Duration = Duration::from_secs(30), "PORTCULLIS_ANSWER_TIME";
    /// How long a connection may take to send the head of its next request, idle time included; so
    /// neither a slow client nor a forgotten connection holds anything for longer.
    header_time: Duration = Duration::from_secs(15), "PORTCULLIS_HEADER_TIME";
    /// Connections at once, within the 1,024 files that a process may usually open; a connection beyond
    /// them waits in the kernel's queue.
    max_connections: usize = 900, "PORTCULLIS_MAX_CONNECTIONS";
    /// Requests at work at once; beyond that an immediate 503 serves the client better than a queue
    /// in which its request times out.
    max_requests: usize = 512, "PORTCULLIS_MAX_REQUESTS";
    /// The most requests a second of one key, beyond which it gets 429; none, because a check is made for
    /// every page that an application shows, all of them with one key, and how many are too many only its
    /// owner knows. What protects the service itself is the limit on requests at work.
    rate_limit: Option<NonZeroU32> = None, "PORTCULLIS_RATE_LIMIT";
    /// The most requests of one key at once, before the rate counts; as many as in a second, so that one
    /// setting is enough. Without a rate it has no effect.
    rate_burst: Option<NonZeroU32> = None, "PORTCULLIS_RATE_BURST";
    /// How long a shutdown waits for accepted requests; the time such a request may take at most.
    shutdown_time: Duration = Duration::from_mins(1), "PORTCULLIS_SHUTDOWN_TIME";
    /// Which events are logged, as a filter like `info,portcullis::store=debug`.
    log: String = "info".to_owned(), "PORTCULLIS_LOG";
}

impl Config {
    /// The defaults, with the process environment laid over them.
    ///
    /// # Errors
    /// A variable whose text is not a value of its setting.
    pub fn from_environment() -> Result<Self, ConfigError> {
        // Text that is not UTF-8 is replaced, not dropped: a setting must not vanish silently.
        Self::read(|name| std::env::var_os(name).map(|text| text.to_string_lossy().into_owned()))
    }
}

/// A variable of the environment whose text is not a value of its setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a value of {variable}: expected {expected}")]
pub struct ConfigError {
    variable: &'static str,
    text: String,
    expected: &'static str,
}

/// A text that never shows in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(secret)")
    }
}

/// A type of settings; the error says what is expected instead.
trait Setting: Sized {
    fn parse(text: &str) -> Result<Self, &'static str>;
}

impl Setting for SocketAddr {
    fn parse(text: &str) -> Result<Self, &'static str> {
        text.parse().map_err(|_| "an address and a port like 127.0.0.1:8081")
    }
}

impl Setting for PathBuf {
    fn parse(text: &str) -> Result<Self, &'static str> {
        Ok(Self::from(text))
    }
}

impl Setting for bool {
    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err("true or false"),
        }
    }
}

impl Setting for String {
    fn parse(text: &str) -> Result<Self, &'static str> {
        Ok(text.to_owned())
    }
}

impl Setting for Secret {
    fn parse(text: &str) -> Result<Self, &'static str> {
        Ok(Self(text.to_owned()))
    }
}

impl Setting for usize {
    fn parse(text: &str) -> Result<Self, &'static str> {
        text.parse().map_err(|_| "a whole number")
    }
}

impl Setting for u64 {
    fn parse(text: &str) -> Result<Self, &'static str> {
        text.parse().map_err(|_| "a whole number")
    }
}

impl Setting for NonZeroU32 {
    fn parse(text: &str) -> Result<Self, &'static str> {
        text.parse().map_err(|_| "a whole number above zero")
    }
}

impl Setting for Duration {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let seconds: f64 = text.parse().map_err(|_| "a number of seconds")?;
        Self::try_from_secs_f64(seconds).map_err(|_| "a number of seconds that is not negative")
    }
}

impl<T: Setting> Setting for Option<T> {
    fn parse(text: &str) -> Result<Self, &'static str> {
        T::parse(text).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_replaces_the_default_of_its_setting_only() {
        let config = Config::read(|name| match name {
            "PORTCULLIS_LISTEN" => Some("127.0.0.1:9000".into()),
            "PORTCULLIS_QUERY_TIME" => Some("0.5".into()),
            "PORTCULLIS_MAX_BATCH" => Some("1000".into()),
            "PORTCULLIS_LOG" => Some(String::new()),
            _ => None,
        })
        .unwrap();
        assert_eq!(config.listen.port(), 9000);
        assert_eq!(config.query_time, Duration::from_millis(500));
        assert_eq!(config.max_batch, Some(1000));
        assert_eq!(config.log, "info");
        assert_eq!(config.max_body, Config::default().max_body);
    }

    #[test]
    fn a_wrong_text_names_the_variable_and_what_is_expected() {
        let error = Config::read(|name| (name == "PORTCULLIS_DEV").then(|| "yes".into())).unwrap_err();
        assert_eq!(error.to_string(), "`yes` is not a value of PORTCULLIS_DEV: expected true or false");
        let error = Config::read(|name| (name == "PORTCULLIS_BODY_TIME").then(|| "-1".into())).unwrap_err();
        assert!(error.to_string().contains("not negative"), "{error}");
    }

    #[test]
    fn a_key_does_not_show_in_the_debug_form() {
        let config = Config { api_key: Some(Secret("e_x_1_hush".into())), ..Config::default() };
        assert!(!format!("{config:?}").contains("hush"));
    }

    #[test]
    fn every_variable_is_named_after_the_service() {
        assert!(Config::VARIABLES.iter().all(|name| name.starts_with("PORTCULLIS_")));
    }
}
