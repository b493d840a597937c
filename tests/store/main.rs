//! A store in PostgreSQL as a library: batches, questions and their clocks, statements of the compiler, and
//! what happens if connections, servers and networks fail.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on should stop where it is"
)]

mod batches;
mod compiled;
mod failures;
mod proxy;
mod questions;

use portcullis::store::postgres::{Address, AskedRead, PgReader, PostgresStore, RowQuery, migrate};
use portcullis::store::{Change, Fact, Param, StoreError, StoreOptions, Value};
use portcullis_testkit::cluster::Cluster;
use std::net::TcpListener;
use std::sync::LazyLock;
use std::time::Duration;
use tokio_postgres::{Client, NoTls};

/// The environment of the tests.
const ENVIRONMENT: &str = "tested";

/// A server with a port, for this process.
static SERVER: LazyLock<(Cluster, u16)> = LazyLock::new(|| {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    (Cluster::start_at(port, &["shared_buffers=16MB", "max_connections=200"]).unwrap(), port)
});

/// A database of its own with a store in it.
struct Place {
    database: String,
    /// The superuser's connection to it.
    admin: Client,
}

impl Place {
    async fn new(database: &str) -> Self {
        let port = SERVER.1;
        let server = client(&format!("postgres://postgres@127.0.0.1:{port}/postgres")).await;
        server.batch_execute(&format!("CREATE DATABASE {database}")).await.unwrap();
        let url = format!("postgres://postgres@127.0.0.1:{port}/{database}");
        migrate(&Address::parse(&url).unwrap(), ENVIRONMENT).await.unwrap();
        Self { database: database.to_owned(), admin: client(&url).await }
    }

    /// Opens the store.
    async fn open(&self) -> PostgresStore {
        self.open_at(SERVER.1, &options()).await
    }

    /// Opens the store through another port.
    async fn open_at(&self, port: u16, options: &StoreOptions) -> PostgresStore {
        let url = format!("postgres://postgres@127.0.0.1:{port}/{}?connect_timeout=1", self.database);
        PostgresStore::open(&Address::parse(&url).unwrap(), ENVIRONMENT, options).await.unwrap()
    }

    /// The number that a query returns.
    async fn number(&self, query: &str) -> i64 {
        self.admin.query_one(query, &[]).await.unwrap().get(0)
    }

    /// Ends all connections but this one.
    async fn end_connections(&self) -> i64 {
        self.number(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await
    }
}

async fn client(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn options() -> StoreOptions {
    let time = Duration::from_secs(10);
    StoreOptions {
        readers: 2,
        long_readers: 2,
        query_time: time,
        query_wait: time,
        ..StoreOptions::default()
    }
}

/// `has_relation(Issue:a, NAME, Repository:b)`.
fn relation(a: &str, name: &str, b: &str) -> Fact {
    let args = vec![Value::new("Issue", a), Value::new("String", name), Value::new("Repository", b)];
    Fact::new("has_relation", args)
}

/// `is_public(Repository:a)`.
fn public(a: &str) -> Fact {
    Fact::new("is_public", vec![Value::new("Repository", a)])
}

fn insert(facts: impl IntoIterator<Item = Fact>) -> Vec<Change> {
    vec![Change::Insert(facts.into_iter().collect())]
}

/// The facts that this process can see, as texts, in the order of their relations and ids.
async fn facts(store: &PostgresStore, asked: AskedRead) -> Result<Vec<String>, StoreError> {
    let (relations, schema) = (store.relations(), store.schema());
    let read = move |reader: &PgReader| {
        let mut found = Vec::new();
        for relation in &relations.relations {
            let columns: Vec<String> = relation.columns().map(|(_, column)| column).collect();
            let columns = columns.join(", ");
            let sql = format!("SELECT {columns} FROM {schema}.{} ORDER BY {columns}", relation.table);
            let query = RowQuery { sql: &sql, n_columns: relation.columns().count() };
            reader.rows(query, &[], |row| {
                let ids: Vec<String> = row.iter_mut().map(|id| id.take().unwrap().into_owned()).collect();
                found.push(format!("{}({})", relation.predicate, ids.join(", ")));
            })?;
        }
        Ok(found)
    };
    Ok(store.read(asked, move |reader| reader.snapshot(read)).await?.0)
}

/// Whether a repository is public, by a statement like those of the compiler.
fn is_public(schema: &str, reader: &PgReader, id: &str) -> Result<bool, StoreError> {
    let sql = format!("SELECT EXISTS (SELECT FROM {schema}.f1 WHERE a0 = $1)");
    reader.decision(&sql, &[Param::Value(id.to_owned())])
}
