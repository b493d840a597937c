//! A store in PostgreSQL as a library: batches, facts, policies and keys, questions and their clocks,
//! statements of the compiler, and what happens if connections, servers and networks fail.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on should stop where it is"
)]

mod batches;
mod compiled;
mod failover;
mod failures;
mod finding;
mod full_disk;
mod keys;
mod patroni;
mod policies;
mod pooler;
mod questions;
mod readings;
mod replicas;
mod stages;
mod states;
mod subjects;

use portcullis::store::postgres::{Address, AskedRead, PgReader, PostgresStore, migrate};
use portcullis::store::{
    ArgPattern, Change, Fact, FactPage, FactPattern, Param, Reader, RowQuery, StoreError, StoreOptions, Value,
};
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::elsewhere::{ELSEWHERE, Elsewhere, VARIABLE};
use portcullis_testkit::proxy::Proxy;
use std::sync::LazyLock;
use std::time::Duration;
use tokio_postgres::{Client, NoTls};

/// The environment of the tests.
const ENVIRONMENT: &str = "tested";

/// The server for this process.
static SERVER: LazyLock<StoreServer> = LazyLock::new(|| {
    if let Some(elsewhere) = &*ELSEWHERE {
        return StoreServer::Elsewhere(elsewhere);
    }
    let settings = ["shared_buffers=16MB", "max_connections=200"];
    let (cluster, port) = Cluster::with_port(&settings).unwrap();
    StoreServer::Own { _cluster: cluster, port }
});

/// A server with stores.
enum StoreServer {
    /// It was started for this process.
    Own { _cluster: Cluster, port: u16 },
    /// The caller of the tests has named it.
    Elsewhere(&'static Elsewhere),
}

impl StoreServer {
    /// Its host and port.
    fn place(&self) -> String {
        match self {
            Self::Own { port, .. } => format!("127.0.0.1:{port}"),
            Self::Elsewhere(elsewhere) => elsewhere.place().to_owned(),
        }
    }

    /// The address of a database, at this place.
    fn url_at(&self, place: &str, database: &str) -> String {
        match self {
            Self::Own { .. } => format!("postgres://postgres@{place}/{database}"),
            Self::Elsewhere(elsewhere) => elsewhere.url_at(place, database),
        }
    }

    fn url(&self, database: &str) -> String {
        self.url_at(&self.place(), database)
    }

    /// The address of a database that exists.
    fn main_url(&self) -> String {
        match self {
            Self::Own { .. } => self.url("postgres"),
            Self::Elsewhere(elsewhere) => elsewhere.main_url(),
        }
    }

    /// The name of a database for a test.
    fn named(&self, name: &str) -> String {
        match self {
            Self::Own { .. } => name.to_owned(),
            Self::Elsewhere(elsewhere) => format!("{}{name}", elsewhere.prefix()),
        }
    }

    /// A proxy before it.
    fn proxied(&self) -> Proxy {
        Proxy::before(&self.place())
    }

    /// The port of a server that the test may follow, pause or stop.
    fn own_port(&self) -> u16 {
        match self {
            Self::Own { port, .. } => *port,
            Self::Elsewhere(_) => panic!("{VARIABLE} is set, and this test needs a server of its own"),
        }
    }
}

/// A database of its own with a store in it.
struct Place {
    database: String,
    /// The superuser's connection to it.
    admin: Client,
}

impl Place {
    async fn new(name: &str) -> Self {
        let database = SERVER.named(name);
        let server = client(&SERVER.main_url()).await;
        server
            .batch_execute(&format!("CREATE DATABASE {database} TEMPLATE template0 ENCODING 'UTF8'"))
            .await
            .unwrap();
        let url = SERVER.url(&database);
        migrate(&Address::parse(&url).unwrap(), ENVIRONMENT).await.unwrap();
        Self { database, admin: client(&url).await }
    }

    /// Opens the store.
    async fn open(&self) -> PostgresStore {
        self.open_with(&options()).await
    }

    /// Opens the store with these options.
    async fn open_with(&self, options: &StoreOptions) -> PostgresStore {
        self.open_over(&SERVER.place(), options).await
    }

    /// Opens the store through a port of this machine.
    async fn open_at(&self, port: u16, options: &StoreOptions) -> PostgresStore {
        self.open_over(&format!("127.0.0.1:{port}"), options).await
    }

    async fn open_over(&self, place: &str, options: &StoreOptions) -> PostgresStore {
        let url = SERVER.url_at(place, &self.database);
        let url = format!("{url}{}connect_timeout=1", if url.contains('?') { '&' } else { '?' });
        PostgresStore::open(&Address::parse(&url).unwrap().into(), ENVIRONMENT, options).await.unwrap()
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
            Reader::Postgres(reader).rows(query, &[], |row| {
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

/// `fact("has_role", &["User:ada", "String:owner"])`
fn fact(predicate: &str, args: &[&str]) -> Fact {
    let value = |arg: &&str| arg.split_once(':').map(|(ty, id)| Value::new(ty, id)).unwrap();
    Fact::new(predicate, args.iter().map(value).collect())
}

/// As [`fact`]; `*` is any value, `User:*` any user.
fn pattern(predicate: &str, args: &[&str]) -> FactPattern {
    let arg = |arg: &&str| match arg.split_once(':') {
        None => ArgPattern::Any,
        Some((ty, "*")) => ArgPattern::Typed(ty.into()),
        Some((ty, id)) => ArgPattern::Exact(Value::new(ty, id)),
    };
    FactPattern::new(predicate, args.iter().map(arg).collect())
}

fn delete(patterns: &[FactPattern]) -> Vec<Change> {
    vec![Change::Delete(patterns.to_vec())]
}

/// The stored facts that match, of one moment.
async fn page(store: &PostgresStore, pattern: FactPattern, limit: usize) -> FactPage {
    let relations = store.relations();
    let read = move |reader: &PgReader| reader.snapshot(|reader| reader.facts(&relations, &pattern, limit));
    store.read_brief(AskedRead::default(), read).await.unwrap().0
}

/// All stored facts that match.
async fn found(store: &PostgresStore, pattern: FactPattern) -> Vec<Fact> {
    let page = page(store, pattern, 100_000).await;
    assert!(!page.more);
    page.facts
}

/// Waits until a query returns a number.
async fn until(place: &Place, query: &str, number: i64) {
    for _ in 0..200 {
        if place.number(query).await == number {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{query}: never {number}");
}
