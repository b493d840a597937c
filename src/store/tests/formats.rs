//! Files that earlier releases wrote.

use rusqlite::Connection;

use super::*;
use crate::store::Snapshot;

/// A store as the first format had it: every id is text, and the name of a relationship is a column.
const FIRST: &str = r#"
    CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
    INSERT INTO meta VALUES ('offset', 41), ('secret', zeroblob(32));
    CREATE TABLE relation (
        id INTEGER PRIMARY KEY AUTOINCREMENT, predicate TEXT NOT NULL, types TEXT NOT NULL, facts INTEGER NOT NULL,
        UNIQUE (predicate, types)
    );
    INSERT INTO relation VALUES
        (1, 'has_relation', '["Issue","String","Issue"]', 3), (2, 'has_role', '["User","String","Repo"]', 1), (5, 'p', '["T"]', 0);
    CREATE TABLE f1 (a0 TEXT NOT NULL, a1 TEXT NOT NULL, a2 TEXT NOT NULL, PRIMARY KEY (a0, a1, a2)) WITHOUT ROWID;
    CREATE INDEX f1r ON f1 (a2, a1, a0);
    INSERT INTO f1 VALUES ('7', 'parent', '8'), ('07', 'parent', '7'), ('7', 'twin', '07');
    CREATE TABLE f2 (a0 TEXT NOT NULL, a1 TEXT NOT NULL, a2 TEXT NOT NULL, PRIMARY KEY (a0, a1, a2)) WITHOUT ROWID;
    CREATE INDEX f2r ON f2 (a2, a1, a0);
    INSERT INTO f2 VALUES ('01994a5e-8f2b-7c31-9d4e-5b6a7c8d9e0f', 'reader', '9');
    CREATE TABLE f5 (a0 TEXT NOT NULL, PRIMARY KEY (a0)) WITHOUT ROWID;
    CREATE TABLE policy (
        id INTEGER PRIMARY KEY AUTOINCREMENT, src TEXT NOT NULL, filename TEXT NOT NULL, created INTEGER NOT NULL,
        active INTEGER NOT NULL
    );
    CREATE UNIQUE INDEX policy_active ON policy (active) WHERE active = 1;
    CREATE TABLE key (
        id TEXT PRIMARY KEY, environment TEXT NOT NULL, name TEXT NOT NULL, access TEXT NOT NULL,
        created INTEGER NOT NULL, revoked INTEGER NOT NULL, hash BLOB NOT NULL
    ) WITHOUT ROWID;
    PRAGMA application_id = 0x5074636c;
    PRAGMA user_version = 1;
"#;

#[tokio::test]
async fn the_first_format_is_brought_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    Connection::open(dir.path().join("store.db")).unwrap().execute_batch(FIRST).unwrap();
    let error = Snapshot::open(dir.path()).unwrap_err();
    assert!(matches!(error, StoreError::OlderFormat { found: 1 }), "{error}");

    let expected = [
        "has_relation(Issue:7, String:parent, Issue:8)",
        "has_relation(Issue:07, String:parent, Issue:7)",
        "has_relation(Issue:7, String:twin, Issue:07)",
        "has_role(User:01994a5e-8f2b-7c31-9d4e-5b6a7c8d9e0f, String:reader, Repo:9)",
    ];
    for _ in 0..2 {
        let store = open(dir.path());
        assert_eq!(all(&store).await, expected);
        assert_eq!(store.stats().await.unwrap().total, 4);
        let again =
            store.apply(vec![insert(&[fact("has_role", &["User:x", "String:reader", "Repo:9"])])]).await;
        assert_eq!(again.unwrap().offset, 42);
        let gone = pattern("has_role", &["User:x", "*", "*"]);
        store.apply(vec![delete(&[gone])]).await.unwrap();
        drop(store);
        Connection::open(dir.path().join("store.db"))
            .unwrap()
            .execute("UPDATE meta SET value = 41 WHERE name = 'offset'", [])
            .unwrap();
    }
    assert_eq!(Snapshot::open(dir.path()).unwrap().holdings().unwrap().facts, 4);
}
