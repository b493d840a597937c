//! Files that earlier releases wrote.

use super::*;
use crate::store::Snapshot;
use rusqlite::Connection;
use std::fs;

/// A store as the first format had it.
const FIRST: &str = include_str!("format_1.sql");

/// Facts as that format held them.
const FACTS: &str = "
    INSERT INTO f1 VALUES ('7', 'parent', '8'), ('07', 'parent', '7'), ('7', 'twin', '07');
    INSERT INTO f2 VALUES ('01994a5e-8f2b-7c31-9d4e-5b6a7c8d9e0f', 'reader', '9');
    UPDATE relation SET facts = 3 WHERE id = 1;
    UPDATE relation SET facts = 1 WHERE id = 2;
    UPDATE meta SET value = 41 WHERE name = 'offset';
";

#[tokio::test]
async fn the_first_format_is_brought_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    let conn = Connection::open(dir.path().join("store.db")).unwrap();
    conn.execute_batch(FIRST).unwrap();
    conn.execute_batch(FACTS).unwrap();
    drop(conn);
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

/// A store of the first format in a folder, changed by `sql`, and its file's bytes.
fn first(dir: &Path, sql: &str) -> Vec<u8> {
    let file = dir.join("store.db");
    Connection::open(&file).unwrap().execute_batch(&format!("{FIRST} {FACTS} {sql}")).unwrap();
    fs::read(file).unwrap()
}

#[tokio::test]
async fn a_fault_of_ours_in_a_migration_is_reported_as_one_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    // No release leaves a table of a number that is still to come: it represents a migration step that fails
    // half-way.
    let before = first(dir.path(), "CREATE TABLE f7 (theirs)");
    let error = Store::open(dir.path(), &options()).unwrap_err();
    assert!(matches!(error, StoreError::NotMigrated { found: 1, .. }), "{error}");
    let file = dir.path().join("store.db");
    let told = error.to_string();
    let (start, end) =
        (format!("`{}` has format 1 of", file.display()), "keep using the earlier release, and report this");
    assert!(told.starts_with(&start) && told.ends_with(end), "{told}");
    assert!(told.contains("table f7 already exists") && told.contains("a bug in Portcullis"), "{told}");
    assert!(!told.contains("damaged") && !told.contains("restore"), "{told}");
    assert_eq!(fs::read(&file).unwrap(), before, "the file is as it was");
    let files: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files.len(), 2, "nothing but the file and the lock: {files:?}");

    // A release without the fault serves it.
    Connection::open(&file).unwrap().execute_batch("DROP TABLE f7").unwrap();
    assert_eq!(all(&open(dir.path())).await.len(), 4);
}

#[test]
fn a_damaged_file_of_the_first_format_is_damaged_and_not_migrated() {
    for (sql, reason) in [
        ("DROP TABLE f2", "table `f2` is missing"),
        ("INSERT INTO f2 VALUES (x'00', 'reader', '9')", "`f2`: Invalid column type"),
        (
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'a2, a1, a0', 'a1, a2, a0') WHERE name = 'f1r'",
            "missing from index",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let before = first(dir.path(), sql);
        let error = Store::open(dir.path(), &options()).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{sql}: {error}");
        assert!(error.to_string().contains(reason), "{sql}: {error}");
        assert_eq!(fs::read(dir.path().join("store.db")).unwrap(), before, "{sql}");
    }
}
