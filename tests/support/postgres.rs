//! A private PostgreSQL, on which the tests run the statements that the compiler prints.
//!
//! One server for each test process; the first use starts it.

use super::cluster::Cluster;
use super::elsewhere::ELSEWHERE;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, Config, NoTls};

/// Speaks to the server from the thread that waits for the answer: one that waits for another thread to read
/// a socket spends more time on waking up than most statements take.
pub static WIRE: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().unwrap());

/// Little memory for many small statements, none of which may take long.
const SETTINGS: &[&str] = &[
    "shared_buffers=16MB",
    "max_connections=100",
    "max_locks_per_transaction=2048",
    "statement_timeout=20s",
];

/// After this many sessions the server's catalog is vacuumed. Each session makes tables and drops them; after
/// an hour of that, statements would take twice as long.
const VACUUMED: usize = 1_000;

/// How many sessions there were.
static SESSIONS: AtomicUsize = AtomicUsize::new(0);

/// The server of this process, or why there is none.
static SERVER: LazyLock<Result<Server, String>> = LazyLock::new(Server::start);

/// A running server.
struct Server {
    config: Config,
    /// Idle connections.
    idle: Mutex<Vec<Client>>,
    cluster: Cluster,
}

impl Server {
    fn start() -> Result<Self, String> {
        // Little data in many tables: in memory, where the system has a folder for that.
        let place = if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" };
        let cluster = Cluster::start_in(place, SETTINGS)?;
        let mut config = Config::new();
        config.host_path(&cluster.folder).user("postgres").dbname("postgres");
        let server = Self { config, idle: Mutex::default(), cluster };
        let client = server.connect()?;
        WIRE.block_on(client.batch_execute("CREATE EXTENSION citext"))
            .map_err(|error| format!("no type that ignores case: {error}"))?;
        server.give_back(client);
        Ok(server)
    }

    fn connect(&self) -> Result<Client, String> {
        WIRE.block_on(async {
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

/// How to connect to a database for stores, as a URL.
fn url(database: &str) -> Result<String, String> {
    if let Some(elsewhere) = &*ELSEWHERE {
        return Ok(elsewhere.url_at(elsewhere.place(), database));
    }
    let server = SERVER.as_ref().map_err(Clone::clone)?;
    let folder = server.cluster.folder.replace('/', "%2F");
    Ok(format!("postgres://postgres@{folder}/{database}"))
}

/// The database in which environments of tests are, as a URL: on the server of this process, or
/// [elsewhere](super::elsewhere).
pub fn shared_database() -> Result<String, String> {
    static MADE: LazyLock<Result<String, String>> = LazyLock::new(|| match &*ELSEWHERE {
        None => url("postgres"),
        Some(_) => new_database(),
    });
    MADE.clone()
}

/// A new database for a store, as a URL that ends with its name unless it has parameters. It stays as long as
/// the process.
pub fn new_database() -> Result<String, String> {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let prefix = ELSEWHERE.as_ref().map_or("", |elsewhere| elsewhere.prefix());
    let name = format!("{prefix}made_{}", MADE.fetch_add(1, Ordering::Relaxed));
    administer(&format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"))?;
    url(&name)
}

/// Runs a statement as the superuser of the server with the stores.
pub fn administer(statement: &str) -> Result<(), String> {
    match &*ELSEWHERE {
        Some(elsewhere) => administer_in(&elsewhere.main_url(), statement),
        None => administer_in(&url("postgres")?, statement),
    }
}

/// Runs statements in the database of a URL.
pub fn administer_in(url: &str, statements: &str) -> Result<(), String> {
    let run = async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        tokio::spawn(connection);
        client.batch_execute(statements).await
    };
    WIRE.block_on(run).map_err(|error| format!("{statements}: {error}"))
}

/// A connection with nothing in it; what is made in it is gone when it is dropped.
pub struct Session {
    client: Option<Client>,
}

impl Session {
    /// A session on the server of this process.
    pub fn new() -> Result<Self, String> {
        let server = SERVER.as_ref().map_err(Clone::clone)?;
        let idle = server.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let client = idle.map_or_else(|| server.connect(), Ok)?;
        if SESSIONS.fetch_add(1, Ordering::Relaxed) % VACUUMED == VACUUMED - 1 {
            // A vacuum may take longer than the limit for a test's statements, and cannot share a batch.
            for sql in ["SET statement_timeout = 0", "VACUUM", "RESET statement_timeout"] {
                let done = WIRE.block_on(client.batch_execute(sql));
                done.map_err(|error| format!("the catalog is not vacuumed: {error:?}"))?;
            }
        }
        Ok(Self { client: Some(client) })
    }

    /// The connection.
    pub fn client(&self) -> &Client {
        self.client.as_ref().unwrap()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let (Some(client), Ok(server)) = (self.client.take(), SERVER.as_ref())
            && WIRE.block_on(client.batch_execute("DISCARD ALL")).is_ok()
        {
            server.give_back(client);
        }
    }
}
