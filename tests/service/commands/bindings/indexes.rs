//! Which indexes `bindings check` counts and advises, and where it says that none can help.

use super::{check, findings, postgresql};
use serde_json::Value as Json;
use std::path::Path;

/// The advised statements.
fn advised(folder: &Path, bindings: &str, database: &str) -> Vec<String> {
    let (_, out, err) = check(folder, bindings, database, &["--json"]);
    assert_eq!(err, "");
    let report: Json = serde_json::from_str(&out).unwrap();
    let indexes = report["advice"]["indexes"].as_array().unwrap().iter();
    indexes.map(|index| index["ddl"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_index_over_the_rows_that_the_query_reads_counts() {
    let tables = "
        CREATE TABLE staff (shop bigint NOT NULL, person bigint NOT NULL, role varchar(9), revoked_at date, gone boolean);
        CREATE INDEX ON staff (person) WHERE revoked_at IS NULL;
        CREATE INDEX ON staff (shop) WHERE NOT gone AND role IN ('clerk', 'head');";
    let bindings = "facts:
  works(Person:_, Shop:_):
    query: SELECT person, shop FROM staff WHERE CONDITION
sql_types: {Person: bigint, Shop: bigint}
";
    let (folder, database) = (tempfile::tempdir().unwrap(), postgresql("some_rows", tables));
    for (condition, missed) in [
        ("revoked_at IS NULL", &["CREATE INDEX ON staff (shop);"] as &[&str]),
        ("s.gone = false AND s.role IN ('clerk', 'head')", &["CREATE INDEX ON staff (person);"]),
        ("NOT gone AND role IN ('clerk', 'head') AND revoked_at IS NULL", &[]),
        ("revoked_at IS NULL OR gone", &["CREATE INDEX ON staff (person);", "CREATE INDEX ON staff (shop);"]),
    ] {
        let bindings =
            bindings.replace("FROM staff WHERE CONDITION", &format!("FROM staff s WHERE {condition}"));
        assert_eq!(advised(folder.path(), &bindings, &database), missed, "{condition}");
        let (_, found) = findings(folder.path(), &bindings, &database, &[]);
        assert_eq!(
            found.iter().filter(|line| line.contains("no index of")).count(),
            missed.len(),
            "{found:?}"
        );
    }
}

/// With and without an entry such a column is compared as text, so an index is never used.
#[test]
fn no_index_is_advised_that_a_cast_keeps_from_use() {
    let tables = "
        CREATE TYPE color AS ENUM ('red', 'blue');
        CREATE TABLE groups (grp color NOT NULL, price numeric(6,2) NOT NULL, member bigint NOT NULL);";
    let bindings = "facts:
  in_group(User:_, Group:_):
    query: SELECT member, grp FROM groups
  costs(User:_, Price:_):
    query: SELECT member, price FROM groups
";
    let (folder, database) = (tempfile::tempdir().unwrap(), postgresql("cast_always", tables));
    let wanted = ["CREATE INDEX ON groups (member);"];
    for entries in
        ["sql_types: {User: bigint}\n", "sql_types: {User: bigint, Group: color, Price: 'numeric(6,2)'}\n"]
    {
        let bindings = format!("{bindings}{entries}");
        assert_eq!(advised(folder.path(), &bindings, &database), wanted);
        let (_, found) = findings(folder.path(), &bindings, &database, &[]);
        let of = |part: &str| found.iter().any(|line| line.contains(part));
        assert!(of("grp: is `color`, which is compared as text with and without an entry"), "{found:?}");
        assert!(of("price: is `numeric(6,2)`, which is compared as text with and without"), "{found:?}");
        let promised: Vec<_> =
            found.iter().filter(|line| line.contains("so that indexes are used")).collect();
        assert_eq!(promised, Vec::<&String>::new());
    }
}

#[test]
fn an_index_on_the_expression_of_a_computed_column_counts() {
    let tables = "
        CREATE TABLE sellers (market text NOT NULL, country varchar(2) NOT NULL, no integer NOT NULL, owner bigint NOT NULL);
        CREATE INDEX ON sellers (owner);";
    let bindings = "facts:
  owns(User:_, Seller:_):
    query: SELECT owner, market || '/' || country FROM sellers
  numbered(User:_, Number:_):
    query: SELECT owner, country || no FROM sellers
sql_types: {User: bigint, Seller: text, Number: text}
";
    let folder = tempfile::tempdir().unwrap();
    let create = "CREATE INDEX ON sellers ((market || '/' || country));";
    let computed = |database: &str| {
        let (_, found) = findings(folder.path(), bindings, database, &[]);
        found.into_iter().filter(|line| line.contains(": is computed")).collect::<Vec<_>>()
    };
    // PostgreSQL refuses an index on a number as text, so none is advised.
    let database = postgresql("expression_alone", tables);
    assert_eq!(advised(folder.path(), bindings, &database), [create]);
    assert_eq!(computed(&database).len(), 2);
    let database = postgresql("expression_indexed", &[tables, create].concat());
    assert_eq!(advised(folder.path(), bindings, &database), Vec::<String>::new());
    let left = computed(&database);
    assert!(left.len() == 1 && left[0].contains("numbered("), "{left:?}");
}

/// What `--fix` casts to text is not asked to be anything else, and gets an index.
#[test]
fn a_key_that_is_cast_to_text_gets_an_index() {
    let tables = "
        CREATE TABLE users (id text PRIMARY KEY); CREATE TABLE members (user_id varchar(40) PRIMARY KEY);
        CREATE TABLE audit (user_id uuid NOT NULL, made timestamptz NOT NULL);";
    let bindings = "facts:
  is_user(User:_): {query: SELECT id FROM users}
  is_member(User:_): {query: SELECT user_id FROM members}
  is_auditor(User:_): {query: SELECT user_id FROM audit}
  made(Day:_): {query: \"SELECT made::text FROM audit\"}
";
    let (folder, database) = (tempfile::tempdir().unwrap(), postgresql("cast_key", tables));
    // The table of columns has rows only for what has columns.
    let (_, out, _) = check(folder.path(), bindings, &database, &[]);
    assert!(out.contains("warning: types: User:\n") && !out.contains("  types: User  "), "{out}");
    let (_, out, _) = check(folder.path(), bindings, &database, &["--fix", "--write"]);
    assert!(out.contains("note: tables: User:\n") && !out.contains("  tables: User  "), "{out}");
    let create = "CREATE INDEX ON audit ((CAST(user_id AS text)));";
    assert!(out.contains(&format!("  {create}\n")), "{out}");
    let fixed = std::fs::read_to_string(folder.path().join("bindings.yaml")).unwrap();
    let computed = |database: &str| {
        let (_, found) = findings(folder.path(), &fixed, database, &[]);
        found
            .into_iter()
            .filter(|line| line.contains("is_auditor(") && line.contains("computed"))
            .collect::<Vec<_>>()
    };
    let left = "warning is_auditor(User:_) user_id: is computed, and no index is on this very expression: a look-up by it \
                reads the whole table";
    assert_eq!(computed(&database), [left]);
    // The text of a time depends on the session, so PostgreSQL refuses an index on it.
    assert_eq!(advised(folder.path(), &fixed, &database), [create]);
    let indexed = postgresql("cast_key_indexed", &[tables, create].concat());
    assert_eq!(computed(&indexed), Vec::<String>::new());
    assert_eq!(advised(folder.path(), &fixed, &indexed), Vec::<String>::new());
}
