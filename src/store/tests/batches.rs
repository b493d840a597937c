//! Inserting, deleting and finding facts.

use super::*;
use crate::store::StoreError;

#[tokio::test]
async fn inserting_a_stored_fact_changes_nothing() {
    let store = memory();
    let ada = fact("has_role", &["User:ada", "String:owner", "Repo:x"]);
    let first = store.apply(vec![insert(&[ada.clone(), ada.clone()])]).await.unwrap();
    assert_eq!((first.inserted, first.offset), (1, 1));
    let second = store.apply(vec![insert(&[ada])]).await.unwrap();
    assert_eq!((second.inserted, second.offset), (0, 1), "nothing changed, so nothing was counted");
    assert_eq!(all(&store).await, ["has_role(User:ada, String:owner, Repo:x)"]);
}

#[tokio::test]
async fn changes_apply_in_their_order() {
    let store = memory();
    let (a, b) = (fact("p", &["T:a"]), fact("p", &["T:b"]));
    let exact = |fact: &Fact| FactPattern::from(fact);
    let applied = store
        .apply(vec![
            insert(&[a.clone(), b.clone()]),
            delete(&[exact(&a), exact(&b)]),
            insert(std::slice::from_ref(&b)),
            delete(&[pattern("p", &["T:c"])]),
        ])
        .await
        .unwrap();
    assert_eq!((applied.inserted, applied.deleted), (3, 2));
    assert_eq!(all(&store).await, ["p(T:b)"]);
}

#[tokio::test]
async fn a_batch_with_an_error_changes_nothing() {
    let store = memory();
    store.apply(vec![insert(&[fact("p", &["T:kept"])])]).await.unwrap();
    let before = store.relations();
    let bad = Fact::new("q", vec![]);
    let error = store
        .apply(vec![delete(&[pattern("p", &["*"])]), insert(&[fact("new", &["T:a", "T:b"])]), insert(&[bad])])
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::NoArguments(_)), "{error}");
    assert_eq!(all(&store).await, ["p(T:kept)"]);
    assert_eq!(store.relations(), before, "no table of the failed batch is seen");
    assert_eq!(store.stats().await.unwrap().total, 1);
    // The number that the failed batch used is free again, its signature can still be stored.
    store.apply(vec![insert(&[fact("new", &["T:a", "T:b"])])]).await.unwrap();
    assert_eq!(all(&store).await, ["new(T:a, T:b)", "p(T:kept)"]);
}

#[tokio::test]
async fn a_failing_batch_spares_those_that_share_its_commit() {
    let store = memory();
    let writes = (0..200).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut facts = vec![fact(&format!("p{}", n % 7), &[&format!("T:{n}")])];
            if n % 3 == 0 {
                facts.push(Fact::new("bad", vec![]));
            }
            store.apply(vec![insert(&facts)]).await
        })
    });
    let mut n_stored = 0;
    for write in writes.collect::<Vec<_>>() {
        n_stored += u64::from(write.await.unwrap().is_ok());
    }
    assert_eq!(n_stored, 133);
    assert_eq!(store.stats().await.unwrap().total, 133);
    assert_eq!(store.relations().relations.len(), 7);
    assert_eq!(all(&store).await.len(), 133);
}

#[tokio::test]
async fn wildcards_delete_by_type_value_and_position() {
    let facts = [
        fact("has_role", &["User:ada", "String:owner", "Repo:x"]),
        fact("has_role", &["User:ada", "String:reader", "Repo:y"]),
        fact("has_role", &["User:bob", "String:owner", "Repo:x"]),
        fact("has_role", &["Team:ada", "String:owner", "Repo:x"]),
        fact("has_role", &["User:ada", "String:owner", "Org:x"]),
        fact("has_role", &["User:ada", "String:owner"]),
        fact("member", &["User:ada", "String:owner", "Repo:x"]),
    ];
    let cases: &[(&str, &[&str], &[usize])] = &[
        ("has_role", &["*", "*", "*"], &[5, 6]),
        ("has_role", &["User:*", "*", "*"], &[3, 5, 6]),
        ("has_role", &["User:ada", "*", "*"], &[2, 3, 5, 6]),
        ("has_role", &["*", "String:owner", "*"], &[1, 5, 6]),
        ("has_role", &["*", "*", "Repo:x"], &[1, 4, 5, 6]),
        ("has_role", &["*", "*", "Repo:*"], &[4, 5, 6]),
        ("has_role", &["User:ada", "*", "Repo:x"], &[1, 2, 3, 4, 5, 6]),
        ("has_role", &["User:ada", "String:owner", "Repo:x"], &[1, 2, 3, 4, 5, 6]),
        ("has_role", &["User:ada", "String:owner"], &[0, 1, 2, 3, 4, 6]),
        ("has_role", &["Ghost:*", "*", "*"], &[0, 1, 2, 3, 4, 5, 6]),
        ("nothing", &["*"], &[0, 1, 2, 3, 4, 5, 6]),
    ];
    for (predicate, args, kept) in cases {
        let store = memory();
        store.apply(vec![insert(&facts)]).await.unwrap();
        let applied = store.apply(vec![delete(&[pattern(predicate, args)])]).await.unwrap();
        let mut expected: Vec<Fact> = kept.iter().map(|idx| facts[*idx].clone()).collect();
        expected.sort_by(|a, b| {
            let key = |fact: &Fact| {
                let types: Vec<String> = fact.types().map(String::from).collect();
                (fact.predicate.clone(), types, fact.clone())
            };
            key(a).cmp(&key(b))
        });
        assert_eq!(all(&store).await, shown(&expected), "{predicate}{args:?}");
        assert_eq!(applied.deleted, (facts.len() - kept.len()) as u64, "{predicate}{args:?}");
        assert_eq!(store.stats().await.unwrap().total, kept.len() as u64);
    }
}

#[tokio::test]
async fn a_lookup_may_leave_out_predicate_and_later_arguments() {
    let store = memory();
    let facts = [
        fact("a", &["User:1"]),
        fact("b", &["User:1", "Repo:1"]),
        fact("b", &["User:2", "Repo:1"]),
        fact("c", &["User:1", "String:r", "Repo:1"]),
    ];
    store.apply(vec![insert(&facts)]).await.unwrap();
    let open = |predicate: Option<&str>, args: &[&str]| FactPattern {
        predicate: predicate.map(String::from),
        open_arity: true,
        ..pattern("", args)
    };
    let closed_any = FactPattern { predicate: None, ..pattern("", &["User:1"]) };
    for (pattern, expected) in [
        (FactPattern::everything(), vec![0, 1, 2, 3]),
        (open(Some("b"), &[]), vec![1, 2]),
        (open(None, &["User:1"]), vec![0, 1, 3]),
        (open(None, &["User:1", "*"]), vec![1, 3]),
        (open(None, &["*", "Repo:*"]), vec![1, 2]),
        (open(Some("c"), &["*", "*", "Repo:1"]), vec![3]),
        (open(Some("c"), &["*", "*", "*", "*"]), vec![]),
        (closed_any, vec![0]),
    ] {
        let expected: Vec<Fact> = expected.into_iter().map(|idx: usize| facts[idx].clone()).collect();
        assert_eq!(found(&store, pattern.clone()).await, shown(&expected), "{pattern:?}");
    }
}

#[tokio::test]
async fn a_lookup_says_when_it_was_cut() {
    let store = memory();
    let facts = ["p:1", "p:2", "p:3"].map(|id| fact("p", &[id])).to_vec();
    store.apply(vec![insert(&facts), insert(&[fact("q", &["p:4"])])]).await.unwrap();
    for (limit, n, more) in [(0, 0, true), (1, 1, true), (3, 3, true), (4, 4, false), (9, 4, false)] {
        let page = store.facts(FactPattern::everything(), limit).await.unwrap();
        assert_eq!((page.facts.len(), page.more), (n, more), "limit {limit}");
    }
    let page = store.facts(pattern("p", &["*"]), 3).await.unwrap();
    assert_eq!((page.facts.len(), page.more), (3, false));
}

#[tokio::test]
async fn hostile_texts_come_back_as_they_were() {
    let long = "x".repeat(100_000);
    let ids = [
        "'; DROP TABLE facts; --",
        "\"",
        "''",
        "\\' OR 1=1 --",
        "?1",
        "a\0b",
        "",
        " ",
        "Ünïcödé 🦀 \u{202e}",
        "\u{0301}e",
        "é",
        "e\u{0301}",
        "A",
        "a",
        "7",
        "007",
        "NULL",
        "%",
        &long,
    ];
    let store = memory();
    for id in ids {
        let hostile = Fact::new(id, vec![Value::new(id, id), Value::new("String", id)]);
        store.apply(vec![insert(std::slice::from_ref(&hostile))]).await.unwrap();
        let page = store.facts(FactPattern::from(&hostile), 10).await.unwrap();
        assert_eq!(page.facts, [hostile], "{id:.20}");
    }
    assert_eq!(store.stats().await.unwrap().total, ids.len() as u64, "all of them differ");
    for id in ids {
        let exact = ArgPattern::Exact(Value::new(id, id));
        let applied =
            store.apply(vec![delete(&[FactPattern::new(id, vec![exact, ArgPattern::Any])])]).await.unwrap();
        assert_eq!(applied.deleted, 1, "{id:.20}");
    }
    assert_eq!(store.stats().await.unwrap().total, 0);
}

#[tokio::test]
async fn statistics_follow_every_change() {
    let store = memory();
    let facts: Vec<Fact> = (0..10).map(|n| fact("p", &[&format!("T:{n}")])).collect();
    store.apply(vec![insert(&facts), insert(&[fact("q", &["T:1"]), fact("q", &["U:1"])])]).await.unwrap();
    store.apply(vec![delete(&[pattern("p", &["T:3"]), pattern("p", &["T:3"])])]).await.unwrap();
    let stats = store.stats().await.unwrap();
    assert_eq!(stats.total, 11);
    assert_eq!(stats.predicates, [("p".into(), 9), ("q".into(), 2)]);
    store.apply(vec![delete(&[pattern("q", &["*"])])]).await.unwrap();
    assert_eq!(store.stats().await.unwrap().predicates, [("p".into(), 9)]);
}

#[tokio::test]
async fn an_empty_batch_is_no_change() {
    let store = memory();
    let applied = store.apply(vec![]).await.unwrap();
    assert_eq!((applied.offset, applied.inserted, applied.deleted), (0, 0, 0));
}
