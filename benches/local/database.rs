//! The application's database: a server of its own, with the tables of the example at their largest.

use crate::cluster::{Cluster, PROGRAMS};
use std::process::Command;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// Memory as on a small server of an application, one process a statement.
const SETTINGS: &[&str] = &[
    "shared_buffers=1GB",
    "work_mem=64MB",
    "maintenance_work_mem=256MB",
    "random_page_cost=1.1",
    "max_parallel_workers_per_gather=0",
    "max_wal_size=4GB",
];

/// How many rows of each kind seed.sql makes.
const SCALE: &[&str] = &[
    "users=50000",
    "organizations=1000",
    "groups=5000",
    "folders=16000",
    "repositories=200000",
    "issues=1000000",
];

/// A connection to the loaded database.
pub(crate) struct Database {
    client: Client,
    /// The server, if it is ours.
    _cluster: Option<Cluster>,
}

impl Database {
    /// Starts a server and loads it, which takes about a minute.
    pub(crate) async fn load() -> Self {
        let cluster = Cluster::start(SETTINGS).unwrap();
        run_file(&cluster.folder, "docs/local-checks/schema.sql");
        run_file(&cluster.folder, "docs/local-checks/seed.sql");
        run_file(&cluster.folder, "benches/local/actors.sql");
        let config = format!("host={} user=postgres dbname=postgres", cluster.folder);
        Self { _cluster: Some(cluster), ..Self::connect(&config).await }
    }

    /// Connects to a database that was loaded before.
    pub(crate) async fn connect(config: &str) -> Self {
        let (client, connection) = tokio_postgres::connect(config, NoTls).await.unwrap();
        tokio::spawn(connection);
        Self { client, _cluster: None }
    }

    /// The first column of a statement's rows, as text.
    pub(crate) async fn first_column(&self, sql: &str) -> Vec<String> {
        let messages = self.client.simple_query(sql).await;
        let messages = messages.unwrap_or_else(|error| panic!("{error:?}\n{sql}"));
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL").to_owned()),
            _ => None,
        });
        rows.collect()
    }
}

/// Runs a file of this repository as `psql` does.
fn run_file(folder: &str, file: &str) {
    let mut command = Command::new(format!("{PROGRAMS}/psql"));
    command.args(["--no-psqlrc", "--quiet", "--host", folder, "--username", "postgres", "--file", file]);
    for variable in SCALE {
        command.args(["--variable", variable]);
    }
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(command.status().unwrap().success(), "{file} does not run");
}
