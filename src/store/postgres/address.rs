//! The address of a store: which servers to try, how to log in, and how to encrypt.
//!
//! In: a URL as `psql` takes it. Missing parts come from `PGHOST` and the other variables of PostgreSQL's
//! programs. Out: one configuration for each server, because each is tried for a limited time. The password
//! is never shown.

use super::silence::Silence;
use super::tls::{Connector, TlsMode};
use crate::libpq;
use crate::percent::decoded;
use crate::store::database_error::DatabaseError;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// How long one server may take until it has accepted the login, if the address has no `connect_timeout`.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// After this silence the system asks whether the other end of a connection is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// How long sent data may stay unconfirmed until the connection counts as broken.
const UNCONFIRMED: Duration = Duration::from_secs(30);

/// The name of the connections in `pg_stat_activity`.
const APPLICATION: &str = "portcullis";

/// Options allowed after the `?` of an address, besides `sslmode` and `sslrootcert`.
const OPTIONS: [&str; 18] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "password",
    "port",
    "sslnegotiation",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// The address of a store on PostgreSQL.
#[derive(Clone)]
pub struct Address {
    /// The servers. They are tried in this order, beginning with the one that was the primary last.
    pub(super) servers: Vec<ServerAddress>,
    /// How connections are encrypted.
    pub(super) tls: Connector,
    /// Whether the primary is silent, as all that use this address and its copies know.
    pub(super) silence: Arc<Silence>,
    /// Which of the servers was the primary last.
    pub(super) primary: Arc<AtomicUsize>,
    shown: String,
}

/// One server of an address.
#[derive(Clone)]
pub(super) struct ServerAddress {
    /// How to connect to it alone.
    pub(super) config: Config,
    /// Its host and port, for messages.
    pub(super) at: String,
    /// How long it may take until it has accepted the login.
    pub(super) limit: Duration,
}

/// The options of an address that are not the driver's.
#[derive(Default)]
struct Encryption {
    mode: Option<String>,
    root: Option<PathBuf>,
}

impl Address {
    /// Reads a URL, the certificates that it names, and PostgreSQL's environment variables.
    pub fn parse(url: &str) -> Result<Self, DatabaseError> {
        let wrong = DatabaseError::Address;
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(wrong("it does not begin with postgres://".to_owned()));
        }
        let (url, encryption) = Encryption::split(url).map_err(wrong)?;
        let (mode, root) = encryption.complete(libpq::variable).map_err(wrong)?;
        let config = libpq::config(&url).map_err(wrong)?;
        let tls = Connector::new(mode, root.as_deref()).map_err(wrong)?;
        let servers = servers(&config, mode).map_err(wrong)?;
        let user = config.get_user().unwrap_or_default();
        let places: Vec<&str> = servers.iter().map(|server| server.at.as_str()).collect();
        let database = config.get_dbname().unwrap_or_default();
        let shown = format!("database `{database}` as `{user}` at {}", places.join(", "));
        let silence = Arc::new(Silence::new(places.join(", ")));
        Ok(Self { servers, tls, silence, primary: Arc::default(), shown })
    }
}

impl Address {
    /// The servers with their numbers, in the order in which to look for the primary.
    pub(super) fn likely_first(&self) -> impl Iterator<Item = (usize, &ServerAddress)> {
        let all = || self.servers.iter().enumerate();
        let likely = self.primary.load(Ordering::SeqCst);
        all().skip(likely).chain(all().take(likely))
    }
}

/// Database, user and servers, without the password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.shown)
    }
}

impl Encryption {
    /// Takes these options out of a URL. An unknown option is not repeated in the message: it may
    /// be the rest of a password with a `?`.
    fn split(url: &str) -> Result<(String, Self), String> {
        let Some((place, options)) = url.split_once('?') else {
            return Ok((url.to_owned(), Self::default()));
        };
        let (mut rest, mut found) = (Vec::new(), Self::default());
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let value =
                |text: &str| decoded(text).ok_or("a `%` in it is not followed by two hexadecimal digits");
            match option.split_once('=') {
                Some(("sslmode", mode)) => found.mode = Some(mode.to_owned()),
                Some(("sslrootcert", file)) => found.root = Some(value(file)?.into()),
                Some((name, _)) if OPTIONS.contains(&name) => rest.push(option),
                Some(_) | None => {
                    return Err(
                        "the text after `?` has an unknown option; in a password, write %3F for a `?`".into(),
                    );
                }
            }
        }
        let url = if rest.is_empty() { place.to_owned() } else { format!("{place}?{}", rest.join("&")) };
        Ok((url, found))
    }

    /// The mode, and the file of certificates that are trusted instead of the system's.
    fn complete(
        self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<(TlsMode, Option<PathBuf>), String> {
        let given = |name: &str| variable(name).filter(|text| !text.is_empty());
        let mode = match self.mode.or_else(|| given("PGSSLMODE")) {
            Some(text) => TlsMode::parse(&text)?,
            None => TlsMode::Prefer,
        };
        match mode {
            TlsMode::VerifyFull => {
                let root = self.root.or_else(|| given("PGSSLROOTCERT").map(PathBuf::from));
                // libpq's word for the certificates of the system.
                Ok((mode, root.filter(|root| root.as_os_str() != "system")))
            }
            TlsMode::Disable | TlsMode::Prefer | TlsMode::Require if self.root.is_some() => {
                Err("`sslrootcert` verifies nothing without `sslmode=verify-full`: add that".to_owned())
            }
            TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => Ok((mode, None)),
        }
    }
}

/// A configuration for each server.
fn servers(all: &Config, mode: TlsMode) -> Result<Vec<ServerAddress>, String> {
    let (hosts, addresses, ports) = (all.get_hosts(), all.get_hostaddrs(), all.get_ports());
    let n_servers = hosts.len().max(addresses.len());
    let fits = |n: usize| n == 0 || n == n_servers;
    if !fits(hosts.len()) || !fits(addresses.len()) || !(fits(ports.len()) || ports.len() == 1) {
        return Err("it has different numbers of hosts, addresses and ports".to_owned());
    }
    let server = |at: usize| {
        let (host, address) = (hosts.get(at), addresses.get(at));
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(libpq::PORT);
        let mut config = alone(all);
        config.port(port);
        match host {
            #[cfg(unix)]
            Some(Host::Unix(folder)) => config.host_path(folder).ssl_mode(SslMode::Disable),
            Some(Host::Tcp(name)) => config.host(name).ssl_mode(mode.of_driver()),
            None => config.ssl_mode(mode.of_driver()),
        };
        if let Some(address) = address {
            config.hostaddr(*address);
        }
        let place = host.map(libpq::place).or_else(|| address.map(ToString::to_string)).unwrap_or_default();
        let limit = all.get_connect_timeout().copied().unwrap_or(CONNECT_TIME);
        ServerAddress { config, at: format!("{place} port {port}"), limit }
    };
    Ok((0..n_servers).map(server).collect())
}

/// The configuration without any server.
fn alone(all: &Config) -> Config {
    let mut config = Config::new();
    config.application_name(all.get_application_name().unwrap_or(APPLICATION));
    config.channel_binding(all.get_channel_binding()).ssl_negotiation(all.get_ssl_negotiation());
    config.keepalives(all.get_keepalives());
    config.tcp_user_timeout(all.get_tcp_user_timeout().copied().unwrap_or(UNCONFIRMED));
    // The driver's own default is two hours.
    config.keepalives_idle(all.get_keepalives_idle().min(KEEPALIVE));
    if let Some(interval) = all.get_keepalives_interval() {
        config.keepalives_interval(interval);
    }
    if let Some(retries) = all.get_keepalives_retries() {
        config.keepalives_retries(retries);
    }
    if let Some(user) = all.get_user() {
        config.user(user);
    }
    if let Some(password) = all.get_password() {
        config.password(password);
    }
    if let Some(database) = all.get_dbname() {
        config.dbname(database);
    }
    if let Some(options) = all.get_options() {
        config.options(options);
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        Address::parse(url).unwrap_err().to_string()
    }

    #[test]
    fn each_server_is_tried_by_itself_and_no_password_is_shown() {
        let address = Address::parse("postgres://ada:s3cret@one:1,two:2,%2Frun%2Fpg:3/store").unwrap();
        let places: Vec<&str> = address.servers.iter().map(|server| server.at.as_str()).collect();
        assert_eq!(places, ["one port 1", "two port 2", "/run/pg port 3"]);
        for server in &address.servers {
            let config = &server.config;
            assert_eq!((config.get_hosts().len(), config.get_ports().len()), (1, 1));
            assert_eq!(config.get_password(), Some(&b"s3cret"[..]));
            assert_eq!(server.limit, CONNECT_TIME);
        }
        let shown = format!("{address} {address:?}");
        assert!(shown.starts_with("database `store` as `ada` at one port 1, two port 2"), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
        let slow = Address::parse("postgres://ada@one/store?connect_timeout=60").unwrap();
        assert_eq!(slow.servers.first().unwrap().limit, Duration::from_mins(1));
    }

    #[test]
    fn a_wrong_address_is_refused_without_what_it_contains() {
        assert!(refused("mysql://ada@one/store").contains("does not begin with postgres://"));
        assert!(refused("host=one user=ada").contains("does not begin with postgres://"));
        let password = refused("postgres://ada:pass?word@one/store");
        assert!(password.contains("write %3F for a `?`") && !password.contains("word@one"), "{password}");
        for url in [
            "postgres://ada:p@zqx@one/store",
            "postgres://ada:p@z/qx@one/store",
            "postgres://ada:p@z:qx@one/store",
            "postgres://ada:p@z,qx@one/store",
            "postgres://ada:p@zqx%40one/store",
            "postgres://ada@one/store?host=zqx@one",
        ] {
            let refused = refused(url);
            assert!(refused.contains("write %40 for an `@`"), "{refused}");
            assert!(!refused.contains('z') && !refused.contains("qx"), "{refused}");
        }
        assert!(Address::parse("postgres://ada:pass%40word@one/store").is_ok());
        assert!(Address::parse("postgres://ada%40one@two/store?application_name=a@b").is_ok());
        assert!(refused("postgres://ada@one:x/store").contains("port"));
        assert!(refused("postgres://ada@one,two/store?hostaddr=127.0.0.1").contains("different numbers"));
        assert!(refused("postgres://ada@one/store?sslrootcert=%2").contains("two hexadecimal digits"));
        assert!(
            refused("postgres://ada@one/store?sslmode=allow").contains("use disable, prefer, require or")
        );
        assert!(refused("postgres://ada@one/store?sslrootcert=ca.pem").contains("add that"));
        let missing = refused("postgres://ada@one/store?sslmode=verify-full&sslrootcert=%2Fno%2Fca.pem");
        assert!(missing.contains("`/no/ca.pem`"), "{missing}");
    }

    #[test]
    fn variables_complete_the_encryption() {
        let completed = |url: &str, variables: &[(&str, &str)]| {
            let (_, encryption) = Encryption::split(url).unwrap();
            encryption.complete(|name| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, text)| (*text).to_owned())
            })
        };
        let full = [("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", "ca.pem")];
        assert_eq!(completed("postgres://one", &[]), Ok((TlsMode::Prefer, None)));
        assert_eq!(completed("postgres://one", &full), Ok((TlsMode::VerifyFull, Some("ca.pem".into()))));
        assert_eq!(completed("postgres://one?sslmode=disable", &full), Ok((TlsMode::Disable, None)));
        let system = completed("postgres://one?sslrootcert=system", &full);
        assert_eq!(system, Ok((TlsMode::VerifyFull, None)));
        let (url, _) = Encryption::split("postgres://one/a?sslmode=require&user=ada").unwrap();
        assert_eq!(url, "postgres://one/a?user=ada");
    }
}
