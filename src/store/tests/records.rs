//! Policy versions and keys.

use super::*;
use crate::store::{Access, StoreError};

#[tokio::test]
async fn every_policy_version_is_kept_and_the_last_is_active() {
    let store = memory();
    assert_eq!(store.policy(None).await.unwrap(), None);
    let first = store.put_policy("one".into(), "a.polar".into()).await.unwrap().0;
    let second = store.put_policy("two".into(), String::new()).await.unwrap().0;
    assert!(second.id > first.id);
    let active = store.policy(None).await.unwrap().unwrap();
    assert_eq!((active.src.as_str(), &active.version), ("two", &second));
    let old = store.policy(Some(first.id)).await.unwrap().unwrap();
    assert_eq!(
        (old.src.as_str(), old.version.filename.as_str(), old.version.active),
        ("one", "a.polar", false)
    );
    for unknown in [0, 99, u64::MAX] {
        assert_eq!(store.policy(Some(unknown)).await.unwrap(), None);
    }
    let versions = store.policy_versions().await.unwrap();
    assert_eq!(
        versions.iter().map(|version| (version.id, version.active)).collect::<Vec<_>>(),
        [(first.id, false), (second.id, true)]
    );
}

#[tokio::test]
async fn clearing_removes_facts_and_policies_but_no_key() {
    let store = memory();
    store.apply(vec![insert(&[fact("p", &["T:a"]), fact("p", &["T:b", "T:c"])])]).await.unwrap();
    let policy = store.put_policy("one".into(), String::new()).await.unwrap().0;
    let key = store.create_key("main".into(), "mine".into(), Access::ReadWrite).await.unwrap();
    assert_eq!(store.clear().await.unwrap().deleted, 2);
    assert_eq!(all(&store).await, [""; 0]);
    assert_eq!(store.stats().await.unwrap(), crate::store::Stats::default());
    assert_eq!(store.policy(None).await.unwrap(), None);
    assert_eq!(store.policy_versions().await.unwrap(), []);
    assert!(store.find_key(&key.text).await.unwrap().is_some());
    let next = store.put_policy("two".into(), String::new()).await.unwrap().0;
    assert!(next.id > policy.id, "an id is never given twice");
}

#[tokio::test]
async fn a_key_opens_until_it_is_revoked() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let made = store.create_key("main".into(), "it's \"mine\"".into(), Access::ReadOnly).await.unwrap();
    let parts: Vec<&str> = made.text.split('_').collect();
    assert_eq!(parts[..3], ["e", "main", &made.key.id]);
    assert_eq!(parts[3].len(), 64);
    assert_eq!(store.find_key(&made.text).await.unwrap(), Some(made.key.clone()));
    drop(store);

    let stored = std::fs::read(dir.path().join("store.db")).unwrap();
    let contains = |needle: &str| stored.windows(needle.len()).any(|window| window == needle.as_bytes());
    assert!(contains(&made.key.id) && !contains(parts[3]), "only the hash is stored");

    let store = open(dir.path());
    assert_eq!(store.keys(), std::slice::from_ref(&made.key));
    assert_eq!(store.find_key(&made.text).await.unwrap().unwrap().access, Access::ReadOnly);
    assert!(store.revoke_key(made.key.id.clone()).await.unwrap());
    assert_eq!(store.find_key(&made.text).await.unwrap(), None);
    assert!(store.keys()[0].revoked);
    assert!(!store.revoke_key("'; DROP TABLE key; --".into()).await.unwrap());
}

#[tokio::test]
async fn a_key_that_differs_anywhere_is_refused() {
    let store = memory();
    let made = store.create_key("main".into(), "a".into(), Access::ReadWrite).await.unwrap();
    let other = store.create_key("main".into(), "b".into(), Access::ReadWrite).await.unwrap();
    let text = &made.text;
    let secret = text.rsplit('_').next().unwrap();
    let stolen_id = other.text.replace(other.text.rsplit('_').next().unwrap(), secret);
    for wrong in [
        "",
        "_",
        "___",
        "e_main",
        "e_0123456789_12345_osotesttoken01xiIn",
        text.strip_suffix(|_| true).unwrap(),
        &format!("{text}0"),
        &format!(" {text}"),
        &text.replace("e_main", "e_test"),
        &text.replace("e_", "f_"),
        &text.to_uppercase(),
        &stolen_id,
    ] {
        assert_eq!(store.find_key(wrong).await.unwrap(), None, "{wrong}");
    }
    assert!(!format!("{made:?}").contains(secret), "a key is not logged by accident");
}

#[tokio::test]
async fn an_environment_must_fit_into_a_key() {
    let store = memory();
    for environment in ["", "a_b", "a b", "ü", &"x".repeat(65)] {
        let error = store.create_key(environment.into(), "n".into(), Access::ReadWrite).await.unwrap_err();
        assert!(matches!(error, StoreError::EnvironmentName(_)), "{error}");
    }
    assert_eq!(store.keys(), []);
}
