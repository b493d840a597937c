//! Completes an address as PostgreSQL's own programs do: from environment variables, the password file and
//! the sockets of this machine.
//!
//! So `postgresql:///codehost` means here what it means to `psql`. See "Environment Variables" and "The
//! Password File" in the manual of libpq.

mod config;

pub(crate) use config::{config, place, reason};

use std::path::{Path, PathBuf};

/// The socket folders of servers on this machine: in Debian's packages, in others, and when built from
/// source.
const SOCKETS: [&str; 3] = ["/var/run/postgresql", "/run/postgresql", "/tmp"];

/// The default port.
pub(crate) const PORT: u16 = 5432;

/// The parts of an address, some of which may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Connection {
    /// Host names, addresses or socket folders.
    hosts: Vec<String>,
    ports: Vec<u16>,
    user: Option<String>,
    database: Option<String>,
    password: Option<String>,
}

impl Connection {
    /// Fills in the missing parts.
    fn complete(self, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let given = |name: &str| variable(name).filter(|text| !text.is_empty());
        let list = |text: String| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let ports = match given("PGPORT") {
            Some(text) if self.ports.is_empty() => {
                let read = list(text).iter().map(|port| port.trim().parse()).collect::<Result<Vec<u16>, _>>();
                read.map_err(|_| "PGPORT is not a port number".to_owned())?
            }
            _ if self.ports.is_empty() => vec![PORT],
            _ => self.ports,
        };
        let hosts = match given("PGHOSTADDR").or_else(|| given("PGHOST")) {
            _ if !self.hosts.is_empty() => self.hosts,
            Some(text) => list(text),
            None => vec![socket(ports.first().copied().unwrap_or(PORT), Path::exists)],
        };
        let user = self.user.or_else(|| given("PGUSER")).or_else(|| given("USER"));
        let database = self.database.or_else(|| given("PGDATABASE")).or_else(|| user.clone());
        let mut connection =
            Self { hosts, ports, user, database, password: self.password.or_else(|| given("PGPASSWORD")) };
        if connection.password.is_none() {
            let home = || Some(PathBuf::from(given("HOME")?).join(".pgpass"));
            let file = given("PGPASSFILE").map(PathBuf::from).or_else(home);
            let text =
                file.filter(|file| is_private(file)).and_then(|file| std::fs::read_to_string(file).ok());
            connection.password = text.and_then(|text| connection.password_in(&text));
        }
        Ok(connection)
    }

    /// The first matching password in the file.
    fn password_in(&self, text: &str) -> Option<String> {
        let host = self.hosts.first().map_or("localhost", String::as_str);
        let host = if SOCKETS.contains(&host) { "localhost" } else { host };
        let port = self.ports.first().copied().unwrap_or(PORT).to_string();
        let wanted = [host, &port, self.database.as_deref()?, self.user.as_deref()?];
        text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let mut fields = fields(line).into_iter();
            let fits = wanted.iter().all(|wanted| {
                fields.next().is_some_and(|field| field == "*" || field.replace('\0', "") == *wanted)
            });
            fits.then(|| fields.next()).flatten().map(|password| password.replace('\0', ""))
        })
    }
}

/// The fields of a line, separated by colons. An escaped character is preceded by a NUL, so that `\*` differs
/// from `*`.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, fields.last_mut()) {
            (':', _) => fields.push(String::new()),
            ('\\', Some(field)) => {
                field.push('\0');
                field.extend(chars.next());
            }
            (c, Some(field)) => field.push(c),
            (_, None) => {}
        }
    }
    fields
}

/// The socket folder of the server on this machine, or its host name if there is none.
fn socket(port: u16, exists: impl Fn(&Path) -> bool) -> String {
    let found = SOCKETS.iter().find(|folder| exists(&Path::new(folder).join(format!(".s.PGSQL.{port}"))));
    found.map_or("localhost", |folder| *folder).to_owned()
}

/// Whether only its owner can access a file; otherwise the password file is ignored.
#[cfg(unix)]
fn is_private(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode().trailing_zeros() >= 6)
}

#[cfg(not(unix))]
fn is_private(file: &Path) -> bool {
    file.is_file()
}

/// The address with `PGPORT` added to each host without a port. The parser of addresses fills in the default
/// port, which then looks like one that was written.
fn with_port(address: &str, variable: impl Fn(&str) -> Option<String>) -> String {
    let port = variable("PGPORT").filter(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    let (Some(port), Some((scheme, rest))) = (port, address.split_once("://")) else {
        return address.to_owned();
    };
    let (place, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (user, hosts) = place.split_at(place.rfind('@').map_or(0, |at| at + 1));
    // The colons of an IPv6 address are within brackets.
    let has_port = |host: &str| host.rsplit(']').next().is_some_and(|end| end.contains(':'));
    let with_port = |host: &str| if has_port(host) { host.to_owned() } else { format!("{host}:{port}") };
    if hosts.is_empty() || path.contains("port=") {
        return address.to_owned();
    }
    let hosts: Vec<String> = hosts.split(',').map(with_port).collect();
    format!("{scheme}://{user}{}{path}", hosts.join(","))
}

/// A variable of this process.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_a_port_has_that_of_the_variable() {
        let of = |address: &str| with_port(address, |name| (name == "PGPORT").then(|| "6543".to_owned()));
        for (address, expected) in [
            ("postgresql://db/app", "postgresql://db:6543/app"),
            ("postgresql://ada:p:w@db?sslmode=disable", "postgresql://ada:p:w@db:6543?sslmode=disable"),
            ("postgresql://%2Frun%2Fpg/app", "postgresql://%2Frun%2Fpg:6543/app"),
            ("postgresql://[::1],two:1/app", "postgresql://[::1]:6543,two:1/app"),
            ("postgresql://[::1]:2/app", "postgresql://[::1]:2/app"),
            ("postgresql://db/app?port=7", "postgresql://db/app?port=7"),
            ("postgresql:///app", "postgresql:///app"),
            ("postgresql://ada@/app", "postgresql://ada@/app"),
        ] {
            assert_eq!(of(address), expected);
        }
        assert_eq!(with_port("postgresql://db/app", |_| None), "postgresql://db/app");
    }

    fn completed(given: Connection, variables: &[(&str, &str)]) -> Connection {
        let find =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, text)| (*text).to_owned());
        given.complete(find).unwrap()
    }

    #[test]
    fn an_address_wins_over_variables_and_they_over_defaults() {
        let given = Connection {
            hosts: vec!["db".into()],
            ports: vec![1],
            user: Some("ada".into()),
            database: Some("app".into()),
            password: Some("open".into()),
        };
        let variables = [
            ("PGHOST", "/run/here"),
            ("PGPORT", "6543"),
            ("PGUSER", "bob"),
            ("PGDATABASE", "other"),
            ("PGPASSWORD", "sesame"),
        ];
        assert_eq!(completed(given.clone(), &variables), given);
        let found = completed(Connection::default(), &variables);
        assert_eq!((found.hosts, found.ports), (vec!["/run/here".to_owned()], vec![6543]));
        assert_eq!((found.user.unwrap(), found.database.unwrap()), ("bob".to_owned(), "other".to_owned()));
        assert_eq!(found.password.unwrap(), "sesame");
        let found = completed(Connection::default(), &[("USER", "cyd")]);
        assert_eq!(
            (found.ports, found.user.unwrap(), found.database.unwrap()),
            (vec![5432], "cyd".into(), "cyd".into())
        );
        let find = |name: &str| (name == "PGPORT").then(|| "x".to_owned());
        assert!(Connection::default().complete(find).unwrap_err().contains("PGPORT"));
    }

    #[test]
    fn the_socket_of_this_machine_is_found() {
        assert_eq!(socket(5432, |file| file == Path::new("/tmp/.s.PGSQL.5432")), "/tmp");
        assert_eq!(socket(1, |_| true), "/var/run/postgresql");
        assert_eq!(socket(1, |_| false), "localhost");
    }

    #[test]
    fn the_first_line_of_the_password_file_that_fits_counts() {
        let text = "# db:1:app:ada:comment\nelse:*:*:*:no\ndb:1:app:bob:no\ndb:2:*:ada:no\n\
                    \\*:*:*:*:no\ndb:*:app:ada:a\\:b\\\\c\n*:*:*:*:late\n";
        let connection = |host: &str, user: &str| Connection {
            hosts: vec![host.to_owned()],
            ports: vec![1],
            user: Some(user.to_owned()),
            database: Some("app".into()),
            password: None,
        };
        assert_eq!(connection("db", "ada").password_in(text).unwrap(), "a:b\\c");
        assert_eq!(connection("x", "ada").password_in(text).unwrap(), "late");
        assert_eq!(connection("/tmp", "ada").password_in("localhost:1:app:ada:socket").unwrap(), "socket");
        assert_eq!(connection("x", "ada").password_in("y:*:*:*:no\nx:1\n"), None);
    }
}
