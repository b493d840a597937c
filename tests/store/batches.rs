//! What a batch changes, and what it counts.

use super::{ENVIRONMENT, Place, facts, found, insert, is_public, pattern, public, relation, until};
use portcullis::store::postgres::{Address, AskedRead, FORMAT, PgReader, PostgresStore};
use portcullis::store::{Access, ArgPattern, Change, DatabaseError, Fact, FactPattern, StoreError, Value};
use std::collections::BTreeSet;

/// Ids of every form, in their order: numbers, then marked texts, UUIDs and all others.
const IDS: [&str; 10] = [
    "-9223372036854775808",
    "-7",
    "0",
    "7",
    "256",
    "\u{1}x",
    "01994a5e-8f2b-7c31-9d4e-5b6a7c8d9e0f",
    "007",
    "it's",
    "é",
];

#[tokio::test]
async fn ids_of_every_form_are_stored_and_found_in_order() {
    let store = Place::new("forms").await.open().await;
    let (applied, _) = store.apply_within(insert(IDS.into_iter().rev().map(public)), None).await.unwrap();
    assert_eq!((applied.offset, applied.inserted, applied.deleted), (1, 10, 0));
    let expected: Vec<String> = IDS.iter().map(|id| format!("is_public({id})")).collect();
    assert_eq!(facts(&store, AskedRead::default()).await.unwrap(), expected);
}

#[tokio::test]
async fn a_batch_is_applied_in_order_and_counts_what_it_changed() {
    let place = Place::new("counts").await;
    let store = place.open().await;
    let both =
        vec![relation("1", "repository", "a"), relation("1", "parent", "a"), relation("1", "parent", "a")];
    let (applied, first) = store.apply_within(insert(both.clone()), None).await.unwrap();
    assert_eq!((applied.offset, applied.inserted, applied.deleted), (1, 2, 0));
    // What is there already changes nothing.
    let (applied, again) = store.apply_within(insert(both), None).await.unwrap();
    assert_eq!((applied.offset, applied.inserted, applied.deleted), (1, 0, 0));
    assert_eq!(again, first);
    let of_issue = vec![ArgPattern::Exact(Value::new("Issue", "1")), ArgPattern::Any, ArgPattern::Any];
    let changes = vec![
        Change::Insert(vec![relation("1", "owner", "b"), relation("2", "parent", "a")]),
        Change::Delete(vec![FactPattern::new("has_relation", of_issue)]),
        Change::Insert(vec![relation("1", "parent", "c")]),
    ];
    let (applied, last) = store.apply_within(changes, None).await.unwrap();
    assert_eq!((applied.offset, applied.inserted, applied.deleted), (2, 3, 3));
    assert_ne!(last.nonce, first.nonce);
    let found = facts(&store, AskedRead::default()).await.unwrap();
    assert_eq!(found, ["has_relation(1, c)", "has_relation(2, a)"]);
    assert_eq!(place.number("SELECT sum(facts)::bigint FROM portcullis_e1.relation").await, 2);
    assert_eq!(store.relations().generation, 3);
}

#[tokio::test]
async fn a_writer_that_a_migration_leaves_behind_changes_nothing() {
    let place = Place::new("left_behind").await;
    let store = place.open().await;
    let key = store.create_key("mine".into(), Access::ReadOnly).await.unwrap();
    store.apply_within(insert([public("1")]), None).await.unwrap();
    store.put_policy("one".into(), String::new()).await.unwrap();
    let all = async || {
        let counts = ["revision", "policy", "f1", "key WHERE NOT revoked", "key_use", "relation"];
        let counts = counts.map(|of| format!("(SELECT count(*) FROM portcullis_e1.{of})"));
        let clock = "(SELECT revision FROM portcullis_e1.clock)";
        let all = format!("SELECT ARRAY[{}, {clock}]", counts.join(", "));
        place.admin.query_one(&all, &[]).await.unwrap().get::<_, Vec<i64>>(0)
    };
    let before = all().await;
    assert_eq!(before, [4, 1, 1, 1, 0, 1, 3]);
    let min_reader = async |least: i32| {
        let note = format!("UPDATE portcullis_e1.clock SET min_reader = {least}");
        place.admin.batch_execute(&note).await.unwrap();
    };
    min_reader(FORMAT + 1).await;
    store.verify_key(&key.text).unwrap();
    let refused = [
        store.apply_within(insert([public("2")]), None).await.map(drop),
        store.apply_within(insert([relation("1", "parent", "2")]), None).await.map(drop),
        store.clear().await.map(drop),
        store.put_policy("two".into(), String::new()).await.map(drop),
        store.create_key("other".into(), Access::ReadOnly).await.map(drop),
        store.revoke_key(key.key.id.clone()).await.map(drop),
    ];
    for refused in refused {
        let is_outdated = |error: &StoreError| {
            matches!(error, StoreError::Database(DatabaseError::Outdated { needed, .. })
                if *needed == i64::from(FORMAT) + 1)
        };
        assert!(refused.as_ref().is_err_and(is_outdated), "{refused:?}");
    }
    // An idle writer saves when keys were used.
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    assert_eq!(all().await, before);
    min_reader(FORMAT).await;
    store.apply_within(insert([public("2")]), None).await.unwrap();
}

#[tokio::test]
async fn a_deletion_that_reaches_too_far_undoes_its_batch_only() {
    let store = Place::new("reach").await.open().await;
    store.apply_within(insert(["1", "2", "3"].map(public)), None).await.unwrap();
    let everything = vec![Change::Delete(vec![FactPattern::everything()])];
    let changes = [insert([relation("1", "parent", "a")]), everything.clone()].concat();
    let (refused, applied) =
        tokio::join!(store.apply_within(changes, Some(2)), store.apply_within(insert([public("4")]), None));
    assert!(matches!(refused, Err(StoreError::Reach { matched: 3 | 4, allowed: 2 })), "{refused:?}");
    assert_eq!(applied.unwrap().0.inserted, 1);
    assert_eq!(facts(&store, AskedRead::default()).await.unwrap().len(), 4);
    let (applied, _) = store.apply_within(everything, Some(4)).await.unwrap();
    assert_eq!((applied.offset, applied.deleted), (3, 4));
    let nothing = store.apply_within(insert([Fact::new("p", Vec::new())]), None).await;
    assert!(matches!(nothing, Err(StoreError::NoArguments(_))), "{nothing:?}");
}

#[tokio::test]
async fn names_beyond_the_first_share_a_table() {
    let place = Place::new("names").await;
    let store = place.open().await;
    let named = |n: usize| relation("1", &format!("name_{n:02}"), "a");
    for n in 0..20 {
        store.apply_within(insert([named(n)]), None).await.unwrap();
    }
    assert_eq!(place.number("SELECT count(*) FROM portcullis_e1.relation").await, 17);
    let (applied, _) = store.apply_within(insert((0..20).map(named)), None).await.unwrap();
    assert_eq!(applied.inserted, 0);
    let found = facts(&store, AskedRead::default()).await.unwrap();
    assert!(found.contains(&"has_relation(1, name_19, a)".to_owned()), "{found:?}");
}

#[tokio::test]
async fn what_is_cleared_is_gone_and_its_table_is_still_read_for_a_while() {
    let place = Place::new("cleared").await;
    let store = place.open().await;
    store.apply_within(insert([public("7"), public("9")]), None).await.unwrap();
    let (before, schema) = (store.relations(), store.schema());
    let (applied, token) = store.clear().await.unwrap();
    assert_eq!((applied.offset, applied.deleted, token.revision), (2, 2, 2));
    assert_eq!(store.relations().relations, []);
    assert!(store.relations().generation > before.generation);
    // A question that knows the former relations reads their facts, and its clock says so.
    let read = move |reader: &PgReader| is_public(&schema, reader, "7");
    let (found, clock) = store.read(AskedRead::default(), read).await.unwrap();
    assert!(found);
    assert_ne!(clock.unwrap().catalog, i64::try_from(before.generation).unwrap());
    // New facts are in new tables.
    store.apply_within(insert([public("8")]), None).await.unwrap();
    assert_eq!(facts(&store, AskedRead::default()).await.unwrap(), ["is_public(8)"]);
    place
        .admin
        .batch_execute("UPDATE portcullis_e1.retired SET at = now() - interval '1 day'")
        .await
        .unwrap();
    for n in 0..128 {
        store.apply_within(insert([public(&n.to_string())]), None).await.unwrap();
    }
    let tables =
        "SELECT count(*) FROM pg_tables WHERE schemaname = 'portcullis_e1' AND tablename ~ '^f[0-9]+$'";
    assert_eq!(place.number(tables).await, 1);
    assert_eq!(place.number("SELECT count(*) FROM portcullis_e1.retired").await, 0);
}

/// Three nodes write at the same time: every batch gets a revision of its own, and none is lost.
#[tokio::test(flavor = "multi_thread")]
async fn batches_of_several_nodes_are_one_sequence() {
    let place = Place::new("nodes").await;
    let mut writes = tokio::task::JoinSet::new();
    for node in 0..3 {
        let store = std::sync::Arc::new(place.open().await);
        for n in 0..20 {
            let store = std::sync::Arc::clone(&store);
            writes.spawn(async move {
                let fact = relation(&format!("{node}-{n}"), &format!("name_{}", n % 5), "a");
                store.apply_within(insert([fact]), None).await.unwrap().1.revision
            });
        }
    }
    let revisions: BTreeSet<u64> = writes.join_all().await.into_iter().collect();
    assert_eq!(revisions, (1..=60).collect());
    let store = place.open().await;
    assert_eq!(facts(&store, AskedRead::default()).await.unwrap().len(), 60);
    assert_eq!(place.number("SELECT sum(facts)::bigint FROM portcullis_e1.relation").await, 60);
    assert_eq!(place.number("SELECT count(*) FROM portcullis_e1.revision").await, 61);
}

#[tokio::test]
async fn an_environment_that_is_not_there_is_refused() {
    let place = Place::new("environments").await;
    let url = super::SERVER.url(&place.database);
    let address = Address::parse(&url).unwrap();
    let missing =
        PostgresStore::open(&address.clone().into(), "elsewhere", &super::options()).await.unwrap_err();
    assert_eq!(missing.to_string(), "the store has no environment `elsewhere`: check its name");
    place.admin.batch_execute("UPDATE portcullis.meta SET min_reader = 9, format = 9").await.unwrap();
    let newer =
        PostgresStore::open(&address.clone().into(), ENVIRONMENT, &super::options()).await.unwrap_err();
    assert!(matches!(newer, StoreError::Database(DatabaseError::NewerSchema { found: 9, .. })), "{newer}");
}

/// Autovacuum is off in the tests.
#[tokio::test]
async fn after_a_large_batch_the_server_analyses_and_vacuums_the_tables() {
    let place = Place::new("analysed").await;
    let store = place.open().await;
    let known = "SELECT count(DISTINCT tablename) FROM pg_stats WHERE schemaname = 'portcullis_e1'
        AND tablename LIKE 'f%'";
    store.apply_within(insert([public("1")]), None).await.unwrap();
    let many = insert((0..12_000).map(|n| relation(&n.to_string(), "parent", "a")));
    store.apply_within(many, None).await.unwrap();
    until(&place, known, 1).await;
    // An index alone is enough to read these facts.
    let unmarked = "SELECT count(*) FROM pg_class WHERE oid = 'portcullis_e1.f2'::regclass
        AND relallvisible < relpages";
    until(&place, unmarked, 0).await;
    // So few are not enough.
    let few = insert((0..400).map(|n| public(&n.to_string())));
    store.apply_within(few, None).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    assert_eq!(place.number(known).await, 1);
    let more = insert((400..600).map(|n| public(&n.to_string())));
    store.apply_within(more, None).await.unwrap();
    until(&place, known, 2).await;
}

#[tokio::test]
async fn many_facts_are_copied_and_each_is_stored_once() {
    let place = Place::new("copied").await;
    let store = place.open().await;
    let facts = |of: std::ops::Range<usize>| of.map(|n| relation(&format!("{n:05}"), "parent", "a"));
    let twice = insert(facts(0..2_500).chain(facts(1_000..2_000)));
    assert_eq!(store.apply_within(twice, None).await.unwrap().0.inserted, 2_500);
    // With this rule INSERT adds nothing, and COPY still does.
    let rule = "CREATE RULE copied AS ON INSERT TO portcullis_e1.f1 DO INSTEAD NOTHING";
    place.admin.batch_execute(rule).await.unwrap();
    assert_eq!(store.apply_within(insert(facts(3_000..5_500)), None).await.unwrap().0.inserted, 2_500);
    assert_eq!(store.apply_within(insert(facts(5_500..5_600)), None).await.unwrap().0.inserted, 0);
    place.admin.batch_execute("DROP RULE copied ON portcullis_e1.f1").await.unwrap();
    // One is there already, and is none of the few that are looked up before.
    store.apply_within(insert(facts(7_000..7_001)), None).await.unwrap();
    let around = store.apply_within(insert(facts(6_000..8_500)), None).await.unwrap().0;
    assert_eq!(around.inserted, 2_499);
    // All are there.
    assert_eq!(store.apply_within(insert(facts(6_000..8_500)), None).await.unwrap().0.inserted, 0);
    assert_eq!(place.number("SELECT count(*) FROM portcullis_e1.f1").await, 7_500);
    assert_eq!(place.number("SELECT facts FROM portcullis_e1.relation").await, 7_500);
}

#[tokio::test]
async fn copied_facts_are_those_that_came_in_whatever_order_they_came() {
    let store = Place::new("ordered").await.open().await;
    let far = |n: usize| (n * 7_919 % 3_000).to_string();
    let by_first = (0..3_000).map(|n| relation(&n.to_string(), "parent", &far(n)));
    let by_last = (0..3_000).map(|n| relation(&far(n), "owner", &n.to_string()));
    let roles = (0..3_000).map(|n| {
        let args = [("User", far(n)), ("String", (n % 3).to_string()), ("Repository", (n / 7).to_string())];
        Fact::new("has_role", args.map(|(ty, id)| Value::new(ty, &id)).to_vec())
    });
    let all: Vec<Fact> = by_first.chain(by_last).chain(roles).collect();
    // Every third of them twice.
    let twice = insert(all.iter().chain(all.iter().step_by(3)).cloned());
    assert_eq!(store.apply_within(twice, None).await.unwrap().0.inserted, 9_000);
    let text = |fact: &Fact| {
        let ids = fact.args.iter().enumerate().filter(|(at, _)| fact.predicate == "has_role" || *at != 1);
        let ids: Vec<&str> = ids.map(|(_, arg)| arg.id.as_str()).collect();
        format!("{}({})", fact.predicate, ids.join(", "))
    };
    let mut came: Vec<String> = all.iter().map(text).collect();
    let mut read = facts(&store, AskedRead::default()).await.unwrap();
    came.sort_unstable();
    read.sort_unstable();
    assert!(read == came, "{} facts are stored", read.len());
}

#[tokio::test]
async fn long_ids_stay_in_their_row_and_longer_ones_are_refused() {
    let place = Place::new("long_ids").await;
    let store = place.open().await;
    let long = |of: char, n: usize| of.to_string().repeat(n);
    let kept = relation(&long('x', 1_300), "parent", &long('y', 1_300));
    store.apply_within(insert([kept.clone()]), None).await.unwrap();
    assert_eq!(found(&store, pattern("has_relation", &["*", "*", "*"])).await, [kept]);
    let elsewhere =
        "SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = 'portcullis_e1.f1'::regclass";
    assert_eq!(place.number(elsewhere).await, 0);
    // One by one, and copied.
    for n_others in [1, 3_000] {
        let others = (0..n_others).map(|n| relation(&n.to_string(), "parent", "a"));
        let longer = relation(&long('x', 1_400), "parent", &long('y', 1_400));
        let refused = store.apply_within(insert(others.chain([longer])), None).await.unwrap_err();
        assert!(matches!(refused, StoreError::LongIds(_)), "{refused}");
        let text = refused.to_string();
        assert!(text.contains("use ids of at most 2,600 bytes together") && !text.contains("xxx"), "{text}");
        assert_eq!(place.number("SELECT count(*) FROM portcullis_e1.f1").await, 1);
    }
}
