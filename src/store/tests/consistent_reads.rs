//! Consistent reads while a writer adds relations.

use super::*;
use crate::store::Expected;
use std::cell::Cell;
use std::time::Instant;

const LIMIT: Duration = Duration::from_millis(300);

fn hurried() -> Store {
    Store::in_memory(&StoreOptions { query_time: LIMIT, ..options() }).unwrap()
}

async fn make_relation(store: &Store, n: u32) -> Result<(), StoreError> {
    store.apply(vec![insert(&[fact(&format!("p{n}"), &["T:a"])])]).await.map(drop)
}

fn is_over(asked: &Result<(), StoreError>) -> bool {
    matches!(asked, Err(StoreError::Timeout(LIMIT)))
}

#[tokio::test]
async fn a_question_is_asked_until_no_relation_comes_meanwhile() {
    let store = hurried();
    let n = Cell::new(0);
    let asked = store.consistently(|attempt| {
        let number = n.replace(n.get() + 1);
        let store = &store;
        async move {
            assert_eq!(attempt.is_first(), number == 0);
            if number < 3 {
                make_relation(store, number).await?;
            }
            // What was added meanwhile is not of this attempt.
            let n_relations = attempt.relations().relations.len();
            assert_eq!((n_relations, attempt.offset()), (number as usize, u64::from(number)));
            Ok::<_, StoreError>(number)
        }
    });
    assert_eq!(asked.await.unwrap(), 3);
}

#[tokio::test]
async fn a_writer_without_a_pause_cannot_keep_a_question_beyond_its_limit() {
    let store = hurried();
    let (n, start) = (Cell::new(0), Instant::now());
    let asked = store.consistently(|_| make_relation(&store, n.replace(n.get() + 1))).await;
    assert!(is_over(&asked));
    assert!(n.get() > 1, "it was asked again");
    assert!(start.elapsed() >= LIMIT, "and not given up before its limit");
}

#[tokio::test]
async fn what_is_asked_again_has_what_is_left_of_the_time() {
    let store = hurried();
    let start = Instant::now();
    let endless = |reader: &crate::store::Reader| loop {
        reader.decision("SELECT 1", &[])?;
    };
    let (n, began) = (Cell::new(0), Cell::new(None));
    let asked = store.consistently(|attempt| {
        let (store, number, began) = (&store, n.replace(n.get() + 1), &began);
        async move {
            if number == 2 {
                began.set(Some(start.elapsed()));
                return attempt.read(Expected::Long, endless).await;
            }
            // The time of the first attempt is not counted.
            tokio::time::sleep(LIMIT * 2 / 3).await;
            make_relation(store, number).await
        }
    });
    assert!(is_over(&asked.await));
    let (began, ended) = (began.get().unwrap(), start.elapsed());
    assert!(began >= LIMIT * 4 / 3 && ended >= LIMIT * 5 / 3, "{began:?} {ended:?}");
    assert!(
        ended < began + LIMIT,
        "the third attempt, from {began:?} to {ended:?}, had the time of a first one"
    );
}
