//! A private PostgreSQL, on which the tests run the statements that the compiler prints.
//!
//! One server a test process, with its data and its socket in a folder of its own; the first who asks
//! starts it. A shell watches over it: when the pipe to the shell closes, because the test process ended in
//! whatever way, the shell stops the server and removes the folder. PostgreSQL refuses to run as root, so
//! for root it runs as the user that the package made.
//!
//! Text sorts by a language's rules here, so that a statement which forgets to ask for bytes shows.

use super::hosted::RUNTIME;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_postgres::{Client, Config, NoTls};

/// Where the package installs the server.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// Makes a cluster, serves it and waits for the end of its input. It stands in `/tmp` because a socket's
/// path may not be long, and because every user may write there. Its memory is bounded: a statement that
/// takes gigabytes to plan is a failure, and the machine has other things to do.
const SCRIPT: &str = r#"
set -eu
ulimit -v 6000000
folder=$(mktemp -d /tmp/portcullis-postgres.XXXXXX)
trap 'rm -rf "$folder"' EXIT
"$0/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 \
  --locale-provider=icu --icu-locale=en-US --no-sync >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
"$0/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off -c full_page_writes=off \
  -c synchronous_commit=off -c shared_buffers=16MB -c max_connections=20 -c max_locks_per_transaction=2048 -c autovacuum=off -c jit=off \
  -c statement_timeout=20s >>"$folder/log" 2>&1 </dev/null &
server=$!
echo "folder $folder"
read -r _ || true
kill -INT "$server"
wait "$server" || true
"#;

/// The server of this process, or why there is none.
static SERVER: LazyLock<Result<Server, String>> = LazyLock::new(Server::start);

/// A running server.
struct Server {
    config: Config,
    /// Connections that nobody uses now.
    idle: Mutex<Vec<Client>>,
    /// The server runs until this closes.
    _alive: ChildStdin,
}

impl Server {
    fn start() -> Result<Self, String> {
        if !Path::new(PROGRAMS).join("postgres").exists() {
            return Err("PostgreSQL 15 is not installed: run scripts/setup".into());
        }
        let mut command = if is_root()? {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "sh"]);
            command
        } else {
            Command::new("sh")
        };
        command.args(["-c", SCRIPT, PROGRAMS]).current_dir("/");
        // In a group of its own: an interrupt from the keyboard is for the tests, the pipe tells the rest.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
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
        let mut config = Config::new();
        config.host_path(folder).user("postgres").dbname("postgres");
        let server = Self { config, idle: Mutex::default(), _alive: alive };
        let started = Instant::now();
        loop {
            match server.connect() {
                Ok(client) => {
                    server.give_back(client);
                    return Ok(server);
                }
                Err(error) if started.elapsed() > Duration::from_secs(30) => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn connect(&self) -> Result<Client, String> {
        RUNTIME.block_on(async {
            let (client, connection) =
                self.config.connect(NoTls).await.map_err(|error| format!("no connection: {error}"))?;
            tokio::spawn(connection);
            Ok(client)
        })
    }

    fn give_back(&self, client: Client) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(client);
    }
}

fn is_root() -> Result<bool, String> {
    let id = Command::new("id").arg("-u").output().map_err(|error| format!("who runs this? {error}"))?;
    Ok(id.stdout == b"0\n")
}

/// A connection with nothing in it; what is made in it is gone when it is dropped.
pub(crate) struct Session {
    client: Option<Client>,
}

impl Session {
    /// A session on the server of this process.
    pub(crate) fn new() -> Result<Self, String> {
        let server = SERVER.as_ref().map_err(Clone::clone)?;
        let idle = server.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let client = idle.map_or_else(|| server.connect(), Ok)?;
        Ok(Self { client: Some(client) })
    }

    /// The connection.
    pub(crate) fn client(&self) -> &Client {
        self.client.as_ref().unwrap()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let (Some(client), Ok(server)) = (self.client.take(), SERVER.as_ref())
            && RUNTIME.block_on(client.batch_execute("DISCARD ALL")).is_ok()
        {
            server.give_back(client);
        }
    }
}
