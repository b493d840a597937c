//! `portcullis bindings check` on real databases: what it reports, what `--fix` corrects and `--explain`
//! shows. The files share the databases made here, and the two ways to run the command.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop where it is"
)]

mod access;
mod explain;
mod explain_indexes;
mod fix;
mod indexes;
mod layouts;
mod promises;
mod report;
mod texts;
mod types;

use portcullis_testkit::postgres::{Session, WIRE};
use portcullis_testkit::program::portcullis;
use serde_json::Value as Json;
use std::fs;
use std::path::Path;
use tokio_postgres::NoTls;

/// A database of its own on the tests' server, with these tables; its address.
pub(super) fn postgresql(name: &str, tables: &str) -> String {
    let session = Session::new().expect("a PostgreSQL");
    WIRE.block_on(async {
        let server = session.client();
        server.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        let row = server.query_one("SELECT current_setting('unix_socket_directories')", &[]).await.unwrap();
        let address = format!("postgresql:///{name}?user=postgres&host={}", row.get::<_, String>(0));
        let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(tables).await.unwrap();
        address
    })
}

/// A file with these tables; its address.
pub(super) fn sqlite(folder: &Path, tables: &str) -> String {
    let path = folder.join("app.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch(tables).unwrap();
    format!("sqlite:{}", path.display())
}

/// Exit code, standard output, standard error.
fn check(folder: &Path, bindings: &str, database: &str, args: &[&str]) -> (i32, String, String) {
    let file = folder.join("bindings.yaml");
    fs::write(&file, bindings).unwrap();
    let mut command = portcullis(folder);
    command.args(["bindings", "check", "bindings.yaml", "--database", database]).args(args);
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// The findings, each as `severity key column: message`, and the exit code.
fn findings(folder: &Path, bindings: &str, database: &str, args: &[&str]) -> (i32, Vec<String>) {
    let (code, out, err) = check(folder, bindings, database, &[&["--json"], args].concat());
    assert_eq!(err, "");
    let report: Json = serde_json::from_str(&out).unwrap();
    let mut lines = Vec::new();
    for entry in report["entries"].as_array().unwrap() {
        for finding in entry["findings"].as_array().unwrap() {
            let text = |value: &Json| value.as_str().unwrap_or("-").to_owned();
            let (severity, column) = (text(&finding["severity"]), text(&finding["column"]));
            lines.push(format!("{severity} {} {column}: {}", text(&entry["key"]), text(&finding["message"])));
        }
    }
    (code, lines)
}

/// The tables of most tests of a report.
const TABLES: &str = "
    CREATE TABLE users (id uuid PRIMARY KEY, age integer NOT NULL, level text NOT NULL);
    CREATE TABLE repos (id bigint PRIMARY KEY, parent_id bigint, owner uuid NOT NULL, slug varchar(40) NOT NULL);
    CREATE INDEX ON repos (parent_id);
    CREATE INDEX ON repos (owner) WHERE parent_id IS NULL;
    CREATE UNIQUE INDEX ON repos (lower(slug));
    CREATE TABLE members (user_id uuid NOT NULL, role text NOT NULL, repo_id bigint NOT NULL,
                          PRIMARY KEY (user_id, repo_id));
    CREATE INDEX ON members (repo_id);
    CREATE VIEW seen AS SELECT id, owner FROM repos;
";

const TYPES: &str = "sql_types: {User: uuid, Repo: bigint}\n";
