//! `portcullis store migrate` and `store check` against real servers: what they make and say, and the message
//! for each server, database and role that cannot be the store.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop where it is"
)]

mod encryption;
mod example;
mod full_log;
mod refused;
mod schema;
mod serving;

use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::program::portcullis;
use std::process::{Command, Output};
use std::sync::LazyLock;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

/// A server with a port, for this process.
static SERVER: LazyLock<Server> = LazyLock::new(Server::start);

/// A running server.
struct Server {
    cluster: Cluster,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let started = Cluster::with_port(&["shared_buffers=16MB", "max_connections=100"]);
        let (cluster, port) = started.expect("a PostgreSQL");
        Self { cluster, port }
    }

    /// The address of a database for a role, on this machine's socket.
    fn address(&self, database: &str, role: &str) -> String {
        format!("postgres://{role}@/{database}?host={}&port={}", self.cluster.folder, self.port)
    }

    /// The same over the network.
    fn remote(&self, database: &str, role: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/{database}", self.port)
    }
}

/// A new database with this name; its address for the superuser.
fn database(name: &str) -> String {
    sql(&SERVER.address("postgres", "postgres"), &format!("CREATE DATABASE {name}"));
    SERVER.address(name, "postgres")
}

/// Runs statements.
fn sql(address: &str, statements: &str) {
    with(address, async |client| client.batch_execute(statements).await.unwrap());
}

/// The one text that a query returns.
fn text(address: &str, query: &str) -> String {
    with(address, async |client| client.query_one(query, &[]).await.unwrap().get(0))
}

fn with<T>(address: &str, ask: impl AsyncFnOnce(&Client) -> T) -> T {
    Runtime::new().unwrap().block_on(async {
        let (client, connection) = tokio_postgres::connect(address, NoTls).await.unwrap();
        tokio::spawn(connection);
        ask(&client).await
    })
}

/// The command `store` with these arguments, without PostgreSQL's variables.
fn command(args: &[&str]) -> Command {
    let mut command = portcullis(&std::env::temp_dir());
    for name in ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSWORD", "PGSSLMODE", "PGSSLROOTCERT"] {
        command.env_remove(name);
    }
    command.arg("store").args(args);
    command
}

/// Exit code, standard output, standard error.
fn store(args: &[&str]) -> (i32, String, String) {
    ended(&command(args).output().unwrap())
}

fn ended(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}
