//! How `bindings check` reaches a database. An address is read as the programs of PostgreSQL read it, a
//! database that cannot be checked is named at once, and none is changed.

use super::{TABLES, check, findings, postgresql, sqlite};
use portcullis_testkit::postgres::WIRE;
use portcullis_testkit::program::portcullis;
use std::fs;
use std::io::{Read, Write};
use tokio_postgres::NoTls;

#[test]
fn nothing_is_run_and_nothing_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let tables = "
        CREATE TABLE hits (id bigint PRIMARY KEY);
        CREATE FUNCTION hit() RETURNS bigint LANGUAGE sql AS 'INSERT INTO hits VALUES (1) RETURNING id';
    ";
    let bindings = "facts:\n  p(Repo:_):\n    query: SELECT hit()\nsql_types: {Repo: bigint}\n";
    let database = postgresql("untouched", tables);
    let (code, found) = findings(folder.path(), bindings, &database, &[]);
    assert!(code == 0 && found.len() == 1, "{found:?}");
    let count = WIRE.block_on(async {
        let (client, connection) = tokio_postgres::connect(&database, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.query_one("SELECT count(*) FROM hits", &[]).await.unwrap().get::<_, i64>(0)
    });
    assert_eq!(count, 0);
}

#[test]
fn what_cannot_be_checked_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let check = |bindings: &str, database: &str| check(folder.path(), bindings, database, &[]);
    let (code, _, err) = check("facts: {}", "mysql://localhost/app");
    assert!(code == 2 && err.contains("must start with `postgresql://` or `sqlite:`"), "{err}");
    let (code, _, err) = check("facts: {}", "sqlite:missing.db");
    assert!(code == 1 && err.starts_with("error: the database does not answer"), "{err}");
    let (code, _, err) = check("facts: {}", "postgresql://app:secret@127.0.0.1:1/app");
    assert!(code == 1 && err.contains("does not answer") && !err.contains("secret"), "{err}");
    fs::write(folder.path().join("text.db"), "this is not a database, despite its name").unwrap();
    let (code, _, err) = check("dialect: sqlite", "sqlite:text.db");
    assert!(code == 1 && err.contains("does not answer"), "{err}");
    let database = sqlite(folder.path(), "CREATE TABLE t (id TEXT PRIMARY KEY)");
    let (code, _, err) = check("facts: {}", &database);
    assert!(code == 1 && err.contains("for postgresql, but the database is sqlite"), "{err}");
    let (code, _, err) = check("facts:\n  p(:\n    query: SELECT 1", &database);
    assert!(code == 1 && err.starts_with("error: `bindings.yaml`: data bindings, line "), "{err}");
}

/// What an address leaves open is what it is to `psql`.
#[test]
fn an_address_is_completed_as_by_the_programs_of_postgresql() {
    let folder = tempfile::tempdir().unwrap();
    let address = postgresql("surroundings", TABLES);
    let socket = address.rsplit_once("host=").unwrap().1;
    let bindings = "dialect: postgresql\nfacts:\n  is_public(Repo:_):\n    query: SELECT id FROM repos\n";
    fs::write(folder.path().join("bindings.yaml"), bindings).unwrap();
    let check = |address: &str, variables: &[(&str, &str)]| {
        let mut command = portcullis(folder.path());
        command.args(["bindings", "check", "bindings.yaml", "--database", address]);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let here = [("PGHOST", socket), ("PGUSER", "postgres"), ("PGDATABASE", "surroundings")];
    assert_eq!(check("postgresql:///surroundings", &here[..2]), (0, String::new()));
    assert_eq!(check("postgresql://", &here), (0, String::new()));
    let (code, err) = check("postgresql:///surroundings", &[("PGHOST", "/nowhere"), ("PGPORT", "7")]);
    assert!(code == 1 && err.contains("at /nowhere port 7"), "{err}");
    // A socket has no encryption and needs none; over the network it is not done without.
    let encrypted = ("PGSSLMODE", "verify-full");
    assert_eq!(check("postgresql:///surroundings", &[here[0], here[1], encrypted]), (0, String::new()));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let network = format!("postgresql://ada@{}/app", listener.local_addr().unwrap());
    let refusing = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 8]).unwrap();
        stream.write_all(b"N").unwrap();
    });
    let (code, err) = check(&network, &[encrypted]);
    assert!(code == 1 && err.contains("TLS"), "{err}");
    refusing.join().unwrap();
}
