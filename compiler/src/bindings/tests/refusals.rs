//! Documents that are rejected, with the key, the line and the remedy.

use super::*;
use crate::limits;

#[track_caller]
fn says(text: &str, expected: &[&str]) {
    let found = wrong(text);
    assert_eq!(found.len(), expected.len(), "{found:#?}\n{text}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{found}\nlacks {expected}\n{text}");
    }
}

#[test]
fn invalid_yaml() {
    for text in [
        "facts: [",
        "facts:\n\t- x: {",
        "a: b: c",
        "'",
        "facts:\n  f(T:_): {query: x\n",
        "&a *b",
        "x: *nobody\n",
    ] {
        says(text, &["this is not YAML"]);
    }
    says(
        "facts:\n  f(T: _):\n    query: SELECT 1\n",
        &["line 2: this is not YAML: mapping values are not allowed in this context: write no space"],
    );
    says("hello", &["line 1: the document is not a mapping"]);
    says("- a\n- b\n", &["line 1: the document is not a mapping"]);
    says("facts: x\n", &["`facts` is not a mapping"]);
    says("facts: [a]\n", &["`facts` is not a mapping"]);
    says("[a, b]: c\n", &["a key is not a text"]);
    says("a: 1\n---\nb: 2\n", &["line 2: a second document begins"]);
    says("a: &a {b: *a}\n", &["an alias refers to a node that contains it"]);
}

/// Under such a key, everything would be ignored without a word.
#[test]
fn keys_that_are_meant_for_this_reader() {
    let facts = "  f(T:_):\n    query: SELECT id FROM t\n";
    for key in ["Facts", "FACTS", "fact", "fatcs", "factss", "' facts'"] {
        let name = key.trim_matches('\'');
        says(
            &format!("version: 1\n{key}:\n{facts}"),
            &[&format!("line 2: the key `{name}` is not known, and would be ignored: write `facts`")],
        );
    }
    for (key, known) in [
        ("Dialect", "dialect"),
        ("sql_type", "sql_types"),
        ("sqlTypes", "sql_types"),
        ("sql-types", "sql_types"),
        ("table", "tables"),
        ("alises", "aliases"),
    ] {
        let value = if known == "dialect" { "sqlite" } else { "{T: x}" };
        says(
            &format!("facts:\n{facts}{key}: {value}\n"),
            &[&format!("line 4: the key `{key}` is not known, and would be ignored: write `{known}`")],
        );
    }
    let top = facts.replace("\n  ", "\n").replacen("  ", "", 1);
    says(&top, &["line 1: the fact `f(T:_)` is not below `facts`, and would be ignored: move it there"]);
    let misplaced = format!("facts:\n{facts}g (T): {{query: SELECT id FROM t}}\n");
    says(&misplaced, &["line 4: the fact `g (T)` is not below `facts`"]);
    let nested = |key: &str| format!("{key}:\n  facts:\n    f(T:_):\n      query: SELECT id FROM t\n");
    says(
        &nested("bindings"),
        &["line 1: the `facts` below `bindings` would be ignored: move them to the top"],
    );

    // What belongs to other tools.
    for text in [
        "targets: x\nkeys:\n  - a\nfacts_of: {}\nsource: x\ndb: y\n".to_owned(),
        "databases:\n  facts:\n    url: x\n".to_owned(),
        "nightly (EU): x\ntable: x\nacts: x\n".to_owned(),
        "x: &x\n  f(T:_): {query: SELECT 1}\nfacts: *x\n".to_owned(),
        format!("facts:\n{facts}{}", nested("staging")),
    ] {
        good(&text);
    }
}

#[test]
fn the_same_key_twice_at_any_level() {
    let query = "query: SELECT id FROM t";
    says(
        &format!("facts:\n  f(T:_): {{{query}}}\n  f(T:_): {{{query}}}\n"),
        &["line 3: `f(T:_)` is written twice, first on line 2"],
    );
    says(
        &format!("facts:\n  f(T:_): {{{query}}}\n  f( T:_ ): {{{query}}}\n"),
        &["line 3: the key `f( T:_ )` means the same as `f(T:_)` on line 2"],
    );
    says(&format!("facts:\n  f(x, T:_): {{{query}}}\n  f(\"x\", T:_): {{{query}}}\n"), &["means the same"]);
    says("facts:\nfacts:\n", &["line 2: `facts` is written twice"]);
    says(&format!("facts:\n  f(T:_):\n    {query}\n    {query}\n"), &["line 4: `query` is written twice"]);
    says("sql_types:\n  A: int\n  A: int\n", &["line 3: `A` is written twice"]);
    says("dbs:\n  A: int\n  A: int\n", &["line 3: `A` is written twice"]);
}

#[test]
fn keys_that_are_not_facts() {
    for (key, reason) in [
        ("f", "is not a fact"),
        ("f()", "has no arguments"),
        ("f( )", "has no arguments"),
        ("1f(T:_)", "is not a fact"),
        ("f.g(T:_)", "is not a fact"),
        ("f(T:_", "is not closed"),
        ("f(T:_))", "continues after its `)`"),
        ("f(T:_) x", "continues after its `)`"),
        ("f(T:_,)", "has an argument without a value"),
        ("f(,T:_)", "has an argument without a value"),
        ("f(T:_ U:_)", "has `U` after argument 1"),
        ("f(_)", "has a `_` without a type"),
        ("f(T:)", "has an argument without a value"),
        ("f(T:'x')", "has single quotes"),
        ("f(T:_, 10)", "write `Integer:10`"),
        ("f(T:_, true)", "write `Boolean:true`"),
        ("f(Actor:_)", "the type of all actors, which no value has"),
        ("f(T:_, Resource:1)", "the type of all resources, which no value has"),
        ("f(T:_, Integer:x)", "is not a valid Integer"),
        ("f(T:_, Integer:010)", "is not a valid Integer"),
        ("f(T:_, Boolean:yes)", "is not a valid Boolean"),
        ("f(T:_, String:a b)", "has `b` after argument 2"),
        ("f(T:_, \"a)", "is not closed"),
        ("f(T:_, \"a\\0\")", "NUL"),
        ("f(T:g(x))", "after argument 1"),
        ("f(T::_)", "not a type and a value"),
    ] {
        let quoted = key.replace('\'', "''");
        says(
            &format!("facts:\n  '{quoted}':\n    query: SELECT id FROM t\n"),
            &[&format!("line 2: the key `{key}`")],
        );
        says(&format!("facts:\n  '{quoted}':\n    query: SELECT id FROM t\n"), &[reason]);
    }
    let many = vec!["T:_"; limits::PARAMETERS + 1].join(", ");
    says(&format!("facts:\n  f({many}):\n    query: SELECT * FROM t\n"), &["has 33 arguments, more than 32"]);
}

#[test]
fn what_has_no_query() {
    for value in ["", "null", "{}", "{sql: SELECT 1}", "SELECT id FROM t", "[a]"] {
        says(&format!("facts:\n  f(T:_): {value}\n"), &["line 2: `f(T:_)` has no `query`"]);
    }
    for value in ["", "null", "''", "'  '"] {
        says(&format!("facts:\n  f(T:_):\n    query: {value}\n"), &["line 3: `f(T:_)`: the query is empty"]);
    }
    says("facts:\n  f(T:_):\n    query: -- x\n", &["line 3: `f(T:_)`: the query is empty"]);
    says("facts:\n  f(T:_):\n    query: [a]\n", &["the query must be a string"]);
    says("facts:\n  f(T:_):\n    <<: {query: SELECT id FROM t}\n", &["has no `query`", "merges entries"]);
}

#[test]
fn a_comment_that_swallows_folded_lines() {
    for style in [">", ">-", ""] {
        let text = format!(
            "facts:\n  f(T:_):\n    query: {style}\n      SELECT id -- the id\n      FROM t WHERE open\n"
        );
        says(&text, &["line 3: `f(T:_)`: the query is folded into one line"]);
    }
    says(
        "facts:\n  f(T:_):\n    query: \"SELECT id FROM t -- x\n      WHERE open\"\n",
        &["is folded into one line"],
    );
}

#[test]
fn a_wrong_number_of_columns() {
    for (key, query, reason) in [
        ("f(T:_)", "SELECT a, b FROM t", "has 2 columns, but the key has 1 `_`"),
        ("f(T:_, U:_)", "SELECT a FROM t", "has 1 column, but the key has 2 `_`"),
        ("f(T:x)", "SELECT a FROM t", "has 1 column, but the key has 0 `_`"),
        ("f(T:_)", "VALUES (1, 2), (3, 4)", "has 2 columns"),
        ("f(T:_)", "VALUES (1), (3, 4)", "rows of different lengths"),
        ("f(T:_)", "SELECT a FROM t UNION SELECT a, b FROM u", "joins 1 columns with 2"),
        ("f(T:_)", "(SELECT a, b FROM t)", "has 2 columns"),
        ("f(T:_)", "WITH x AS (SELECT 1) SELECT a, b FROM x", "has 2 columns"),
        ("f(T:_)", "SELECT * FROM t UNION SELECT a, b FROM u", "has 2 columns"),
    ] {
        says(&format!("facts:\n  {key}:\n    query: {query}\n"), &[reason]);
    }
    for query in ["SELECT * FROM t", "SELECT t.*, a FROM t", "TABLE t"] {
        good(&format!("facts:\n  f(T:_):\n    query: {query}\n"));
    }
    good("facts:\n  f(T:x):\n    query: SELECT FROM t\n");
}

#[test]
fn a_dialect_that_is_not_there() {
    for name in ["mysql", "mariadb", "duckdb", "oracle", "5"] {
        says(
            &format!("facts:\n\ndialect: {name}\n"),
            &[&format!("line 3: `dialect`: unknown dialect `{name}`: write `postgresql` or `sqlite`")],
        );
    }
    says("dialect: [a]\n", &["`dialect` must be a string"]);
    says("dialect: ''\n", &["`dialect` is empty"]);
}

#[test]
fn types_that_cannot_be_printed() {
    for text in [
        "int; DROP TABLE x",
        "int)",
        "(int)",
        "int) OR (1=1",
        "int -- x",
        "int /* x */",
        "'x'",
        "int = 1",
        "1",
        "a::b",
        "$1",
        "enum('a', 'b')",
        "int or true",
        "numeric((1))",
        "select 1",
        "[]",
        "int 5",
        ".int",
        "int.",
        "x$y",
    ] {
        let text = text.replace('\'', "''");
        says(&format!("sql_types:\n  T: '{text}'\n"), &["line 2: `sql_types`: `T`: "]);
    }
    says("sql_types:\n  T:\n", &["line 2: `sql_types`: `T` is empty"]);
    says("sql_types:\n  T: [int]\n", &["`sql_types`: `T` must be a string"]);
}

#[test]
fn tables_that_name_no_column() {
    for text in
        ["id", "a.b.c.d.e", "a.", "select.id", "a.b c", "(a.b)", "a.b; x", "f(a).b", "'a'.b", "a.*", "a.''"]
    {
        let text = text.replace('\'', "''");
        says(&format!("tables:\n  T: '{text}'\n"), &["line 2: `tables`: `T`: "]);
    }
}

#[test]
fn aliases_that_name_no_table() {
    for table in ["a.b.c.d", "a.", "select", "a b", "(a)", "a; x", "f(a)", "'a'", "''"] {
        let text = table.replace('\'', "''");
        says(&format!("aliases:\n  t: '{text}'\n"), &["line 2: `aliases`: `t`: "]);
    }
    for alias in ["a.b", "select", "a b", "''''"] {
        says(&format!("aliases:\n  '{alias}': t\n"), &["line 2: `aliases`: "]);
    }
    says("aliases:\n  t: a\n  T: b\n", &["line 3: `aliases`: `T` is declared twice"]);
    says("aliases:\n  t: [a]\n", &["`aliases`: `t` must be a string"]);
}

#[test]
fn all_errors_come_at_once_by_line() {
    let text = "facts:
  f:
    query: SELECT 1
  g(T:_):
    query: DELETE FROM t
  h(T:_): {}
sql_types:
  T: 'x;y'
tables:
  T: x
dup: 1
dup: 2
";
    assert_eq!(lines(&parse(text).unwrap_err()), [2, 5, 6, 8, 10, 12].map(Some));
}

#[test]
fn the_work_on_a_document_is_bounded() {
    says(&" ".repeat(limits::BINDINGS_BYTES + 1), &["the document has more than 1000000 bytes"]);
    says(&"[".repeat(50_000), &["this is not YAML"]);
    says(&"{a: ".repeat(50_000), &["this is not YAML"]);
    let bomb: String = std::iter::once("a0: &a0 {x: 1}\n".to_owned())
        .chain((1..20_000).map(|n| format!("a{n}: &a{n} {{x: *a{}}}\n", n - 1)))
        .collect();
    says(&bomb, &["more than 32 levels are nested"]);
    let wide: String = std::iter::once("a0: &a0 x\n".to_owned())
        .chain((1..30).map(|n| {
            format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1)
        }))
        .collect();
    good(&wide);
    let long = "x".repeat(100_000);
    says(&format!("facts:\n  f(T:_):\n    query: SELECT {long} FROM t\n"), &["has more than 64000 bytes"]);
}
