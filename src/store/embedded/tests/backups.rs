//! Snapshots and backups: of one moment, whole, and refused if they are not.

use super::*;
use crate::store::{Access, Existing, Holdings, Snapshot, restore};
use rusqlite::Connection;
use sha2::{Digest, Sha256};
use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const FACTS: usize = 40;

/// Facts of two predicates, and a mark that takes the place of the former batch's.
fn numbered(n: usize) -> Vec<Change> {
    let id = format!("B:{n:05}");
    let part = |k: usize| fact(["p", "q"][k % 2], &[&id, &format!("T:{k:02}")]);
    let former = format!("B:{:05}", n.wrapping_sub(1));
    vec![
        insert(&(0..FACTS / 2).map(part).collect::<Vec<_>>()),
        delete(&[pattern("mark", &[&former])]),
        insert(&(FACTS / 2..FACTS).map(part).collect::<Vec<_>>()),
        insert(&[fact("mark", &[&id])]),
    ]
}

/// How many batches there are, each of which must be whole.
async fn batches(store: &Store) -> usize {
    let stats = store.stats().await.unwrap();
    let marks = found(store, pattern("mark", &["*"])).await;
    let [mark] = marks.as_slice() else { panic!("{marks:?}") };
    let n = mark.trim_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().unwrap() + 1;
    let half = (n * FACTS / 2) as u64;
    assert_eq!(stats.predicates, [("mark".into(), 1), ("p".into(), half), ("q".into(), half)]);
    n
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_is_a_prefix_of_whole_batches() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("served");
    let store = open(&dir);
    let (acknowledged, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let writing = {
        let (store, acknowledged, stop) = (store.clone(), Arc::clone(&acknowledged), Arc::clone(&stop));
        tokio::spawn(async move {
            for n in 0.. {
                store.apply(numbered(n)).await.unwrap();
                acknowledged.store(n + 1, Ordering::SeqCst);
                if stop.load(Ordering::SeqCst) {
                    break;
                }
            }
        })
    };
    for round in 0..5 {
        while acknowledged.load(Ordering::SeqCst) < 20 * (round + 1) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let file = folder.path().join(format!("{round}.db"));
        let before = acknowledged.load(Ordering::SeqCst);
        let mut told = Vec::new();
        let held = Snapshot::open(&dir)
            .unwrap()
            .back_up(&file, Existing::Keep, |done, all| told.push((done, all)))
            .unwrap();
        let after = acknowledged.load(Ordering::SeqCst);
        assert!(told.last().is_some_and(|(done, all)| done == all && *all > 0), "{told:?}");

        let restored = folder.path().join(format!("restored-{round}"));
        assert_eq!(restore(&file, &restored, Existing::Keep).unwrap(), held);
        let restored = open(&restored);
        let n = batches(&restored).await;
        assert!((before..=after + 1).contains(&n), "{before} to {after} were acknowledged, {n} are there");
        assert_eq!(held.facts, (n * FACTS + 1) as u64);
        assert_eq!(held.offset, n as u64);
        let applied = restored.apply(numbered(n)).await.unwrap();
        assert_eq!((applied.inserted, applied.offset), (FACTS as u64 + 1, n as u64 + 1), "it serves");
    }
    stop.store(true, Ordering::SeqCst);
    writing.await.unwrap();
    assert_eq!(batches(&store).await, acknowledged.load(Ordering::SeqCst), "the writer went on");
}

#[tokio::test]
async fn a_backup_holds_policies_and_keys_and_any_sqlite_opens_it() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, file) = (folder.path().join("a"), folder.path().join("a.db"));
    let store = open(&dir);
    store.apply(vec![insert(&[fact("p", &["T:it's \"a\"\n"])])]).await.unwrap();
    store.put_policy("one".into(), "p.polar".into()).await.unwrap();
    let key = store.create_key("a".into(), "n".into(), Access::ReadOnly).await.unwrap();
    drop(store);
    let held = Snapshot::open(&dir).unwrap().back_up(&file, Existing::Keep, |_, _| {}).unwrap();
    assert_eq!(held, Holdings { offset: 2, facts: 1, policies: 1, keys: 1 });
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no other file is left");
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions()) & 0o777,
        0o600
    );

    let plain = Connection::open(&file).unwrap();
    assert_eq!(plain.query_row("SELECT count(*) FROM f1", [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    assert_eq!(plain.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
    drop(plain);

    let restored = folder.path().join("b");
    restore(&file, &restored, Existing::Keep).unwrap();
    let restored = open(&restored);
    assert_eq!(all(&restored).await, ["p(T:it's \"a\"\n)"]);
    assert_eq!(restored.policy(None).await.unwrap().unwrap().src, "one");
    assert_eq!(restored.find_key(&key.text).await.unwrap(), Some(key.key));
    let again = Snapshot::open(&dir).unwrap().back_up(&file, Existing::Keep, |_, _| {}).unwrap_err();
    assert!(again.to_string().contains("already exists: choose another file"), "{again}");

    let late = folder.path().join("late.db");
    let appears = |_, _| fs::write(&late, "of another program").unwrap();
    let again = Snapshot::open(&dir).unwrap().back_up(&late, Existing::Keep, appears).unwrap_err();
    assert!(again.to_string().contains("already exists: choose another file"), "{again}");
    assert_eq!(fs::read_to_string(&late).unwrap(), "of another program");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "no other file is left");
}

#[tokio::test]
async fn what_is_not_whole_is_refused_and_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, file) = (folder.path().join("a"), folder.path().join("a.db"));
    let store = open(&dir);
    let facts: Vec<Fact> = (0..2_000).map(|n| fact("p", &[&format!("T:{n:05}"), "T:z"])).collect();
    store.apply(vec![insert(&facts)]).await.unwrap();
    Snapshot::open(&dir).unwrap().back_up(&file, Existing::Keep, |_, _| {}).unwrap();
    let whole = fs::read(&file).unwrap();
    let target = folder.path().join("b");
    let refused = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        let error = restore(&file, &target, Existing::Replace).unwrap_err();
        assert!(matches!(&error, StoreError::BadBackup { .. }), "{error}");
        assert!(!target.exists(), "nothing was made");
    };
    for length in [0, 1, 4_096, whole.len() / 2, whole.len() - 100, whole.len() - 1] {
        refused(&whole[..length]);
    }
    for at in (0..whole.len()).step_by(whole.len() / 50).chain([whole.len() - 2, whole.len() - 1]) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        refused(&damaged);
    }
    refused(&[&whole[..], b"more"].concat());
    fs::write(&file, &whole).unwrap();
    assert_eq!(restore(&file, &target, Existing::Keep).unwrap().facts, 2_000);

    // A database that is whole by its digest and is not ours.
    let theirs = folder.path().join("theirs.db");
    Connection::open(&theirs).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let theirs = fs::read(&theirs).unwrap();
    let digest = Sha256::digest(&theirs).iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    fs::write(&file, [&theirs[..], format!("\nportcullis backup 1, sha256 {digest}\n").as_bytes()].concat())
        .unwrap();
    let error = restore(&file, &folder.path().join("c"), Existing::Keep).unwrap_err();
    assert!(matches!(&error, StoreError::NotAStore(_)), "{error}");
}

#[tokio::test]
async fn a_store_is_replaced_only_on_request_and_never_while_it_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, file) = (folder.path().join("a"), folder.path().join("a.db"));
    let store = open(&dir);
    store.apply(vec![insert(&[fact("p", &["T:then"])])]).await.unwrap();
    Snapshot::open(&dir).unwrap().back_up(&file, Existing::Keep, |_, _| {}).unwrap();
    store.apply(vec![insert(&[fact("p", &["T:later"])])]).await.unwrap();
    for existing in [Existing::Keep, Existing::Replace] {
        let error = restore(&file, &dir, existing).unwrap_err();
        assert!(matches!(error, StoreError::Locked(_)), "{error}");
    }
    // The log of a process that was killed must not meet the restored file.
    let log = fs::read(dir.join("store.db-wal")).unwrap();
    assert!(!log.is_empty());
    drop(store);
    fs::write(dir.join("store.db-wal"), &log).unwrap();
    let error = restore(&file, &dir, Existing::Keep).unwrap_err();
    assert!(matches!(error, StoreError::Exists(_)), "{error}");
    restore(&file, &dir, Existing::Replace).unwrap();
    let store = open(&dir);
    assert_eq!(all(&store).await, ["p(T:then)"]);
    drop(store);

    // A store that is damaged beyond reading can be replaced, too.
    fs::write(dir.join("store.db"), "no database").unwrap();
    restore(&file, &dir, Existing::Replace).unwrap();
    assert_eq!(all(&open(&dir)).await, ["p(T:then)"]);
}

#[tokio::test]
async fn a_snapshot_shows_one_moment_in_a_fixed_order_and_can_be_left_early() {
    let dir = tempfile::tempdir().unwrap();
    let error = Snapshot::open(dir.path()).unwrap_err();
    assert!(matches!(error, StoreError::Missing(_)), "{error}");
    let store = open(dir.path());
    let facts = [fact("q", &["T:b"]), fact("p", &["T:z", "T:a"]), fact("p", &["T:b"]), fact("p", &["T:a"])];
    store.apply(vec![insert(&facts)]).await.unwrap();
    let snapshot = Snapshot::open(dir.path()).unwrap();
    store.apply(vec![delete(&[FactPattern::everything()]), insert(&[fact("new", &["T:a"])])]).await.unwrap();
    let read = |most: usize| {
        let mut found = Vec::new();
        let each = |fact| {
            found.push(fact);
            if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        snapshot.facts(each).unwrap();
        shown(&found)
    };
    assert_eq!(read(9), ["p(T:a)", "p(T:b)", "p(T:z, T:a)", "q(T:b)"]);
    assert_eq!(read(2), ["p(T:a)", "p(T:b)"]);
    assert_eq!(snapshot.holdings().unwrap().facts, 4);
    assert_eq!(Snapshot::open(dir.path()).unwrap().holdings().unwrap().facts, 1);
}

#[tokio::test]
async fn a_snapshot_reads_the_log_of_a_process_that_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, left) = (folder.path().join("a"), folder.path().join("b"));
    let store = open(&dir);
    store.apply(vec![insert(&[fact("p", &["T:a"])])]).await.unwrap();
    fs::create_dir(&left).unwrap();
    for name in ["store.db", "store.db-wal", "store.db-mark"] {
        fs::copy(dir.join(name), left.join(name)).unwrap();
    }
    let held = Snapshot::open(&left)
        .unwrap()
        .back_up(&folder.path().join("b.db"), Existing::Keep, |_, _| {})
        .unwrap();
    assert_eq!(held.facts, 1);
    assert_eq!(all(&open(&left)).await, ["p(T:a)"], "it can be served as before");
}
