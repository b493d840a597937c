//! Every setting of the service, its default and the reason for it.
//!
//! In: the flags of a command line, the process environment and one TOML file, once, at start. Out: a [`Config`]
//! in which every setting has a value, and where each came from. Afterwards nothing else reads the environment.
//!
//! A setting is declared once, in the table below. Its name is the key in the file (`query_time`), in capitals
//! after `PORTCULLIS_` the variable (`PORTCULLIS_QUERY_TIME`), and with dashes the flag (`--query-time`). A flag
//! wins over a variable, a variable over the file, the file over the default. A variable that is set to the
//! empty text counts as absent. Durations are seconds and may have a fraction.
//!
//! ```
//! let config = portcullis::config::Config::default();
//! assert!(config.listen.ip().is_loopback(), "nothing listens on a public address unless told to");
//! ```

mod error;
mod file;
mod sources;
#[cfg(test)]
mod tests;
mod value;

pub use error::ConfigError;
pub use sources::{Flags, InForce, SettingOrigin, Settled};
pub use value::{Form, HttpAddress, LogFormat, Secret};

use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;
use value::SettingValue;

/// One setting, as it is declared.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name, and its key in the file.
    pub name: &'static str,
    /// What it is about; settings of one group stand together.
    pub group: &'static str,
    /// What it is and why its default is what it is, in sentences.
    pub why: &'static str,
    /// What its values look like.
    pub form: Form,
    check: fn(&str) -> Result<(), &'static str>,
}

impl Setting {
    /// The variable of the environment that gives it.
    pub fn variable(&self) -> String {
        sources::variable(self.name)
    }

    /// The flag that gives it, without the dashes before it. A secret has none: any process of the machine can
    /// read the arguments of any other.
    pub fn flag(&self) -> Option<String> {
        match self.form {
            Form::Secret => None,
            Form::Switch | Form::Text(_) => Some(sources::flag(self.name)),
        }
    }

    /// What is expected instead, if a text is no value of it.
    pub fn check(&self, text: &str) -> Result<(), &'static str> {
        (self.check)(text)
    }
}

/// Declares the settings once: field, default and reason cannot drift apart.
macro_rules! settings {
    ($([$group:literal] $($(#[doc = $why:literal])+ $name:ident: $ty:ty = $default:expr;)+)+) => {
        /// The settings, each with its default and why.
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
            /// Every setting, those of a group together.
            pub const SETTINGS: &[Setting] = &[$($(Setting {
                name: stringify!($name),
                group: $group,
                why: concat!($($why,)+).trim_ascii(),
                form: <$ty as SettingValue>::FORM,
                check: |text| <$ty as SettingValue>::parse(text).map(drop),
            },)+)+];

            /// The values as data, in the order of [`Config::SETTINGS`]; of a secret only that there is one.
            pub fn shown(&self) -> Vec<serde_json::Value> {
                vec![$($(self.$name.show(),)+)+]
            }

            /// The defaults, with what was given laid over them, and where each value comes from.
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
    ["Where it listens, and what it keeps"]
    /// Where it listens; loopback, because a service that decides about access must not be reachable
    /// by accident. The port is the one that the clients' development setups use.
    listen: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 8081));
    /// Where `/metrics` is served without a key, over plain HTTP; nowhere, because the numbers tell about the
    /// traffic of everybody. Without it a scraper sends a key to the usual address.
    metrics_listen: Option<SocketAddr> = None;
    /// A PEM file with the certificate of this service and those that lead to its authority; none, because a
    /// proxy usually speaks TLS. Read again on SIGHUP.
    tls_cert: Option<PathBuf> = None;
    /// The PEM file with the private key of that certificate.
    tls_key: Option<PathBuf> = None;
    /// The folder of the embedded store; a relative one, so that a first try leaves nothing elsewhere.
    data: PathBuf = PathBuf::from("portcullis-data");
    /// Whether the well-known development key is accepted; off, because everybody knows that key.
    dev: bool = false;
    /// A key of full access to the environment that there is without any setup, for a deployment that takes
    /// its key from its secrets; none, because no key is built in. Only its hash is kept.
    api_key: Option<Secret> = None;
    /// A policy file that is loaded at start; none, because the policy usually comes over HTTP.
    policy: Option<PathBuf> = None;
    ["What one request may take"]
    /// The largest body in bytes; 10 MiB is the cap of the clients themselves.
    max_body: usize = 10 * 1024 * 1024;
    /// The most context facts of one request; as published for the hosted product.
    max_context_facts: usize = 100;
    /// The most facts and patterns of one batch, if any limit; none beyond the body's size, so that
    /// bulk loads need no chunking. The hosted product uses 1,000.
    max_batch: Option<usize> = None;
    /// The most facts that one pattern of a deletion may match, if any limit; none, because who may delete
    /// them one by one may delete them at once. The hosted product uses 10,000.
    max_delete: Option<u64> = None;
    /// The largest policy in bytes; as published, and the most that the compiler reads.
    max_policy: usize = 1_000_000;
    /// The most values of stored facts for one condition in the SQL of a local check; a text is sent, parsed
    /// and planned each time, and a condition that needs more is better bound to a table.
    embedded_values: usize = 10_000;
    /// How long one question may run; as published. A question over it is the asker's, so it gets 400.
    query_time: Duration = Duration::from_secs(20);
    /// How long a question that is not brief may wait for its turn before that; as long as one may run, so that one more
    /// turn passes whatever is asked. A question that had none is not the asker's fault, so it gets 503.
    query_wait: Duration = Duration::from_secs(20);
    /// How long the check and the tests of an uploaded policy may take, all together; thousands of tests take less. Other
    /// uploads wait as long for their turn, and then get 503.
    policy_test_time: Duration = Duration::from_secs(20);
    /// How long a request may take in all; the query time, plus waiting for a reader or the writer.
    request_time: Duration = Duration::from_mins(1);
    /// How long a body may take to arrive; 10 MiB in this time is a slow line, not a stalled client.
    body_time: Duration = Duration::from_secs(30);
    /// How long a client may leave an answer unread before its connection is cut; as generous as for the
    /// way in.
    answer_time: Duration = Duration::from_secs(30);
    ["What all of them may take"]
    /// How long a connection may take to send the head of its next request, idle time included; so
    /// neither a slow client nor a forgotten connection holds anything for longer.
    header_time: Duration = Duration::from_secs(15);
    /// Connections at once, within the 1,024 files that a process may usually open, and fewer if it may not
    /// even open as many; for one beyond them that which was idle for longest is closed.
    max_connections: usize = 900;
    /// Requests at work at once; beyond that an immediate 503 serves the client better than a queue
    /// in which its request times out.
    max_requests: usize = 512;
    /// Readers of brief questions, single checks above all, in each environment: nothing else uses them. None given is as
    /// many as processors, but four, as brief questions seldom wait for anything but a processor.
    readers: Option<NonZeroUsize> = None;
    /// Readers of questions that are not brief, in each environment. Keys share them in turns, and no key has all of them.
    /// None given is one more than processors, so that a key that is alone can use all of those.
    long_readers: Option<NonZeroUsize> = None;
    /// The bytes that large bodies, what they decode to, and large answers may take together; enough for a dozen
    /// of the largest bodies, and little beside what the store keeps in memory. Beyond it a request gets 503. One
    /// request may take half of it, and one key as much as is still free, so that nobody takes all. What has at most
    /// 64 KiB is not counted.
    max_memory: usize = 256 * 1024 * 1024;
    /// The most requests a second of one key, beyond which it gets 429; none, because a check is made for
    /// every page that an application shows, all of them with one key, and how many are too many only its
    /// owner knows. What protects the service itself is the limit on requests at work.
    rate_limit: Option<NonZeroU32> = None;
    /// The most requests of one key at once, before the rate counts; as many as in a second, so that one
    /// setting is enough. Without a rate it has no effect.
    rate_burst: Option<NonZeroU32> = None;
    /// How long a shutdown may take: so long accepted requests have to end, except that the last second, or a quarter if
    /// that is less, is for ending what is still at work. As long as a request may take at most.
    shutdown_time: Duration = Duration::from_mins(1);
    ["What it tells"]
    /// Which events are logged, as a filter like `info,portcullis::store=debug`.
    log: String = "info".to_owned();
    /// Whether a line of the log is `text` or `json`; text, because people read it first.
    log_format: LogFormat = LogFormat::Text;
    /// The collector that is sent a trace of every request, by OTLP over plain HTTP, like
    /// `http://127.0.0.1:4318`; none, because traces cost more than most answers.
    otlp_endpoint: Option<HttpAddress> = None;
}

impl Config {
    /// What is in force: the defaults, with the settings' file, the variables and these flags laid over them. The
    /// file is the one that the command line names, else that of `PORTCULLIS_CONFIG`, if either names one.
    ///
    /// # Errors
    /// A file that cannot be read or holds what is no setting, and a text that is not a value of its setting.
    pub fn load(file: Option<PathBuf>, flags: Flags) -> Result<Settled, ConfigError> {
        // Text that is not UTF-8 is replaced, not dropped: a setting must not vanish silently.
        let variable = |name: &str| std::env::var_os(name).map(|text| text.to_string_lossy().into_owned());
        Self::settle(sources::Given::collect(file, flags, &variable)?)
    }

    /// How much of the time of a shutdown is for ending what is still at work.
    pub fn end_time(&self) -> Duration {
        Duration::from_secs(1).min(self.shutdown_time / 4)
    }

    /// How the address of a service with these settings begins.
    pub fn scheme(&self) -> &'static str {
        if self.tls_cert.is_some() { "https" } else { "http" }
    }
}
