//! Documents in every form that real files have.

use super::*;
use crate::bindings::{Family, Fit, RowTable, SqlName, SqlType};
use crate::catalog::BindingId;

#[test]
fn a_document_without_bindings_binds_nothing() {
    let nothing = [
        "",
        " \n\n",
        "null",
        "~",
        "\"\"",
        "''",
        "# nothing\n",
        "---\n",
        "{}",
        "facts:",
        "facts: {}",
        "facts: null\n",
        "facts:\n#  has_role(User:_):\n#    query: SELECT 1\n",
        "\u{feff}facts:\n",
        "facts:\nsql_types:\ntables:\ndialect:\n",
        "version: 1\n",
        "%YAML 1.2\n---\nfacts:\n...\n",
    ];
    for text in nothing {
        let bindings = good(text);
        assert!(bindings.facts.is_empty(), "{text:?}");
        assert_eq!(bindings.dialect, Dialect::Postgresql, "{text:?}");
    }
}

#[test]
fn the_document_of_the_specification() {
    let bindings = good(
        "facts:
  has_role(User:_, String:_, Organization:_):
    query: SELECT user_id, role, org_id FROM memberships
  has_relation(Issue:_, parent, Repository:_):        # a bare word is a String constant, like String:parent
    query: SELECT id, repository_id FROM issues
sql_types:                                            # optional; any SQL type text, any case
  Issue: integer
",
    );
    let [role, relation] = bindings.facts.as_slice() else { panic!("{bindings:?}") };
    assert_eq!((role.predicate.as_str(), role.line), ("has_role", 2));
    assert_eq!(role.key, "has_role(User:_, String:_, Organization:_)");
    assert_eq!(role.args, [column("User"), column("String"), column("Organization")]);
    assert_eq!(role.query.text, "SELECT user_id, role, org_id FROM memberships");
    assert_eq!((relation.predicate.as_str(), relation.line), ("has_relation", 4));
    assert_eq!(relation.args, [column("Issue"), constant("String", "parent"), column("Repository")]);
    assert_eq!(bindings.sql_types["Issue"].name, "bigint");
}

#[test]
fn constants_stand_in_any_position_and_spelling() {
    let one = "SELECT a FROM t";
    assert_eq!(args("f(parent, T:_)", one), [constant("String", "parent"), column("T")]);
    assert_eq!(args("f(T:_, read-only)", one), [column("T"), constant("String", "read-only")]);
    assert_eq!(args("f(T:_, \"parent\")", one), [column("T"), constant("String", "parent")]);
    assert_eq!(args("'f(T:_, \"it''s\")'", one), [column("T"), constant("String", "it's")]);
    assert_eq!(args("f(T:_, String:parent)", one), [column("T"), constant("String", "parent")]);
    assert_eq!(args("f(T:_, String:\"a b\")", one), [column("T"), constant("String", "a b")]);
    assert_eq!(args("f(T:_, String:\"_\")", one), [column("T"), constant("String", "_")]);
    assert_eq!(
        args(r#"f(T:_, String:"\"\\, )(é\n")"#, one),
        [column("T"), constant("String", "\"\\, )(é\n")]
    );
    assert_eq!(args("f(User:alice, T:_)", one), [constant("User", "alice"), column("T")]);
    assert_eq!(args("f(User:a.b@c/d:e-1, T:_)", one), [constant("User", "a.b@c/d:e-1"), column("T")]);
    assert_eq!(args("f(T:_, Integer:10)", one), [column("T"), constant("Integer", "10")]);
    assert_eq!(args("f(T:_, Integer:-10)", one), [column("T"), constant("Integer", "-10")]);
    assert_eq!(args("f(T:_, Boolean:true)", one), [column("T"), constant("Boolean", "true")]);
    assert_eq!(args("f( T:_ ,U:_ )", "SELECT a, b FROM t"), [column("T"), column("U")]);
    assert_eq!(args("is_open?(A::B:_)", one), [column("A::B")]);
    assert_eq!(args("ünïts(Ort:_)", one), [column("Ort")]);
}

#[test]
fn unknown_keys_are_passed_over_at_any_level() {
    let bindings = good(
        "version: 2
source: {a: [1, 2], b: !custom x}
dbs:
  main:
    connection_string: postgresql://localhost/app
facts:
  is_public(Document:_):
    db: main
    note: [x]
    query: SELECT id FROM documents WHERE public
  is_public(Document:_, Boolean:_):
    query: SELECT id, public FROM documents
  has_role(User:_, String:_):
    query: SELECT user_id, role FROM global_roles
  has_role(User:_, String:_, Organization:_):
    query: SELECT user_id, role, org_id FROM org_roles
  quota(Organization:_, Integer:_):
    query: SELECT id, seats FROM orgs
",
    );
    let arities: Vec<usize> = bindings.facts.iter().map(|fact| fact.args.len()).collect();
    assert_eq!(arities, [1, 2, 2, 3, 2]);
}

#[test]
fn keys_and_queries_take_every_style_of_yaml() {
    let text = "facts:
  'f(T:_)':
    query: >
      SELECT id /* the id */
      FROM t -- that is all

  \"g(T:_, \\\"x\\\")\":
    query: |-
      SELECT id -- the id
      FROM t;
  h(T:_):
    query: 'SELECT id FROM t WHERE x = ''y'''
  i(T:_):
    query: \"SELECT id FROM t\\n  WHERE \\\"X\\\" = 1\"
  j(T:_):
    query:
      SELECT id
      FROM t
  k(T:_): {query: SELECT id FROM t}
  m(T:_): {query: \"SELECT id FROM t -- one line\\n\"}
  ? l(T:_)
  : query: SELECT id FROM t
";
    let bindings = good(text);
    let texts: Vec<&str> = bindings.facts.iter().map(|fact| fact.query.text.as_str()).collect();
    let plain = "SELECT id FROM t";
    let quoted = "SELECT id FROM t WHERE x = 'y'";
    assert_eq!(texts, [plain, plain, quoted, "SELECT id FROM t WHERE \"X\" = 1", plain, plain, plain, plain]);
}

#[test]
fn lines_may_end_as_on_windows() {
    let bindings = good("facts:\r\n  f(T:_):\r\n    query: |\r\n      SELECT id -- x\r\n      FROM t\r\n");
    assert_eq!(bindings.facts[BindingId(0)].query.text, "SELECT id FROM t");
}

#[test]
fn aliases_share_what_they_name() {
    let bindings = good("x: &q SELECT id FROM t\nfacts:\n  f(T:_): &f\n    query: *q\n  g(T:_): *f\n");
    assert_eq!(bindings.facts.len(), 2);
    assert!(bindings.facts.iter().all(|fact| fact.query.text == "SELECT id FROM t"));
}

#[test]
fn a_dialect_has_the_names_that_people_write() {
    for (name, dialect) in [
        ("postgres", Dialect::Postgresql),
        ("PostgreSQL", Dialect::Postgresql),
        ("pg", Dialect::Postgresql),
        ("sqlite", Dialect::Sqlite),
        ("'SQLite3'", Dialect::Sqlite),
        ("null", Dialect::Postgresql),
    ] {
        assert_eq!(good(&format!("dialect: {name}\n")).dialect, dialect);
    }
}

#[test]
fn sql_types_are_read_in_any_case() {
    for (text, name, family) in [
        ("smallint", "bigint", Family::Integer),
        ("INT2", "bigint", Family::Integer),
        ("integer", "bigint", Family::Integer),
        ("Int", "bigint", Family::Integer),
        ("int4", "bigint", Family::Integer),
        ("SERIAL", "bigint", Family::Integer),
        ("bigint", "bigint", Family::Integer),
        ("int8", "bigint", Family::Integer),
        ("bigserial", "bigint", Family::Integer),
        ("pg_catalog.int8", "bigint", Family::Integer),
        ("TEXT", "TEXT", Family::Text),
        ("VARCHAR(255)", "TEXT", Family::Text),
        ("character  varying ( 20 )", "TEXT", Family::Text),
        ("CHAR(31)", "bpchar", Family::Padded),
        ("CHAR(32)", "CHAR(32)", Family::Ambiguous),
        ("char ( 32 )", "char ( 32 )", Family::Ambiguous),
        ("character(32)", "bpchar", Family::Padded),
        ("character(3)", "bpchar", Family::Padded),
        ("UUID", "uuid", Family::Uuid),
        ("CITEXT", "CITEXT", Family::Caseless),
        ("public.citext", "public.citext", Family::Caseless),
        ("\"citext\"", "\"citext\"", Family::Caseless),
        ("app.\"citext\"", "app.\"citext\"", Family::Caseless),
        ("\"Citext\"", "\"Citext\"", Family::Other),
        ("citext[]", "citext[]", Family::Other),
        ("citext.words", "citext.words", Family::Other),
        ("NUMERIC", "numeric", Family::Numeric),
        ("numeric(20)", "numeric", Family::Numeric),
        ("decimal ( 20 , 0 )", "numeric", Family::Numeric),
        ("numeric(10, 2)", "numeric(10, 2)", Family::Other),
        ("double precision", "double precision", Family::Other),
        ("timestamp with time zone", "timestamp with time zone", Family::Other),
        ("\"Role\"", "\"Role\"", Family::Other),
        ("app.\"user role\"", "app.\"user role\"", Family::Other),
        ("integer[]", "integer[]", Family::Other),
        ("\"integer\"", "\"integer\"", Family::Other),
        ("geometry(Point, 4326)", "geometry(Point, 4326)", Family::Other),
    ] {
        let expected = SqlType { name: name.to_owned(), family };
        let types = good(&format!("sql_types: {{T: '{text}'}}\n")).sql_types;
        assert_eq!(types["T"], expected, "{text}");
    }
    for (text, name, family) in [
        ("INTEGER", "INTEGER", Family::IntegerAffinity),
        ("smallint", "INTEGER", Family::IntegerAffinity),
        ("int(11) unsigned", "INTEGER", Family::IntegerAffinity),
        ("TEXT", "TEXT", Family::Text),
        ("nvarchar(10)", "TEXT", Family::Text),
        ("char(36)", "TEXT", Family::Text),
        ("UUID", "TEXT", Family::Text),
        ("NUMERIC(10)", "INTEGER", Family::IntegerAffinity),
        ("real", "real", Family::Other),
    ] {
        let expected = SqlType { name: name.to_owned(), family };
        let types = good(&format!("dialect: sqlite\nsql_types: {{T: '{text}'}}\n")).sql_types;
        assert_eq!(types["T"], expected, "{text}");
    }
}

#[test]
fn a_type_says_how_an_id_compares() {
    let uuid = "550e8400-e29b-41d4-a716-446655440000";
    for (dialect, ty, fit, ids) in [
        (Dialect::Postgresql, "smallint", Fit::Value, &["0", "7", "-32769", "9223372036854775807"][..]),
        (Dialect::Postgresql, "integer", Fit::Value, &["2147483648", "-9223372036854775808"]),
        (Dialect::Postgresql, "numeric", Fit::Value, &["0", "-1", "9223372036854775807"]),
        (Dialect::Postgresql, "integer", Fit::Wide, &["9223372036854775808", "-9223372036854775809"]),
        (Dialect::Postgresql, "numeric", Fit::Wide, &["9223372036854775808", "100000000000000000000000"]),
        (Dialect::Postgresql, "bigint", Fit::Text, &["1.0", "5.50", "1e3", "1e+30", "NaN", "-Infinity"]),
        (
            Dialect::Postgresql,
            "integer",
            Fit::Never,
            &["hr", "01", "+1", "-0", "-", "--1", " 1", "1 ", "٣", "", "1_0", "0x1", "nan", "1\0"],
        ),
        (Dialect::Postgresql, "uuid", Fit::Value, &[uuid]),
        (
            Dialect::Postgresql,
            "uuid",
            Fit::Never,
            &[
                "550E8400-E29B-41D4-A716-446655440000",
                "550e8400e29b41d4a716446655440000",
                "{550e8400-e29b-41d4-a716-44665544000}",
                "550e8400-e29b-41d4-a716-44665544000g",
                "",
            ],
        ),
        (Dialect::Postgresql, "text", Fit::Value, &["", " a", "7"]),
        (Dialect::Postgresql, "text", Fit::Text, &["a ", " "]),
        (Dialect::Postgresql, "varchar(2)", Fit::Value, &["abc"]),
        (Dialect::Postgresql, "char(3)", Fit::Value, &["ab", "abcd", ""]),
        (Dialect::Postgresql, "char(3)", Fit::Text, &["ab ", " "]),
        (Dialect::Postgresql, "citext", Fit::Value, &["ABC", "7", "a ", uuid]),
        (Dialect::Postgresql, "numeric(10,2)", Fit::Text, &["5", "5.00"]),
        (Dialect::Postgresql, "text", Fit::Never, &["a\0"]),
        (Dialect::Sqlite, "integer", Fit::Value, &["0", "-9223372036854775808"]),
        (Dialect::Sqlite, "integer", Fit::Text, &["9223372036854775808", "hr", "01", "1.0", " 1"]),
        (Dialect::Sqlite, "uuid", Fit::Value, &[uuid, "hr"]),
    ] {
        let ty = SqlType::parse(ty, dialect).unwrap();
        for id in ids {
            assert_eq!(ty.fit(id), fit, "{ty:?} {id:?}");
        }
    }
}

#[test]
fn tables_name_a_column_with_its_table() {
    let bindings =
        good("tables:\n  A: issues.id\n  B: app.Issues.\"Id\"\n  C: '\"my app\".\"a.b\".id'\n  D: t.user\n");
    let row = |ty: &str| {
        let RowTable { table, column } = &bindings.tables[ty];
        format!("{} {column}", SqlName::path(table))
    };
    assert_eq!(row("A"), "issues id");
    assert_eq!(row("B"), "app.Issues \"Id\"");
    assert_eq!(row("C"), "\"my app\".\"a.b\" id");
    assert_eq!(row("D"), "t user");
}

#[test]
fn aliases_name_a_table() {
    let bindings = good(
        "tables:\n  A: app.issues.id\n  B: users.id\naliases:\n  i: app.issues\n  users: people\n  '\"I\"': issues\n  '\"user\"': '\"my app\".users'\n",
    );
    let shown = |(alias, table): (&SqlName, &Vec<SqlName>)| format!("{alias} = {}", SqlName::path(table));
    let shown: Vec<String> = bindings.aliases.iter().map(shown).collect();
    assert_eq!(shown, ["i = app.issues", "users = people", "\"I\" = issues", "\"user\" = \"my app\".users"]);
    let calls = |ty: &str, column: &str| {
        let name = crate::bindings::column(column, Dialect::Postgresql).unwrap().name.unwrap();
        bindings.is_called(&bindings.tables[ty], &name[..name.len() - 1])
    };
    // There is another table under this name.
    assert!(!calls("B", "users.id"));
    for (column, is_called) in [
        ("issues.id", true),
        ("app.issues.id", true),
        ("i.id", true),
        ("I.id", true),
        ("\"I\".id", false),
        ("app.i.id", false),
        ("j.id", false),
        ("id", false),
    ] {
        assert_eq!(calls("A", column), is_called, "{column}");
    }
}
