//! Connections, servers and networks that fail: nothing is stored twice, half, or lost after it was
//! acknowledged.

use super::{Place, SERVER, delete, facts, insert, options, pattern, public, relation};
use portcullis::store::postgres::AskedRead;
use portcullis::store::{DatabaseError, StoreError, StoreOptions};
use portcullis_testkit::proxy::Fault;
use std::time::{Duration, Instant};

#[tokio::test]
async fn connections_that_the_server_ended_are_made_again() {
    let place = Place::new("ended").await;
    let store = place.open().await;
    for n in 0..3 {
        store.apply_within(insert([public(&n.to_string())]), None).await.unwrap();
        assert_eq!(facts(&store, AskedRead::default()).await.unwrap().len(), n + 1);
        assert!(place.end_connections().await > 0);
    }
    assert_eq!(place.number("SELECT count(*) FROM portcullis_e1.revision").await, 4);
}

#[tokio::test]
async fn a_batch_whose_commit_or_answer_is_lost_is_stored_once() {
    let place = Place::new("commits").await;
    let proxy = SERVER.proxied();
    let store = place.open_at(proxy.port, &options()).await;
    let mut revision = 0;
    for fault in [Fault::LostAnswer, Fault::LostCommit, Fault::LostAnswer] {
        let id = format!("{fault:?}{revision}");
        proxy.set(fault);
        let (applied, token) = store.apply_within(insert([public(&id)]), None).await.unwrap();
        revision += 1;
        assert_eq!((applied.offset, applied.inserted, token.revision), (revision, 1, revision), "{fault:?}");
        // What happened is known: the answer has the nonce that is stored.
        let nonce = format!("SELECT nonce FROM portcullis_e1.revision WHERE revision = {revision}");
        assert_eq!(place.number(&nonce).await, token.nonce.0);
    }
    assert_eq!(place.number("SELECT revision FROM portcullis_e1.clock").await, 3);
    assert_eq!(place.number("SELECT count(*) FROM portcullis_e1.f1").await, 3);
    assert_eq!(place.number("SELECT facts FROM portcullis_e1.relation").await, 3);
}

#[tokio::test]
async fn a_batch_whose_end_is_unknown_is_reported_as_such() {
    let place = Place::new("unknown").await;
    let proxy = SERVER.proxied();
    let brief = StoreOptions { query_wait: Duration::from_secs(1), ..options() };
    let store = place.open_at(proxy.port, &brief).await;
    store.apply_within(insert([public("6")]), None).await.unwrap();
    proxy.set(Fault::LostServer);
    let unknown = store.apply_within(insert([public("7")]), None).await.unwrap_err();
    assert!(matches!(unknown, StoreError::Database(DatabaseError::UnknownWrite)), "{unknown}");
    let unsent = store.apply_within(insert([public("8")]), None).await.unwrap_err();
    assert!(matches!(unsent, StoreError::Database(DatabaseError::Unreachable { .. })), "{unsent}");
    // It was stored; to send it again changes nothing.
    proxy.set(Fault::None);
    let (applied, _) = store.apply_within(insert([public("7")]), None).await.unwrap();
    assert_eq!((applied.offset, applied.inserted), (2, 0));
}

/// Meanwhile another node removes what they stored.
#[tokio::test]
async fn batches_whose_end_is_unknown_are_not_sent_again() {
    let place = Place::new("unknowns").await;
    let proxy = SERVER.proxied();
    let brief = StoreOptions { query_wait: Duration::from_secs(1), ..options() };
    let store = place.open_at(proxy.port, &brief).await;
    store.apply_within(insert([public("first")]), None).await.unwrap();
    let other = place.open().await;
    proxy.set(Fault::LostServer);
    let ids = ["a", "b", "c", "d"];
    let write = async {
        let write = |id: &str| store.apply_within(insert([public(id)]), None);
        tokio::join!(write("a"), write("b"), write("c"), write("d"))
    };
    let interfere = async {
        tokio::time::sleep(Duration::from_millis(1_300)).await;
        let found = facts(&other, AskedRead::default()).await.unwrap();
        let removed = ids.map(|id| pattern("is_public", &[&format!("Repository:{id}")]));
        other.apply_within(delete(&removed), None).await.unwrap();
        proxy.set(Fault::None);
        found.len()
    };
    let ((a, b, c, d), n_found) = tokio::join!(write, interfere);
    assert!(n_found > 1, "the commit was lost, not its answer");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let all = facts(&other, AskedRead::default()).await.unwrap();
    for (id, written) in ids.into_iter().zip([a, b, c, d]) {
        let is_stored = all.iter().any(|fact| fact.contains(&format!("({id})")));
        assert_eq!(is_stored, written.is_ok(), "{id}: {written:?}, {all:?}");
    }
}

/// Another server has a different write in the place of one that the node has seen.
#[tokio::test]
async fn a_node_that_may_not_write_does_not_keep_others_from_it() {
    let place = Place::new("released").await;
    let store = place.open().await;
    store.apply_within(insert([public("1")]), None).await.unwrap();
    let taken_over = "UPDATE portcullis_e1.revision SET nonce = nonce # 1 WHERE revision = 1;
        UPDATE portcullis_e1.clock SET nonce = nonce # 1";
    place.admin.batch_execute(taken_over).await.unwrap();
    let refused = store.apply_within(insert([public("2")]), None).await.unwrap_err();
    assert!(matches!(refused, StoreError::Database(DatabaseError::TakenOver { .. })), "{refused}");
    let other = place.open().await;
    let began = Instant::now();
    other.apply_within(insert([public("3")]), None).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_network_that_says_nothing_costs_a_bounded_time() {
    let place = Place::new("silent").await;
    let proxy = SERVER.proxied();
    let time = Duration::from_secs(1);
    let store =
        place.open_at(proxy.port, &StoreOptions { query_time: time, query_wait: time, ..options() }).await;
    store.apply_within(insert([public("7")]), None).await.unwrap();
    facts(&store, AskedRead::default()).await.unwrap();
    proxy.set(Fault::Silence);
    let began = Instant::now();
    let (read, write) =
        tokio::join!(facts(&store, AskedRead::default()), store.apply_within(insert([public("8")]), None));
    assert!(matches!(read, Err(StoreError::Database(DatabaseError::Unreachable { .. }))), "{read:?}");
    assert!(matches!(write, Err(StoreError::Database(DatabaseError::Unreachable { .. }))), "{write:?}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(store.primary_is_silent());
    let refused = Instant::now();
    facts(&store, AskedRead::default()).await.unwrap_err();
    store.apply_within(insert([public("9")]), None).await.unwrap_err();
    assert!(refused.elapsed() < Duration::from_millis(500), "{:?}", refused.elapsed());
    proxy.set(Fault::None);
    let began = Instant::now();
    while store.primary_is_silent() {
        assert!(began.elapsed() < Duration::from_secs(4), "it is not tried again");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(facts(&store, AskedRead::default()).await.unwrap().len(), 1);
}

/// To the server, a node that was killed is a connection that ends.
#[tokio::test]
async fn a_node_that_is_gone_in_a_batch_leaves_all_of_it_or_nothing() {
    let place = Place::new("gone").await;
    let proxy = SERVER.proxied();
    let none = StoreOptions { query_wait: Duration::ZERO, ..options() };
    let (mut n_stored, mut n_lost, mut n_bytes) = (0, 0, 0);
    while n_stored < 3 {
        let store = place.open_at(proxy.port, &none).await;
        let id = n_bytes.to_string();
        let batch = insert([public(&id), relation(&id, "parent", "a"), relation(&id, "owner", "a")]);
        // The writer connects before it begins.
        proxy.cut_after(n_bytes);
        let written = store.apply_within(batch, None).await;
        drop(store);
        proxy.cut_after(i64::MAX);
        let store = place.open().await;
        let all = facts(&store, AskedRead::default()).await.unwrap();
        let n_found = all.iter().filter(|fact| fact.contains(&format!("({id}"))).count();
        assert!(n_found == 0 || n_found == 3, "{n_bytes}: {all:?}");
        assert!(written.is_err() || n_found == 3, "{n_bytes}: {written:?}");
        (n_stored, n_lost) = if n_found == 3 { (n_stored + 1, n_lost) } else { (0, n_lost + 1) };
        n_bytes += 97;
    }
    assert!(n_lost > 10, "{n_lost}");
}
