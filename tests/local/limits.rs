//! How much of the store may be in a text: what the question needs, up to a bound, and nothing else.

use super::service::{DOCUMENT, POLICY, Service, caller, column};
use super::text::QUESTIONS;
use portcullis_compiler::Dialect;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::{self, Way};
use portcullis_testkit::notation::{self, Fact, Value};
use portcullis_testkit::sql_limits;
use rusqlite::Connection;

/// The default bound.
const MOST: usize = 10_000;

const LIST: &str = "allow(User:ada, \"write\", Repository:?)";
const ISSUES: &str = "allow(User:ada, \"read\", Issue:?)";

fn writers(user: &str, from: usize, to: usize) -> Vec<Fact> {
    let fact = |n: usize| Fact {
        predicate: "has_role".into(),
        args: vec![
            Value::new("User", user),
            Value::new("String", "writer"),
            Value::new("Repository", &n.to_string()),
        ],
    };
    (from..=to).map(fact).collect()
}

/// At the bound the statement runs, one value further it is refused and the message says what to bind.
#[test]
fn ten_thousand_values_and_no_more() {
    let service = Service::new(POLICY, "", DOCUMENT);
    service.store(&writers("ada", 1, MOST));
    for dialect in DIALECTS {
        let caller = caller(dialect);
        let filter = service.sql_for(dialect, LIST, Way::List, "id");
        let sql = format!("SELECT id FROM repositories WHERE {filter} ORDER BY id");
        assert_eq!(column(&caller, &sql), "1 2 3 4 5");
        let filter = service.sql_for(dialect, ISSUES, Way::List, "id");
        let sql = format!("SELECT creator FROM issues WHERE {filter}");
        assert_eq!(column(&caller, &sql), "ada ada");
    }
    service.store(&writers("ada", MOST + 1, MOST + 1));
    for question in [LIST, ISSUES] {
        let message = service.refusal(question, Way::List, "id");
        assert!(message.contains("has_role") && message.contains("10000"), "{message}");
    }
    // One repository's role is one value, however many there are.
    let sql = service.sql("allow(User:ada, \"write\", Repository:4)", Way::Authorize, "");
    assert_eq!(column(&caller(Dialect::Postgresql), &sql), "true");
}

/// The text is what the question needs; the store may hold more.
#[test]
fn the_text_does_not_grow_with_other_facts() {
    let service = Service::usual();
    let texts = || -> Vec<String> {
        QUESTIONS.iter().map(|(question, way)| service.sql(question, *way, "t.id")).collect()
    };
    let before = texts();
    for n in 0..20 {
        service.store(&writers(&format!("user {n}"), 100, 400));
    }
    let after = texts();
    for ((before, after), (question, way)) in before.iter().zip(&after).zip(QUESTIONS) {
        if !question.contains("User:?") {
            assert_eq!(before, after, "{question} {way:?}");
        }
        assert!(after.len() < 4_096, "{question} {way:?}: {} bytes", after.len());
    }
}

/// Twelve roles of one user among many.
#[test]
fn twelve_roles_are_a_short_text() {
    let service = Service::usual();
    service.store(&writers("dan", 1, 12));
    for n in 0..20 {
        service.store(&writers(&format!("user {n}"), 1, 300));
    }
    for (question, way) in [
        ("allow(User:dan, \"write\", Repository:?)", Way::List),
        ("allow(User:dan, \"read\", Repository:?)", Way::List),
        ("allow(User:dan, \"read\", Issue:?)", Way::List),
        ("allow(User:dan, \"read\", Repository:7)", Way::Authorize),
        ("allow(User:dan, String:?, Repository:7)", Way::Actions),
    ] {
        let sql = service.sql(question, way, "id");
        assert!(sql.len() < 4_096, "{question}: {} bytes\n{sql}", sql.len());
    }
}

/// A policy with this many ways to read a node, each by a mark on one that it leads to, and the document that
/// binds all of it. No query is plain, so each is read by its name.
fn marks(ways: usize) -> (String, String) {
    let policy = "actor User {}
resource Node { permissions = [\"read\"]; }
leads(a: Node, b: Node) if link(a, b);
leads(a: Node, b: Node) if link(a, c) and leads(c, b);
";
    let document = "facts:\n  link(Node:_, Node:_):\n    query: SELECT a, b FROM links GROUP BY a, b\n";
    let rule =
        |way| format!("has_permission(u: User, \"read\", n: Node) if leads(n, m) and mark{way}(u, m);\n");
    let query = |way| {
        format!(
            "  mark{way}(User:_, Node:_):\n    query: SELECT who, node FROM marks WHERE kind = {way} GROUP BY who, node\n"
        )
    };
    let rules: Vec<String> = (0..ways).map(rule).collect();
    let queries: Vec<String> = (0..ways).map(query).collect();
    (policy.to_owned() + &rules.concat(), document.to_owned() + &queries.concat())
}

/// SQLite copies a table wherever it is read, and refuses a statement that expands too far. What is
/// returned runs; what would not is refused before.
#[test]
fn sqlite_takes_each_text() {
    let caller = Caller::new(Dialect::Sqlite).unwrap();
    caller.script("CREATE TABLE links (a, b); CREATE TABLE marks (who, node, kind)").unwrap();
    caller.script("INSERT INTO links VALUES ('1', '2'); INSERT INTO marks VALUES ('ada', '2', 7)").unwrap();
    // By the form of the question, the most ways that are answered and the fewest that are not.
    let mut bounds = [[0, usize::MAX]; 2];
    for ways in [10, 40, 60, 70, 80, 100, 130, 200] {
        let (policy, document) = marks(ways);
        let service = Service::new(&policy, "", &document);
        let forms = [
            ("allow(User:ada, \"read\", Node:1)", Way::Authorize, ""),
            ("allow(User:ada, \"read\", Node:?)", Way::List, "id"),
        ];
        for ((question, way, id), [most, fewest]) in forms.into_iter().zip(&mut bounds) {
            let asked = ways::local(&notation::question(question).unwrap(), way, id);
            match service.ask(Dialect::Sqlite, asked, &[]) {
                Ok(sql) => {
                    let sql = if id.is_empty() {
                        sql
                    } else {
                        format!("SELECT 1 FROM (SELECT '1' AS id) AS t WHERE {sql}")
                    };
                    assert_eq!(column(&caller, &sql), "1", "{ways} ways, {question}");
                    *most = ways.max(*most);
                }
                Err(message) => {
                    assert!(
                        message.contains("too many places: one statement takes"),
                        "{ways} ways: {message}"
                    );
                    *fewest = ways.min(*fewest);
                }
            }
        }
    }
    assert_eq!(bounds, [[80, 100], [60, 70]], "more or less is answered than before");
}

/// What a caller may write in a query is counted as SQLite counts it.
#[test]
fn sqlite_counts_the_same() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE a (x, \"window\"); CREATE TABLE b (x)").unwrap();
    let statements = [
        "WITH t AS (SELECT 1 FROM a, b) SELECT a.window FROM a JOIN b ON a.x IS DISTINCT FROM b.x JOIN t JOIN t AS with",
        "WITH t AS (SELECT 1 FROM a UNION ALL VALUES (1), (2)) SELECT 1 FROM t, t AS u, t AS v",
        "WITH t AS (SELECT 1 FROM a UNION ALL VALUES (1)) SELECT 1 FROM t, t AS u, t AS v",
        "WITH t AS (SELECT 1 FROM a, b), u AS (SELECT 1 FROM t, (SELECT 1 FROM t) AS n) SELECT 1 FROM u, u AS v",
        "WITH t AS (WITH t AS (SELECT 1 FROM a) SELECT 1 FROM t, b) SELECT 1 FROM t JOIN t AS u ON TRUE WHERE EXISTS (SELECT 1 FROM t)",
    ];
    let before = sql_limits::n_compared();
    for sql in statements {
        sql_limits::check_cursors(&connection, sql).unwrap();
    }
    assert!(sql_limits::n_compared() - before >= statements.len(), "the limits were too low to tell");
}
