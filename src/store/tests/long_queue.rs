//! Long questions run concurrently, with brief ones alongside.

use super::*;
use crate::share::Asker;
use crate::store::Reader;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::task::JoinHandle;

const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) = 0 FROM n";

fn asker(n: u64) -> Asker {
    Asker::new("", &n.to_string())
}

/// Long enough for what is asked to have begun.
const MOMENT: Duration = Duration::from_millis(100);

fn with(dir: &Path, long_readers: usize, query_wait: Duration) -> Store {
    Store::open(dir, &StoreOptions { long_readers, query_wait, ..options() }).unwrap()
}

/// Asks what takes this long, even if it is stopped.
fn sleep(store: &Store, time: Duration) -> JoinHandle<Result<(), StoreError>> {
    let store = store.clone();
    tokio::spawn(async move {
        store
            .read(move |_| {
                std::thread::sleep(time);
                Ok(())
            })
            .await
    })
}

async fn endless(store: Store) -> Result<bool, StoreError> {
    store.read_brief(|reader| reader.decision(ENDLESS, &[])).await
}

fn one(reader: &Reader) -> Result<bool, StoreError> {
    reader.decision("SELECT 1", &[])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_without_a_turn_says_so_and_a_brief_one_needs_none() {
    let dir = tempfile::tempdir().unwrap();
    let store = with(dir.path(), 1, 2 * MOMENT);
    let long = sleep(&store, 6 * MOMENT);
    tokio::time::sleep(MOMENT).await;
    for _ in 0..100 {
        assert!(store.read_brief(one).await.unwrap());
    }
    assert!(!long.is_finished(), "brief questions do not wait for the long one");
    let error = endless(store.clone()).await.unwrap_err();
    assert!(matches!(error, StoreError::Overloaded(wait) if wait == 2 * MOMENT), "{error}");
    assert_eq!(store.usage().long_waiting, 0, "who has waited long enough waits no more");
    long.await.unwrap().unwrap();
    assert!(store.read(one).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_does_not_count_towards_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let limits = StoreOptions { long_readers: 1, query_time: 3 * MOMENT, ..options() };
    let store = Store::open(dir.path(), &limits).unwrap();
    let long = sleep(&store, 5 * MOMENT);
    tokio::time::sleep(MOMENT).await;
    assert!(store.read(one).await.unwrap(), "it waited for more than it may run");
    long.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_asker_has_one_turn_whatever_the_others_ask() {
    let dir = tempfile::tempdir().unwrap();
    let store = with(dir.path(), 1, Duration::from_secs(20));
    let order = Arc::new(Mutex::new(Vec::new()));
    let held = sleep(&store, 3 * MOMENT);
    tokio::time::sleep(MOMENT).await;
    let mut asked = Vec::new();
    for n in [1, 1, 1, 1, 2, 3, 1, 2] {
        let (store, order) = (store.asked_by(asker(n)), Arc::clone(&order));
        asked.push(tokio::spawn(async move {
            store
                .read(move |_| {
                    order.lock().unwrap().push(n);
                    Ok(())
                })
                .await
        }));
        tokio::time::sleep(MOMENT / 10).await;
    }
    assert_eq!(store.usage().long_waiting, 8);
    for each in asked {
        each.await.unwrap().unwrap();
    }
    held.await.unwrap().unwrap();
    assert_eq!(*order.lock().unwrap(), [1, 2, 3, 1, 2, 1, 1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_asker_has_all_readers() {
    let dir = tempfile::tempdir().unwrap();
    let store = with(dir.path(), 3, Duration::from_secs(20));
    let greedy = store.asked_by(asker(1));
    let held: Vec<_> = (0..5).map(|_| sleep(&greedy, 4 * MOMENT)).collect();
    tokio::time::sleep(MOMENT).await;
    let usage = store.usage();
    assert_eq!((usage.long_running, usage.long_waiting), (2, 3));
    assert!(store.asked_by(asker(2)).read(one).await.unwrap());
    assert!(held.iter().all(|each| !each.is_finished()), "the other asker does not wait for them");
    for each in held {
        each.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_too_many_wait_the_longest_line_loses_its_last() {
    let dir = tempfile::tempdir().unwrap();
    let store = with(dir.path(), 1, Duration::from_secs(20));
    let held = sleep(&store, 6 * MOMENT);
    tokio::time::sleep(MOMENT).await;
    let ask = |n| {
        let store = store.asked_by(asker(n));
        tokio::spawn(async move { store.read(one).await })
    };
    let mut greedy = Vec::new();
    for n in 0..256 {
        greedy.push(ask(1));
        while store.usage().long_waiting <= n {
            tokio::task::yield_now().await;
        }
    }
    let modest = ask(2);
    let lost = greedy.pop().unwrap().await.unwrap().unwrap_err();
    assert!(matches!(lost, StoreError::Overloaded(_)), "{lost}");
    let again = ask(1).await.unwrap().unwrap_err();
    assert!(matches!(again, StoreError::Overloaded(_)), "{again}");
    assert!(modest.await.unwrap().unwrap());
    for each in greedy {
        assert!(each.await.unwrap().unwrap());
    }
    held.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_ends_with_who_waits_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = with(dir.path(), 1, Duration::from_secs(20));
    let asked = tokio::spawn(endless(store.clone()));
    tokio::time::sleep(MOMENT).await;
    assert_eq!(store.usage().long_running, 1);
    asked.abort();
    let start = Instant::now();
    assert!(store.read(one).await.unwrap());
    assert!(start.elapsed() < options().query_time / 2, "{:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_all_questions_ends_each() {
    let dir = tempfile::tempdir().unwrap();
    let store = with(dir.path(), 2, Duration::from_secs(20));
    let asked = [0; 4].map(|_| tokio::spawn(endless(store.clone())));
    tokio::time::sleep(MOMENT).await;
    store.end_questions();
    for each in asked {
        assert!(matches!(each.await.unwrap(), Err(StoreError::Closed)));
    }
    assert!(matches!(store.read_brief(one).await, Err(StoreError::Closed)));
    store.apply(vec![insert(&[fact("p", &["T:a"])])]).await.unwrap();
}
