//! Every setting of the service, its default and the reason for it.
//!
//! In: the flags of a command line, the process environment and one TOML file, read once at the start. Out: a
//! [`Config`] in which every setting has a value, and the origin of each. Nothing else reads the environment,
//! but for the names of folders in it ([`user_folder`]).
//!
//! Each setting is declared once, in the table below. Its name is the key in the file (`query_time`), in
//! upper case after `PORTCULLIS_` the variable (`PORTCULLIS_QUERY_TIME`), and with dashes the flag
//! (`--query-time`). A flag takes precedence over a variable, a variable over the file, the file over the
//! default. An empty variable counts as unset. Durations are in seconds and may have a fraction.
//!
//! ```
//! let config = portcullis::config::Config::default();
//! assert!(config.listen.ip().is_loopback(), "nothing listens on a public address by default");
//! ```

mod collector;
mod error;
mod file;
mod sources;
#[cfg(test)]
mod tests;
mod value;

pub use collector::{CollectorHeaders, CollectorUrl};
pub use error::ConfigError;
pub use sources::{Flags, InForce, SettingOrigin, Settled};
pub use value::{FlagForm, LogFormat, LoggedFacts, PublicUrl, Secret, StoreUrl, StoreUrls};

use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;
use value::SettingValue;

/// The declaration of a setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name, and its key in the file.
    pub name: &'static str,
    /// The heading of its group; settings of a group are listed together.
    pub group: &'static str,
    /// What it is, and the reason for its default, in sentences.
    pub why: &'static str,
    /// The form of its values.
    pub form: FlagForm,
    check: fn(&str) -> Result<(), &'static str>,
    show_wrong: fn(String) -> String,
}

impl Setting {
    /// Its environment variable.
    pub fn variable(&self) -> String {
        sources::variable(self.name)
    }

    /// Its flag, without the leading dashes. A secret has none, because any process on the machine can read
    /// the arguments of others.
    pub fn flag(&self) -> Option<String> {
        match self.form {
            FlagForm::Secret => None,
            FlagForm::Switch | FlagForm::Text(_) | FlagForm::Texts(_) => Some(sources::flag(self.name)),
        }
    }

    /// Checks that a text is a value of it; otherwise returns what is expected.
    pub fn check(&self, text: &str) -> Result<(), &'static str> {
        (self.check)(text)
    }

    /// Whether an error may show a text that is not a value of it. It may not if a password may be in it.
    pub fn may_show_wrong(&self, text: &str) -> bool {
        (self.show_wrong)(text.to_owned()) == text
    }
}

/// A default that is above zero.
fn count(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN)
}

/// Declares the settings, each with its field, default and reason in one place.
macro_rules! settings {
    ($([$group:literal] $($(#[doc = $why:literal])+ $name:ident: $ty:ty = $default:expr;)+)+) => {
        /// The settings, each with its default and the reason for it.
        #[derive(Clone, Debug)]
        pub struct Config {
            $($($(#[doc = $why])+ pub $name: $ty,)+)+
        }

        impl Default for Config {
            fn default() -> Self {
                Self { $($($name: $default,)+)+ }
            }
        }

        impl Config {
            /// Every setting, by group.
            pub const SETTINGS: &[Setting] = &[$($(Setting {
                name: stringify!($name),
                group: $group,
                why: concat!($($why,)+).trim_ascii(),
                form: <$ty as SettingValue>::FORM,
                check: |text| <$ty as SettingValue>::parse(text).map(drop),
                show_wrong: <$ty as SettingValue>::show_wrong,
            },)+)+];

            /// The values as data, in the order of [`Config::SETTINGS`]. A secret shows only whether it is
            /// set.
            pub fn shown(&self) -> Vec<serde_json::Value> {
                vec![$($(self.$name.show(),)+)+]
            }

            /// Applies what was given to the defaults; returns the values and their origins.
            fn settle(mut given: sources::Given) -> Result<Settled, ConfigError> {
                let mut config = Self::default();
                let mut values = Vec::with_capacity(Self::SETTINGS.len());
                $($(values.push(given.lay_over(stringify!($name), &mut config.$name)?);)+)+
                given.nothing_left()?;
                Ok(Settled { config, values })
            }
        }
    };
}

settings! {
    ["Network, storage and keys"]
    /// The address to listen on; loopback, because a service that decides about access must not be reachable
    /// by accident. The port is the one that the clients' development setups use.
    listen: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 8081));
    /// The address that serves `/metrics` without a key, over plain HTTP; by default none, because
    /// metrics are about everyone's traffic. Without it a scraper sends a key to the usual address.
    metrics_listen: Option<SocketAddr> = None;
    /// A PEM file with the certificate of this service and its chain; by default none, because
    /// usually a proxy handles TLS. Reloaded on SIGHUP.
    tls_cert: Option<PathBuf> = None;
    /// The PEM file with the private key of that certificate.
    tls_key: Option<PathBuf> = None;
    /// The address under which clients reach this service, like `https://pdp.example.com`; by default
    /// none, because only its operator knows it. The AuthZEN metadata document exists only with it.
    public_url: Option<PublicUrl> = None;
    /// The folder of the embedded store; relative, so that trying it out leaves no files elsewhere.
    data: PathBuf = PathBuf::from("portcullis-data");
    /// The address of a PostgreSQL database that is the store instead, for several nodes; none, because one
    /// machine is enough for most. Other users of the machine can read arguments: give an address with a
    /// password in the variable or the file.
    store: Option<StoreUrl> = None;
    /// The addresses of replicas of that database, with spaces between them; none. They answer questions that
    /// carry the `OsoOffset` of a write, from that write or a later one.
    store_replica: StoreUrls = StoreUrls(Vec::new());
    /// How old facts may be in any answer, so that replicas can give it; none, because a revoked role would
    /// count for so long. While the primary is out of reach, replicas answer for this long.
    max_staleness: Option<Duration> = None;
    /// The name of this node in its metrics, as the label `node`; none, because a scraper that asks each node
    /// itself knows which one it is.
    node: Option<String> = None;
    /// Whether the well-known development key is accepted; off, because everyone knows that key.
    dev: bool = false;
    /// Whether `/studio` serves a page for editing and trying policies; off, because few services need one
    /// in production. With `dev` it is always on.
    studio: bool = false;
    /// A key with full access to the default environment, for deployments that provide their own secrets;
    /// none, because no key is built in. Only its hash is kept in memory.
    api_key: Option<Secret> = None;
    /// A policy file that is loaded at the start; by default none, because the policy usually comes
    /// over HTTP.
    policy: Option<PathBuf> = None;
    ["Limits of one request"]
    /// The largest body in bytes; 10 MiB, the limit of the clients themselves.
    max_body: usize = 10 * 1024 * 1024;
    /// The maximum number of context facts of a request; the limit that Oso Cloud publishes.
    max_context_facts: usize = 100;
    /// The maximum number of facts and patterns of a batch; by default only the size of the body
    /// limits it, so that bulk loads need no chunking. Oso Cloud allows 1,000.
    max_batch: Option<usize> = None;
    /// The maximum number of facts that one pattern of a deletion may match; by default none, because
    /// a client that may delete them one by one may delete them at once. Oso Cloud allows 10,000.
    max_delete: Option<u64> = None;
    /// The largest policy in bytes; the limit of Oso Cloud, and of the compiler.
    max_policy: usize = 1_000_000;
    /// The maximum number of values of stored facts in one condition of a local check's SQL; the SQL is sent,
    /// parsed and planned each time, and a condition that needs more should be bound to a table.
    embedded_values: usize = 10_000;
    /// How long one question may run; the limit of Oso Cloud. Exceeding it is the fault of the
    /// question, so it gets 400. Compiling a question whose shape is new may take as long before that.
    query_time: Duration = Duration::from_secs(20);
    /// How long a long question may wait for its turn before it runs; as long as a question may run, so that
    /// at least one turn passes. A question that got no turn is not at fault, so it gets 503.
    query_wait: Duration = Duration::from_secs(20);
    /// How long checking an uploaded policy and running its tests may take in total; thousands of tests take
    /// less. Other uploads wait this long for their turn, and then get 503.
    policy_test_time: Duration = Duration::from_secs(20);
    /// How long a request may take in total; the query time, plus waiting for a reader or the writer.
    request_time: Duration = Duration::from_mins(1);
    /// How long a body may take to arrive; enough for 10 MiB on a slow line, but not for a stalled client.
    body_time: Duration = Duration::from_secs(30);
    /// How long a client may leave an answer unread before its connection is cut; as long as for sending a
    /// body.
    answer_time: Duration = Duration::from_secs(30);
    ["Limits of the whole service"]
    /// How long a connection may take to send the head of its next request, including idle time; so neither
    /// slow clients nor forgotten connections hold resources for longer.
    header_time: Duration = Duration::from_secs(15);
    /// The maximum number of open connections; within the usual limit of 1,024 open files, and lowered if the
    /// process has a lower one. For each further connection, the one that has been idle for longest is
    /// closed.
    max_connections: NonZeroUsize = count(900);
    /// The maximum number of concurrent requests; beyond it an immediate 503 serves clients better than a
    /// queue in which requests time out. One key gets at most as many as it leaves free, so half of them.
    max_requests: NonZeroUsize = count(512);
    /// The number of readers for brief questions, mainly single checks, in each environment; by default as
    /// many as processors, but at least four. Nothing else uses them.
    readers: Option<NonZeroUsize> = None;
    /// The number of readers for long questions in each environment; by default one more than processors, so
    /// that a single key can use all processors. Keys take turns with the readers, and no key gets all of
    /// them.
    long_readers: Option<NonZeroUsize> = None;
    /// The memory in bytes that large bodies, their decoded values and large answers may use together; enough
    /// for a dozen of the largest bodies, and little compared with the store's caches. Beyond it a request
    /// gets 503. One request may use half of it, and one key as much as remains free, so that no one takes
    /// all. Up to 64 KiB are not counted.
    max_memory: usize = 256 * 1024 * 1024;
    /// The maximum number of requests a second of one key, beyond which it gets 429; by default none,
    /// because an application checks for every page that it shows, always with the same key, and only
    /// its owner knows how many are too many. The service itself is protected by the limit on
    /// concurrent requests.
    rate_limit: Option<NonZeroU32> = None;
    /// The maximum burst of requests of one key before the rate applies; as many as in one second, so that
    /// one setting is enough. It has no effect without a rate.
    rate_burst: Option<NonZeroU32> = None;
    /// How long a shutdown may take; as long as a request may take. Requests in progress may finish in this
    /// time, except that the last second, or a quarter if that is less, is for cancelling them.
    shutdown_time: Duration = Duration::from_mins(1);
    ["Logs and traces"]
    /// Which events are logged, as a filter like `info,portcullis::store=debug`.
    log: String = "info".to_owned();
    /// Whether log lines are `text` or `json`; text, because people read them first.
    log_format: LogFormat = LogFormat::Text;
    /// The collector that receives a trace of every request, by OTLP over HTTP, like
    /// `http://127.0.0.1:4318`; by default none, because traces cost more than most answers.
    otlp_endpoint: Option<CollectorUrl> = None;
    ["Decision log"]
    /// The file that gets a line of JSON for each decision; by default none, because the lines say
    /// who uses what.
    decision_log: Option<PathBuf> = None;
    /// The size in bytes at which that file is rotated; the default holds a few hundred thousand decisions.
    decision_log_bytes: u64 = 100_000_000;
    /// How many full files are kept, numbered from the newest; about a gigabyte with the default size.
    decision_log_files: usize = 10;
    /// The collector that receives the decisions, by OTLP over HTTP, like `https://collector.example.com`;
    /// none, for the same reason as for the file.
    decision_log_endpoint: Option<CollectorUrl> = None;
    /// Headers for that collector, like `api-key=secret, tenant=blue`; none, because a collector nearby
    /// needs no key.
    decision_log_headers: CollectorHeaders = CollectorHeaders(Vec::new());
    /// Which context facts the decision log shows: `none`, `all`, `only p, q` or `except p, q` with
    /// names of predicates; by default none, because they may hold what an application would never
    /// store. Each line says how many are left out.
    decision_log_facts: LoggedFacts = LoggedFacts::None;
}

impl Config {
    /// The settings in force: the defaults, overridden by the settings file, the variables and these flags.
    /// The file is named by the command line, or else by `PORTCULLIS_CONFIG`.
    ///
    /// # Errors
    /// A file that cannot be read or contains an unknown setting, and a text that is not a value of its
    /// setting.
    pub fn load(file: Option<PathBuf>, flags: Flags) -> Result<Settled, ConfigError> {
        // Text that is not UTF-8 is replaced, not dropped: a setting must not vanish silently.
        let variable = |name: &str| std::env::var_os(name).map(|text| text.to_string_lossy().into_owned());
        Self::settle(sources::Given::collect(file, flags, &variable)?)
    }

    /// The part of the shutdown time for cancelling what is still running.
    pub fn end_time(&self) -> Duration {
        Duration::from_secs(1).min(self.shutdown_time / 4)
    }

    /// The scheme of the service's address.
    pub fn scheme(&self) -> &'static str {
        if self.tls_cert.is_some() { "https" } else { "http" }
    }
}

/// The folder of the user's own settings: `$XDG_CONFIG_HOME`, or else `~/.config`.
pub fn user_folder() -> Option<PathBuf> {
    // The XDG specification says to ignore a relative path.
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))
}
