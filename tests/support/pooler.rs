//! A pgbouncer before a PostgreSQL server, which ends with the process that started it.

use crate::cluster::{PROGRAMS, unprivileged};
use std::io::{BufRead, BufReader};
use std::process::{ChildStdin, Stdio};

/// Serves until the end of its input.
const SCRIPT: &str = r#"
set -eu
folder=$(mktemp -d /tmp/portcullis-pooler.XXXXXX)
trap 'rm -rf "$folder"' EXIT
echo '"postgres" ""' >"$folder/users"
cat >"$folder/pgbouncer.ini" <<TEXT
[databases]
* = host=127.0.0.1 port=$SERVER
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $PORT
unix_socket_dir =
auth_type = trust
auth_file = $folder/users
pool_mode = $MODE
TEXT
pgbouncer -q "$folder/pgbouncer.ini" >"$folder/log" 2>&1 </dev/null &
pooler=$!
until "$PROGRAMS/pg_isready" -q -h 127.0.0.1 -p "$PORT"; do
  kill -0 "$pooler" || { cat "$folder/log"; exit 1; }
  sleep 0.05
done
echo ready
read -r _ || true
kill -INT "$pooler"
wait "$pooler" || true
"#;

/// How long a client of a pooler keeps a connection of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolMode {
    /// Until it leaves.
    Session,
    /// Until its transaction ends.
    Transaction,
}

/// A running pooler.
pub struct Pooler {
    /// It runs until this closes.
    _alive: ChildStdin,
}

impl Pooler {
    /// Starts a pooler on a port of 127.0.0.1 before the server on another one.
    pub fn start_at(port: u16, server: u16, mode: PoolMode) -> Result<Self, String> {
        let mode = match mode {
            PoolMode::Session => "session",
            PoolMode::Transaction => "transaction",
        };
        let mut command = unprivileged()?;
        command.args(["-c", SCRIPT]).current_dir("/").env("MODE", mode).env("PROGRAMS", &*PROGRAMS);
        command.env("PORT", port.to_string()).env("SERVER", server.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = command.spawn().map_err(|error| format!("pgbouncer does not start: {error}"))?;
        let alive = shell.stdin.take().ok_or("the shell has no input")?;
        let output = BufReader::new(shell.stdout.take().ok_or("the shell has no output")?);
        let lines: Vec<String> = output.lines().map_while(Result::ok).take(1).collect();
        if lines.iter().any(|line| line == "ready") {
            return Ok(Self { _alive: alive });
        }
        Err(format!("pgbouncer does not start: {lines:?}; is it installed? Run scripts/setup"))
    }
}
