//! Keys, and how nodes learn of a change.

use super::{ENVIRONMENT, Place, SERVER, options, until};
use portcullis::store::postgres::{Address, AskedRead, PgReader, PostgresStore, migrate};
use portcullis::store::{Access, StoreError};

#[tokio::test]
async fn a_key_opens_until_it_is_revoked() {
    let place = Place::new("keys").await;
    let store = place.open().await;
    let made = store.create_key("it's \"mine\"".into(), Access::ReadOnly).await.unwrap();
    let parts: Vec<&str> = made.text.split('_').collect();
    assert_eq!(parts[..3], ["e", ENVIRONMENT, &made.key.id]);
    assert_eq!(parts[3].len(), 64);
    assert_eq!(store.verify_key(&made.text), Some(made.key.clone()));
    drop(store);
    // Only the hash is stored.
    let secret = format!("SELECT count(*) FROM portcullis_e1.key k WHERE k::text LIKE '%{}%'", parts[3]);
    assert_eq!(place.number(&secret).await, 0);

    let store = place.open().await;
    assert_eq!(store.keys(), std::slice::from_ref(&made.key));
    assert_eq!(store.verify_key(&made.text).unwrap().access, Access::ReadOnly);
    let before = store.latest().revision;
    assert!(store.revoke_key(made.key.id.clone()).await.unwrap());
    assert_eq!(store.verify_key(&made.text), None);
    assert!(store.keys()[0].revoked);
    assert_eq!((store.keys_generation(), store.latest().revision), (2, before + 1));
    assert!(!store.revoke_key("'; DROP TABLE key; --".into()).await.unwrap());
    assert_eq!((store.keys_generation(), store.latest().revision), (2, before + 1), "nothing changed");
}

#[tokio::test]
async fn a_key_that_differs_anywhere_is_refused() {
    let store = Place::new("wrong_keys").await.open().await;
    let made = store.create_key("a".into(), Access::ReadWrite).await.unwrap();
    let other = store.create_key("b".into(), Access::ReadWrite).await.unwrap();
    let text = &made.text;
    let secret = text.rsplit('_').next().unwrap();
    let stolen_id = other.text.replace(other.text.rsplit('_').next().unwrap(), secret);
    for wrong in [
        "",
        "_",
        "___",
        "e_tested",
        "e_0123456789_12345_osotesttoken01xiIn",
        text.strip_suffix(|_| true).unwrap(),
        &format!("{text}0"),
        &format!(" {text}"),
        &text.replace("e_tested", "e_other"),
        &text.replace("e_", "f_"),
        &text.to_uppercase(),
        &stolen_id,
    ] {
        assert_eq!(store.verify_key(wrong), None, "{wrong}");
    }
    let names: Vec<String> = store.keys().into_iter().map(|key| key.name).collect();
    assert_eq!(names.len(), 2);
    assert!(names.contains(&"a".to_owned()) && names.contains(&"b".to_owned()));
}

#[tokio::test]
async fn an_environment_must_fit_into_a_key() {
    let place = Place::new("key_names").await;
    let url = SERVER.url(&place.database);
    let address = Address::parse(&url).unwrap();
    migrate(&address, "a b").await.unwrap();
    let store = PostgresStore::open(&address.into(), "a b", &options()).await.unwrap();
    let error = store.create_key("n".into(), Access::ReadWrite).await.unwrap_err();
    assert!(matches!(error, StoreError::EnvironmentName(_)), "{error}");
    assert_eq!((store.keys(), store.environment()), (Vec::new(), "a b"));
    // Environments have keys of their own.
    let other = place.open().await;
    let key = other.create_key("n".into(), Access::ReadWrite).await.unwrap();
    store.refresh().await.unwrap();
    assert_eq!(store.verify_key(&key.text), None);
}

#[tokio::test]
async fn a_key_that_another_node_revoked_is_known_by_the_clock() {
    let place = Place::new("two_nodes").await;
    let (here, there) = (place.open().await, place.open().await);
    let key = there.create_key("mine".into(), Access::ReadWrite).await.unwrap();
    assert_eq!(here.verify_key(&key.text), None, "it has not heard of it");
    let clock = async || here.read_brief(AskedRead::default(), PgReader::confirm).await.unwrap().0;
    for is_good in [true, false] {
        assert_ne!(clock().await.keys, here.keys_generation());
        here.refresh().await.unwrap();
        assert_eq!(clock().await.keys, here.keys_generation());
        assert_eq!(here.verify_key(&key.text).is_some(), is_good);
        if is_good {
            assert!(there.revoke_key(key.key.id.clone()).await.unwrap());
            assert_eq!(there.verify_key(&key.text), None, "at once where it was revoked");
        }
    }
    assert_eq!(here.keys(), there.keys());
    // A change of its own brings those of others with it.
    let second = there.create_key("second".into(), Access::ReadOnly).await.unwrap();
    here.create_key("third".into(), Access::ReadOnly).await.unwrap();
    assert!(here.verify_key(&second.text).is_some());
    assert_eq!((here.keys().len(), here.keys_generation()), (3, 4));
}

#[tokio::test]
async fn last_uses_are_saved_when_the_writer_is_idle_and_when_it_ends() {
    let place = Place::new("uses").await;
    let store = place.open().await;
    let create = async |name: &str| store.create_key(name.into(), Access::ReadOnly).await.unwrap();
    let (first, second, unused) = (create("first").await, create("second").await, create("unused").await);
    assert_eq!(store.key_last_used(&first.key.id), None);
    store.verify_key(&first.text).unwrap();
    let used = store.key_last_used(&first.key.id).unwrap();
    let n_uses = "SELECT count(*) FROM portcullis_e1.key_use";
    until(&place, n_uses, 1).await;
    // A use within the hour is not saved again.
    place.admin.batch_execute("UPDATE portcullis_e1.key_use SET used = 5").await.unwrap();
    store.verify_key(&first.text).unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    assert_eq!(place.number("SELECT used FROM portcullis_e1.key_use").await, 5);
    store.verify_key(&second.text).unwrap();
    let offset = store.latest().revision;
    drop(store);
    assert_eq!(place.number(n_uses).await, 2);
    let store = place.open().await;
    assert_eq!(store.key_last_used(&first.key.id), Some(5));
    assert!(store.key_last_used(&second.key.id).unwrap() >= used);
    assert_eq!(store.key_last_used(&unused.key.id), None);
    assert_eq!(store.latest().revision, offset, "a use is not a write");
}
