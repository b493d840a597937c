//! A filter in every place where a condition may stand.

use super::catalogue::{DOCUMENT, SCHEMA, patterns};
use super::service::{Service, caller, column, postgres, rows, shape};
use portcullis_compiler::Dialect;
use portcullis_compiler::question::QuestionVarId;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::style::LIKE_OURS;
use portcullis_testkit::local::ways::Way;
use portcullis_testkit::notation;
use portcullis_testkit::postgres::WIRE;

const ADA: &str = "allow(User:ada, \"read\", Repository:?)";
const BOB: &str = "allow(User:bob, \"read\", Repository:?)";
const ROOT: &str = "allow(User:root, \"delete\", Repository:?)";
const NOBODY: &str = "allow(User:nobody, \"delete\", Repository:?)";

/// What `ada` and `bob` may read, and what else has an id.
const ADAS: &str = "1 4 5";
const BOBS: &str = "2 3 5";
const NOT_ADAS: &str = "2 3 6";

#[test]
fn alone() {
    let service = Service::usual();
    for dialect in DIALECTS {
        let caller = caller(dialect);
        for (question, answer) in [(ADA, ADAS), (BOB, BOBS), (ROOT, "1 2 3 4 5 6"), (NOBODY, "")] {
            let filter = service.sql_for(dialect, question, Way::List, "id");
            let sql = format!("SELECT id FROM repositories WHERE {filter} AND id IS NOT NULL ORDER BY id");
            assert_eq!(column(&caller, &sql), answer, "{sql}");
        }
    }
    shape("list", &service.filter(ADA, "id"));
    shape("list-recursive", &service.filter(BOB, "id"));
    shape("list-everything", &service.filter(ROOT, "id"));
    shape("list-nothing", &service.filter(NOBODY, "id"));
    shape("list-sqlite", &service.sql_for(Dialect::Sqlite, ADA, Way::List, "id"));
}

#[test]
fn under_and_or_and_not() {
    let service = Service::usual();
    for dialect in DIALECTS {
        let caller = caller(dialect);
        let ada = service.sql_for(dialect, ADA, Way::List, "id");
        let bob = service.sql_for(dialect, BOB, Way::List, "id");
        for (condition, answer) in [
            (format!("id > 1 AND {ada} AND id < 5"), "4"),
            (format!("id = 6 OR {ada}"), "1 4 5 6"),
            (format!("{ada} OR id = 6 AND id = 7"), ADAS),
            (format!("id = 6 AND {ada} OR id = 2"), "2"),
            (format!("{ada} AND {bob}"), "5"),
            (format!("{ada} OR {bob}"), "1 2 3 4 5"),
            (format!("{ada} AND NOT {bob}"), "1 4"),
            (format!("{ada} = {bob} AND id IS NOT NULL"), "5 6"),
            (format!("CASE WHEN {ada} THEN id < 5 ELSE id = 6 END"), "1 4 6"),
            (format!("id IN (SELECT id FROM repositories WHERE {ada})"), ADAS),
        ] {
            let sql = format!("SELECT id FROM repositories WHERE {condition} ORDER BY id");
            assert_eq!(column(&caller, &sql), answer, "{sql}");
        }
        // The row without an id is not allowed, and that is not unknown.
        let sql = format!("SELECT COALESCE(id, 0) FROM repositories WHERE NOT {ada} ORDER BY 1");
        assert_eq!(column(&caller, &sql), format!("0 {NOT_ADAS}"), "{sql}");
    }
}

#[test]
fn a_filter_is_never_null() {
    let service = Service::usual();
    for dialect in DIALECTS {
        let caller = caller(dialect);
        for question in [ADA, BOB, ROOT, NOBODY, "allow(User:ada, \"write\", Repository:?)"] {
            let filter = service.sql_for(dialect, question, Way::List, "r.id");
            for from in [
                "repositories r",
                "(SELECT 1 AS one) AS one LEFT JOIN repositories r ON r.id = 12345",
                "(SELECT CAST(NULL AS INTEGER) AS id) AS r",
            ] {
                let sql = format!("SELECT COUNT(*) FROM {from} WHERE {filter} IS NULL");
                assert_eq!(column(&caller, &sql), "0", "{sql}");
                // Where the answer does not depend on the row, it does not depend on a row without an id.
                if question != ROOT {
                    let sql = format!("SELECT COUNT(*) FROM {from} WHERE r.id IS NULL AND {filter}");
                    assert_eq!(column(&caller, &sql), "0", "a NULL is not allowed: {sql}");
                }
            }
        }
    }
}

/// A condition of a bound query that is never NULL itself stays as it is written.
#[test]
fn only_what_may_be_null_is_compared_with_true() {
    let pattern = patterns().find(|pattern| pattern.shape == "pattern-guard-on-the-row").unwrap();
    for (condition, printed) in [
        ("deleted = 1", "NOT ((documents.deleted = 1) IS TRUE)"),
        ("deleted IS NOT NULL", "NOT ((documents.deleted IS NOT NULL))"),
    ] {
        let document = DOCUMENT.replace("WHERE deleted = 1", &format!("WHERE {condition}"));
        let service = Service::new(&pattern.policy(), "", &document);
        for dialect in DIALECTS {
            let question = "allow(User:2, \"read\", Document:?)";
            let filter = service.sql_for(dialect, question, Way::List, "documents.id");
            assert!(filter.contains(printed), "{filter}");
            let caller = Caller::new(dialect).unwrap();
            caller.script(SCHEMA).unwrap();
            let sql = format!("SELECT COUNT(*) FROM documents WHERE ({filter}) IS NULL");
            assert_eq!(column(&caller, &sql), "0", "{sql}");
        }
    }
}

#[test]
fn as_a_value_a_join_and_a_sort_key() {
    let service = Service::usual();
    let filter = service.filter(ADA, "r.id");
    let postgres = postgres();
    let sql = format!("SELECT r.id, {filter} AS may FROM repositories r WHERE r.id < 3 ORDER BY r.id");
    assert_eq!(rows(&postgres, &sql), [["1", "true"], ["2", "false"]]);
    let sql = format!(
        "SELECT i.creator FROM issues i JOIN repositories r ON r.id = i.repository_id AND {filter} ORDER BY 1"
    );
    assert_eq!(column(&postgres, &sql), "ada ada");
    let sql = format!(
        "SELECT r.id FROM repositories r WHERE r.id IS NOT NULL ORDER BY {filter} DESC, r.id DESC LIMIT 3"
    );
    assert_eq!(column(&postgres, &sql), "5 4 1");
    let sql = format!("SELECT COUNT(*) FILTER (WHERE {filter}) FROM repositories r");
    assert_eq!(column(&postgres, &sql), "3");
    let sql = format!("SELECT SUM(r.id) FROM repositories r GROUP BY r.id HAVING {filter} ORDER BY 1");
    assert_eq!(column(&postgres, &sql), ADAS);
    let lateral =
        format!("SELECT x.id FROM repositories r, LATERAL (SELECT r.id WHERE {filter}) AS x ORDER BY x.id");
    assert_eq!(column(&postgres, &lateral), ADAS);
}

/// The parameters before and behind the filter keep their numbers and types.
#[test]
fn in_statements_with_parameters() {
    let service = Service::usual();
    let caller = postgres();
    let Caller::Postgresql(session) = &caller else { panic!("no PostgreSQL") };
    let ada = service.filter(ADA, "id");
    let update = format!(
        "UPDATE repositories SET note = $1 WHERE archived_at IS NOT DISTINCT FROM $2 AND {ada} AND id < $3 RETURNING id"
    );
    let select =
        format!("SELECT id FROM repositories WHERE id >= $1 AND (note = $2 OR NOT {ada}) ORDER BY id");
    let delete = format!("DELETE FROM repositories WHERE note = $1 AND {ada}");
    let client = session.client();
    WIRE.block_on(async {
        let note: &str = "seen; -- $1 ?";
        let updated = client.query(&update, &[&note, &None::<&str>, &5_i32]).await.unwrap();
        let mut ids: Vec<i32> = updated.iter().map(|row| row.get(0)).collect();
        ids.sort_unstable();
        assert_eq!(ids, [1, 4]);
        let selected = client.query(&select, &[&2_i32, &note]).await.unwrap();
        let ids: Vec<i32> = selected.iter().map(|row| row.get(0)).collect();
        assert_eq!(ids, [2, 3, 4, 6]);
        assert_eq!(client.execute(&delete, &[&note]).await.unwrap(), 2);
    });
    let insert = format!("INSERT INTO watchers SELECT 'eve', id FROM repositories WHERE {ada}");
    caller.script(&insert).unwrap();
    assert_eq!(column(&caller, "SELECT repository_id FROM watchers WHERE who = 'eve'"), "5");
}

#[test]
fn aliases_of_the_caller_are_the_callers() {
    let service = Service::usual();
    for dialect in DIALECTS {
        let caller = caller(dialect);
        for alias in LIKE_OURS.iter().chain(&["repositories", "folders", "issues", "\"T1\""]) {
            for question in [ADA, BOB] {
                let answer = if question == ADA { ADAS } else { BOBS };
                for name in [format!("{alias}.id"), format!("\"{}\".\"id\"", alias.replace('"', ""))] {
                    let filter = service.sql_for(dialect, question, Way::List, &name);
                    let sql = format!("SELECT id FROM repositories AS {alias} WHERE {filter} ORDER BY id");
                    assert_eq!(column(&caller, &sql), answer, "{sql}");
                }
            }
        }
    }
}

/// The column's bare name is also that of columns inside the filter.
#[test]
fn a_bare_column_is_the_outer_one() {
    let service = Service::usual();
    for dialect in DIALECTS {
        let caller = caller(dialect);
        caller
            .script(
                "CREATE TEMPORARY TABLE others (who INTEGER, parent_id INTEGER, folder INTEGER, c0 INTEGER, \
                 \"Id\" INTEGER, \"order\" INTEGER);
                 INSERT INTO others SELECT id, id, id, id, id, id FROM repositories;",
            )
            .unwrap();
        for name in ["who", "parent_id", "folder", "c0", "\"order\"", "others.\"order\"", "\"others\".who"] {
            for (question, answer) in [(ADA, ADAS), (BOB, BOBS)] {
                let filter = service.sql_for(dialect, question, Way::List, name);
                let sql = format!("SELECT who FROM others WHERE {filter} ORDER BY who");
                assert_eq!(column(&caller, &sql), answer, "{sql}");
            }
        }
    }
}

#[test]
fn the_column_may_be_an_expression() {
    let service = Service::usual();
    let postgres = postgres();
    for expression in [
        "(id)",
        "id + 0",
        "CAST(id AS INTEGER)",
        "id::INTEGER",
        "COALESCE(id, NULL)",
        "(SELECT id)",
        "abs(id)",
    ] {
        let question = notation::question(ADA).unwrap();
        let asked = portcullis_testkit::local::ways::local(&question, Way::List, expression);
        match service.ask(Dialect::Postgresql, asked, &[]) {
            Ok(filter) => {
                let sql = format!("SELECT id FROM repositories WHERE {filter} ORDER BY id");
                assert_eq!(column(&postgres, &sql), ADAS, "{sql}");
            }
            // A query is more than an expression over one row.
            Err(message) => assert!(expression.contains("SELECT"), "{expression}: {message}"),
        }
    }
    let folders = "has_role(User:bob, \"reader\", Folder:?)";
    for expression in ["id::TEXT", "\"folders\".\"id\"", "lower(id)", "CAST(id AS VARCHAR(20))", "id || ''"] {
        let filter = service.sql(folders, Way::Filter(QuestionVarId(2)), expression);
        let sql = format!("SELECT id FROM folders WHERE {filter} ORDER BY id");
        assert_eq!(column(&postgres, &sql), "deep mid top", "{sql}");
    }
}

#[test]
fn a_column_that_is_not_one_value_is_refused() {
    let service = Service::usual();
    for column in [
        "",
        " ",
        "id)",
        "(id",
        "id; DROP TABLE x",
        "id --",
        "id /* x */",
        "id, id",
        "id FROM x",
        "$1",
        "?",
        ":id",
        "'",
        "\"id",
        "id OR",
        "*",
        "t.*",
        "id;",
        "SELECT 1",
        "nextval('s')",
        "pg_sleep(1)",
        "id\0",
    ] {
        for way in [Way::List, Way::Filter(QuestionVarId(2))] {
            let message = service.refusal(ADA, way, column);
            assert!(!message.starts_with(portcullis_testkit::hosted::FAULT), "{column:?}: {message}");
            assert!(message.contains("column"), "{column:?}: {message}");
        }
    }
}

#[test]
fn the_filter_of_one_variable_of_several() {
    let service = Service::usual();
    let postgres = postgres();
    let question = "has_role(User:?u, \"reader\", Repository:?r)";
    let users = service.sql(question, Way::Filter(QuestionVarId(0)), "who");
    let sql = format!(
        "SELECT who FROM (VALUES ('ada'), ('bob'), ('cyd'), ('dan'), (NULL)) AS p(who) WHERE {users}"
    );
    assert_eq!(column(&postgres, &sql), "ada bob cyd", "{sql}");
    let repositories = service.sql(question, Way::Filter(QuestionVarId(2)), "id");
    let sql = format!("SELECT id FROM repositories WHERE {repositories} ORDER BY id");
    assert_eq!(column(&postgres, &sql), "1 2 3 4", "{sql}");
    shape("filter-of-users", &users);
}

/// SQLite reads the rows of each alternative by themselves, so a guard is inside each.
#[test]
fn on_sqlite_each_alternative_has_its_guard() {
    let guarded = patterns().find(|pattern| pattern.shape == "pattern-guard-on-the-container").unwrap();
    let service = Service::new(&guarded.policy(), "", DOCUMENT);
    let question = "allow(User:1, \"read\", Document:?)";
    let filter = service.sql_for(Dialect::Sqlite, question, Way::List, "documents.id");
    shape("pattern-guard-on-the-container-sqlite", &filter);
}

/// If the document does not name the alias, the filter looks its row up by the key. PostgreSQL can join that
/// row in any order, as long as the look-up reads no other table.
#[test]
fn a_look_up_of_the_row_reads_its_table_alone() {
    let policy = r#"
actor User {}
resource Page {
  permissions = ["read"];
  relations = { author: User };
}
declare blocks(User, User);
declare follows(User, User);
has_permission(user: User, "read", page: Page) if
  has_relation(page, "author", author) and follows(user, author) and not blocks(user, author);
"#;
    let document = "
facts:
  has_relation(Page:_, author, User:_):
    query: SELECT id, author_id FROM pages
  blocks(User:_, User:_):
    query: SELECT user_id, blocked_id FROM blocks
  follows(User:_, User:_):
    query: SELECT user_id, author_id FROM follows
tables: { Page: pages.id }
sql_types: { User: integer, Page: integer }
";
    let service = Service::new(policy, "", document);
    let filter = service.filter("allow(User:1, \"read\", Page:?)", "p.id");
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller
        .script(
            "CREATE TEMPORARY TABLE pages (id integer PRIMARY KEY, author_id integer, site_id integer);
             CREATE TEMPORARY TABLE sites (id integer PRIMARY KEY, name text);
             CREATE TEMPORARY TABLE blocks (user_id integer, blocked_id integer);
             CREATE TEMPORARY TABLE follows (user_id integer, author_id integer);
             CREATE INDEX by_author ON pages (author_id);
             INSERT INTO pages SELECT n, n % 100, n % 40 FROM generate_series(1, 4000) AS n;
             INSERT INTO sites SELECT n, 'common' FROM generate_series(0, 39) AS n;
             INSERT INTO blocks VALUES (1, 7), (1, 8), (2, 9);
             INSERT INTO follows SELECT 1, n FROM generate_series(5, 9) AS n;
             ANALYZE pages, sites, blocks, follows;",
        )
        .unwrap();
    let joined = "FROM pages AS p JOIN sites AS s ON s.id = p.site_id WHERE s.name = 'common'";
    let count = format!("SELECT count(*) {joined} AND {filter}");
    assert_eq!(column(&caller, &count), "120", "{count}");
    let plan = rows(&caller, &format!("EXPLAIN (COSTS OFF) {count}")).concat().join("\n");
    assert!(filter.contains("OFFSET 0"), "{filter}");
    // Rows made distinct are those of a look-up that is joined before the caller's own row.
    assert!(!plan.contains("HashAggregate") && !plan.contains("Unique"), "{filter}\n{plan}");
}
