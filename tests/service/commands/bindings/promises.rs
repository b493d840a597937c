//! What `bindings check` says of types that `tables` does not mention.

use super::{findings, postgresql};
use std::fs;

const TABLES: &str = "
    CREATE TABLE notes (id bigint, year integer, owner bigint NOT NULL, PRIMARY KEY (id, year)) PARTITION BY RANGE (year);
    CREATE TABLE lists (id bigint PRIMARY KEY, people bigint[] NOT NULL);
    CREATE TABLE drafts (id bigint UNIQUE, owner bigint NOT NULL);
    CREATE TABLE shares (list bigint NOT NULL, owner bigint NOT NULL);
    CREATE TABLE users (id bigint PRIMARY KEY, name text NOT NULL);";

const BINDINGS: &str = "facts:
  owner(Note:_, User:_):
    query: SELECT id, owner FROM notes
  reader(List:_, User:_):
    query: SELECT id, unnest(people) FROM lists
  owner(Draft:_, User:_):
    query: SELECT id, owner FROM drafts
  shared(Share:_, User:_):
    query: SELECT list, owner FROM shares
  named(User:_, String:_):
    query: SELECT id, name FROM users
";

#[test]
fn a_type_without_a_promise_is_told_why() {
    let (folder, database) = (tempfile::tempdir().unwrap(), postgresql("unpromised", TABLES));
    let notes = |args: &[&str]| {
        let (_, found) = findings(folder.path(), BINDINGS, &database, args);
        found.into_iter().filter(|line| line.contains("has no entry")).collect::<Vec<_>>()
    };
    let start = "has no entry, so a filter looks each id up in the set of all that pass:";
    let expected = [
        format!(
            "note Note -: {start} `notes.id` is unique only within each partition: write `Note: notes.id` under \
             `tables` if no id is ever used twice, as where all come from one sequence"
        ),
        format!(
            "note List -: {start} `lists.id` has each id once, but the query of `reader(List:_, User:_)` does more \
             than select columns of one table: write `List: lists.id` under `tables` if you filter the rows of that \
             table"
        ),
        format!("note Draft -: {start} `drafts.id` may be NULL: declare it NOT NULL"),
    ];
    assert_eq!(notes(&[]), expected);
    // Only the policy says that shares are listed; users have no permissions, and one column for a promise.
    let policy = "actor User {} resource Share { permissions = [\"read\"]; relations = { a: User }; \"read\" if \"a\"; }";
    fs::write(folder.path().join("policy.polar"), policy).unwrap();
    let more = notes(&["--policy", "policy.polar"]);
    assert_eq!(more[..3], expected);
    let share = format!(
        "note Share -: {start} no bound query selects a column of Share that is NOT NULL and has a unique index of \
         its own over all rows, as a primary key of one column is"
    );
    assert_eq!(more[3..], [share]);
    // What is promised needs no reason.
    let promised = format!("{BINDINGS}tables: {{Note: notes.id, List: lists.id}}\n");
    let (_, found) = findings(folder.path(), &promised, &database, &[]);
    let has = |ty: &str| found.iter().any(|line| line.starts_with(&format!("note {ty} -: has no entry")));
    assert!(!has("Note") && !has("List") && has("Draft"), "{found:?}");
}
