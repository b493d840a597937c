//! Policy versions and the clock.

use super::{Place, SERVER, facts, insert, options, public};
use portcullis::store::postgres::{AskedRead, Clock, PgReader, PostgresStore};
use portcullis::store::{Access, Fact, PolicyVersion, StoreError, StoredPolicy};
use portcullis_testkit::proxy::Fault;

async fn policy(store: &PostgresStore, id: Option<u64>) -> Result<(Option<StoredPolicy>, Clock), StoreError> {
    let (policy, clock) = store.read_brief(AskedRead::default(), move |reader| reader.policy(id)).await?;
    Ok((policy, clock.unwrap()))
}

async fn versions(store: &PostgresStore) -> Vec<PolicyVersion> {
    store.read_brief(AskedRead::default(), PgReader::policy_versions).await.unwrap().0
}

async fn put(store: &PostgresStore, src: &str) -> PolicyVersion {
    store.put_policy(src.to_owned(), "a.polar".to_owned()).await.unwrap().0
}

#[tokio::test]
async fn every_policy_version_is_kept_and_the_last_is_active() {
    let place = Place::new("versions").await;
    let store = place.open().await;
    let (none, clock) = policy(&store, None).await.unwrap();
    assert_eq!((none, clock.policy), (None, 0));
    let (first, token) = store.put_policy("one".into(), "a.polar".into()).await.unwrap();
    assert_eq!(token.revision, 1);
    // What text there is does not matter, with one exception.
    let text = "it's \"two\" \\ $1 %s é 🦀\r\n";
    let (second, _) = store.put_policy(text.into(), String::new()).await.unwrap();
    assert!(second.id > first.id);
    let (active, clock) = policy(&store, None).await.unwrap();
    let active = active.unwrap();
    assert_eq!((active.src.as_str(), &active.version), (text, &second));
    assert_eq!((clock.policy, clock.token.revision), (i64::try_from(second.id).unwrap(), 2));
    let old = policy(&store, Some(first.id)).await.unwrap().0.unwrap();
    assert_eq!((old.src.as_str(), old.version.filename.as_str()), ("one", "a.polar"));
    assert!(!old.version.active);
    for unknown in [0, 99, u64::MAX] {
        assert_eq!(policy(&store, Some(unknown)).await.unwrap().0, None);
    }
    // Another process sees the same.
    let other = place.open().await;
    for store in [&store, &other] {
        let versions = versions(store).await;
        let shown: Vec<_> = versions.iter().map(|version| (version.id, version.active)).collect();
        assert_eq!(shown, [(first.id, false), (second.id, true)]);
    }
    for (src, filename) in [("a\0b", "a.polar"), ("one", "a\0b")] {
        let refused = store.put_policy(src.into(), filename.into()).await.unwrap_err().to_string();
        assert!(refused.contains("NUL"), "{refused}");
    }
    assert_eq!(versions(&store).await.len(), 2);
}

#[tokio::test]
async fn clearing_removes_facts_and_policies_but_no_key() {
    let place = Place::new("clearing").await;
    let store = place.open().await;
    store.apply_within(insert(["1", "2"].map(public)), None).await.unwrap();
    let former = put(&store, "one").await;
    let key = store.create_key("mine".into(), Access::ReadWrite).await.unwrap();
    let (applied, token) = store.clear().await.unwrap();
    assert_eq!((applied.deleted, applied.offset), (2, token.revision));
    assert_eq!(facts(&store, AskedRead::default()).await.unwrap(), [""; 0]);
    let (none, clock) = policy(&store, None).await.unwrap();
    assert_eq!((none, clock.policy, clock.token), (None, 0, token));
    assert_eq!(versions(&store).await, []);
    assert!(store.verify_key(&key.text).is_some());
    drop(store);
    let store = place.open().await;
    assert!(store.verify_key(&key.text).is_some());
    let next = put(&store, "two").await;
    assert!(next.id > former.id, "an id is never given twice");
    assert_eq!(policy(&store, None).await.unwrap().1.policy, i64::try_from(next.id).unwrap());
}

#[tokio::test]
async fn a_policy_that_does_not_match_its_seal_is_not_returned() {
    let place = Place::new("seals").await;
    let store = place.open().await;
    let (first, second) = (put(&store, "allow(a)").await, put(&store, "allow(b)").await);
    let change = "UPDATE portcullis_e1.policy SET src = 'allow(_)' WHERE active";
    place.admin.batch_execute(change).await.unwrap();
    for id in [None, Some(second.id)] {
        let damaged = policy(&store, id).await.unwrap_err();
        assert!(matches!(&damaged, StoreError::Corrupt(reason) if reason.contains("SHA-256")), "{damaged}");
        assert!(!damaged.to_string().contains("allow"), "{damaged}");
    }
    assert_eq!(policy(&store, Some(first.id)).await.unwrap().0.unwrap().src, "allow(a)");
    // … nor one with the digest of another version with the same text.
    let exchange = format!(
        "UPDATE portcullis_e1.policy SET src = 'allow(a)',
           seal = (SELECT seal FROM portcullis_e1.policy WHERE id = {}) WHERE active",
        first.id
    );
    place.admin.batch_execute(&exchange).await.unwrap();
    assert!(matches!(policy(&store, None).await, Err(StoreError::Corrupt(_))));
    // A new one works as before.
    put(&store, "allow(c)").await;
    assert_eq!(policy(&store, None).await.unwrap().0.unwrap().src, "allow(c)");
}

/// Batches share a transaction, and one that fails does not roll back the others.
#[tokio::test]
async fn a_write_that_fails_spares_those_that_share_its_commit() {
    let store = Place::new("shared").await.open().await;
    put(&store, "one").await;
    for round in 0..5 {
        let id = round.to_string();
        let (policy, key, refused, unknown, batch) = tokio::join!(
            store.put_policy(format!("round {round}"), String::new()),
            store.create_key("two\nlines".into(), Access::ReadOnly),
            store.apply_within(insert([Fact::new("p", Vec::new())]), None),
            store.revoke_key("unknown".into()),
            store.apply_within(insert([public(&id)]), None),
        );
        assert!(matches!(key, Err(StoreError::KeyName)), "{key:?}");
        assert!(matches!(refused, Err(StoreError::NoArguments(_))), "{refused:?}");
        assert!(!unknown.unwrap());
        assert_eq!(batch.unwrap().0.inserted, 1);
        let (active, clock) = self::policy(&store, None).await.unwrap();
        let version = policy.unwrap().0;
        assert_eq!(active.unwrap().version, version);
        assert_eq!(clock.policy, i64::try_from(version.id).unwrap());
        assert_eq!((clock.keys, clock.token.revision), (0, 1 + 2 * (round + 1)));
    }
    assert_eq!(store.keys(), []);
}

#[tokio::test]
async fn a_policy_or_key_whose_commit_or_answer_is_lost_is_stored_once() {
    let place = Place::new("lost_records").await;
    let proxy = SERVER.proxied();
    let store = place.open_at(proxy.port, &options()).await;
    for (n, fault) in (1..).zip([Fault::LostAnswer, Fault::LostCommit, Fault::LostAnswer]) {
        proxy.set(fault);
        let version = put(&store, "one").await;
        let active = "SELECT id FROM portcullis_e1.policy WHERE active";
        assert_eq!(place.number(active).await, i64::try_from(version.id).unwrap(), "{fault:?}");
        assert_eq!(place.number("SELECT count(*) FROM portcullis_e1.policy").await, n, "{fault:?}");
        proxy.set(fault);
        let key = store.create_key("mine".into(), Access::ReadOnly).await.unwrap();
        assert_eq!(store.verify_key(&key.text), Some(key.key.clone()), "{fault:?}");
        assert_eq!(place.number("SELECT count(*) FROM portcullis_e1.key").await, n, "{fault:?}");
        assert_eq!(place.number("SELECT keys FROM portcullis_e1.clock").await, n, "{fault:?}");
        assert_eq!(place.open().await.verify_key(&key.text), Some(key.key), "{fault:?}");
    }
}
