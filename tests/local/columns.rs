//! Columns of other types than text: declared, undeclared, and types in which a value equals more than
//! itself.

use super::service::{Service, caller as usual, column};
use portcullis_compiler::Dialect;
use portcullis_compiler::question::QuestionVarId;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::{Caller, printed};
use portcullis_testkit::local::ways::{self, Way};
use portcullis_testkit::notation;

const POLICY: &str = r#"
actor User {}
resource Doc {
  permissions = ["read", "open", "grow", "shrink"];
  roles = ["reader"];
  "read" if "reader";
}
has_permission(_: User, "open", doc: Doc) if flag(doc, true) and kind(doc, "open");
has_permission(_: User, "grow", doc: Doc) if size(doc, n) and n < 10;
has_permission(_: User, "shrink", doc: Doc) if size(doc, n) and not n < 10;
"#;

const ROLES: &str = "
facts:
  has_role(User:_, reader, Doc:_):
    query: SELECT who, doc FROM readers
";

/// Readers of documents, each column of this type, and what is said of it.
pub(crate) fn readers(dialect: Dialect, ty: &str, rows: &str, told: &str) -> (Service, Caller) {
    let service = Service::new(POLICY, "", &format!("{ROLES}sql_types:\n{told}"));
    let caller = Caller::new(dialect).unwrap();
    caller.script(&format!("CREATE TEMPORARY TABLE readers (who {ty}, doc {ty})")).unwrap();
    if !rows.is_empty() {
        caller.script(&format!("INSERT INTO readers VALUES {rows}")).unwrap();
    }
    (service, caller)
}

const UUID: &str = "018f3c2e-7b1a-7c3d-9e4f-0123456789ab";

/// Without `sql_types` a number or a UUID takes the column's type, as it would in a statement that a person
/// writes by hand. Where the column's type has no such value, the database says so; no other id fails.
#[test]
fn an_untyped_id_fails_only_where_the_column_has_no_such_form() {
    let ids =
        ["7", "0", "-7", "123456", "999999999", "9999999999", "07", " 7", "1e3", "abc", "A", UUID, "{}"];
    for (ty, value, refused) in [
        ("TEXT", "7", &[][..]),
        ("VARCHAR(40)", "7", &[]),
        ("INTEGER", "7", &[UUID]),
        ("BIGINT", "7", &[UUID]),
        ("NUMERIC", "7", &[UUID]),
        ("SMALLINT", "7", &["123456", "999999999", UUID]),
        ("UUID", UUID, &["7", "0", "-7", "123456", "999999999"]),
        ("mood", "fine", &["7", "0", "-7", "123456", "999999999", UUID]),
    ] {
        for told in ["", "  User: X\n  Doc: X\n"] {
            let is_told = !told.is_empty();
            let (service, caller) = readers(Dialect::Postgresql, "TEXT", "", &told.replace('X', ty));
            caller
                .script(&format!(
                    "CREATE TYPE pg_temp.mood AS ENUM ('fine');
                     DROP TABLE readers;
                     CREATE TEMPORARY TABLE readers (who {ty}, doc {ty});
                     INSERT INTO readers VALUES ('{value}', '{value}');"
                ))
                .unwrap();
            for id in ids {
                let question = format!("allow(User:{id:?}, \"read\", Doc:{id:?})");
                let sql = service.sql(&question, Way::Authorize, "");
                let list = service.filter(&format!("allow(User:{id:?}, \"read\", Doc:?)"), "doc");
                let list = format!("SELECT EXISTS (SELECT FROM readers WHERE {list})");
                for sql in [sql, list] {
                    let fails = refused.contains(&id) && !is_told;
                    match caller.run(&sql) {
                        Ok(found) => {
                            assert!(!fails, "{ty} {id:?}\n{sql}");
                            let answer = if id == value { "true" } else { "false" };
                            assert_eq!(found.rows.concat(), [Some(answer.to_owned())], "{ty} {id:?}\n{sql}");
                        }
                        Err(error) => assert!(fails, "{ty} {id:?}: {error}"),
                    }
                }
            }
        }
    }
}

/// Numbers next to UUIDs fit a column of text only.
#[test]
fn stored_ids_of_two_forms_fail_on_no_column() {
    let policy = POLICY;
    let stored = format!(
        "has_role(User:ada, \"reader\", Doc:7)\nhas_role(User:ada, \"reader\", Doc:{UUID})\n\
         has_role(User:ada, \"reader\", Doc:x)"
    );
    let service = Service::new(policy, &stored, "facts: null");
    let filter = service.filter("allow(User:ada, \"read\", Doc:?)", "id");
    for (ty, value) in [("INTEGER", "7"), ("UUID", UUID), ("TEXT", "x"), ("SMALLINT", "7")] {
        let caller = Caller::new(Dialect::Postgresql).unwrap();
        let sql = format!(
            "SELECT CAST(id AS TEXT) FROM (SELECT CAST('{value}' AS {ty}) AS id) AS t WHERE {filter}"
        );
        assert_eq!(column(&caller, &sql), value, "{sql}");
    }
}

/// A truth value and a word may be held in a column of any type.
#[test]
fn strings_and_booleans_fail_on_no_column() {
    let document = "
facts:
  flag(Doc:_, Boolean:_):
    query: SELECT id, flag FROM docs
  kind(Doc:_, String:_):
    query: SELECT id, kind FROM docs
";
    let service = Service::new(POLICY, "", document);
    let sql = service.sql("allow(User:ada, \"open\", Doc:a)", Way::Authorize, "");
    for (flag, kind, answer) in [
        ("CAST(true AS BOOLEAN)", "'open'", "true"),
        ("CAST(false AS BOOLEAN)", "'open'", "false"),
        ("'true'", "'open'", "true"),
        ("1", "CAST('open' AS VARCHAR(9))", "false"),
        ("CAST(true AS BOOLEAN)", "7", "false"),
        ("CAST(true AS BOOLEAN)", "now()", "false"),
        ("CAST('{}' AS JSON)", "'open'", "false"),
    ] {
        let caller = Caller::new(Dialect::Postgresql).unwrap();
        caller
            .script(&format!(
                "CREATE TEMPORARY TABLE docs AS SELECT 'a' AS id, {flag} AS flag, {kind} AS kind"
            ))
            .unwrap();
        assert_eq!(column(&caller, &sql), answer, "{flag} {kind}\n{sql}");
    }
    let ids = service.sql("kind(Doc:?, \"7\")", Way::Select, "");
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller
        .script(
            "CREATE TYPE pg_temp.kind AS ENUM ('7', 'x');
             CREATE TEMPORARY TABLE docs (id TEXT, flag TEXT, kind pg_temp.kind);
             INSERT INTO docs VALUES ('a', '', '7'), ('b', '', 'x');",
        )
        .unwrap();
    assert_eq!(column(&caller, &ids), "a", "{ids}");
}

/// Neither a comparison nor its negation holds of such a text.
#[test]
fn text_that_is_not_an_integer_is_not_a_fact() {
    let rows = [
        ("nine", "'9'", true, false),
        ("ten", "'10'", false, true),
        ("low", "'-9223372036854775808'", true, false),
        ("high", "'9223372036854775807'", false, true),
        ("word", "'abc'", false, false),
        ("empty", "''", false, false),
        ("zeros", "'05'", false, false),
        ("minus", "'-0'", false, false),
        ("blank", "' 5'", false, false),
        ("plus", "'+5'", false, false),
        ("fraction", "'5.0'", false, false),
        ("power", "'1e0'", false, false),
        ("arabic", "'٥'", false, false),
        ("null", "NULL", false, false),
    ];
    let documents = ["", "sql_types:\n  Integer: text\n", "sql_types:\n  Integer: bigint\n"];
    for dialect in DIALECTS {
        for (types, ty) in documents.iter().zip(["TEXT", "TEXT", "BIGINT"]) {
            let document =
                format!("facts:\n  size(Doc:_, Integer:_):\n    query: SELECT id, size FROM docs\n{types}");
            let service = Service::new(POLICY, "", &document);
            let caller = Caller::new(dialect).unwrap();
            caller.script(&format!("CREATE TEMPORARY TABLE docs (id TEXT, size {ty})")).unwrap();
            let fits = |size: &str| {
                ty == "TEXT" || size.trim_matches('\'').parse::<i64>().is_ok_and(|n| size == format!("'{n}'"))
            };
            let rows: Vec<_> = rows.iter().filter(|(_, size, ..)| fits(size)).collect();
            for (id, size, ..) in &rows {
                caller.script(&format!("INSERT INTO docs VALUES ('{id}', {size})")).unwrap();
            }
            for (id, size, is_less, is_more) in &rows {
                for (action, answer) in [("grow", is_less), ("shrink", is_more)] {
                    let question = format!("allow(User:ada, {action:?}, Doc:{id})");
                    let sql = service.sql_for(dialect, &question, Way::Authorize, "");
                    let found = ["true", "1"].contains(&column(&caller, &sql).as_str());
                    assert_eq!(found, *answer, "{dialect} {size} {action}\n{sql}");
                }
            }
            for (action, is_listed) in [("grow", 2), ("shrink", 2)] {
                let question = format!("allow(User:ada, {action:?}, Doc:?)");
                let filter = service.sql_for(dialect, &question, Way::List, "id");
                let sql = format!("SELECT COUNT(*) FROM docs WHERE {filter}");
                assert_eq!(column(&caller, &sql), is_listed.to_string(), "{sql}");
                let sql = format!("SELECT COUNT(*) FROM docs WHERE {filter} IS NULL");
                assert_eq!(column(&caller, &sql), "0", "{sql}");
            }
        }
    }
}

/// A filter over the integer itself is not NULL either, for any value of the column.
#[test]
fn a_filter_over_integers_is_never_null() {
    let policy = "small(n: Integer) if n < 10; big(n: Integer) if not n < 10;";
    let service = Service::new(policy, "", "facts: null");
    for dialect in DIALECTS {
        let caller = Caller::new(dialect).unwrap();
        caller
            .script(
                "CREATE TEMPORARY TABLE sizes (n TEXT);
                 INSERT INTO sizes VALUES ('7'), ('12'), ('abc'), ('07'), (NULL);",
            )
            .unwrap();
        for (question, answer) in [("small(Integer:?)", "7"), ("big(Integer:?)", "12")] {
            let asked =
                ways::local(&notation::question(question).unwrap(), Way::Filter(QuestionVarId(0)), "n");
            let filter = service.ask(dialect, asked, &[]).unwrap();
            assert_eq!(column(&caller, &format!("SELECT n FROM sizes WHERE {filter}")), answer, "{filter}");
            let sql = format!("SELECT COUNT(*) FROM sizes WHERE {filter} IS NULL");
            assert_eq!(column(&caller, &sql), "0", "{sql}");
        }
    }
}

/// What is no integer in its one form is in no fact, however deep in denials: there, too, a comparison with
/// it is false and not NULL.
#[test]
fn what_is_no_integer_denies_nothing_inside_denials() {
    let policy = r#"
        actor User {}
        resource Folder {}
        resource Doc { permissions = ["read"]; }
        has_permission(_: User, "read", d: Doc) if listed(d) and not hidden(d);
        hidden(d: Doc) if in_folder(d, f) and secret(f) and not low(d);
        low(d: Doc) if level(d, n) and n < 5;
    "#;
    let document = "
facts:
  level(Doc:_, Integer:_):
    query: SELECT id, level FROM docs
  listed(Doc:_):
    query: SELECT id FROM docs
  in_folder(Doc:_, Folder:_):
    query: SELECT id, folder_id FROM docs
  secret(Folder:_):
    query: SELECT id FROM folders WHERE secret = 1
sql_types: { Doc: integer, Folder: integer }
";
    for document in [document.to_owned(), format!("{document}tables: {{ Doc: docs.id }}\n")] {
        let service = Service::new(policy, "", &document);
        for dialect in DIALECTS {
            let caller = Caller::new(dialect).unwrap();
            caller
                .script(
                    "CREATE TEMPORARY TABLE docs (id INTEGER UNIQUE NOT NULL, level TEXT, folder_id INTEGER);
                     INSERT INTO docs VALUES (1, 'abc', 1), (2, '3', 1), (3, '07', 1), (4, NULL, 1), (5, '9', 1),
                       (6, '99999999999999999999', 1), (7, 'abc', 2);
                     CREATE TEMPORARY TABLE folders (id INTEGER UNIQUE, secret INTEGER);
                     INSERT INTO folders VALUES (1, 1), (2, 0);",
                )
                .unwrap();
            for (name, from) in [("docs.id", "docs"), ("listed.id", "docs AS listed")] {
                let question = "allow(User:ada, \"read\", Doc:?)";
                let filter = service.sql_for(dialect, question, Way::List, name);
                let sql = format!("SELECT id FROM {from} WHERE {filter} ORDER BY id");
                assert_eq!(column(&caller, &sql), "2 7", "{sql}");
            }
        }
    }
}

/// An integer column that is declared as one keeps its index.
#[test]
fn a_declared_integer_is_compared_by_its_index() {
    let document = "facts:\n  size(Doc:_, Integer:_):\n    query: SELECT id, size FROM docs\nsql_types:\n  Integer: integer\n";
    let service = Service::new(POLICY, "", document);
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller
        .script(
            "CREATE TEMPORARY TABLE docs (id TEXT PRIMARY KEY, size INTEGER);
             INSERT INTO docs SELECT 'doc ' || n, n FROM generate_series(1, 20000) AS g(n);
             CREATE INDEX ON docs (size);
             ANALYZE docs;",
        )
        .unwrap();
    let filter = service.filter("allow(User:ada, \"grow\", Doc:?)", "docs.id");
    let plan = printed(&caller, &format!("EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE {filter}")).unwrap();
    let plan: Vec<String> = plan.concat().into_iter().flatten().collect();
    assert!(plan.join("\n").contains("Index Cond: (size < 10)"), "{filter}\n{}", plan.join("\n"));
}

/// A name without a schema means what it means where the filter stands; with one it is the table's.
#[test]
fn a_table_with_its_schema_is_not_taken_for_the_callers_own() {
    for (dialect, schema) in [(Dialect::Postgresql, "pg_temp"), (Dialect::Sqlite, "temp")] {
        let caller = usual(dialect);
        for (table, answer) in [("watchers".to_owned(), "2"), (format!("{schema}.watchers"), "1 6")] {
            let document = format!(
                "facts:\n  watches(User:_, Repository:_):\n    query: SELECT who, repository_id FROM {table}\n\
                 sql_types:\n  Repository: integer\n"
            );
            let service = Service::new(super::service::POLICY, "", &document);
            let question = "allow(User:ada, \"watch\", Repository:?)";
            let filter = service.sql_for(dialect, question, Way::List, "repositories.id");
            let sql = format!(
                "WITH watchers (who, repository_id) AS (SELECT 'ada', 2)
                 SELECT repositories.id FROM repositories WHERE {filter} ORDER BY 1"
            );
            assert_eq!(column(&caller, &sql), answer, "{sql}");
        }
    }
}
