//! An address as the driver's configuration.

use super::{Connection, variable, with_port};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Config, Error};

/// The reason to refuse an address whose host may begin with a part of the password.
const SECOND_AT: &str = "it has more than one `@`: write %40 for an `@` in the name of the user or the database, or in the password";

/// The same where the host itself is the driver's, or a variable's.
const AT_IN_HOST: &str = "a host, of the address or of `PGHOST`, contains an `@`: write %40 for an `@` in a password; \
     abstract sockets are not supported";

/// The configuration for an address, with its missing parts filled in; else what is wrong with the address or
/// with a variable.
pub(crate) fn config(address: &str) -> Result<Config, String> {
    // The driver would take what follows the first one for the host, which messages name.
    let place = address.split('?').next().unwrap_or_default();
    if place.matches('@').count() > 1 {
        return Err(SECOND_AT.to_owned());
    }
    let config = with_port(address, variable).parse().map_err(|error| reason(&error))?;
    completed(config)
}

/// The configuration with its missing parts filled in.
fn completed(mut config: Config) -> Result<Config, String> {
    let mut hosts: Vec<String> = config.get_hosts().iter().map(place).collect();
    hosts.extend(config.get_hostaddrs().iter().map(ToString::to_string));
    let named_hosts = hosts.len();
    let given = Connection {
        hosts,
        ports: config.get_ports().to_vec(),
        user: config.get_user().map(str::to_owned),
        database: config.get_dbname().map(str::to_owned),
        password: config.get_password().map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
    };
    let Connection { hosts, ports, user, database, password } = given.complete(variable)?;
    for host in hosts.iter().skip(named_hosts) {
        config.host(host);
    }
    if hosts.iter().any(|host| !host.starts_with('/') && host.contains('@')) {
        return Err(AT_IN_HOST.to_owned());
    }
    for port in ports.iter().skip(config.get_ports().len()) {
        config.port(*port);
    }
    if let Some(user) = user {
        config.user(user);
    }
    if let Some(database) = database {
        config.dbname(database);
    }
    if let Some(password) = password.filter(|_| config.get_password().is_none()) {
        config.password(password);
    }
    // If encryption is required, do not connect without it. Sockets have none, and need none.
    let demanded = variable("PGSSLMODE").is_some_and(|mode| mode == "require" || mode.starts_with("verify"));
    let leaves_machine = config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)));
    if demanded && leaves_machine && config.get_ssl_mode() == SslMode::Prefer {
        config.ssl_mode(SslMode::Require);
    }
    Ok(config)
}

/// A host as in an address.
pub(crate) fn place(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(folder) => folder.display().to_string(),
    }
}

/// What the server says, or what went wrong on the way to it.
pub(crate) fn reason(error: &Error) -> String {
    match error.as_db_error() {
        Some(reason) => reason.message().to_owned(),
        None => {
            std::error::Error::source(error).map_or(error.to_string(), |cause| format!("{error}: {cause}"))
        }
    }
}
