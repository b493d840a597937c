//! Readers next to the writer: what they see, when, and for how long.

use super::*;
use crate::store::{Expected, Param, Reader, StoredArg};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                       SELECT CAST(max(i) AS TEXT) FROM n";

#[tokio::test]
async fn statements_take_parameters_and_return_text_and_null() {
    let store = memory();
    let rows = store
        .read(|reader| {
            let mut rows = Vec::new();
            let params = [Param::Value("it's \"x\"".into()), Param::Number(-3)];
            reader.rows(query("SELECT ?1, NULL, CAST(?2 + 1 AS TEXT)"), &params, |row| {
                rows.push(
                    row.iter_mut().map(|column| column.take().map(Cow::into_owned)).collect::<Vec<_>>(),
                );
            })?;
            Ok(rows)
        })
        .await
        .unwrap();
    assert_eq!(rows, [[Some("it's \"x\"".to_owned()), None, Some("-2".to_owned())]]);
}

#[tokio::test]
async fn wide_rows_are_whole() {
    let store = memory();
    let columns: Vec<String> = (0..20).map(|n| format!("'{n}'")).collect();
    let sql = format!("SELECT {}", columns.join(", "));
    let n = store
        .read(move |reader| {
            let mut n = 0;
            reader.rows(query(&sql), &[], |row| n = row.len())?;
            Ok(n)
        })
        .await
        .unwrap();
    assert_eq!(n, 20);
}

#[tokio::test]
async fn decisions_are_truth_values() {
    let store = memory();
    let answers = store
        .read(|reader| {
            let exists = "SELECT EXISTS (SELECT 1 WHERE ?1 = 'x') AS allowed";
            let yes = reader.decision(exists, &[Param::Value("x".into())])?;
            let no = reader.decision(exists, &[Param::Value("y".into())])?;
            assert!(reader.decision("SELECT 1 WHERE 0", &[]).is_err(), "no row is not a decision");
            assert!(reader.decision(exists, &[]).is_err(), "a parameter is missing");
            Ok((yes, no))
        })
        .await
        .unwrap();
    assert_eq!(answers, (true, false));
}

#[tokio::test]
async fn a_reader_cannot_write() {
    let dir = tempfile::tempdir().unwrap();
    for store in [open(dir.path()), memory()] {
        let error =
            store.read(|reader| reader.rows(query("DELETE FROM meta"), &[], |_| ())).await.unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly(_)), "{error}");
        assert!(
            store.read(|reader| reader.rows(query("ATTACH 'other.db' AS x"), &[], |_| ())).await.is_err()
        );
        assert!(store.read(|reader| reader.rows(query("SELECT \"nocolumn\""), &[], |_| ())).await.is_err());
    }
}

#[tokio::test]
async fn a_question_ends_at_its_limit() {
    let store =
        Store::in_memory(&StoreOptions { query_time: Duration::from_millis(50), ..options() }).unwrap();
    let start = Instant::now();
    let error = store.read(|reader| reader.rows(query(ENDLESS), &[], |_| ())).await.unwrap_err();
    assert!(matches!(error, StoreError::Timeout(limit) if limit.as_millis() == 50), "{error}");
    assert_eq!(
        error.to_string(),
        "the question took longer than 50ms: ask for less at once, or raise `query_time`"
    );
    assert!(start.elapsed() < Duration::from_secs(2));
    // Many short statements count together.
    let error = store.read(|reader| {
        loop {
            reader.decision("SELECT 1", &[])?;
        }
    });
    let error: StoreError = error.await.map(|(): ()| ()).unwrap_err();
    assert!(matches!(error, StoreError::Timeout(_)), "{error}");
    // The connection is as good as before.
    assert!(store.read(|reader| reader.decision("SELECT 1", &[])).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_brief_begins_once_more_and_ends_at_the_same_limit() {
    let dir = tempfile::tempdir().unwrap();
    let limit = Duration::from_millis(500);
    let store = Store::open(dir.path(), &StoreOptions { query_time: limit, ..options() }).unwrap();
    let count = |n_rows: u64| {
        format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n_rows}) SELECT max(i) = {n_rows} FROM n"
        )
    };
    // How the answer is, and how often it was begun.
    let brief = async |sql: &str| {
        let runs = Arc::new(AtomicU64::new(0));
        let answer = store.consistently(|attempt| {
            let (runs, sql) = (Arc::clone(&runs), sql.to_owned());
            let decide = move |reader: &Reader| {
                runs.fetch_add(1, Ordering::Relaxed);
                reader.decision(&sql, &[])
            };
            async move { attempt.read(Expected::Brief, decide).await }
        });
        (answer.await, runs.load(Ordering::Relaxed))
    };
    assert!(matches!(brief(&count(10)).await, (Ok(true), 1)));
    assert!(matches!(brief(&count(20_000)).await, (Ok(true), 2)));
    // The steps of the first try do not bind the next question.
    let long = count(20_000);
    assert!(store.read(move |reader| reader.decision(&long, &[])).await.unwrap());
    let start = Instant::now();
    let (error, n_runs) = brief(ENDLESS).await;
    assert!(matches!(error, Err(StoreError::Timeout(told)) if told == limit), "{error:?}");
    assert_eq!(n_runs, 2);
    assert!(start.elapsed() < 2 * limit);
}

#[tokio::test]
async fn a_panicking_question_harms_nobody_else() {
    let store = Store::in_memory(&StoreOptions { long_readers: 1, ..options() }).unwrap();
    let error = store
        .read(|reader| reader.snapshot(|_| -> Result<(), StoreError> { panic!("as the test wants") }))
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Bug(_)), "{error}");
    store.apply(vec![insert(&[fact("p", &["T:a"])])]).await.unwrap();
    assert_eq!(all(&store).await, ["p(T:a)"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_stays_the_same_while_others_write() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.apply(vec![insert(&[fact("p", &["T:0"])])]).await.unwrap();
    let table = store.relations().relations[0].table.clone();
    let (go, wait) = flume::bounded::<()>(0);
    let reading = tokio::spawn({
        let store = store.clone();
        async move {
            store
                .read(move |reader| {
                    let sql = format!("SELECT CAST(count(*) AS TEXT) FROM {table}");
                    let count = || {
                        let mut n = String::new();
                        reader.rows(query(&sql), &[], |row| {
                            n = row[0].take().unwrap_or_default().into_owned();
                        })?;
                        Ok::<_, StoreError>(n)
                    };
                    let inside = reader.snapshot(|reader| {
                        let before = count()?;
                        wait.recv().unwrap();
                        wait.recv().unwrap();
                        Ok::<_, StoreError>((before, reader.snapshot(|_| count())?))
                    })?;
                    Ok((inside, count()?))
                })
                .await
        }
    });
    go.send_async(()).await.unwrap();
    store.apply(vec![insert(&[fact("p", &["T:1"])])]).await.unwrap();
    go.send_async(()).await.unwrap();
    let (inside, after) = reading.await.unwrap().unwrap();
    assert_eq!(inside, ("1".into(), "1".into()));
    assert_eq!(after, "2");
}

#[tokio::test]
async fn relations_are_known_before_the_write_is_acknowledged() {
    let store = memory();
    assert_eq!(store.relations().relations, []);
    let first = store.relations().generation;
    store.apply(vec![insert(&[fact("p", &["User:a", "Repo:b"])])]).await.unwrap();
    let relations = store.relations();
    let relation = &relations.relations[0];
    assert!(relations.generation > first);
    let columns = ["User", "Repo"].map(|ty| StoredArg::Column(ty.into()));
    assert_eq!((relation.predicate.as_str(), &relation.args[..]), ("p", &columns[..]));
    assert_eq!(relation.table, "f1");
    assert!(relation.columns().eq([(0, "a0".into()), (1, "a1".into())]));
    store.apply(vec![insert(&[fact("p", &["User:c", "Repo:b"])])]).await.unwrap();
    assert!(Arc::ptr_eq(&relations, &store.relations()), "no new relation, no new snapshot");
    store.apply(vec![insert(&[fact("a", &["User:c"])])]).await.unwrap();
    let names: Vec<String> = store.relations().relations.iter().map(|r| r.predicate.clone()).collect();
    assert_eq!(names, ["a", "p"], "ordered by predicate, not by age");
}

#[tokio::test]
async fn old_relations_can_be_read_after_a_clear() {
    let dir = tempfile::tempdir().unwrap();
    for store in [open(dir.path()), memory()] {
        store.apply(vec![insert(&[fact("p", &["T:a"])])]).await.unwrap();
        let old = store.relations();
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {})", old.relations[0].table);
        let ask = |sql: String| store.read(move |reader| reader.decision(&sql, &[]));
        assert!(ask(sql.clone()).await.unwrap());

        store.clear().await.unwrap();
        assert_eq!(store.relations().relations, []);
        assert!(store.relations().generation > old.generation);
        store.apply(vec![insert(&[fact("other", &["T:a"])])]).await.unwrap();
        store.apply(vec![insert(&[fact("p", &["T:a"])])]).await.unwrap();
        assert!(!ask(sql.clone()).await.unwrap(), "its table is empty, and shared with no other question");
        assert!(store.relations().relations.iter().all(|new| new.table != old.relations[0].table));

        drop(old);
        store.apply(vec![insert(&[fact("p", &["T:b"])])]).await.unwrap();
        store.apply(vec![insert(&[fact("p", &["T:c"])])]).await.unwrap();
        assert!(ask(sql).await.is_err(), "no reader held the snapshot, so the table went");
    }
}

#[tokio::test]
async fn tables_left_by_a_clear_are_gone_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.apply(vec![insert(&[fact("p", &["T:a"])])]).await.unwrap();
    let held = store.relations();
    store.clear().await.unwrap();
    drop(store);
    let store = open(dir.path());
    let sql = format!("SELECT EXISTS (SELECT 1 FROM {})", held.relations[0].table);
    assert!(store.read(move |reader| reader.decision(&sql, &[])).await.is_err());
    store.apply(vec![insert(&[fact("p", &["T:a"])])]).await.unwrap();
    assert_eq!(store.relations().relations[0].table, "f2", "the first number is never given again");
}

/// Each batch adds a pair and removes another: a reader must always find as many left as right halves.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_see_batches_whole_while_the_writer_works() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let pair = |n: usize| [fact("left", &[&format!("T:{n}")]), fact("right", &[&format!("T:{n}")])];
    store.apply(vec![insert(&pair(0))]).await.unwrap();
    let writing = tokio::spawn({
        let store = store.clone();
        async move {
            for n in 1..400 {
                let [left, right] = pair(n - 1);
                let gone = [FactPattern::from(&left), FactPattern::from(&right)];
                store.apply(vec![insert(&pair(n)), delete(&gone)]).await.unwrap();
                if n % 40 == 0 {
                    store.apply(vec![insert(&[fact(&format!("new{n}"), &["T:a"])])]).await.unwrap();
                }
            }
        }
    });
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut n_reads = 0;
                while !store.relations().relations.iter().any(|relation| relation.predicate == "new360") {
                    let facts = all(&store).await;
                    let halves: Vec<&String> = facts.iter().filter(|fact| !fact.starts_with("new")).collect();
                    assert_eq!(halves.len(), 2, "{halves:?}");
                    assert_eq!(halves[0].replace("left", ""), halves[1].replace("right", ""));
                    n_reads += 1;
                }
                n_reads
            })
        })
        .collect();
    for reader in readers {
        assert!(reader.await.unwrap() > 0);
    }
    writing.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_handle_may_go_inside_a_question() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let inner = store.clone();
    let asked = tokio::spawn(async move {
        let held = Mutex::new(Some(inner.clone()));
        inner
            .read(move |reader| {
                std::thread::sleep(Duration::from_millis(50));
                let answer = reader.decision("SELECT 1", &[]);
                drop(held.lock().take());
                answer
            })
            .await
    });
    tokio::time::sleep(Duration::from_millis(10)).await;
    asked.abort();
    drop(store);
    while matches!(Store::open(dir.path(), &options()), Err(StoreError::Locked(_))) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_statement_that_reads_its_tables_in_too_many_places_is_refused() {
    let store = memory();
    // Each table reads the one before twice, and SQLite expands it at each reading.
    let doubled = (1..14).map(|n| {
        let before = n - 1;
        format!("t{n}(x) AS (SELECT a.x FROM t{before} a, t{before} b UNION SELECT 1)")
    });
    let tables: Vec<String> = std::iter::once("t0(x) AS (SELECT 1)".to_owned()).chain(doubled).collect();
    let sql = format!("WITH {} SELECT EXISTS (SELECT 1 FROM t13)", tables.join(", "));
    let error = store.read(move |reader| reader.decision(&sql, &[])).await.unwrap_err();
    assert!(matches!(error, StoreError::TooManyReadings), "{error}");
}
