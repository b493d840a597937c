//! The disk of the server is full.

use super::{ENVIRONMENT, client, insert, is_public, options, public};
use portcullis::store::StoreError;
use portcullis::store::postgres::{Address, AskedRead, PgReader, PostgresStore, migrate};
use portcullis_testkit::cluster::{Cluster, SMALL_DISK};
use tokio_postgres::Client;

/// How many kibibytes it has.
const DISK: u64 = 24 * 1024;

/// How many facts a batch has.
const BATCH: usize = 2_000;

/// Whether a batch is copied or inserted, it is refused as a whole, and all others are kept.
#[tokio::test]
async fn a_batch_for_which_the_server_has_no_space_is_refused_and_nothing_is_lost() {
    let Some((_cluster, port)) = Cluster::on_small_disk(DISK, &["shared_buffers=16MB"]).unwrap() else {
        println!("no process may mount a disk here: what happens when it is full was not tried");
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
