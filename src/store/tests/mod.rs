//! What a store promises, from the outside.

mod batches;
mod consistent_reads;
mod long_queue;
mod reading;
mod records;
mod values;

use super::{ArgPattern, Change, Fact, FactPattern, RowQuery, Store, StoreError, StoreOptions, Value};
use std::path::Path;
use std::time::Duration;

pub(super) fn options() -> StoreOptions {
    StoreOptions { readers: 2, query_time: Duration::from_secs(5), ..StoreOptions::default() }
}

pub(super) fn memory() -> Store {
    Store::in_memory(&options()).unwrap()
}

pub(super) fn open(dir: &Path) -> Store {
    Store::open(dir, &options()).unwrap()
}

/// `fact("has_role", &["User:ada", "String:owner"])`
pub(super) fn fact(predicate: &str, args: &[&str]) -> Fact {
    let value = |arg: &&str| arg.split_once(':').map(|(ty, id)| Value::new(ty, id)).unwrap();
    Fact::new(predicate, args.iter().map(value).collect())
}

/// A statement for the embedded store, which counts the columns itself.
pub(super) fn query(sql: &str) -> RowQuery<'_> {
    RowQuery { sql, n_columns: 0 }
}

/// As [`fact`]; `*` is any value, `User:*` any user.
pub(super) fn pattern(predicate: &str, args: &[&str]) -> FactPattern {
    let arg = |arg: &&str| match arg.split_once(':') {
        None => ArgPattern::Any,
        Some((ty, "*")) => ArgPattern::Typed(ty.into()),
        Some((ty, id)) => ArgPattern::Exact(Value::new(ty, id)),
    };
    FactPattern::new(predicate, args.iter().map(arg).collect())
}

pub(super) fn insert(facts: &[Fact]) -> Change {
    Change::Insert(facts.to_vec())
}

pub(super) fn delete(patterns: &[FactPattern]) -> Change {
    Change::Delete(patterns.to_vec())
}

/// Facts as `predicate(Type:id, …)`.
pub(super) fn shown(facts: &[Fact]) -> Vec<String> {
    let show = |fact: &Fact| {
        let args: Vec<String> = fact.args.iter().map(|arg| format!("{}:{}", arg.ty, arg.id)).collect();
        format!("{}({})", fact.predicate, args.join(", "))
    };
    facts.iter().map(show).collect()
}

pub(super) async fn all(store: &Store) -> Vec<String> {
    found(store, FactPattern::everything()).await
}

pub(super) async fn found(store: &Store, pattern: FactPattern) -> Vec<String> {
    shown(&store.facts(pattern, 1_000).await.unwrap().facts)
}
