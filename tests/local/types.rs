//! How ids are compared: as the columns' type where the document says it, as text elsewhere, never by a cast
//! of a bound column.

use super::service::{DOCUMENT, FACTS, POLICY, Service, column, decision, postgres, shape};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::{Caller, printed};
use portcullis_testkit::local::ways::Way;

/// The document without its types: ids are text.
fn untyped() -> Service {
    let (facts, _) = DOCUMENT.split_once("sql_types:").unwrap();
    Service::new(POLICY, FACTS, facts)
}

#[test]
fn typed_columns_are_not_cast() {
    let service = Service::new(POLICY, FACTS, &format!("{DOCUMENT}  Folder: text\n  User: text\n"));
    for (question, way) in super::text::QUESTIONS {
        if matches!(way, Way::Authorize | Way::List) {
            let sql = service.sql(question, way, "t.id").to_lowercase();
            let compared = sql.match_indices("cast(t").filter(|(at, _)| {
                let (before, cast) = sql.split_at(*at);
                let after = cast.split_once(')').map_or("", |(_, after)| after.trim_start());
                before.trim_end().ends_with('=') || after.starts_with('=') || after.starts_with("in ")
            });
            assert_eq!(compared.count(), 0, "{question}\n{sql}");
            assert!(!sql.contains("::"), "{question}\n{sql}");
        }
    }
}

/// Many rows, and the index on each bound column is used.
#[test]
fn indexes_serve() {
    let service = Service::usual();
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller
        .script(
            "CREATE TEMPORARY TABLE repositories (id INTEGER PRIMARY KEY, organization_id INTEGER, folder TEXT,
               public INTEGER, archived_at TEXT);
             INSERT INTO repositories SELECT n, n / 10, NULL, 0, NULL FROM generate_series(1, 20000) AS g(n);
             CREATE INDEX ON repositories (organization_id);
             CREATE INDEX ON repositories (folder);
             CREATE TEMPORARY TABLE issues (id UUID PRIMARY KEY, repository_id INTEGER, creator TEXT);
             INSERT INTO issues SELECT CAST('00000000-0000-4000-8000-' || lpad(CAST(n AS TEXT), 12, '0') AS UUID),
               n, NULL FROM generate_series(1, 20000) AS g(n);
             CREATE TEMPORARY TABLE folders (id TEXT PRIMARY KEY, parent_id TEXT);
             INSERT INTO folders SELECT 'f' || n, 'f' || n - 1 FROM generate_series(1, 20000) AS g(n);
             CREATE INDEX ON folders (parent_id);
             ANALYZE repositories; ANALYZE issues; ANALYZE folders;",
        )
        .unwrap();
    for question in [
        "allow(User:ada, \"read\", Repository:77)",
        "allow(User:bob, \"read\", Repository:77)",
        "allow(User:ada, \"read\", Issue:00000000-0000-4000-8000-000000000077)",
    ] {
        let sql = service.sql(question, Way::Authorize, "");
        let plan = printed(&caller, &format!("EXPLAIN (COSTS OFF) {sql}")).unwrap();
        let plan: Vec<String> = plan.concat().into_iter().flatten().collect();
        let plan = plan.join("\n");
        assert!(!plan.contains("Seq Scan"), "{question}\n{sql}\n{plan}");
    }
}

#[test]
fn without_types_ids_are_text() {
    let service = untyped();
    let postgres = postgres();
    for (question, answer) in [
        ("allow(User:ada, \"read\", Repository:1)", "true"),
        ("allow(User:ada, \"read\", Repository:2)", "false"),
        ("allow(User:bob, \"read\", Repository:3)", "true"),
        ("allow(User:ada, \"read\", Repository:hr)", "false"),
        ("allow(User:ada, \"close\", Issue:00000000-0000-4000-8000-000000000001)", "true"),
        ("allow(User:ada, \"close\", Issue:hr)", "false"),
    ] {
        let sql = service.sql(question, Way::Authorize, "");
        assert_eq!(column(&postgres, &sql), answer, "{question}\n{sql}");
    }
    for name in ["id", "id::TEXT", "CAST(id AS VARCHAR(20))"] {
        let filter = service.filter("allow(User:ada, \"read\", Repository:?)", name);
        let sql = format!("SELECT id FROM repositories WHERE {filter} ORDER BY id");
        assert_eq!(column(&postgres, &sql), "1 4 5", "{sql}");
    }
    shape("list-untyped", &service.filter("allow(User:ada, \"read\", Repository:?)", "id"));
}

/// The store may hold anything at all for an organization's id.
#[test]
fn a_stored_id_outside_the_type_never_fails_the_statement() {
    let odd = [
        "hr",
        "01",
        "+1",
        " 1",
        "1 ",
        "1.0",
        "1e0",
        "0x1",
        "-",
        "--1",
        "99999999999",
        "-0",
        "１",
        "true",
        "NULL",
        "1;2",
        "'1'",
        "1)",
        "1::int",
    ];
    for service in [Service::usual(), untyped()] {
        for id in odd {
            let fact = format!("has_role(User:odd, \"member\", Organization:{id:?})");
            service.store(&super::service::facts(&fact));
        }
        for dialect in DIALECTS {
            let caller = super::service::caller(dialect);
            let filter = service.sql_for(dialect, "allow(User:odd, \"read\", Repository:?)", Way::List, "id");
            let sql = format!("SELECT id FROM repositories WHERE {filter}");
            assert_eq!(column(&caller, &sql), "5", "{sql}");
            for n in 1..=6 {
                let question = format!("allow(User:odd, \"read\", Repository:{n})");
                let sql = service.sql_for(dialect, &question, Way::Authorize, "");
                let answer = ["true", "1"].contains(&column(&caller, &sql).as_str());
                assert_eq!(answer, n == 5, "{question}\n{sql}");
            }
        }
    }
}

/// The same for ids of the question, for integers and UUIDs.
#[test]
fn an_id_outside_the_type_matches_no_row() {
    let service = Service::usual();
    for dialect in DIALECTS {
        let caller = super::service::caller(dialect);
        for resource in [
            "Repository:\"01\"",
            "Repository:\" 1\"",
            "Repository:hr",
            "Repository:\"1e0\"",
            "Repository:\"99999999999999999999\"",
            "Issue:hr",
            "Issue:\"{00000000-0000-4000-8000-000000000001}\"",
            "Issue:\"00000000000040008000000000000001\"",
        ] {
            let question = format!("allow(User:ada, \"read\", {resource})");
            let sql = service.sql_for(dialect, &question, Way::Authorize, "");
            let answer = column(&caller, &sql);
            assert!(["false", "0"].contains(&answer.as_str()), "{question}\n{sql}");
        }
    }
}

#[test]
fn types_are_read_in_any_case_and_with_any_length() {
    for (declared, ty, ids) in [
        ("BIGINT", "BIGINT", ["1", "9223372036854775807"]),
        ("int8", "BIGINT", ["-1", "42"]),
        ("SmallInt", "SMALLINT", ["1", "-32768"]),
        ("VARCHAR(255)", "VARCHAR(255)", ["a", "B"]),
        ("character varying(20)", "VARCHAR(20)", ["a", "B"]),
        ("char(4)", "CHAR(4)", ["abcd", "ABCD"]),
        ("text", "TEXT", ["a", "B"]),
        ("UUID", "UUID", ["00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"]),
        // What SQLAlchemy calls a UUID, in a database that has a type for it and in one that has not.
        (
            "CHAR(32)",
            "UUID",
            ["00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"],
        ),
        ("CHAR(32)", "CHAR(32)", ["0000000000004000800000000000000a", "a"]),
        ("numeric(10)", "NUMERIC(10)", ["1", "10"]),
    ] {
        let (facts, _) = DOCUMENT.split_once("sql_types:").unwrap();
        let document = format!("{facts}sql_types:\n  Repository: {declared}\n");
        let [first, second] = ids;
        let stored = format!("has_role(User:ada, \"writer\", Repository:\"{first}\")");
        let service = Service::new(POLICY, &stored, &document);
        let caller = Caller::new(Dialect::Postgresql).unwrap();
        caller
            .script(&format!(
                "CREATE TEMPORARY TABLE repositories (id {ty}, organization_id INTEGER, folder TEXT, public INTEGER,
                   archived_at TEXT);
                 INSERT INTO repositories VALUES ('{first}'), ('{second}'), (NULL);
                 CREATE TEMPORARY TABLE folders (id TEXT, parent_id TEXT);"
            ))
            .unwrap();
        let filter = service.filter("allow(User:ada, \"read\", Repository:?)", "id");
        let sql = format!("SELECT CAST(id AS TEXT) FROM repositories WHERE {filter}");
        assert_eq!(column(&caller, &sql), first, "{declared}\n{sql}");
    }
}

/// A padded column that is declared as a text: an id with a blank at the end is a different id, alone and
/// next to others, asked and denied.
#[test]
fn a_blank_at_the_end_counts_in_a_column_that_is_padded_by_mistake() {
    const POLICY: &str = r#"
actor User {}
resource Folder { roles = ["reader"]; }
resource Doc {
  permissions = ["read", "list"];
  relations = { folder: Folder };
  "read" if "reader" on "folder";
}
has_permission(_: User, "list", doc: Doc) if has_relation(doc, "folder", folder) and not closed(folder);
"#;
    let document = "
facts:
  has_relation(Doc:_, folder, Folder:_):
    query: SELECT id, folder FROM docs
sql_types:
  Doc: text
  Folder: text
";
    let script =
        "CREATE TEMPORARY TABLE docs (id CHAR(8), folder CHAR(8)); INSERT INTO docs VALUES ('1', '5')";
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller.script(script).unwrap();
    for others in [&[][..], &["7"], &["7", "8 "]] {
        for (folder, is_the_row) in [("5", true), ("5 ", false)] {
            let stored = std::iter::once(&folder).chain(others).map(|folder| {
                format!("has_role(User:ada, \"reader\", Folder:\"{folder}\")\nclosed(Folder:\"{folder}\")\n")
            });
            let service = Service::new(POLICY, &stored.collect::<String>(), document);
            for (action, answer) in [("read", is_the_row), ("list", !is_the_row)] {
                let question = format!("allow(User:ada, {action:?}, Doc:1)");
                let sql = service.sql(&question, Way::Authorize, "");
                assert_eq!(decision(&caller, &sql), Ok(answer), "{others:?} {folder:?} {action}\n{sql}");
            }
        }
    }
}
