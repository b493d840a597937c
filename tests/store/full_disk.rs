//! The disk of the server is full.

use super::{ENVIRONMENT, client, insert, is_public, options, public};
use portcullis::store::postgres::{Address, AskedRead, PgReader, PostgresStore, migrate};
use portcullis::store::{DatabaseError, StoreError, StoreOptions};
use portcullis_testkit::cluster::{Cluster, SMALL_DISK};
use std::time::Duration;
use tokio_postgres::Client;

/// How many kibibytes it has.
const DISK: u64 = 24 * 1024;

/// How many it has for the write-ahead log.
const LOG: u64 = 32 * 1024;

/// How many facts a batch has.
const BATCH: usize = 2_000;

/// Whether a batch is copied or inserted, it is refused as a whole, and all others are kept.
#[tokio::test]
async fn a_batch_for_which_the_server_has_no_space_is_refused_and_nothing_is_lost() {
    let Some((_cluster, port)) = Cluster::on_small_disk(DISK, &["shared_buffers=16MB"]).unwrap() else {
        return;
    };
    let url = |database: &str| format!("postgres://postgres@127.0.0.1:{port}/{database}");
    let server = client(&url("postgres")).await;
    server.batch_execute(&format!("CREATE TABLESPACE small LOCATION '{SMALL_DISK}'")).await.unwrap();
    server.batch_execute("CREATE DATABASE full_disk TABLESPACE small").await.unwrap();
    let address = Address::parse(&url("full_disk")).unwrap();
    migrate(&address, ENVIRONMENT).await.unwrap();
    let admin = client(&url("full_disk")).await;
    let store = PostgresStore::open(&address.into(), ENVIRONMENT, &options()).await.unwrap();
    let mut all = 0;
    for (n_facts, n_rows) in [(BATCH, 5_000), (BATCH / 10, 500)] {
        let ballast =
            format!("CREATE TABLE ballast AS SELECT repeat('x', 1000) FROM generate_series(1, {n_rows})");
        admin.batch_execute(&ballast).await.unwrap();
        let id = move |nth: usize, n: usize| format!("{n_facts} facts in batch {nth}: the one at {n}");
        let batch = |nth: usize| insert((0..n_facts).map(move |n| public(&id(nth, n))));
        let (mut nth, mut refused) = (0, None);
        while refused.is_none() {
            match store.apply_within(batch(nth), None).await {
                Ok(_) => (nth, all) = (nth + 1, all + n_facts),
                Err(error) => refused = Some(error),
            }
            assert!(nth < 1_000, "the disk is not full");
        }
        let refused = refused.unwrap();
        assert!(matches!(refused, StoreError::Full), "{refused}");
        assert_eq!(refused.to_string(), "the store's disk is full: free space on it");
        // Checks are answered, from all that was acknowledged and nothing else.
        let last = id(nth - 1, n_facts - 1);
        assert_eq!(found(&store, &admin, [last, id(nth, 0)]).await, (all, [true, false]));
        admin.batch_execute("DROP TABLE ballast").await.unwrap();
        let (applied, _) = store.apply_within(batch(nth), None).await.unwrap();
        assert_eq!(usize::try_from(applied.inserted).unwrap(), n_facts);
        all += n_facts;
        assert_eq!(found(&store, &admin, [id(nth, 0), id(nth, n_facts - 1)]).await, (all, [true, true]));
    }
}

/// PostgreSQL refuses what it cannot write to its log, and ends once it must. It does not start before there
/// is space.
#[tokio::test]
async fn when_the_log_has_no_space_nothing_that_was_acknowledged_is_lost() {
    let settings = ["shared_buffers=16MB", "synchronous_commit=on", "max_wal_size=8MB", "min_wal_size=2MB"];
    let Some((cluster, port)) = Cluster::with_small_log(LOG, &settings).unwrap() else {
        return;
    };
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres?connect_timeout=1");
    let address = Address::parse(&url).unwrap();
    migrate(&address, ENVIRONMENT).await.unwrap();
    let brief = StoreOptions { query_wait: Duration::from_secs(1), ..options() };
    let store = PostgresStore::open(&address.into(), ENVIRONMENT, &brief).await.unwrap();
    let id = |nth: usize, n: usize| format!("{n} of batch {nth}");
    let batch = |nth: usize| insert((0..BATCH).map(move |n| public(&id(nth, n))));
    let (mut acknowledged, mut unknown, mut n_full) = (Vec::new(), Vec::new(), 0);
    for round in 0..2 {
        cluster.fill_disk().unwrap();
        for nth in round * 1_000.. {
            let Err(error) = store.apply_within(batch(nth), None).await else {
                acknowledged.push(nth);
                continue;
            };
            match error {
                StoreError::Full => {
                    n_full += 1;
                    // Questions are answered as long as the server runs.
                    let asked = store.read_brief(AskedRead::default(), PgReader::confirm).await;
                    assert!(asked.as_ref().err().is_none_or(StoreError::is_unanswered), "{asked:?}");
                }
                StoreError::Database(DatabaseError::UnknownWrite) => unknown.push(nth),
                StoreError::Database(DatabaseError::Unreachable { .. }) => break,
                other => panic!("{other}"),
            }
            assert!(nth % 1_000 < 999, "the server goes on: {n_full} batches refused, {unknown:?} unknown");
        }
        for _ in 0..2 {
            let unsent = store.apply_within(batch(0), None).await.unwrap_err();
            let unasked = store.read_brief(AskedRead::default(), PgReader::confirm).await.unwrap_err();
            for error in [unsent, unasked].map(|error| error.to_string()) {
                assert!(error.starts_with("the store does not answer: "), "{error}");
                assert!(error.ends_with("and that PostgreSQL runs"), "{error}");
            }
        }
        assert!(store.fault().is_some());
        cluster.free_disk().unwrap();
        cluster.serve_again().unwrap();
        // The same store goes on, and has what it has acknowledged.
        let last = (round + 1) * 1_000 - 1;
        store.apply_within(batch(last), None).await.unwrap();
        acknowledged.push(last);
        assert!(store.fault().is_none());
        let admin = client(&url).await;
        let (all, _) = found(&store, &admin, [id(last, 0), id(last, 1)]).await;
        let stored = whole_batches(&admin).await;
        assert_eq!(all, stored.len() * BATCH);
        assert!(acknowledged.iter().all(|nth| stored.contains(nth)), "{acknowledged:?}, {stored:?}");
        let mut others = stored.iter().filter(|nth| !acknowledged.contains(nth));
        assert!(others.all(|nth| unknown.contains(nth)), "{acknowledged:?}, {unknown:?}, {stored:?}");
    }
    println!("{} batches stored, {n_full} refused for space, {} unknown", acknowledged.len(), unknown.len());
}

/// How many facts there are, which the store has counted as well, and whether two repositories are public.
async fn found(store: &PostgresStore, admin: &Client, ids: [String; 2]) -> (usize, [bool; 2]) {
    let count = "SELECT count(*) FROM portcullis_e1.f1";
    let stored: i64 = admin.query_one(count, &[]).await.unwrap().get(0);
    let schema = store.schema();
    let read = move |reader: &PgReader| {
        let [first, second] = &ids;
        let public = [is_public(&schema, reader, first)?, is_public(&schema, reader, second)?];
        Ok((reader.stats()?.total, public))
    };
    let (counted, public) = store.read_brief(AskedRead::default(), read).await.unwrap().0;
    assert_eq!(i64::try_from(counted).unwrap(), stored);
    (usize::try_from(counted).unwrap(), public)
}

/// The batches that are stored, none of them in part.
async fn whole_batches(admin: &Client) -> Vec<usize> {
    let rows = "SELECT split_part(encode(a0, 'escape'), ' batch ', 2)::bigint, count(*)
        FROM portcullis_e1.f1 GROUP BY 1";
    let mut all = Vec::new();
    for row in admin.query(rows, &[]).await.unwrap() {
        let [nth, n_facts] = [0, 1].map(|column| usize::try_from(row.get::<_, i64>(column)).unwrap());
        assert_eq!(n_facts, BATCH, "batch {nth}");
        all.push(nth);
    }
    all
}
