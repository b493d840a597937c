//! What is on the disk, and what happens when it is not what it should be.

use super::*;
use crate::store::embedded::facts;
use crate::store::embedded::transaction::Transaction;
use crate::store::{Access, Backend};
use rusqlite::Connection;
use std::fs;
use std::io::Write;

#[tokio::test]
async fn everything_survives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.apply(vec![insert(&[fact("p", &["T:a", "T:b"])])]).await.unwrap();
    store.put_policy("actor User {}".into(), "main.polar".into()).await.unwrap();
    let secret = *store.secret();
    let relations = store.relations().relations.clone();
    drop(store);

    let store = open(dir.path());
    assert_eq!(all(&store).await, ["p(T:a, T:b)"]);
    assert_eq!(store.relations().relations, relations);
    assert_eq!(store.policy(None).await.unwrap().unwrap().src, "actor User {}");
    assert_eq!(*store.secret(), secret);
    let applied = store.apply(vec![insert(&[fact("p", &["T:b", "T:b"])])]).await.unwrap();
    assert_eq!(applied.offset, 3, "the count goes on");
}

#[tokio::test]
async fn a_directory_serves_one_store_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let error = Store::open(dir.path(), &options()).unwrap_err();
    assert!(matches!(&error, StoreError::Locked(path) if path == dir.path()), "{error}");
    store.apply(vec![insert(&[fact("p", &["T:a"])])]).await.unwrap();
    drop(store);
    open(dir.path());
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("made/for/it");
    let store = open(&dir);
    store.apply(vec![insert(&[fact("p", &["T:a"])])]).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    for name in ["lock", "store.db", "store.db-wal", "store.db-shm"] {
        assert_eq!(mode(&dir.join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_store_closed_in_order_leaves_no_log() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.apply(vec![insert(&[fact("p", &["T:a"])])]).await.unwrap();
    drop(store);
    assert!(!dir.path().join("store.db-wal").exists());
}

#[tokio::test]
async fn the_log_does_not_grow_with_the_number_of_batches() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for round in 0..60 {
        let facts: Vec<Fact> =
            (0..4_000).map(|n| fact("p", &[&format!("T:{:x}", n * 7_919 * (round + 1)), "T:z"])).collect();
        store.apply(vec![insert(&facts), delete(&[pattern("p", &["*", "*"])])]).await.unwrap();
        assert_eq!(store.stats().await.unwrap().total, 0);
    }
    let log = fs::metadata(dir.path().join("store.db-wal")).unwrap().len();
    assert!(log < 200 << 20, "{log} bytes");

    // A while after the last write it is empty.
    let emptied = async || {
        while fs::metadata(dir.path().join("store.db-wal")).unwrap().len() > 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), emptied()).await.unwrap();
    store.apply(vec![insert(&[fact("p", &["T:a", "T:b"])])]).await.unwrap();
    assert_eq!(store.stats().await.unwrap().total, 1);
}

#[tokio::test]
async fn a_newer_format_is_refused_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let file = dir.path().join("store.db");
    Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(&file).unwrap();
    let error = Store::open(dir.path(), &options()).unwrap_err();
    assert!(matches!(error, StoreError::NewerFormat { found: 99, known: 2 }), "{error}");
    let told =
        "the store has format 99, and this release knows formats up to 2: use the release that wrote it";
    assert!(error.to_string().starts_with(told), "{error}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_file_of_another_program_is_refused_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("store.db");
    Connection::open(&file).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let before = fs::read(&file).unwrap();
    let error = Store::open(dir.path(), &options()).unwrap_err();
    assert!(matches!(error, StoreError::NotAStore(_)), "{error}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_file_that_is_no_database_is_named_so() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("store.db"),
        "this is not a database at all, but some text of a certain length".repeat(99),
    )
    .unwrap();
    let error = Store::open(dir.path(), &options()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

async fn filled(dir: &Path) {
    let store = open(dir);
    let facts: Vec<Fact> = (0..100_000).map(|n| fact("p", &[&format!("T:{n:05}"), "T:z"])).collect();
    store.apply(vec![insert(&facts)]).await.unwrap();
}

#[tokio::test]
async fn a_shortened_file_is_found_damaged() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    let path = dir.path().join("store.db");
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(fs::metadata(&path).unwrap().len() / 2).unwrap();
    let error = Store::open(dir.path(), &options()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

#[tokio::test]
async fn an_overwritten_page_is_found_damaged() {
    use std::io::Seek;
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    let path = dir.path().join("store.db");
    let pages = fs::metadata(&path).unwrap().len() / 8192;
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(std::io::SeekFrom::Start((pages - 3) * 8192)).unwrap();
    file.write_all(&[0xa5; 8192]).unwrap();
    drop(file);
    let error = Store::open(dir.path(), &options()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");

    // Without time for the check it opens, and the first question that meets the page says so.
    let hurried = StoreOptions { check_time: Duration::from_nanos(1), ..options() };
    let store = Store::open(dir.path(), &hurried).unwrap();
    let error = store.facts(FactPattern::everything(), 100_000).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
    // No write follows it.
    let error = store.apply(vec![insert(&[fact("q", &["T:a"])])]).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly(_)), "{error}");
    let reason = store.fault().unwrap().to_string();
    let start = "the store does not accept writes: a question found its file damaged: ";
    assert!(reason.starts_with(start), "{reason}");
    assert!(store.policy(None).await.is_ok(), "what is whole still answers");
    drop(store);

    // A write may be the first to meet it.
    let store = Store::open(dir.path(), &hurried).unwrap();
    let error = store.apply(vec![delete(&[pattern("p", &["*", "*"])])]).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
    let error = store.apply(vec![insert(&[fact("q", &["T:a"])])]).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly(_)), "{error}");
    drop(store);

    // So may a list that is read in parts.
    let store = Store::open(dir.path(), &hurried).unwrap();
    let reading = store.reading(FactPattern::everything()).unwrap().unwrap();
    let error = reading.part(|_| std::ops::ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
    let error = store.apply(vec![insert(&[fact("q", &["T:a"])])]).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly(_)), "{error}");
}

#[tokio::test]
async fn a_missing_table_is_found_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    Connection::open(dir.path().join("store.db")).unwrap().execute_batch("DROP TABLE f1").unwrap();
    let error = Store::open(dir.path(), &options()).unwrap_err();
    let told = format!(
        "the store in `{}` is damaged: table `f1` is missing; restore a backup",
        dir.path().display()
    );
    assert!(error.to_string().starts_with(&told), "{error}");
}

#[tokio::test]
async fn a_full_disk_refuses_the_batch_and_keeps_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let small = StoreOptions { max_bytes: Some(400 * 1024), ..options() };
    let store = Store::open(dir.path(), &small).unwrap();
    store.apply(vec![insert(&[fact("p", &["T:kept"])])]).await.unwrap();
    let many: Vec<Fact> = (0..60_000).map(|n| fact("p", &[&format!("T:{n}")])).collect();
    let error = store.apply(vec![insert(&many)]).await.unwrap_err();
    assert!(matches!(error, StoreError::Full), "{error}");
    assert_eq!(all(&store).await, ["p(T:kept)"]);

    // Small batches that share a commit with one that is too large are stored all the same.
    let writes = (0..20).map(|n| {
        let store = store.clone();
        let mut facts = vec![fact("q", &[&format!("T:{n}")])];
        if n == 7 {
            facts.extend_from_slice(&many);
        }
        tokio::spawn(async move { store.apply(vec![insert(&facts)]).await })
    });
    for (n, write) in writes.collect::<Vec<_>>().into_iter().enumerate() {
        let outcome = write.await.unwrap();
        assert_eq!(matches!(outcome, Err(StoreError::Full)), n == 7, "{outcome:?}");
    }
    assert_eq!(store.stats().await.unwrap().predicates, [("p".into(), 1), ("q".into(), 19)]);
    drop(store);
    assert_eq!(open(dir.path()).stats().await.unwrap().total, 20);
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::open(&file.join("store"), &options()).unwrap_err();
    assert!(matches!(&error, StoreError::IoAt { path, .. } if path.ends_with("file/store")), "{error}");
}

#[tokio::test]
async fn a_store_that_was_there_does_not_begin_anew() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let database = dir.path().join("store.db");
    fs::write(&database, "").unwrap();
    let error = Store::open(dir.path(), &options()).unwrap_err();
    assert!(error.to_string().contains("is damaged: `store.db` is empty; restore a backup"), "{error}");
    fs::remove_file(&database).unwrap();
    let error = Store::open(dir.path(), &options()).unwrap_err();
    assert!(error.to_string().contains("is damaged: `store.db` is missing; restore a backup"), "{error}");
    assert!(!database.exists(), "looking makes no store");
}

#[tokio::test]
async fn a_store_that_cannot_be_made_leaves_nothing_behind() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("new");
    let tiny = StoreOptions { max_bytes: Some(8_192), ..options() };
    let error = Store::open(&dir, &tiny).unwrap_err();
    assert!(error.to_string().contains("new`: there is no space left on the disk"), "{error}");
    assert!(!dir.exists());
    open(&dir);
}

#[tokio::test]
async fn a_write_that_panics_ends_the_writes_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.apply(vec![insert(&[fact("p", &["T:a"])])]).await.unwrap();
    let Backend::Embedded(embedded) = &store.backend else { panic!("not embedded") };
    let panics = |transaction: &mut Transaction<'_>| -> Result<(), StoreError> {
        // A relation that is made in the transaction is not there afterwards.
        facts::apply(transaction, &[insert(&[fact("q", &["T:b"])])], None)?;
        std::panic::resume_unwind(Box::new("on purpose"))
    };
    let error = embedded.write(1, panics).await.unwrap_err();
    assert!(matches!(error, StoreError::Bug(_)), "{error}");
    let error = store.apply(vec![insert(&[fact("p", &["T:b"])])]).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly(_)), "{error}");
    assert!(matches!(store.fault(), Some(StoreError::ReadOnly(_))), "a probe sees it");
    assert_eq!(all(&store).await, ["p(T:a)"], "questions are answered");
    let error = Store::open(dir.path(), &options()).unwrap_err();
    assert!(matches!(error, StoreError::Locked(_)), "no one else serves it meanwhile: {error}");
    drop(store);
    let store = open(dir.path());
    store.apply(vec![insert(&[fact("p", &["T:b"])])]).await.unwrap();
    assert_eq!(all(&store).await, ["p(T:a)", "p(T:b)"]);
}

#[tokio::test]
async fn a_key_that_cannot_be_published_is_not_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let first = store.create_key("main".into(), "first".into(), Access::ReadWrite).await.unwrap();
    store.apply(vec![insert(&[fact("p", &["T:a"])])]).await.unwrap();
    // Somebody changes the file behind the store's back, and the keys cannot be read any more.
    let file = Connection::open(dir.path().join("store.db")).unwrap();
    file.execute("UPDATE key SET access = 'all'", []).unwrap();

    let error = store.create_key("main".into(), "second".into(), Access::ReadWrite).await.unwrap_err();
    assert!(matches!(&error, StoreError::Corrupt(reason) if reason.contains("`all`")), "{error}");
    let error = store.revoke_key(first.key.id.clone()).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly(_)), "{error}");
    let stored: Vec<(String, bool)> = file
        .prepare("SELECT name, revoked FROM key")
        .and_then(|mut keys| keys.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
        .unwrap();
    assert_eq!(stored, [("first".to_owned(), false)], "what failed was not written");
    assert!(store.find_key(&first.text).await.unwrap().is_some());
    assert_eq!(all(&store).await, ["p(T:a)"], "questions are answered");

    // Once the file is right again, a new start takes writes.
    drop(store);
    file.execute("UPDATE key SET access = 'read-only'", []).unwrap();
    let store = open(dir.path());
    assert!(store.revoke_key(first.key.id).await.unwrap());
    assert_eq!(store.find_key(&first.text).await.unwrap(), None);
}
