//! The application's database: a server of its own, with the tables of the example and actors to ask about.

use crate::cluster::{Cluster, PROGRAMS};
use crate::repository;
use std::process::Command;
use tokio_postgres::{Client, Error, NoTls, SimpleQueryMessage};

/// What every database here is planned with: a disk that seeks fast, one process a statement.
const SETTINGS: &[&str] = &["random_page_cost=1.1", "max_parallel_workers_per_gather=0"];

/// A connection to the loaded database.
pub struct Database {
    client: Client,
    /// The server, if it is ours.
    _cluster: Option<Cluster>,
}

impl Database {
    /// Starts a server and loads it with as many rows as `scale` says, in the variables of seed.sql.
    pub async fn load(settings: &[&str], scale: &[&str]) -> Self {
        let settings: Vec<&str> = SETTINGS.iter().chain(settings).copied().collect();
        let cluster = Cluster::start(&settings).unwrap_or_else(|message| panic!("{message}"));
        for file in ["docs/local-checks/schema.sql", "docs/local-checks/seed.sql", "benches/local/actors.sql"]
        {
            run_file(&cluster, "postgres", file, scale);
        }
        let config = format!("host={} user=postgres dbname=postgres", cluster.folder);
        Self { _cluster: Some(cluster), ..Self::connect(&config).await }
    }

    /// Connects to a database that was loaded before.
    pub async fn connect(config: &str) -> Self {
        let (client, connection) = tokio_postgres::connect(config, NoTls).await.unwrap();
        tokio::spawn(connection);
        Self { client, _cluster: None }
    }

    /// The first column of a statement's rows, as text.
    pub async fn first_column(&self, sql: &str) -> Vec<String> {
        self.column(sql).await.unwrap_or_else(|error| panic!("{error:?}\n{sql}"))
    }

    /// The same, but what the statement changes is undone, and it may fail.
    pub async fn undone(&self, sql: &str) -> Result<Vec<String>, Error> {
        let found = self.column(&format!("BEGIN; {sql}; ROLLBACK")).await;
        if found.is_err() {
            self.client.batch_execute("ROLLBACK").await?;
        }
        found
    }

    async fn column(&self, sql: &str) -> Result<Vec<String>, Error> {
        let messages = self.client.simple_query(sql).await?;
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL").to_owned()),
            _ => None,
        });
        Ok(rows.collect())
    }
}

/// Runs a file of this repository on a database as `psql` does, with these variables.
pub fn run_file(cluster: &Cluster, database: &str, file: &str, variables: &[&str]) {
    eprintln!("loading {file}");
    let mut command = Command::new(format!("{}/psql", *PROGRAMS));
    command.args(["--no-psqlrc", "--quiet", "--host", &cluster.folder, "--username", "postgres"]);
    command.args(["--dbname", database, "--variable", "ON_ERROR_STOP=1", "--file", file]);
    for variable in variables {
        command.args(["--variable", variable]);
    }
    command.current_dir(repository());
    assert!(command.status().unwrap().success(), "{file} does not run");
}
