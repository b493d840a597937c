//! A store behind a pooler: one in session mode works, and one in transaction mode is refused.

use super::{ENVIRONMENT, Place, SERVER, facts, insert, is_public, options, public};
use portcullis::store::postgres::{Address, AskedRead, PgReader, PostgresStore};
use portcullis::store::{DatabaseError, StoreError};
use portcullis_testkit::pooler::{PoolMode, Pooler};
use portcullis_testkit::ports::free_port;

/// A pooler before the tests' server, and its port.
fn pooler(mode: PoolMode) -> (Pooler, u16) {
    let port = free_port();
    (Pooler::start_at(port, SERVER.own_port(), mode).unwrap(), port)
}

#[tokio::test]
async fn a_pool_in_session_mode_is_like_the_server() {
    let place = Place::new("pooled_sessions").await;
    let (_pooler, port) = pooler(PoolMode::Session);
    for n in 0..3_usize {
        // The connections of the former store go back to the pool, and are used again.
        let store = place.open_at(port, &options()).await;
        store.apply_within(insert([public(&n.to_string())]), None).await.unwrap();
        assert_eq!(facts(&store, AskedRead::default()).await.unwrap().len(), n + 1);
        let schema = store.schema();
        let asked = store.read_brief(AskedRead::default(), move |reader| is_public(&schema, reader, "0"));
        assert!(asked.await.unwrap().0);
        store.follow(portcullis::share::Asker::default()).await.unwrap();
    }
}

#[tokio::test]
async fn a_pool_in_transaction_mode_is_refused() {
    let place = Place::new("pooled_transactions").await;
    let (_pooler, port) = pooler(PoolMode::Transaction);
    let url = format!("postgres://postgres@127.0.0.1:{port}/pooled_transactions?connect_timeout=5");
    let address = Address::parse(&url).unwrap();
    let is_refused = |error: &StoreError| matches!(error, StoreError::Database(DatabaseError::Pooler(_)));
    // The first connection of all may find nothing wrong: nobody has used the server's connection before.
    let store = match PostgresStore::open(&address.clone().into(), ENVIRONMENT, &options()).await {
        Ok(store) => store,
        Err(error) => return assert!(is_refused(&error), "{error}"),
    };
    let mut n_refused = 0;
    for n in 0..20 {
        let written = store.apply_within(insert([public(&n.to_string())]), None).await;
        let asked = store.read_brief(AskedRead::default(), PgReader::confirm).await;
        for error in [written.err(), asked.err()].into_iter().flatten() {
            assert!(is_refused(&error), "{error}");
            n_refused += 1;
        }
    }
    assert!(n_refused >= 20, "{n_refused}");
    let late = PostgresStore::open(&address.into(), ENVIRONMENT, &options()).await.unwrap_err();
    assert_eq!(
        late.to_string(),
        format!(
            "127.0.0.1 port {port} is a pooler that lends a connection for each transaction, or does not reset \
             it: use a pool in session mode with `server_reset_query`, or the address of the server itself"
        )
    );
    drop(place);
}
