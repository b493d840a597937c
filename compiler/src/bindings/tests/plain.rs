//! Which queries count as plain: columns of one table.

use super::*;
use crate::bindings::{PlainColumn, PlainQuery, RowPart, SqlName};

/// A plain query as one line, with its columns marked by a dot.
fn shown(text: &str, dialect: Dialect) -> Option<String> {
    let PlainQuery { table, columns, condition, .. } = read(text, dialect).unwrap().plain?;
    let over_row = |parts: &[RowPart]| -> String {
        let texts = parts.iter().map(|part| match part {
            RowPart::Text(text) => text.clone(),
            RowPart::Column(column) => format!("t.{column}"),
        });
        texts.collect()
    };
    let columns: Vec<String> = columns
        .iter()
        .map(|column| match column {
            PlainColumn::Named(name) => name.to_string(),
            PlainColumn::Computed(parts) => over_row(parts),
        })
        .collect();
    let condition = over_row(&condition);
    Some(format!("{} | {} | {condition}", SqlName::path(&table), columns.join(", ")))
}

/// Queries, and how [`shown`] prints those that are plain.
const QUERIES: &[(&str, &str)] = &[
    ("SELECT a, b FROM t", "t | a, b | "),
    ("select A, \"B\" from App.\"T\"", "App.\"T\" | A, \"B\" | "),
    ("SELECT x.a, b AS c, d e FROM t x", "t | a, b, d | "),
    ("SELECT T.a FROM app.t", "app.t | a | "),
    ("SELECT x.a FROM t AS x WHERE x.b = 'y'", "t | a | t.b = 'y'"),
    ("SELECT a FROM t WHERE b AND NOT c", "t | a | t.b AND NOT t.c"),
    ("SELECT a FROM t WHERE b=1 OR c IS NOT NULL", "t | a | (t.b=1 OR t.c IS NOT NULL)"),
    ("SELECT a FROM t WHERE (b = 1 OR c IS TRUE) AND d", "t | a | (t.b = 1 OR t.c IS TRUE) AND t.d"),
    (
        "SELECT a FROM t WHERE b IN ('x', 'y') AND c NOT IN (1, -2)",
        "t | a | t.b IN ('x', 'y') AND t.c NOT IN (1, -2)",
    ),
    (
        "SELECT a FROM t WHERE b BETWEEN 1 AND c AND d >= -1.5",
        "t | a | t.b BETWEEN 1 AND t.c AND t.d >= -1.5",
    ),
    (
        "SELECT a FROM t WHERE b::text = 'x'::app.kind AND CAST(c AS varchar(3)) <> d",
        "t | a | t.b:: text = 'x':: app.kind AND CAST(t.c AS varchar(3)) <> t.d",
    ),
    ("SELECT a FROM t WHERE NOT\"B\" AND true", "t | a | NOT t.\"B\" AND true"),
    ("SELECT a FROM t WHERE (b) = (1)", "t | a | (t.b) = (1)"),
    ("SELECT a FROM t WHERE x.b", ""),
    ("SELECT t FROM t", ""),
    ("SELECT x FROM t AS x", ""),
    ("SELECT a FROM t x WHERE t.b", ""),
    ("SELECT app.t.a FROM app.t", ""),
    ("SELECT * FROM t", ""),
    ("SELECT t.* FROM t", ""),
    ("TABLE t", ""),
    ("SELECT DISTINCT a FROM t", "t | a | "),
    ("SELECT a FROM t, u", ""),
    ("SELECT a FROM t JOIN u ON true", ""),
    ("SELECT a FROM t NATURAL JOIN u", ""),
    ("SELECT a FROM ONLY t", ""),
    ("SELECT a FROM f(1)", ""),
    ("SELECT a FROM t AS x(a)", ""),
    ("SELECT a FROM (SELECT a FROM t) x", ""),
    ("SELECT a FROM t ORDER BY a", ""),
    ("SELECT a FROM t LIMIT 1", ""),
    ("SELECT a FROM t GROUP BY a", ""),
    ("SELECT a FROM t WHERE b HAVING c", ""),
    ("SELECT a FROM t UNION SELECT a FROM u", ""),
    ("WITH t AS (SELECT 1 AS a) SELECT a FROM t", ""),
    ("SELECT a + 1 FROM t", "t | t.a + 1 | "),
    ("SELECT a::text FROM t", "t | t.a:: text | "),
    ("SELECT lower(a) FROM t", "t | lower(t.a) | "),
    ("SELECT a, x.b || '/' || \"C\"::text AS k, c FROM t x", "t | a, t.b || '/' || t.\"C\":: text, c | "),
    (
        "SELECT a, coalesce(b, upper(c)) d FROM t WHERE c = 'x'",
        "t | a, coalesce(t.b, upper(t.c)) | t.c = 'x'",
    ),
    ("SELECT a, CAST(b AS int) FROM t", "t | a, CAST(t.b AS int) | "),
    ("SELECT a, CAST(b AS int) FROM t WHERE c IS NULL", ""),
    ("SELECT a, b::varchar(3) FROM t WHERE c IS NULL", "t | a, t.b:: varchar(3) | t.c IS NULL"),
    ("SELECT a, b::text[]::text FROM t WHERE c", ""),
    ("SELECT a, CAST(b AS int) FROM t WHERE c = 'x'", ""),
    ("SELECT a, b / c FROM t WHERE c <> 0", ""),
    ("SELECT a, b::text::int FROM t WHERE c", ""),
    ("SELECT a, b -> 'k' ->> 'l' FROM t", "t | a, t.b -> 'k' ->> 'l' | "),
    ("SELECT a, b ->> 'k' FROM t WHERE json_valid(b)", ""),
    ("SELECT a, unnest(b) FROM t", ""),
    ("SELECT max(a) FROM t", ""),
    ("SELECT lower(max(a)) FROM t", ""),
    ("SELECT app.lower(a) FROM t", ""),
    ("SELECT lower(b) OVER (PARTITION BY a) FROM t", ""),
    ("SELECT u.a || 'x' FROM t", ""),
    ("SELECT t || 'x' FROM t", ""),
    ("SELECT a, (SELECT b FROM u) FROM t", ""),
    ("SELECT 'x' FROM t", ""),
    ("SELECT a, 'x' || 'y' FROM t", ""),
    ("SELECT user FROM t", ""),
    ("SELECT current_user, a FROM t", ""),
    ("SELECT current_date FROM t", ""),
    ("SELECT a FROM t WHERE b = current_user", ""),
    ("SELECT a FROM t WHERE b = lower(c)", "t | a | t.b = lower(t.c)"),
    ("SELECT a FROM t WHERE b = date '2026-01-01'", "t | a | t.b = date '2026-01-01'"),
    ("SELECT a FROM t WHERE b > now()", "t | a | t.b > now()"),
    ("SELECT a FROM t WHERE b LIKE 'x'", "t | a | t.b LIKE 'x'"),
    ("SELECT a FROM t WHERE b = 'x' COLLATE \"C\"", ""),
    ("SELECT a FROM t WHERE b IN (SELECT c FROM u)", ""),
    ("SELECT a FROM t WHERE EXISTS (SELECT 1)", ""),
    ("SELECT a FROM t WHERE b IS DISTINCT FROM c", "t | a | t.b IS DISTINCT FROM t.c"),
    ("SELECT a FROM t WHERE b + 1 = 2", "t | a | t.b + 1 = 2"),
    ("SELECT a FROM t WHERE b = ANY(c)", "t | a | t.b = ANY(t.c)"),
    (
        "SELECT a FROM t WHERE b < current_timestamp - interval '1 day' OR NOT coalesce(c, x = 'y' OR d)",
        "t | a | (t.b < current_timestamp - interval '1 day' OR NOT coalesce(t.c, t.x = 'y' OR t.d))",
    ),
    (
        "SELECT a FROM t WHERE lower(t.b) = ANY(ARRAY['x', c || 'y']) AND app.f() NOT LIKE 'z!_' ESCAPE '!'",
        "t | a | lower(t.b) = ANY(ARRAY['x', t.c || 'y']) AND app.f() NOT LIKE 'z!_' ESCAPE '!'",
    ),
    (
        "SELECT a FROM t WHERE b ->> 'k' IS NULL AND tags @> ARRAY['x'] AND length(b) BETWEEN c + 1 AND 9",
        "t | a | t.b ->> 'k' IS NULL AND t.tags @> ARRAY['x'] AND length(t.b) BETWEEN t.c + 1 AND 9",
    ),
    ("SELECT DISTINCT ON (a) a FROM t", ""),
    ("SELECT a FROM t WHERE f(t)", ""),
    ("SELECT a FROM t WHERE f(t.*)", ""),
    ("SELECT a FROM t WHERE f(b => 1)", ""),
    ("SELECT a FROM t WHERE f((SELECT c FROM u))", ""),
    ("SELECT a FROM t WHERE f(DISTINCT b)", ""),
    ("SELECT a FROM t WHERE extract(year FROM b) = 2026", ""),
    ("SELECT a FROM t WHERE b = ANY(SELECT c FROM u)", ""),
    ("SELECT a FROM t WHERE (b, c) = (1, 2)", ""),
    ("SELECT a FROM t WHERE b AT TIME ZONE 'UTC' > c", ""),
    ("SELECT a FROM t WHERE CASE WHEN b THEN c END", ""),
    ("SELECT (a) FROM t", "t | (t.a) | "),
    ("SELECT a", ""),
    ("SELECT FROM t", ""),
];

#[test]
fn columns_of_one_table() {
    for (text, expected) in QUERIES {
        assert_eq!(shown(text, Dialect::Postgresql).unwrap_or_default(), *expected, "{text}");
    }
}

#[test]
fn what_is_in_double_quotes_is_a_column_to_sqlite_too() {
    assert_eq!(shown("SELECT [a] FROM `t` WHERE `b`", Dialect::Sqlite).unwrap(), "`t` | `a` | t.`b`");
    assert_eq!(shown("SELECT t.\"a\" FROM \"t\"", Dialect::Sqlite).unwrap(), "`t` | `a` | ");
    assert_eq!(shown("SELECT \"a\" FROM t", Dialect::Sqlite).unwrap(), "t | `a` | ");
    let condition = "SELECT a FROM t WHERE b = \"admin\"";
    assert_eq!(shown(condition, Dialect::Sqlite).unwrap(), "t | a | t.b = t.`admin`");
    assert_eq!(shown("SELECT `T` FROM t", Dialect::Sqlite), None);
}

/// Columns of which a condition demands something.
fn demanded(condition: &str, columns: fn(PlainQuery) -> Vec<SqlName>) -> String {
    let query = read(&format!("SELECT a FROM t x WHERE {condition}"), Dialect::Postgresql).unwrap();
    let columns: Vec<String> = columns(query.plain.unwrap()).iter().map(SqlName::to_string).collect();
    columns.join(", ")
}

#[test]
fn what_a_condition_demands_not_to_be_null() {
    for (condition, expected) in [
        ("b IS NOT NULL", "b"),
        ("c = 1 AND (b IS NOT NULL) AND x.c IS NOT NULL", "b, c"),
        ("CAST(b AS text) IS NOT NULL AND c::text IS NOT NULL", "b, c"),
        ("b IS NULL AND 1 IS NOT NULL", ""),
        ("b IS NOT TRUE", ""),
        ("b IS NOT NULL OR c", ""),
        ("b IS NOT NULL AND (c OR d)", ""),
        ("NOT b IS NOT NULL", ""),
        // It is false, and so not NULL, if only one of them is false.
        ("(b AND c) IS NOT NULL", ""),
        ("(b IS NOT NULL) = false", ""),
        ("(b IS NOT NULL) IS FALSE", ""),
        ("(b IS NOT NULL) IN (false)", ""),
        ("c IN (b IS NOT NULL)", ""),
        ("f(b IS NOT NULL) AND coalesce(b, c) IS NOT NULL", ""),
        ("(((b)) IS NOT NULL) AND (c IS NOT NULL)", "c"),
    ] {
        assert_eq!(demanded(condition, |plain| plain.not_null), expected, "{condition}");
    }
}

#[test]
fn the_columns_that_a_condition_fixes() {
    for (condition, expected) in [
        ("b = 'x'", "b"),
        ("x.b = 1 AND (c IN ('y', -2)) AND d > 3", "b, c"),
        ("b = 'x' AND (c OR d = 1)", ""),
        ("b = 'x' OR c = 'y'", ""),
        ("NOT b = 'x'", ""),
        ("b NOT IN (1)", ""),
        ("b <> 1 AND c = d", ""),
        ("b = 1 + 2 AND c = lower('Y')", ""),
        ("b = 'x'::app.kind", "b"),
        ("(b = 1) = false", ""),
        ("(b = 1) IS NOT TRUE", ""),
    ] {
        assert_eq!(demanded(condition, |plain| plain.fixed), expected, "{condition}");
    }
}

#[test]
fn a_condition_of_tests_with_is_is_never_null() {
    let is_never_null = |condition: &str| {
        let text = format!("SELECT a FROM t WHERE {condition}");
        read(&text, Dialect::Postgresql).unwrap().plain.unwrap().is_never_null
    };
    for condition in [
        "b IS NOT NULL",
        "b IS NULL AND c::text IS NOT NULL",
        "NOT b IS TRUE OR (c IS NOT FALSE)",
        "(b IS NULL OR (c IS NULL)) AND d IS NULL",
    ] {
        assert!(is_never_null(condition), "{condition}");
    }
    for condition in [
        "b",
        "NOT b",
        "b = 1",
        "b AND c IS NULL",
        "b IS NULL AND c",
        "b IS NULL AND (c)",
        "(b IS NULL OR c) AND d IS NULL",
        "(b OR c IS NULL) AND d IS NULL",
        "c IS NULL OR b IN (1)",
        "b BETWEEN 1 AND 2 AND c IS NULL",
        "(b = 1)",
        "(b IS NULL)::boolean",
        "b IS NULL OR null",
    ] {
        assert!(!is_never_null(condition), "{condition}");
    }
}
