//! A server that the caller of the tests names in `PORTCULLIS_TEST_STORE`, for stores in the place of one
//! that the tests start.
//!
//! The stores are in databases whose names begin with [`prefix`](Elsewhere::prefix). A shell watches over
//! them: when the pipe to it closes, however the process ended, it drops them.

use super::cluster::PROGRAMS;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

/// The variable with the address.
pub const VARIABLE: &str = "PORTCULLIS_TEST_STORE";

/// The server of the variable, if it is set.
pub static ELSEWHERE: LazyLock<Option<Elsewhere>> =
    LazyLock::new(|| std::env::var(VARIABLE).ok().map(|url| Elsewhere::start(&url).unwrap()));

/// Drops the databases of a process once its input closes.
const SCRIPT: &str = r#"
trap '' INT HUP PIPE
cat >/dev/null
"$0/psql" "$1" -Atqc "SELECT datname FROM pg_database WHERE starts_with(datname, '$2')" |
while read -r name; do "$0/psql" "$1" -qc "DROP DATABASE \"$name\" WITH (FORCE)"; done
"#;

/// A server that was not started by the tests.
pub struct Elsewhere {
    /// The address up to its host.
    before: String,
    /// Host and port.
    place: String,
    /// The address from its database on.
    after: String,
    prefix: String,
    _watcher: Child,
}

impl Elsewhere {
    fn start(url: &str) -> Result<Self, String> {
        let wrong = || format!("{VARIABLE} is not like postgres://USER:PASSWORD@HOST:PORT/DATABASE");
        let rest = url.strip_prefix("postgres://").ok_or_else(wrong)?;
        let (authority, after) = rest.split_once('/').ok_or_else(wrong)?;
        let (user, place) = authority.rsplit_once('@').ok_or_else(wrong)?;
        if !place.contains(':') || after.is_empty() {
            return Err(wrong());
        }
        // Processes in different containers may have one id.
        let random = RandomState::new().build_hasher().finish() & 0xffff_ffff;
        let prefix = format!("portcullis_test_{}_{random:08x}_", std::process::id());
        let watcher = Command::new("sh")
            .args(["-c", SCRIPT, &PROGRAMS, url, &prefix])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("sh: {error}"))?;
        let (before, place) = (format!("postgres://{user}@"), place.to_owned());
        Ok(Self { before, place, after: after.to_owned(), prefix, _watcher: watcher })
    }

    /// Its host and port.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What the names of its databases begin with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The address of the database that the variable names.
    pub fn main_url(&self) -> String {
        format!("{}{}/{}", self.before, self.place, self.after)
    }

    /// The address of another database, at this place.
    pub fn url_at(&self, place: &str, database: &str) -> String {
        let params = self.after.split_once('?').map_or("", |(_, params)| params);
        let mark = if params.is_empty() { "" } else { "?" };
        format!("{}{place}/{database}{mark}{params}", self.before)
    }
}
