//! Columns of filters and answers.

use super::*;
use crate::bindings::{SqlName, column as read_column, output_name};

#[test]
fn names_keep_their_spelling() {
    for (text, name) in [
        ("id", vec!["id"]),
        (" ss.id ", vec!["ss", "id"]),
        ("\"users\".\"Id\"", vec!["\"users\"", "\"Id\""]),
        ("app.Users.user", vec!["app", "Users", "user"]),
        ("U&\"\\0069d\"", vec!["\"id\""]),
    ] {
        let found = read_column(text, Dialect::Postgresql).unwrap();
        assert_eq!(found.text, name.join("."), "{text}");
        let found: Vec<String> = found.name.unwrap().iter().map(SqlName::to_string).collect();
        assert_eq!(found, name, "{text}");
    }
    let found = read_column("[my table].`Id`", Dialect::Sqlite).unwrap();
    assert_eq!(
        (found.text.as_str(), found.words),
        ("`my table`.`Id`", vec!["id".to_owned(), "my table".to_owned()])
    );
}

#[test]
fn expressions_stand_in_brackets() {
    for (text, expected) in [
        ("id::TEXT", "CAST(id AS TEXT)"),
        ("ss.\"Id\"::varchar(5)::text", "CAST(CAST(ss.\"Id\" AS varchar(5)) AS text)"),
        ("CAST(id AS text)", "(CAST(id AS text))"),
        ("lower(email)", "(lower(email))"),
        ("lower(email)::text", "(lower(email):: text)"),
        ("coalesce(a, 'x')", "(coalesce(a, 'x'))"),
        ("a || E'\\''", "(a || '''')"),
        ("id::timestamp with time zone", "(id:: timestamp with time zone)"),
        ("data ->> 'id'", "(data ->> 'id')"),
        ("(id)", "((id))"),
        ("ids[1]", "(ids[1])"),
        ("CASE WHEN a THEN b ELSE c END", "(CASE WHEN a THEN b ELSE c END)"),
        ("orders.total", "orders.total"),
    ] {
        assert_eq!(read_column(text, Dialect::Postgresql).unwrap().text, expected);
    }
}

/// Columns that are not one value of a row, on PostgreSQL.
const NO_COLUMN: &[&str] = &[
    "",
    " ",
    "id; DROP TABLE t",
    "id;",
    "id -- x",
    "id /* x */",
    "id, name",
    "(id, name)",
    "id name",
    "id AS x",
    "*",
    "t.*",
    "count(*)",
    "count(id)",
    "MAX(id)",
    "string_agg(a, b)",
    "row_number() OVER ()",
    "sum(a) OVER w",
    "(SELECT 1)",
    "EXISTS (SELECT 1)",
    "ARRAY(SELECT 1)",
    "id IN (SELECT 1)",
    "(VALUES (1))",
    "(TABLE t)",
    "$1",
    "?",
    ":id",
    "@id",
    "id) OR (1=1",
    "id)",
    "(id",
    "'x",
    "select",
    "user",
    "current_user",
    "order",
    "order.id",
    "true",
    "null",
    "null::text",
    "id FROM t",
    "id WHERE true",
    "id UNION SELECT 1",
    "pg_sleep(1)",
    "(1::float8).pg_sleep",
    "nextval('s')",
    "id\0",
    "1 2",
    "id = ",
    "a.b.",
    ".id",
    "ROW(a, b).*",
    "\"\"",
];

#[test]
fn anything_but_one_value_of_a_row_is_refused() {
    for text in NO_COLUMN {
        let reason = read_column(text, Dialect::Postgresql).expect_err(text);
        assert!(reason.starts_with("the column `"), "{reason}");
    }
    for text in ["id::text", "\"a", "[a", "?", "load_extension('x')", "group_concat(a)", "total(a)"] {
        assert!(read_column(text, Dialect::Sqlite).is_err(), "{text}");
    }
}

#[test]
fn output_names_are_quoted_and_short_enough() {
    let name = |text: &str| output_name(text, Dialect::Postgresql);
    assert_eq!(name("user_id").unwrap(), "\"user_id\"");
    assert_eq!(name("a\"b; DROP").unwrap(), "\"a\"\"b; DROP\"");
    assert_eq!(name(&"é".repeat(31)).unwrap().len(), 64);
    assert!(name("").unwrap_err().contains("is empty"));
    assert!(name("a\0").unwrap_err().contains("NUL"));
    assert!(name(&"é".repeat(32)).unwrap_err().contains("has 64 bytes"));
    assert!(output_name(&"x".repeat(100), Dialect::Sqlite).is_ok());
}

#[test]
fn spellings_of_one_name_are_equal() {
    let name = |text: &str, dialect| read_column(text, dialect).unwrap().name.unwrap();
    let postgresql = |text: &str| name(text, Dialect::Postgresql);
    assert_eq!(postgresql("Users.id"), postgresql("\"users\".ID"));
    assert_ne!(postgresql("Users.id"), postgresql("\"Users\".id"));
    let sqlite = |text: &str| name(text, Dialect::Sqlite);
    assert_eq!(sqlite("Users.id"), sqlite("`USERS`.[id]"));
}
