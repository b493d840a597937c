//! Values keep their text, and facts their place.

use super::*;
use crate::store::signature::MAX_NAMES;

/// Texts that one of the forms could take for another.
const ALIKE: [&str; 16] = [
    "-9223372036854775808",
    "-9223372036854775809",
    "-0",
    "-7",
    "0",
    "+7",
    "07",
    "7",
    "7.0",
    " 7",
    "7e0",
    "9223372036854775807",
    "9223372036854775808",
    "01994a5e-8f2b-7c31-9d4e-5b6a7c8d9e0f",
    "01994A5E-8F2B-7C31-9D4E-5B6A7C8D9E0F",
    "\u{1}7",
];

#[tokio::test]
async fn texts_that_look_alike_are_different_facts() {
    let store = memory();
    let of = |id: &str| Fact::new("p", vec![Value::new("T", id), Value::new("T", id)]);
    let facts: Vec<Fact> = ALIKE.iter().map(|id| of(id)).collect();
    assert_eq!(store.apply(vec![insert(&facts)]).await.unwrap().inserted, facts.len() as u64);
    assert_eq!(store.apply(vec![insert(&facts)]).await.unwrap().inserted, 0, "all are there");
    for fact in &facts {
        assert_eq!(store.facts(fact.into(), 10).await.unwrap().facts, std::slice::from_ref(fact));
    }
    let mut found = store.facts(FactPattern::everything(), 100).await.unwrap().facts;
    found.sort();
    let mut expected = facts.clone();
    expected.sort();
    assert_eq!(found, expected);
    for (n, fact) in (1..).zip(&facts) {
        assert_eq!(store.apply(vec![delete(&[fact.into()])]).await.unwrap().deleted, 1);
        assert_eq!(store.stats().await.unwrap().total, facts.len() as u64 - n);
    }
}

#[tokio::test]
async fn a_relationship_has_a_table_for_its_name_until_there_are_too_many() {
    let store = memory();
    let of = |n: usize, to: &str| fact("has_relation", &["Doc:a", &format!("String:n{n:03}"), to]);
    let n_names = MAX_NAMES + 3;
    let facts: Vec<Fact> = (0..n_names).flat_map(|n| [of(n, "Doc:b"), of(n, "Doc:c")]).collect();
    for fact in &facts {
        store.apply(vec![insert(std::slice::from_ref(fact))]).await.unwrap();
    }
    assert_eq!(store.relations().relations.len(), MAX_NAMES + 1);
    let mut found = all(&store).await;
    found.sort();
    assert_eq!(found, shown(&facts));
    for n in [0, MAX_NAMES - 1, MAX_NAMES, n_names - 1] {
        let name = format!("String:n{n:03}");
        let both = pattern("has_relation", &["*", &name, "Doc:*"]);
        assert_eq!(self::found(&store, both.clone()).await, shown(&[of(n, "Doc:b"), of(n, "Doc:c")]));
        assert_eq!(store.apply(vec![insert(&[of(n, "Doc:b")])]).await.unwrap().inserted, 0);
        assert_eq!(store.apply(vec![delete(&[both])]).await.unwrap().deleted, 2);
    }
    let everything =
        store.apply(vec![delete(&[pattern("has_relation", &["Doc:a", "*", "*"])])]).await.unwrap();
    assert_eq!(everything.deleted, 2 * (n_names as u64 - 4));
    assert_eq!(store.stats().await.unwrap().total, 0);
}
