//! Bound queries that are accepted, and their output.

use super::*;

#[test]
fn what_real_files_hold() {
    for text in [
        "SELECT DISTINCT user_id, role FROM memberships",
        "SELECT m.user_id, r.name FROM memberships m JOIN roles r ON r.id = m.role_id",
        "SELECT a.id FROM app.accounts AS a LEFT JOIN x USING (id), y",
        "SELECT \"User\".\"Id\", 'x' AS \"the role\" FROM \"My App\".\"User\"",
        "WITH RECURSIVE up (id, parent) AS (SELECT id, parent FROM f UNION ALL SELECT f.id, f.parent FROM f, up WHERE up.parent = f.id) SELECT id, parent FROM up",
        "SELECT id, CASE WHEN admin THEN 'admin' ELSE 'member' END FROM users",
        "VALUES ('alice', 'admin'), ('bob', 'member')",
        "(SELECT id FROM t)",
        "(SELECT id FROM t) UNION ALL (SELECT id FROM u) ORDER BY 1 LIMIT 5",
        "SELECT id FROM t WHERE deleted_at IS NULL AND kind IN ('a', 'b') AND NOT archived",
        "SELECT id FROM t WHERE created_at > CURRENT_TIMESTAMP AND n BETWEEN 1 AND 1.5e3",
        "SELECT count(*), max(x) FROM t GROUP BY y HAVING count(*) > -1",
        "SELECT coalesce(a, b), row_number() OVER (PARTITION BY a ORDER BY b) FROM t",
        "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id)",
        "SELECT replace(a, 'x', 'y'), a || 'z' FROM t WHERE a LIKE 'x_' ESCAPE '!'",
        "SELECT id FROM größen WHERE naïve = 'ünïcödé'",
        "SELECT id FROM t WHERE a % 2 = 0",
    ] {
        becomes(text, text);
        if !text.starts_with('(') {
            becomes_in_sqlite(text, &text.replace('"', "`"));
        }
    }
}

#[test]
fn what_postgresql_has_beyond() {
    for text in [
        "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b NULLS LAST",
        "SELECT id FROM t, LATERAL unnest(t.ids) WITH ORDINALITY AS u(id, n)",
        "SELECT data ->> 'id', data #>> '[a,b]' FROM t WHERE tags @> ARRAY['x'] AND a && b",
        "SELECT id FROM t WHERE name ~* '^a' AND name !~ 'b' AND x IS DISTINCT FROM y",
        "SELECT id FROM t WHERE id = ANY(ARRAY[1, 2]) AND a[1] = 2",
        "SELECT string_agg(a, ',' ORDER BY a) FILTER (WHERE b) FROM t",
        "SELECT id FROM t WHERE at > now() - INTERVAL '1 day' AND d = DATE '2026-01-01'",
        "SELECT substring(a FROM 1 FOR 2), extract(year FROM b) FROM t",
        "SELECT CAST(role AS text), current_setting('app.tenant') FROM t",
        "SELECT id FROM t WHERE bits = B'0101' AND blob = X'1f'",
        "SELECT id FROM t WHERE a COLLATE \"C\" < 'b' AND b ILIKE 'x'",
        "SELECT id FROM generate_series(1, 10) AS g(id)",
        "SELECT id FROM t OFFSET 1 FETCH FIRST 2 ROWS ONLY",
    ] {
        becomes(text, text);
    }
}

#[test]
fn space_comments_and_the_end_are_tidied() {
    becomes("SELECT a\n\t FROM   t ;", "SELECT a FROM t");
    becomes("SELECT a FROM t;;\n", "SELECT a FROM t");
    becomes("-- first\nSELECT a -- ); DROP TABLE t\nFROM t", "SELECT a FROM t");
    becomes("/* x */SELECT/**/a/* /* nested */ ; */FROM t--", "SELECT a FROM t");
    becomes("SELECT a -- x\rFROM t", "SELECT a FROM t");
    becomes("SELECT a\r\nFROM t\u{c}WHERE b", "SELECT a FROM t WHERE b");
    becomes(
        "SELECT 1 - -1, 1--1
",
        "SELECT 1 - -1, 1",
    );
    becomes(
        "SELECT a FROM t WHERE b>-1 AND c<-1 AND d=-1 AND e!= +1",
        "SELECT a FROM t WHERE b> -1 AND c< -1 AND d= -1 AND e<> +1",
    );
    becomes("SELECT a FROM t WHERE b ->>'x'='y'", "SELECT a FROM t WHERE b ->>'x'='y'");
    becomes("SELECT a FROM t WHERE b=/*x*/c AND d/**/=e", "SELECT a FROM t WHERE b= c AND d =e");
    becomes("SELECT a FROM t WHERE'x'=b", "SELECT a FROM t WHERE 'x'=b");
    becomes("SELECT(a)FROM\"t\"", "SELECT(a)FROM \"t\"");
    becomes_in_sqlite("SELECT a /* /* x */ FROM t", "SELECT a FROM t");
    becomes_in_sqlite("SELECT a -- x\rFROM u\nFROM t", "SELECT a FROM t");
}

#[test]
fn a_cast_never_looks_like_a_parameter() {
    becomes(
        "SELECT id::text, (a + b)::\"My Type\", 'x'::varchar(3)::text FROM t",
        "SELECT id:: text, (a + b):: \"My Type\", 'x':: varchar(3):: text FROM t",
    );
}

#[test]
fn every_spelling_of_a_text_becomes_one() {
    for (spelled, plain) in [
        ("'it''s'", "'it''s'"),
        ("'a\\'", r"E'a\x5c'"),
        ("'a\nb'", r"E'a\x0ab'"),
        ("'$1 ? :x @y --'", r"E'\x241 \x3f \x3ax \x40y --'"),
        ("'5%'", r"E'5\x25'"),
        ("'{a,b}'", r"E'\x7ba,b}'"),
        ("'it''s a%'", r"E'it''s a\x25'"),
        ("$$it's$$", "'it''s'"),
        ("$a$x$$y$b$z$a$", r"E'x\x24\x24y\x24b\x24z'"),
        ("$é_1$x$é_1$", "'x'"),
        ("E'it\\'s'", "'it''s'"),
        ("e'a\\\\b\\n\\t\\x41\\101\\u00e9\\U0001F600\\q'''", r"E'a\x5cb\x0a\x09AAé😀q'''"),
        ("U&'d\\0061t\\+000061\\\\'", r"E'data\x5c'"),
        ("u&'it''s'", "'it''s'"),
        ("'a'\n  'b' -- x\n  'c'", "'abc'"),
    ] {
        becomes(
            &format!("SELECT a FROM t WHERE b = {spelled}"),
            &format!("SELECT a FROM t WHERE b = {plain}"),
        );
    }
    becomes("SELECT U&\"d\\0061ta\", \"a\"\"b\" FROM t", "SELECT \"data\", \"a\"\"b\" FROM t");
    becomes("SELECT a FROM t WHERE b = date'2026-01-01'", "SELECT a FROM t WHERE b = date '2026-01-01'");
}

/// Drivers write parameters as `%s`, `:x`, `?` or `$1`, and some look for them inside quotes.
#[test]
fn nothing_in_quotes_looks_like_a_parameter() {
    becomes(
        "SELECT a FROM t WHERE b LIKE 'a%' AND c = ':x'::text AND d IN ('?', '$1') -- 5% :x",
        r"SELECT a FROM t WHERE b LIKE E'a\x25' AND c = E'\x3ax':: text AND d IN (E'\x3f', E'\x241')",
    );
    becomes("SELECT a FROM t WHERE at > date'12:30'", r"SELECT a FROM t WHERE at > date E'12\x3a30'");
    becomes(
        r#"SELECT "a:b", "c%" FROM "x?" WHERE "it""s:" = 1"#,
        r#"SELECT U&"a\003ab", U&"c\0025" FROM U&"x\003f" WHERE U&"it""s\003a" = 1"#,
    );
    becomes_in_sqlite(
        "SELECT a FROM t WHERE b LIKE 'a%' AND c = ':x' AND d IN ('?', '$1') -- 5% :x",
        "SELECT a FROM t WHERE b LIKE ('a' || char(37)) AND c = (char(58) || 'x') AND d IN ((char(63)), (char(36) || '1'))",
    );
    becomes_in_sqlite(
        "SELECT CASE WHEN a THEN '%' ELSE lower('A:b') END FROM t WHERE x->>'$.a' = '1' ORDER BY a || ':'",
        "SELECT CASE WHEN a THEN (char(37)) ELSE lower(('A' || char(58) || 'b')) END FROM t \
         WHERE x->>(char(36) || '.a') = '1' ORDER BY a || (char(58))",
    );
    // SQLite has no other spelling for a name, and finds no parameters inside quotes.
    becomes_in_sqlite("SELECT \"a:b\" FROM t", "SELECT `a:b` FROM t");
}

/// An expression cannot be a name, so a text that is used as a name is rejected if it would have to be
/// escaped.
#[test]
fn a_text_that_is_a_name_is_not_spelled_by_escapes() {
    for text in [
        "SELECT a AS 'b:c' FROM t",
        "SELECT a 'b:c' FROM t",
        "SELECT 'b:c'.a FROM t",
        "SELECT a FROM 'b:c'",
        "SELECT a FROM t, 'b:c'",
        "SELECT a FROM t 'b:c'",
        "SELECT a FROM t AS 'b:c'",
        "WITH x ('b:c') AS (SELECT 1) SELECT * FROM x",
        "SELECT a FROM t JOIN u USING ('b:c')",
        "SELECT a FROM t ORDER BY a COLLATE 'b:c'",
        "SELECT CAST(a AS 'b:c') FROM t",
    ] {
        let reason = read(text, Dialect::Sqlite).expect_err(text);
        assert!(
            reason.contains("uses a text as a name") || reason.contains("cannot be read"),
            "{text}: {reason}"
        );
    }
    becomes_in_sqlite("SELECT a AS 'b c' FROM t", "SELECT a AS 'b c' FROM t");
}

/// It would read a name in double quotes as a text if there is no such column.
#[test]
fn sqlite_quotes_names_in_three_ways() {
    becomes_in_sqlite(
        "SELECT [a b], `c``d`, \"e\"\"f\" FROM [t\"]",
        "SELECT `a b`, `c``d`, `e\"f` FROM `t\"`",
    );
    becomes_in_sqlite(
        "SELECT a FROM t WHERE b == x'1F' AND c GLOB 'a*'",
        "SELECT a FROM t WHERE b == X'1F' AND c GLOB 'a*'",
    );
    becomes_in_sqlite("SELECT a FROM t WHERE data->>'x' <> 1", "SELECT a FROM t WHERE data->>'x' <> 1");
}

#[test]
fn table_is_written_out() {
    becomes("TABLE app.\"T\";", "SELECT * FROM app.\"T\"");
    becomes_in_sqlite("table t", "SELECT * FROM t");
}

#[test]
fn every_word_is_known() {
    let query = read("SELECT \"User\".ID, 'pc1' FROM App.users AS PC2", Dialect::Postgresql).unwrap();
    assert_eq!(query.words, ["app", "as", "from", "id", "pc2", "select", "user", "users"]);
    let query = read("SELECT x FROM 'PC3'", Dialect::Sqlite).unwrap();
    assert_eq!(query.words, ["from", "pc3", "select", "x"]);
}

/// The table in `docs/local-checks/README.md`, row by row.
#[test]
fn syntax_that_the_parser_does_not_know_has_another_spelling() {
    for (refused, instead) in [
        ("SELECT a FROM t WHERE a IS 'x'", "SELECT a FROM t WHERE a IS NOT DISTINCT FROM 'x'"),
        ("SELECT a FROM t WHERE a IS NOT 'x'", "SELECT a FROM t WHERE a IS DISTINCT FROM 'x'"),
        ("SELECT a FROM t WHERE a ISNULL", "SELECT a FROM t WHERE a IS NULL"),
        ("SELECT a FROM t WHERE a << 2 = 4", "SELECT a FROM t WHERE (a * 4) = 4"),
        ("SELECT a FROM t WHERE a >> 2 = 4", "SELECT a FROM t WHERE (a / 4) = 4"),
        ("SELECT a FROM t INDEXED BY i", "SELECT a FROM t"),
        ("SELECT a FROM t NOT INDEXED", "SELECT a FROM t"),
    ] {
        let reason = read(refused, Dialect::Sqlite).expect_err(refused);
        assert!(reason.contains("cannot be read"), "{refused}: {reason}");
        becomes_in_sqlite(instead, instead);
    }
    for refused in ["SELECT a FROM t *", "SELECT a FROM t WHERE a ISNULL"] {
        let reason = read(refused, Dialect::Postgresql).expect_err(refused);
        assert!(reason.contains("cannot be read"), "{refused}: {reason}");
    }
    becomes_in_sqlite("SELECT a FROM t WHERE a NOTNULL", "SELECT a FROM t WHERE a NOTNULL");
    let reason = read("SELECT a FROM t WHERE a IS 'x'", Dialect::Sqlite).expect_err("refused");
    let expected = "after IS or IS NOT, expected NULL, TRUE, FALSE or DISTINCT FROM, found 'x'";
    assert!(reason.contains(expected), "{reason}");
}
