//! A private PostgreSQL server, which ends with the process that started it.
//!
//! Its data and its socket are in a folder of its own. A shell watches over it: when the pipe to the shell
//! closes, however the process ended, the shell stops the server and removes the folder.
//! PostgreSQL refuses to run as root, so for root it runs as the user that the package made.
//!
//! Text sorts by a language's rules here, so that a statement which forgets to ask for bytes shows.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};

/// Where the package installs the server and its tools.
pub const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// Makes a cluster, serves it and waits for the end of its input. It is in the folder that `PLACE` names,
/// where a socket's path is not long and every user may write. Its memory is bounded: a statement that takes
/// gigabytes to plan is a failure, and the machine has other things to do.
const SCRIPT: &str = r#"
set -eu
ulimit -v 6000000
folder=$(mktemp -d "$PLACE/portcullis-postgres.XXXXXX")
trap 'rm -rf "$folder"' EXIT
if [ -n "$PRIMARY" ]; then
  "$0/pg_basebackup" -d "$PRIMARY" -D "$folder/data" -R -c fast --no-sync >"$folder/log" 2>&1
else
  "$0/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 \
    --locale-provider=icu --icu-locale=en-US --no-sync >"$folder/log" 2>&1
fi || { cat "$folder/log"; exit 1; }
"$0/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off -c full_page_writes=off \
  -c synchronous_commit=off -c autovacuum=off -c jit=off "$@" >>"$folder/log" 2>&1 </dev/null &
server=$!
until "$0/pg_isready" -q -h "$folder"; do
  kill -0 "$server" || { cat "$folder/log"; exit 1; }
  sleep 0.05
done
echo "folder $folder"
read -r _ || true
kill -INT "$server"
wait "$server" || true
"#;

/// A running server with a superuser `postgres` and a database of the same name.
pub struct Cluster {
    /// The folder with its socket.
    pub folder: String,
    /// The server runs until this closes.
    _alive: ChildStdin,
}

impl Cluster {
    /// Starts a server with these settings, and returns when it takes connections.
    pub fn start(settings: &[&str]) -> Result<Self, String> {
        Self::start_in("/tmp", settings)
    }

    /// The same, with its data in a folder of its own inside this one.
    pub fn start_in(place: &str, settings: &[&str]) -> Result<Self, String> {
        Self::spawn(place, None, None, settings)
    }

    /// A server that also listens on this port of 127.0.0.1.
    pub fn start_at(port: u16, settings: &[&str]) -> Result<Self, String> {
        Self::spawn("/tmp", Some(port), None, &[&["listen_addresses=127.0.0.1"], settings].concat())
    }

    /// A standby of the server at `primary`, a port of 127.0.0.1, that listens on another one.
    pub fn standby_at(port: u16, primary: u16, settings: &[&str]) -> Result<Self, String> {
        let settings = [&["listen_addresses=127.0.0.1"], settings].concat();
        Self::spawn("/tmp", Some(port), Some(primary), &settings)
    }

    fn spawn(
        place: &str,
        port: Option<u16>,
        primary: Option<u16>,
        settings: &[&str],
    ) -> Result<Self, String> {
        if !Path::new(PROGRAMS).join("postgres").exists() {
            return Err("PostgreSQL 15 is not installed: run scripts/setup".into());
        }
        let mut command = unprivileged()?;
        let primary = primary.map(|port| format!("host=127.0.0.1 port={port} user=postgres"));
        command.args(["-c", SCRIPT, PROGRAMS]).env("PLACE", place).current_dir("/");
        command.env("PRIMARY", primary.unwrap_or_default());
        // The server and its tools read it.
        if let Some(port) = port {
            command.env("PGPORT", port.to_string());
        }
        for setting in settings {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = command.spawn().map_err(|error| format!("PostgreSQL does not start: {error}"))?;
        let alive = shell.stdin.take().ok_or("the shell has no input")?;
        let mut output = String::new();
        let folder = BufReader::new(shell.stdout.take().ok_or("the shell has no output")?)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                output.extend([&line, "\n"]);
                line.strip_prefix("folder ").map(str::to_owned)
            })
            .ok_or_else(|| format!("PostgreSQL does not start: {output}"))?;
        Ok(Self { folder, _alive: alive })
    }
}

/// A shell of a user that may run PostgreSQL, in a group of its own: an interrupt from the keyboard is for
/// the process, which closes its pipe to the shell as it ends.
pub(crate) fn unprivileged() -> Result<Command, String> {
    let mut command = if is_root()? {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "sh"]);
        command
    } else {
        Command::new("sh")
    };
    command.process_group(0);
    Ok(command)
}

fn is_root() -> Result<bool, String> {
    let id = Command::new("id").arg("-u").output().map_err(|error| format!("who runs this? {error}"))?;
    Ok(id.stdout == b"0\n")
}
