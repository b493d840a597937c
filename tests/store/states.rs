//! What a store says about itself: its size, its questions, how far it has seen, and whether it takes writes.

use super::{Place, SERVER, facts, insert, options, public};
use portcullis::share::Asker;
use portcullis::store::postgres::{AskedRead, PgReader, PoolUsage};
use portcullis::store::{DatabaseError, QueueUsage, StoreError, StoreOptions, Usage};
use portcullis_testkit::proxy::Fault;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[tokio::test]
async fn the_size_grows_with_what_is_stored() {
    let place = Place::new("sizes").await;
    let store = place.open().await;
    let empty = store.bytes(Asker::default()).await.unwrap();
    assert!(empty > 0);
    let facts = (0..20_000).map(|n| public(&format!("the id with the number {n}")));
    store.apply_within(insert(facts), None).await.unwrap();
    let full = store.bytes(Asker::default()).await.unwrap();
    assert!(full > empty + 1_000_000, "{empty} {full}");
    // It is what PostgreSQL says, without other schemas.
    let sum = "SELECT sum(pg_total_relation_size(format('%I.%I', schemaname, tablename)::regclass))::bigint
        FROM pg_tables WHERE schemaname = 'portcullis_e1'";
    assert_eq!(i64::try_from(full).unwrap(), place.number(sum).await);
}

#[tokio::test]
async fn the_secret_is_of_the_environment() {
    let place = Place::new("secrets").await;
    let (here, there) = (place.open().await, place.open().await);
    assert_eq!(here.secret(), there.secret());
    assert_ne!(here.secret(), &[0; 32]);
    assert_ne!(here.secret(), Place::new("other_secrets").await.open().await.secret());
}

#[tokio::test]
async fn the_offset_is_the_last_revision_that_was_acknowledged_or_read() {
    let place = Place::new("offsets").await;
    let (here, there) = (place.open().await, place.open().await);
    assert_eq!((here.latest().revision, there.latest().revision), (0, 0));
    here.apply_within(insert([public("1")]), None).await.unwrap();
    here.apply_within(insert([public("1")]), None).await.unwrap();
    here.put_policy("one".into(), String::new()).await.unwrap();
    assert_eq!((here.latest().revision, there.latest().revision), (2, 0));
    there.read_brief(AskedRead::default(), PgReader::confirm).await.unwrap();
    assert_eq!(there.latest().revision, 2);
    here.clear().await.unwrap();
    there.apply_within(Vec::new(), None).await.unwrap();
    assert_eq!((here.latest().revision, there.latest().revision), (3, 3));
    assert_eq!(place.open().await.latest().revision, 3);
}

/// A question that began before a write was seen, and ends on a server that has another write in its place.
#[tokio::test]
async fn an_answer_does_not_hide_that_a_write_was_lost_meanwhile() {
    let place = Place::new("lost_while_asking").await;
    for hidden in [2, 3] {
        let store = place.open().await;
        let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
        let slow = move |reader: &PgReader| {
            may_go_on.recv().unwrap();
            reader.confirm()
        };
        let asked = AskedRead { seen: Some(store.frontier()), ..AskedRead::default() };
        let begun = store.latest().revision;
        let (answer, lost) = tokio::join!(store.read(asked, slow), async {
            let (_, lost) = store.apply_within(insert([public("1")]), None).await.unwrap();
            let taken_over = format!(
                "DELETE FROM portcullis_e1.f1;
                 UPDATE portcullis_e1.revision SET nonce = nonce # 1 WHERE revision > {begun};
                 UPDATE portcullis_e1.clock SET revision = {begun} + {hidden} - 1, nonce = nonce # 1"
            );
            place.admin.batch_execute(&taken_over).await.unwrap();
            go_on.send(()).unwrap();
            lost
        });
        // The answer itself misses nothing that its question named.
        assert_eq!(answer.unwrap().0.token.revision, begun + hidden - 1);
        let asked = AskedRead { seen: Some(store.frontier()), ..AskedRead::default() };
        let refused = store.read_brief(asked, PgReader::confirm).await.unwrap_err();
        assert!(
            matches!(refused, StoreError::Database(DatabaseError::TakenOver { revision }) if revision == lost.revision),
            "{refused}"
        );
        let written = store.apply_within(insert([public("2")]), None).await.unwrap_err();
        assert_eq!(written.to_string(), refused.to_string());
    }
}

#[tokio::test]
async fn a_write_does_not_hide_that_an_earlier_one_was_lost() {
    let place = Place::new("lost_before_writing").await;
    let store = place.open().await;
    store.apply_within(insert([public("1")]), None).await.unwrap();
    // Another server took over, with a different write of the same number, or with none, or with more.
    for revision in [1, 0, 2] {
        let taken_over = format!(
            "UPDATE portcullis_e1.revision SET revision = 1, nonce = nonce # 1 WHERE revision = 1;
             UPDATE portcullis_e1.clock SET revision = {revision}, nonce = nonce # 1"
        );
        place.admin.batch_execute(&taken_over).await.unwrap();
        let refused = store.apply_within(insert([public("2")]), None).await.unwrap_err();
        let taken_over = StoreError::from(DatabaseError::TakenOver { revision: 1 }).to_string();
        assert_eq!(
            (refused.to_string(), store.fault().unwrap().to_string()),
            (taken_over.clone(), taken_over)
        );
        assert_eq!(place.number("SELECT count(*) FROM portcullis_e1.revision WHERE revision > 1").await, 0);
        place
            .admin
            .batch_execute("UPDATE portcullis_e1.revision SET nonce = nonce # 1 WHERE revision = 1")
            .await
            .unwrap();
    }
}

/// A decision that takes a minute.
fn slow(reader: &PgReader) -> Result<bool, StoreError> {
    reader.decision("SELECT pg_sleep(60) IS NOT NULL", &[])
}

#[tokio::test]
async fn questions_are_counted_and_ended() {
    let place = Place::new("ended_questions").await;
    let store = Arc::new(place.open_with(&StoreOptions { long_readers: 1, ..options() }).await);
    assert_eq!(store.usage(), Usage::default());
    let ask = || {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.read(AskedRead::default(), slow).await })
    };
    let asked = [ask(), ask()];
    let busy = Usage { brief_running: 0, long_running: 1, long_waiting: 1 };
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if store.usage() == busy {
            break;
        }
    }
    assert_eq!(store.usage(), busy);
    let PoolUsage { brief, long } = store.pool_usage()[0];
    assert_eq!((brief.readers, brief.running, brief.waits), (2, 0, 0));
    assert_eq!(long, QueueUsage { readers: 1, running: 1, waiting: 1, waits: 1, waited: long.waited });
    assert!(long.waited < Duration::from_millis(200), "the other one is still waiting: {:?}", long.waited);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let began = Instant::now();
    store.end_questions();
    for asked in asked {
        let ended = asked.await.unwrap();
        assert!(matches!(ended, Err(StoreError::Closed)), "{ended:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let PoolUsage { long, .. } = store.pool_usage()[0];
    assert!(long.waited >= Duration::from_millis(200), "{:?}", long.waited);
    super::until(
        &place,
        "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep(60)%'
           AND pid <> pg_backend_pid()",
        0,
    )
    .await;
    let brief = store.read_brief(AskedRead::default(), PgReader::confirm).await;
    for read in [brief, store.read(AskedRead::default(), PgReader::confirm).await] {
        assert!(matches!(read, Err(StoreError::Closed)), "{read:?}");
    }
    // Writes continue.
    assert_eq!(store.apply_within(insert([public("1")]), None).await.unwrap().0.inserted, 1);
}

#[tokio::test]
async fn a_question_may_have_less_time_than_others() {
    let place = Place::new("deadlines").await;
    let store = place.open().await;
    assert_eq!(store.query_time(), options().query_time);
    let left = store.deadline().unwrap().saturating_duration_since(Instant::now());
    assert!(left <= store.query_time() && left > store.query_time() / 2);
    let began = Instant::now();
    let until = Some(began + Duration::from_millis(500));
    let asked = AskedRead { until, ..AskedRead::default() };
    let late = [store.read(asked.clone(), slow).await, store.read_brief(asked, slow).await];
    for late in late {
        assert!(matches!(late, Err(StoreError::Timeout(_))), "{late:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(facts(&store, AskedRead::default()).await.is_ok());
}

/// After a question that was out of time, a brief one shows whether the server is silent.
#[tokio::test]
async fn a_question_that_is_out_of_time_says_so_even_if_all_brief_readers_are_taken() {
    let place = Place::new("taken_readers").await;
    let wait = StoreOptions { readers: 1, query_wait: Duration::from_millis(300), ..options() };
    let store = Arc::new(place.open_with(&wait).await);
    let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
    let taking = Arc::clone(&store);
    let taken = tokio::spawn(async move {
        let wait = move |reader: &PgReader| {
            may_go_on.recv().ok();
            reader.confirm()
        };
        taking.read_brief(AskedRead::default(), wait).await
    });
    while store.usage().brief_running == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let until = Some(Instant::now() + Duration::from_millis(200));
    let late = store.read(AskedRead { until, ..AskedRead::default() }, slow).await;
    assert!(matches!(late, Err(StoreError::Timeout(_))), "{late:?}");
    assert_eq!(store.usage().brief_running, 1, "the reader was taken all the time");
    go_on.send(()).unwrap();
    // Its time is over, so it begins again as a long one.
    drop(go_on);
    taken.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_store_whose_server_is_gone_says_so_until_it_is_back() {
    let place = Place::new("faults").await;
    let proxy = SERVER.proxied();
    let time = Duration::from_secs(1);
    let brief = StoreOptions { query_time: time, query_wait: time, ..options() };
    let store = place.open_at(proxy.port, &brief).await;
    store.apply_within(insert([public("1")]), None).await.unwrap();
    // A batch that is refused says nothing about the server.
    store.apply_within(insert([portcullis::store::Fact::new("p", Vec::new())]), None).await.unwrap_err();
    assert!(store.fault().is_none());
    proxy.set(Fault::Silence);
    store.apply_within(insert([public("2")]), None).await.unwrap_err();
    let fault = store.fault();
    assert!(matches!(fault, Some(StoreError::Database(DatabaseError::Unreachable { .. }))), "{fault:?}");
    proxy.set(Fault::None);
    // Nobody needs to write first.
    for _ in 0..200 {
        if store.fault().is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(store.fault().is_none());
    store.apply_within(insert([public("3")]), None).await.unwrap();
}
