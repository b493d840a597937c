//! Files that earlier releases wrote.

use rusqlite::Connection;

use super::*;
use crate::store::Snapshot;

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
