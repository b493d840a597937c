//! SQL that tries to do more than read.

use super::*;
use crate::dialect::quote::{plain_literal, plain_name};

#[test]
fn only_a_single_query_is_accepted() {
    for text in [
        "UPDATE t SET a = 1",
        "DELETE FROM t",
        "INSERT INTO t VALUES (1)",
        "DROP TABLE t",
        "CREATE TABLE t (a int)",
        "COPY t TO 'x'",
        "EXPLAIN ANALYZE SELECT 1",
        "SET x = 1",
        "CALL f()",
        "DO 'x'",
        "BEGIN",
        "PRAGMA x",
        "ATTACH 'x' AS y",
        "VACUUM",
        "SHOW x",
        "EXECUTE p",
        "LISTEN x",
        "NOTIFY x",
        "FROM t SELECT a",
        "ROLLBACK",
        "MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE",
        "REPLACE INTO t VALUES (1)",
        "GRANT ALL ON t TO x",
        "TRUNCATE t",
        "LOCK t",
        "REFRESH MATERIALIZED VIEW v",
        "x",
        "1",
        "'x'",
    ] {
        for dialect in BOTH {
            refused(text, dialect, "is not a query");
        }
    }
    for text in
        ["SELECT 1; SELECT 2", "SELECT 1; DROP TABLE t", "SELECT 1;;-- x\n;DELETE FROM t", "SELECT 1; --\n x"]
    {
        for dialect in BOTH {
            refused(text, dialect, "several statements");
        }
    }
}

#[test]
fn what_writes_or_locks() {
    for (text, reason) in [
        ("WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x", "contains DELETE"),
        ("WITH x AS (delete/**/from t RETURNING a) SELECT a FROM x", "contains DELETE"),
        ("WITH x AS MATERIALIZED (UPDATE t SET a = 1 RETURNING a) SELECT a FROM x", "contains UPDATE"),
        ("WITH x AS (UPDATE ONLY t SET a = 1 RETURNING a) SELECT a FROM x", "contains UPDATE"),
        ("WITH x AS (UPDATE \"t\" SET a = 1 RETURNING a) SELECT a FROM x", "contains UPDATE"),
        ("WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT a FROM x", "contains INSERT"),
        ("WITH x AS (MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE) SELECT 1", "contains MERGE"),
        ("WITH x AS (SELECT 1) DELETE FROM t", "contains DELETE"),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "contains INSERT"),
        ("WITH y AS (WITH x AS (SELECT 1) UPDATE t SET a = 1 RETURNING 1) SELECT 1", "contains UPDATE"),
        ("SELECT a INTO u FROM t", "INTO"),
        ("SELECT a INTO TEMP u FROM t", "INTO"),
        ("SELECT a FROM t FOR UPDATE", "locks"),
        ("SELECT a FROM t FOR NO KEY UPDATE", "locks"),
        ("SELECT a FROM t FOR SHARE OF t SKIP LOCKED", "locks"),
        ("SELECT a FROM t FOR KEY SHARE", "locks"),
        ("SELECT a FROM (SELECT a FROM t FOR UPDATE) x", "locks"),
    ] {
        refused(text, Dialect::Postgresql, reason);
    }
    becomes("SELECT delete, \"update\", insert FROM grants", "SELECT delete, \"update\", insert FROM grants");
    becomes(
        "SELECT a FROM grants WHERE (delete IS NOT NULL)",
        "SELECT a FROM grants WHERE (delete IS NOT NULL)",
    );
}

#[test]
fn what_calls_more_than_a_query_needs() {
    for call in [
        "nextval('s')",
        "setval('s', 1)",
        "pg_sleep(10)",
        "PG_SLEEP(10)",
        "pg_sleep (10)",
        "pg_sleep/**/(10)",
        "\"pg_sleep\"(10)",
        "pg_catalog.pg_sleep(10)",
        "pg_catalog . \"pg_sleep\" (10)",
        "U&\"pg\\005fsleep\"(1)",
        "pg_sleep_for('1 day')",
        "(10::float8).pg_sleep",
        "(ARRAY[1])[1].pg_terminate_backend",
        "pg_terminate_backend(1)",
        "pg_cancel_backend(1)",
        "lo_import('x')",
        "lo_export(1, 'x')",
        "lo_unlink(1)",
        "dblink('x', 'y')",
        "dblink_exec('x')",
        "pg_read_file('x')",
        "pg_read_binary_file('x')",
        "pg_write_file('x')",
        "pg_file_write('x')",
        "pg_ls_dir('x')",
        "pg_stat_file('x')",
        "pg_advisory_lock(1)",
        "pg_try_advisory_xact_lock(1)",
        "set_config('a', 'b', true)",
        "query_to_xml('DELETE FROM t', true, true, '')",
        "query_to_xml_and_xmlschema('x')",
        "table_to_xml('t')",
        "pg_reload_conf()",
        "pg_notify('a', 'b')",
        "ts_stat('SELECT 1')",
        "load_extension('x')",
        "readfile('x')",
        "writefile('x', 'y')",
        "pg_logical_emit_message(true, 'a', 'b')",
        "txid_current()",
        "pg_drop_replication_slot('x')",
        "pg_stat_reset()",
        "crosstab('SELECT 1')",
        "http_get('x')",
    ] {
        refused(&format!("SELECT {call} FROM t"), Dialect::Postgresql, "calls `");
        refused(&format!("SELECT a FROM t WHERE EXISTS (SELECT {call})"), Dialect::Postgresql, "calls `");
    }
    for call in
        ["load_extension('x')", "`readfile`('x')", "[writefile]('x', 'y')", "edit(a)", "fts3_tokenizer('x')"]
    {
        refused(&format!("SELECT {call} FROM t"), Dialect::Sqlite, "calls `");
    }
    becomes("SELECT t.http, lo_orderdate, nextval FROM t", "SELECT t.http, lo_orderdate, nextval FROM t");
}

#[test]
fn parameters_in_every_spelling() {
    for text in [
        "$1", "$12", "?", "?1", ":x", ":1", "@x", "@@ @x", "$x", "a ? 'b'", "a ?| b", "a ?& b", "a @? b",
        "a := 1", "b[1:2]",
    ] {
        refused(&format!("SELECT a FROM t WHERE b = {text}"), Dialect::Postgresql, "a driver");
    }
    for text in ["$1", "?", "?1", ":x", "@x", "$x::y"] {
        refused(&format!("SELECT a FROM t WHERE b = {text}"), Dialect::Sqlite, "a driver");
    }
    refused("SELECT a$1 FROM t", Dialect::Postgresql, "quote the name");
    refused("SELECT a::int FROM t", Dialect::Sqlite, "a driver");
    refused("SELECT a FROM t WHERE b = #x", Dialect::Sqlite, "not a known operator");
}

#[test]
fn brackets_that_are_not_ours() {
    for text in [
        "SELECT 1)",
        "SELECT 1) OR (1=1",
        "(SELECT 1",
        "SELECT (1",
        "SELECT 1))((",
        "SELECT [1)",
        "SELECT (1]",
        ")",
        "SELECT 1 ] [",
        "SELECT 'a') UNION SELECT (b FROM u",
    ] {
        assert!(read(text, Dialect::Postgresql).is_err(), "{text}");
        assert!(read(text, Dialect::Sqlite).is_err(), "{text}");
    }
}

/// Texts that PostgreSQL and this reader might read differently.
const UNCLEAR_IN_POSTGRESQL: &[&str] = &[
    "SELECT 'a",
    "SELECT \"a",
    "SELECT $$a",
    "SELECT $a$b$$",
    "SELECT $a$b$A$",
    "SELECT E'a\\'",
    "SELECT /* a",
    "SELECT /* /* a */",
    "SELECT N'a'",
    "SELECT n'a'",
    "SELECT E'\\x80'",
    "SELECT E'\\377'",
    "SELECT E'\\ud83d\\ude00'",
    "SELECT E'\\u12'",
    "SELECT E'\\0'",
    "SELECT U&'\\00'",
    "SELECT U&'\\0000'",
    "SELECT U&'\\d83d'",
    "SELECT U&'!0061' UESCAPE '!'",
    "SELECT B'2'",
    "SELECT X'g'",
    "SELECT 'a' 'b'",
    "SELECT 'a' /* x\n */ 'b'",
    "SELECT E'a'\n'b'",
    "SELECT 'a'E'b'",
    "SELECT \"\" FROM t",
    "SELECT 1a",
    "SELECT 0x1F",
    "SELECT 1_000",
    "SELECT 1.",
    "SELECT 1.e5",
    "SELECT 1..2",
    "SELECT 1e",
    "SELECT 1'a'",
    "SELECT a\u{a0}FROM t",
    "SELECT a\u{b}FROM t",
    "SELECT a\u{200b}FROM t",
    "SELECT a\u{2028}FROM t",
    "SELECT \u{ff07}a\u{ff07} FROM t",
    "SELECT \u{feff}a FROM t",
    "SELECT a\0",
    "SELECT 'a\0b'",
    "SELECT {d '2026-01-01'}",
    "SELECT a \\ b",
    "SELECT `a` FROM t",
    "SELECT a # b",
    "SELECT a @ b",
    "SELECT a !! b",
    "SELECT a <-- b",
    "SELECT a */ b",
    "SELECT a ==== b",
    "SELECT \u{301}a FROM t",
    "\\",
    "\\copy t",
    "SELECT 1\\; SELECT 2",
];

/// The same for SQLite.
const UNCLEAR_IN_SQLITE: &[&str] = &[
    "SELECT E'a'",
    "SELECT N'a'",
    "SELECT B'1'",
    "SELECT x'1'",
    "SELECT X'1g'",
    "SELECT $$a$$",
    "SELECT 'a'\n'b'",
    "SELECT [a",
    "SELECT `a",
    "SELECT [] FROM t",
    "SELECT a # b",
    "SELECT a ^ b",
    "SELECT a $b",
    "SELECT a$b FROM t",
    "SELECT 1_000",
    "SELECT a\0",
    "SELECT 'a' \\ 'b'",
    "SELECT a /* b",
    "SELECT a\u{a0}FROM t",
    "SELECT 0x1f",
    "SELECT 1abc",
];

#[test]
fn what_readers_take_in_different_ways() {
    for text in UNCLEAR_IN_POSTGRESQL {
        assert!(read(text, Dialect::Postgresql).is_err(), "{text}");
    }
    for text in UNCLEAR_IN_SQLITE {
        assert!(read(text, Dialect::Sqlite).is_err(), "{text}");
    }
}

#[test]
fn a_text_is_data_in_every_position() {
    for inside in [
        "'; DROP TABLE users; --",
        "\\' OR 1=1 --",
        "\\",
        "''",
        "$1",
        ":x",
        "?",
        "%s",
        "/*",
        "*/",
        "--",
        "\u{1F600}",
        ")",
        "$$",
        "\n",
    ] {
        let literal = format!("'{}'", inside.replace('\'', "''"));
        for dialect in BOTH {
            let text = format!("SELECT a FROM t WHERE b = {literal} AND c");
            let spelled = plain_literal(inside, dialect.features().escapes);
            let expected = format!("SELECT a FROM t WHERE b = {spelled} AND c");
            assert_eq!(read(&text, dialect).unwrap().text, expected);
        }
        let name = format!("\"{}\"", inside.replace('"', "\"\""));
        for dialect in BOTH {
            let text = format!("SELECT {name} FROM t");
            let quote = if dialect.features().lexis.unknown_names_are_texts { '`' } else { '"' };
            let spelled = plain_name(inside, quote, dialect.features().escapes);
            assert_eq!(read(&text, dialect).unwrap().text, format!("SELECT {spelled} FROM t"));
        }
    }
}
