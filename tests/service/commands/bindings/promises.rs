//! What `bindings check` says of promises that a table may not keep, and of types that `tables` does not
//! mention.

use super::{findings, postgresql, sqlite};
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
            "note Note -: {start} `notes.id` is unique only together with the partition key: write `Note: notes.id` \
             under `tables` if no id is ever used twice, for example because all come from one sequence"
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

/// The findings of one promise, with the exit code.
fn of_promise(database: &str, dialect: &str, column: &str) -> (i32, Vec<String>) {
    let bindings = format!("dialect: {dialect}\ntables: {{Entry: {column}}}\n");
    let (code, found) = findings(tempfile::tempdir().unwrap().path(), &bindings, database, &[]);
    (code, found.into_iter().filter(|line| !line.contains("`sql_types`")).collect())
}

/// Two rows of one partition may share an id. The check only warns if a valid unique index has the id and the
/// partition key, and otherwise reports an error.
#[test]
fn a_partitioned_table_keeps_an_id_unique_only_together_with_its_partition_key() {
    let table = |name: &str, constraint: &str| {
        format!(
            "CREATE TABLE {name} (id bigint NOT NULL, day date NOT NULL{constraint}) PARTITION BY RANGE (day);
             CREATE TABLE {name}_2026 PARTITION OF {name} FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');"
        )
    };
    let tables = [
        table("together", ", PRIMARY KEY (id, day)"),
        "INSERT INTO together VALUES (1, '2026-01-01'), (1, '2026-01-02');".to_owned(),
        table("other_column", ", UNIQUE (day)"),
        table("invalid", ""),
        "CREATE UNIQUE INDEX ON ONLY invalid (id, day);".to_owned(),
        "CREATE TABLE levels (id bigint NOT NULL, day date, region int, PRIMARY KEY (id, day, region))
           PARTITION BY RANGE (day);
         CREATE TABLE levels_2026 (region int NOT NULL, day date NOT NULL, id bigint NOT NULL) PARTITION BY LIST (region);
         ALTER TABLE levels ATTACH PARTITION levels_2026 FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
         CREATE TABLE levels_2026_1 PARTITION OF levels_2026 FOR VALUES IN (1);"
            .to_owned(),
    ];
    let database = postgresql("partitioned", &tables.concat());
    for name in ["together", "levels", "levels_2026"] {
        let expected = format!(
            "warning Entry id: `{name}` is partitioned, and PostgreSQL keeps this column unique only together with the \
             partition key, so rows that differ in that key may share a value: keep the promise only if no id is ever used \
             twice, for example because all come from one sequence"
        );
        assert_eq!(of_promise(&database, "postgresql", &format!("{name}.id")), (0, vec![expected]));
    }
    for name in ["other_column", "invalid"] {
        let expected = format!(
            "error Entry id: several rows of `{name}` may share a value: give the table a valid unique index on this \
             column and the columns of the partition key; if that key has an expression, leave the entry out of `tables`"
        );
        assert_eq!(of_promise(&database, "postgresql", &format!("{name}.id")), (1, vec![expected]));
    }
}

#[test]
fn a_promise_that_is_not_kept_has_a_remedy_that_can_be_followed() {
    let tables = "
        CREATE DOMAIN entry_id AS bigint NOT NULL;
        CREATE TABLE entries (id entry_id UNIQUE);
        CREATE MATERIALIZED VIEW listed AS SELECT id FROM entries;
        CREATE UNIQUE INDEX ON listed (id);";
    let database = postgresql("remedied", tables);
    let expected = "error Entry id: may be NULL: declare the column itself NOT NULL; a domain that is NOT NULL does \
                    not prevent it, for example when an empty subquery is inserted";
    assert_eq!(of_promise(&database, "postgresql", "entries.id"), (1, vec![expected.to_owned()]));
    let expected = "error Entry id: may be NULL, because no column of a materialized view can be NOT NULL: name the table \
                    behind it, or leave the entry out of `tables`";
    assert_eq!(of_promise(&database, "postgresql", "listed.id"), (1, vec![expected.to_owned()]));
    let database = postgresql("dated", "CREATE TABLE days (day date PRIMARY KEY);");
    let expected = "warning Entry day: is `date`, whose text depends on settings of the session: do not change them, name a \
                    column of type text, or leave `Entry` out of `tables`";
    assert_eq!(of_promise(&database, "postgresql", "days.day"), (0, vec![expected.to_owned()]));
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(folder.path(), "CREATE TABLE entries (id INTEGER NOT NULL);");
    let expected =
        "error Entry id: several rows of `entries` may share a value: give it a unique index over all rows";
    assert_eq!(of_promise(&database, "sqlite", "entries.id"), (1, vec![expected.to_owned()]));
}
