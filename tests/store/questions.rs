//! What a question sees, and the clock that comes with its answer.

use super::{Place, facts, insert, is_public, options, public, relation};
use portcullis::store::postgres::{AskedRead, PgReader};
use portcullis::store::{DatabaseError, Nonce, Param, Reader, RowQuery, StoreError, StoreOptions, Token};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_decision_comes_with_the_moment_that_it_is_of() {
    let store = Place::new("decisions").await.open().await;
    let (_, token) = store.apply_within(insert([public("7")]), None).await.unwrap();
    let schema = store.schema();
    for (id, expected) in [("7", true), ("8", false)] {
        let schema = schema.clone();
        let read = move |reader: &PgReader| is_public(&schema, reader, id);
        let (answer, clock) = store.read_brief(AskedRead::default(), read).await.unwrap();
        let clock = clock.unwrap();
        assert_eq!((answer, clock.token, clock.is_standby), (expected, token, false));
        assert_eq!(clock.catalog, i64::try_from(store.relations().generation).unwrap());
    }
}

#[tokio::test]
async fn a_question_sees_the_write_of_its_token_or_fails() {
    let place = Place::new("tokens").await;
    let store = place.open().await;
    let (_, token) = store.apply_within(insert([public("7")]), None).await.unwrap();
    store.apply_within(insert([public("8")]), None).await.unwrap();
    let after = |token| AskedRead { after: Some(token), ..AskedRead::default() };
    assert_eq!(facts(&store, after(token)).await.unwrap().len(), 2);
    let lost = |asked: AskedRead| {
        let store = &store;
        async move {
            let rows = facts(store, asked.clone()).await;
            let clock = store.read(asked.clone(), PgReader::confirm).await;
            let schema = store.schema();
            let decision = store.read_brief(asked, move |reader| is_public(&schema, reader, "7")).await;
            for error in [rows.unwrap_err(), clock.unwrap_err(), decision.unwrap_err()] {
                assert!(matches!(error, StoreError::Database(DatabaseError::LostWrite { .. })), "{error}");
            }
        }
    };
    // It was lost when another server took over, and then another batch got its number.
    lost(after(Token { nonce: Nonce(token.nonce.0 ^ 1), ..token })).await;
    lost(after(Token { revision: 3, ..token })).await;
    // The nonces of old revisions are not kept.
    place.admin.batch_execute("DELETE FROM portcullis_e1.revision WHERE revision = 1").await.unwrap();
    assert_eq!(facts(&store, after(Token { nonce: Nonce(0), ..token })).await.unwrap().len(), 2);
}

#[tokio::test]
async fn rows_come_in_order_until_the_reader_has_enough() {
    let store = Place::new("rows").await.open().await;
    let ids: Vec<String> = (0..3_000).map(|n| n.to_string()).collect();
    store.apply_within(insert(ids.iter().map(|id| public(id))), None).await.unwrap();
    let sql = format!("SELECT a0 FROM {}.f1 WHERE a0 > $1 ORDER BY a0 LIMIT $2", store.schema());
    let read = move |reader: &PgReader| {
        let query = RowQuery { sql: &sql, n_columns: 1 };
        let (mut all, mut some) = (Vec::new(), Vec::new());
        Reader::Postgres(reader).rows(query, &[Param::Least, Param::Limit(5_000)], |row| {
            all.extend(row[0].take().map(std::borrow::Cow::into_owned));
        })?;
        reader.rows_until(query, &[Param::Number(9), Param::Limit(5_000)], |row| {
            some.extend(row[0].take().map(std::borrow::Cow::into_owned));
            Ok(if some.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok((all, some))
    };
    let ((all, some), _) = store.read(AskedRead::default(), read).await.unwrap();
    assert_eq!(all, ids);
    assert_eq!(some, ["10", "11", "12"]);
}

#[tokio::test]
async fn all_statements_of_a_snapshot_see_the_same_facts() {
    let place = Place::new("snapshots").await;
    let store = place.open().await;
    store.apply_within(insert([public("7")]), None).await.unwrap();
    let (schema, (begun, begin)) = (store.schema(), std::sync::mpsc::channel());
    let (go, gone) = std::sync::mpsc::channel();
    let read = store.read(AskedRead::default(), move |reader| {
        reader.snapshot(|reader| {
            let before = is_public(&schema, reader, "8")?;
            begun.send(()).unwrap();
            gone.recv().unwrap();
            Ok((before, is_public(&schema, reader, "8")?))
        })
    });
    let write = async {
        let begun = tokio::task::spawn_blocking(move || begin.recv().unwrap());
        begun.await.unwrap();
        store.apply_within(insert([public("8")]), None).await.unwrap();
        go.send(()).unwrap();
    };
    let (read, ()) = tokio::join!(read, write);
    let (seen, clock) = read.unwrap();
    assert_eq!((seen, clock.unwrap().token.revision), ((false, false), 1));
    let (schema, asked) = (store.schema(), AskedRead::default());
    assert!(store.read(asked, move |reader| is_public(&schema, reader, "8")).await.unwrap().0);
}

/// A decision that takes this many seconds.
fn slow(seconds: u64) -> impl Fn(&PgReader) -> Result<bool, StoreError> + Send + 'static {
    move |reader| reader.decision(&format!("SELECT pg_sleep({seconds}) IS NOT NULL"), &[])
}

#[tokio::test]
async fn a_question_ends_at_its_limit_and_its_reader_goes_on() {
    let place = Place::new("limits").await;
    let brief = StoreOptions { query_time: Duration::from_secs(1), long_readers: 1, ..options() };
    let store = place.open_with(&brief).await;
    let began = Instant::now();
    let late = store.read(AskedRead::default(), slow(60)).await.unwrap_err();
    assert!(matches!(late, StoreError::Timeout(_)), "{late}");
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(store.read(AskedRead::default(), slow(0)).await.unwrap().0);
    // A slow question that was thought to be brief starts again as a long one.
    let late = store.read_brief(AskedRead::default(), slow(60)).await.unwrap_err();
    assert!(matches!(late, StoreError::Timeout(_)), "{late}");
}

#[tokio::test]
async fn a_question_whose_asker_has_gone_is_cancelled_on_the_server() {
    let place = Place::new("cancelled").await;
    let store = place.open_with(&StoreOptions { long_readers: 1, ..options() }).await;
    let asked = tokio::time::timeout(Duration::from_millis(500), store.read(AskedRead::default(), slow(60)));
    assert!(asked.await.is_err());
    let began = Instant::now();
    assert!(store.read(AskedRead::default(), slow(0)).await.unwrap().0);
    assert!(began.elapsed() < Duration::from_secs(5));
    let running =
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(60)%'
        AND datname = current_database() AND pid <> pg_backend_pid()";
    assert_eq!(place.number(running).await, 0);
}

#[tokio::test]
async fn relations_of_other_nodes_are_found_by_the_clock() {
    let place = Place::new("following").await;
    let (here, there) = (place.open().await, place.open().await);
    there.apply_within(insert([relation("1", "parent", "a")]), None).await.unwrap();
    assert_eq!(here.relations().relations, []);
    let (clock, _) = here.read_brief(AskedRead::default(), PgReader::confirm).await.unwrap();
    assert_ne!(clock.catalog, i64::try_from(here.relations().generation).unwrap());
    assert_eq!(here.refresh().await.unwrap(), there.relations());
    assert_eq!(facts(&here, AskedRead::default()).await.unwrap(), ["has_relation(1, a)"]);
}

#[tokio::test]
async fn no_error_contains_the_value_of_a_parameter() {
    let store = Place::new("secrecy").await.open().await;
    let read = |reader: &PgReader| {
        let sql = "SELECT convert_from($1::bytea, 'UTF8')::int = 1";
        reader.decision(sql, &[Param::Value("secret of ada".to_owned())])
    };
    let error = store.read(AskedRead::default(), read).await.unwrap_err().to_string();
    assert!(error.contains("refuses a value") && !error.contains("ada"), "{error}");
}
