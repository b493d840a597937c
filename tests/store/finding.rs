//! Which facts are found, in which order, and how many there are.

use super::{Place, delete, fact, found, insert, page, pattern, public};
use portcullis::store::postgres::{AskedRead, PgReader, PostgresStore};
use portcullis::store::{
    ArgPattern, Change, Fact, FactPattern, Lookup, Param, Relations, RowQuery, Stats, StoreError, Value, Work,
};

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

async fn stats(store: &PostgresStore) -> Stats {
    store.read_brief(AskedRead::default(), PgReader::stats).await.unwrap().0
}

#[tokio::test]
async fn texts_that_look_alike_are_different_facts() {
    let store = Place::new("alike").await.open().await;
    let of = |id: &str| Fact::new("p", vec![Value::new("T", id), Value::new("T", id)]);
    let facts: Vec<Fact> = ALIKE.iter().map(|id| of(id)).collect();
    let n_facts = facts.len() as u64;
    assert_eq!(store.apply_within(insert(facts.clone()), None).await.unwrap().0.inserted, n_facts);
    assert_eq!(store.apply_within(insert(facts.clone()), None).await.unwrap().0.inserted, 0);
    for fact in &facts {
        assert_eq!(found(&store, fact.into()).await, std::slice::from_ref(fact));
    }
    let mut all = found(&store, FactPattern::everything()).await;
    all.sort();
    let mut expected = facts.clone();
    expected.sort();
    assert_eq!(all, expected);
    for (n, fact) in (1..).zip(&facts) {
        assert_eq!(store.apply_within(delete(&[fact.into()]), None).await.unwrap().0.deleted, 1);
        assert_eq!(stats(&store).await.total, n_facts - n);
    }
}

#[tokio::test]
async fn values_of_every_type_are_in_order() {
    let store = Place::new("types").await.open().await;
    // Integers come first, as numbers; then texts by their bytes. A String may look like any of them.
    let values = [
        "Boolean:false",
        "Boolean:true",
        "Integer:-9223372036854775808",
        "Integer:-256",
        "Integer:-255",
        "Integer:-1",
        "Integer:0",
        "Integer:9",
        "Integer:10",
        "Integer:9223372036854775807",
        "String:-5",
        "String:10",
        "String:",
        "String: ",
        "String:1.5",
        "String:A",
        "String:a",
        "String:true",
        "String:é",
        "String:🦀",
    ];
    let facts: Vec<Fact> = values.iter().map(|value| fact("age", &["User:ada", value])).collect();
    store.apply_within(insert(facts.iter().rev().cloned()), None).await.unwrap();
    assert_eq!(found(&store, FactPattern::everything()).await, facts);
    let of = |ty: &str| facts.iter().filter(|fact| fact.args[1].ty == ty).cloned().collect::<Vec<_>>();
    for ty in ["Boolean", "Integer", "String", "Float"] {
        assert_eq!(found(&store, pattern("age", &["*", &format!("{ty}:*")])).await, of(ty), "{ty}");
    }
    // The same text is a different value under a different type.
    assert_eq!(found(&store, pattern("age", &["*", "String:10"])).await.len(), 1);
    assert_eq!(found(&store, pattern("age", &["*", "String:9"])).await, []);
    for limit in 0..=facts.len() + 1 {
        let page = page(&store, FactPattern::everything(), limit).await;
        assert_eq!(page.facts, facts[..limit.min(facts.len())], "limit {limit}");
        assert_eq!(page.more, limit < facts.len(), "limit {limit}");
    }
}

#[tokio::test]
async fn hostile_texts_come_back_as_they_were() {
    let long = "x".repeat(384);
    let ids = [
        "'; DROP TABLE facts; --",
        "\"",
        "''",
        "\\' OR 1=1 --",
        "$1",
        "?1",
        "\\x00",
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
    let store = Place::new("hostile").await.open().await;
    for id in ids {
        let hostile = Fact::new(id, vec![Value::new(id, id), Value::new("String", id)]);
        store.apply_within(insert([hostile.clone()]), None).await.unwrap();
        assert_eq!(found(&store, FactPattern::from(&hostile)).await, [hostile], "{id:.20}");
    }
    let n_facts = ids.len() as u64;
    assert_eq!(stats(&store).await.total, n_facts, "all of them differ");
    // An id may even contain what no text of PostgreSQL does.
    let nul = [public("a\0b"), public("\0")];
    store.apply_within(insert(nul.clone()), None).await.unwrap();
    assert_eq!(found(&store, FactPattern::from(&nul[0])).await, nul[..1]);
    for id in ids {
        let exact = ArgPattern::Exact(Value::new(id, id));
        let pattern = FactPattern::new(id, vec![exact, ArgPattern::Any]);
        assert_eq!(store.apply_within(delete(&[pattern]), None).await.unwrap().0.deleted, 1, "{id:.20}");
    }
    assert_eq!(stats(&store).await.total, 2);
}

#[tokio::test]
async fn wildcards_find_and_delete_by_type_value_and_position() {
    let store = Place::new("wildcards").await.open().await;
    // In the order of their relations and ids.
    let facts = [
        fact("has_role", &["Team:ada", "String:owner", "Repo:x"]),
        fact("has_role", &["User:ada", "String:owner"]),
        fact("has_role", &["User:ada", "String:owner", "Org:x"]),
        fact("has_role", &["User:ada", "String:owner", "Repo:x"]),
        fact("has_role", &["User:ada", "String:reader", "Repo:y"]),
        fact("has_role", &["User:bob", "String:owner", "Repo:x"]),
        fact("member", &["User:ada", "String:owner", "Repo:x"]),
    ];
    let cases: &[(&str, &[&str], &[usize])] = &[
        ("has_role", &["*", "*", "*"], &[0, 2, 3, 4, 5]),
        ("has_role", &["User:*", "*", "*"], &[2, 3, 4, 5]),
        ("has_role", &["User:ada", "*", "*"], &[2, 3, 4]),
        ("has_role", &["*", "String:owner", "*"], &[0, 2, 3, 5]),
        ("has_role", &["*", "*", "Repo:x"], &[0, 3, 5]),
        ("has_role", &["*", "*", "Repo:*"], &[0, 3, 4, 5]),
        ("has_role", &["User:ada", "*", "Repo:x"], &[3]),
        ("has_role", &["User:ada", "String:owner", "Repo:x"], &[3]),
        ("has_role", &["User:ada", "String:owner"], &[1]),
        ("has_role", &["Ghost:*", "*", "*"], &[]),
        ("nothing", &["*"], &[]),
    ];
    for (predicate, args, matched) in cases {
        store.apply_within(insert(facts.clone()), None).await.unwrap();
        assert_eq!(found(&store, FactPattern::everything()).await, facts);
        let pattern = pattern(predicate, args);
        let expected: Vec<Fact> = matched.iter().map(|idx| facts[*idx].clone()).collect();
        assert_eq!(found(&store, pattern.clone()).await, expected, "{predicate}{args:?}");
        let (applied, _) = store.apply_within(delete(&[pattern]), None).await.unwrap();
        assert_eq!(applied.deleted, matched.len() as u64, "{predicate}{args:?}");
        let kept: Vec<Fact> = facts.iter().filter(|fact| !expected.contains(fact)).cloned().collect();
        assert_eq!(found(&store, FactPattern::everything()).await, kept, "{predicate}{args:?}");
        assert_eq!(stats(&store).await.total, kept.len() as u64);
    }
}

#[tokio::test]
async fn a_pattern_may_leave_out_predicate_and_later_arguments() {
    let store = Place::new("open_patterns").await.open().await;
    let facts = [
        fact("a", &["User:1"]),
        fact("b", &["User:1", "Repo:1"]),
        fact("b", &["User:2", "Repo:1"]),
        fact("c", &["User:1", "String:r", "Repo:1"]),
    ];
    store.apply_within(insert(facts.clone()), None).await.unwrap();
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
        assert_eq!(found(&store, pattern.clone()).await, expected, "{pattern:?}");
    }
}

#[tokio::test]
async fn a_page_ends_inside_of_a_relation_and_between_two() {
    let store = Place::new("pages").await.open().await;
    let facts = ["p:1", "p:2", "p:3"].map(|id| fact("p", &[id]));
    let changes = [insert(facts), insert([fact("q", &["p:4"])])].concat();
    store.apply_within(changes, None).await.unwrap();
    for (limit, n, more) in [(0, 0, true), (1, 1, true), (3, 3, true), (4, 4, false), (9, 4, false)] {
        let page = page(&store, FactPattern::everything(), limit).await;
        assert_eq!((page.facts.len(), page.more), (n, more), "limit {limit}");
    }
    let page = page(&store, pattern("p", &["*"]), 3).await;
    assert_eq!((page.facts.len(), page.more), (3, false));
}

#[tokio::test]
async fn statistics_follow_every_change() {
    let store = Place::new("statistics").await.open().await;
    assert_eq!(stats(&store).await, Stats::default());
    let facts = (0..10).map(|n| fact("p", &[&format!("T:{n}")]));
    let changes = [insert(facts), insert([fact("q", &["T:1"]), fact("q", &["U:1"])])].concat();
    store.apply_within(changes, None).await.unwrap();
    let twice = delete(&[pattern("p", &["T:3"]), pattern("p", &["T:3"])]);
    store.apply_within(twice, None).await.unwrap();
    let found = stats(&store).await;
    assert_eq!((found.total, found.predicates), (11, vec![("p".into(), 9), ("q".into(), 2)]));
    let failing = [delete(&[pattern("p", &["*"])]), insert([Fact::new("r", Vec::new())])].concat();
    store.apply_within(failing, None).await.unwrap_err();
    assert_eq!(stats(&store).await.total, 11);
    store.apply_within(delete(&[pattern("q", &["*"])]), None).await.unwrap();
    assert_eq!(stats(&store).await.predicates, [("p".into(), 9)]);
}

#[tokio::test]
async fn rows_are_looked_up_and_the_first_ones_are_enough() {
    let store = Place::new("look_ups").await.open().await;
    let facts = (0..50).map(|n| fact("member", &[&format!("User:{n}"), &format!("Team:{}", n % 5)]));
    store.apply_within(insert(facts), None).await.unwrap();
    let schema = store.schema();
    let read = move |reader: &PgReader| {
        let look_up = |columns, most| reader.look_up(&Lookup { table: "f1", columns, most });
        assert_eq!(look_up(vec![("a0", Some("7")), ("a1", None)], 8)?, [["7", "2"]]);
        assert_eq!(look_up(vec![("a0", None), ("a1", Some("2"))], 99)?.len(), 10);
        assert_eq!(look_up(vec![("a0", None), ("a1", Some("2"))], 3)?.len(), 3);
        assert_eq!(look_up(vec![("a0", Some("7' OR true --")), ("a1", None)], 8)?.len(), 0);
        assert_eq!(look_up(vec![("a0", None), ("a1", None)], 99)?.len(), 50);
        let sql = format!("SELECT a0 FROM {schema}.f1 WHERE a1 = $1 ORDER BY a0");
        let (query, team) = (RowQuery { sql: &sql, n_columns: 1 }, [Param::Value("2".to_owned())]);
        for (most, n_first, more) in [(0, 0, true), (3, 3, true), (10, 10, false), (11, 10, false)] {
            let mut first = Vec::new();
            let is_more =
                reader.first_rows(query, &team, most, |row| first.extend(row[0].take().map(String::from)))?;
            let expected = (0..n_first).map(|n| (5 * n + 2).to_string());
            assert_eq!((first, is_more), (expected.collect(), more), "{most}");
        }
        reader.count(Work::Rows(usize::MAX))
    };
    let ((), clock) = store.read(AskedRead::default(), read).await.unwrap();
    assert_eq!(clock.unwrap().token.revision, 1);
}

/// Something that can be read.
type AnyRead = fn(&PgReader) -> Result<(), StoreError>;

/// Every read reports its moment, even if nothing is there.
#[tokio::test]
async fn everything_that_is_read_comes_with_a_clock() {
    let store = Place::new("clocks").await.open().await;
    let (_, token) = store.put_policy("one".into(), "a.polar".into()).await.unwrap();
    let reads: [AnyRead; 7] = [
        |reader| reader.stats().map(drop),
        |reader| reader.policy(None).map(drop),
        |reader| reader.policy(Some(99)).map(drop),
        |reader| reader.policy_versions().map(drop),
        |reader| reader.bytes().map(drop),
        |reader| reader.facts(&Relations::default(), &FactPattern::everything(), 9).map(drop),
        |reader| reader.confirm().map(drop),
    ];
    for (n, read) in reads.into_iter().enumerate() {
        let ((), clock) = store.read_brief(AskedRead::default(), read).await.unwrap();
        assert_eq!(clock.unwrap().token, token, "{n}");
    }
    let none: Vec<Change> = Vec::new();
    assert_eq!(store.apply_within(none, None).await.unwrap().1, token);
}
