//! Facts that are read in parts, next to the writer.

use super::{Place, SERVER, fact, found, insert, options, pattern, public, relation, until};
use portcullis::store::postgres::{PgFactReading, PostgresStore};
use portcullis::store::{DatabaseError, Fact, FactPattern, StoreError, StoreOptions};
use portcullis_testkit::proxy::Fault;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs what blocks.
async fn off<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

async fn begin(store: &Arc<PostgresStore>, pattern: FactPattern) -> Result<Arc<PgFactReading>, StoreError> {
    let store = Arc::clone(store);
    off(move || store.reading(pattern, None)).await.map(Arc::new)
}

/// The next facts, at most `most`, and whether there may be more.
async fn part(reading: &Arc<PgFactReading>, most: usize) -> Result<(Vec<Fact>, bool), StoreError> {
    let reading = Arc::clone(reading);
    off(move || {
        let mut found = Vec::new();
        let more = reading.part(|fact| {
            found.push(fact.clone());
            if found.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok((found, more))
    })
    .await
}

/// All facts that are left, in parts of this size.
async fn rest(reading: &Arc<PgFactReading>, most: usize) -> Vec<Fact> {
    let mut all = Vec::new();
    loop {
        let (found, more) = part(reading, most).await.unwrap();
        assert!(found.len() <= most);
        all.extend(found);
        if !more {
            return all;
        }
    }
}

/// How many readings there are: between two parts, their connections are idle in a transaction.
const READING: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle in transaction'";

#[tokio::test]
async fn a_reading_goes_on_where_its_part_ended() {
    let place = Place::new("parts").await;
    let store = Arc::new(place.open().await);
    let owned = (0..2_500).map(|n| relation(&n.to_string(), "owner", &(n % 7).to_string()));
    // Exactly as many as are fetched at once, and twice.
    let parents = (0..1_000).map(|n| relation(&n.to_string(), "parent", "x"));
    let public = (0..2_000).map(|n| public(&format!("it's {n}")));
    store.apply_within(insert(owned.chain(parents).chain(public)), None).await.unwrap();
    let open = |args: &[&str]| FactPattern { open_arity: true, predicate: None, ..pattern("", args) };
    for (pattern, n_facts) in [
        (FactPattern::everything(), 5_500),
        (open(&["Issue:*"]), 3_500),
        (open(&["Issue:7"]), 2),
        (open(&["*", "String:owner", "Repository:3"]), 357),
        (open(&["*", "*", "Repository:x"]), 1_000),
        (open(&["*", "String:nobody"]), 0),
        (open(&["Ghost:*"]), 0),
    ] {
        let expected = found(&store, pattern.clone()).await;
        assert_eq!(expected.len(), n_facts, "{pattern:?}");
        for most in [7, 1_000, 10_000] {
            if n_facts / most < 500 {
                let reading = begin(&store, pattern.clone()).await.unwrap();
                assert!(rest(&reading, most).await == expected, "{pattern:?} in parts of {most}");
                assert_eq!(part(&reading, most).await.unwrap(), (Vec::new(), false));
            }
        }
    }
    until(&place, READING, 0).await;
}

#[tokio::test]
async fn a_reading_is_of_one_moment_while_a_writer_writes() {
    let place = Place::new("exports").await;
    let store = Arc::new(place.open().await);
    let all: Vec<Fact> = (0..3_000).map(|n| fact("p", &[&format!("A:{n}"), "B:'x"])).collect();
    store.apply_within(insert(all.clone()), None).await.unwrap();
    let (_, token) = store.apply_within(insert([public("7")]), None).await.unwrap();
    let expected = found(&store, FactPattern::everything()).await;
    let readings = [
        begin(&store, FactPattern::everything()).await.unwrap(),
        begin(&store, FactPattern::everything()).await.unwrap(),
    ];
    // Of one, nothing is read before the change.
    let mut read = part(&readings[0], 10).await.unwrap().0;
    store.apply_within(insert([fact("q", &["A:1"]), fact("p", &["A:x", "B:x"])]), None).await.unwrap();
    let (cleared, _) = store.clear().await.unwrap();
    assert_eq!(cleared.deleted, 3_003);
    store.apply_within(insert(all.iter().take(5).cloned()), None).await.unwrap();
    let writer = Arc::clone(&store);
    let writing = tokio::spawn(async move {
        for n in 0..300 {
            writer.apply_within(insert([public(&n.to_string())]), None).await.unwrap();
        }
    });
    read.extend(rest(&readings[0], 70).await);
    assert!(read == expected);
    assert!(rest(&readings[1], 70).await == expected);
    writing.await.unwrap();
    assert!(readings.iter().all(|reading| reading.clock().token == token));
    let now = begin(&store, pattern("p", &["*", "*"])).await.unwrap();
    assert_eq!(rest(&now, 2).await, all[..5]);
}

#[tokio::test]
async fn only_so_many_are_read_at_once_and_a_closed_one_makes_room() {
    let place = Place::new("many_readings").await;
    let store = Arc::new(place.open().await);
    store.apply_within(insert((0..10).map(|n| public(&n.to_string()))), None).await.unwrap();
    let mut readings = Vec::new();
    for _ in 0..16 {
        readings.push(begin(&store, FactPattern::everything()).await.unwrap());
        part(readings.last().unwrap(), 3).await.unwrap();
    }
    assert_eq!(place.number(READING).await, 16);
    let refused = begin(&store, FactPattern::everything()).await;
    assert!(matches!(refused, Err(StoreError::Busy)), "{refused:?}");
    // A client that has gone.
    readings.pop();
    until(&place, READING, 15).await;
    let again = begin(&store, FactPattern::everything()).await.unwrap();
    assert_eq!(rest(&again, 100).await.len(), 10);
    // The others do not need the store that began them.
    drop((store, again));
    for reading in &readings {
        assert_eq!(rest(reading, 100).await.len(), 7);
    }
    readings.clear();
    until(&place, READING, 0).await;
}

#[tokio::test]
async fn a_reading_whose_connection_ends_or_hangs_is_not_taken_for_complete() {
    let place = Place::new("cut_readings").await;
    let proxy = SERVER.proxied();
    let brief = StoreOptions { query_time: Duration::from_secs(2), ..options() };
    let store = Arc::new(place.open_at(proxy.port, &brief).await);
    store.apply_within(insert((0..3_000).map(|n| public(&n.to_string()))), None).await.unwrap();
    for fault in [Fault::None, Fault::Silence] {
        let reading = begin(&store, FactPattern::everything()).await.unwrap();
        assert_eq!(part(&reading, 1_000).await.unwrap().0.len(), 1_000);
        proxy.set(fault);
        if fault == Fault::None {
            place.end_connections().await;
        }
        let began = Instant::now();
        let error = part(&reading, 1_000).await.unwrap_err();
        match fault {
            Fault::None => {
                let is_gone = matches!(error, StoreError::Database(DatabaseError::Unreachable { .. }));
                assert!(is_gone, "{error}");
            }
            _ => assert!(matches!(error, StoreError::Timeout(_)), "{error}"),
        }
        assert!(began.elapsed() < Duration::from_secs(5));
        let after = part(&reading, 1_000).await;
        assert!(matches!(after, Err(StoreError::Busy)), "{after:?}");
        proxy.set(Fault::None);
    }
    // Its place is free again, and a server that says nothing does not take it for ever.
    proxy.set(Fault::Silence);
    let began = Instant::now();
    begin(&store, FactPattern::everything()).await.unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(5));
    proxy.set(Fault::None);
    let mut all = Vec::new();
    for _ in 0..16 {
        all.push(begin(&store, FactPattern::everything()).await.unwrap());
    }
}

/// A dump of the database, say, may read for hours what was cleared meanwhile.
#[tokio::test]
async fn a_cleared_table_that_something_else_reads_is_dropped_later() {
    let place = Place::new("dumped").await;
    let store = place.open().await;
    store.apply_within(insert([public("7")]), None).await.unwrap();
    place.admin.batch_execute("BEGIN; SELECT FROM portcullis_e1.f1").await.unwrap();
    store.clear().await.unwrap();
    let other = super::client(&SERVER.url(&place.database)).await;
    other.batch_execute("UPDATE portcullis_e1.retired SET at = now() - interval '1 day'").await.unwrap();
    let write = async || {
        let began = Instant::now();
        for n in 0..130 {
            store.apply_within(insert([public(&n.to_string())]), None).await.unwrap();
            store.apply_within(super::delete(&[FactPattern::everything()]), None).await.unwrap();
        }
        assert!(began.elapsed() < Duration::from_secs(9), "no write waited for the reader");
        let left = other.query_one("SELECT count(*) FROM portcullis_e1.retired", &[]).await.unwrap();
        left.get::<_, i64>(0)
    };
    assert_eq!(write().await, 1);
    place.admin.batch_execute("COMMIT").await.unwrap();
    assert_eq!(write().await, 0);
}
