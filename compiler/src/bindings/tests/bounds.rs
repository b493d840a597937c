//! The work on a bound query is bounded, however long its text is and however deep it nests.

use super::*;
use crate::limits;
use crate::tests::processor::ThreadTime;

/// What can be repeated before an operand.
const PREFIXES: &[&str] = &[
    "a OR ",
    "a AND ",
    "a + ",
    "a = b AND ",
    "NOT ",
    "- ",
    "a, ",
    "CASE ",
    "date ",
    "a BETWEEN b AND ",
    "x -> ",
    "EXISTS ",
];

/// Texts with what can be repeated after them.
const SUFFIXES: &[(&str, &str)] = &[
    ("SELECT a", " NOTNULL"),
    ("SELECT a", "::int"),
    ("SELECT a", "[1]"),
    ("SELECT a", ".a"),
    ("SELECT a", " IS NULL"),
    ("SELECT a", " IN (1)"),
    ("SELECT a::", "ARRAY<"),
    ("SELECT a FROM t", ", t"),
    ("SELECT 1", " UNION SELECT 1"),
    ("SELECT 1 UNION ", "SELECT 1 INTERSECT "),
    ("VALUES (1)", ", (1)"),
];

/// Signs that a tokenizer might read again and again.
const SIGNS: &[&str] = &["+", "-+", "*", "$", "$a", "/*", "<", "'' ", "E'' "];

const JOINS: &[&str] = &[" JOIN t", " LEFT JOIN t", " JOIN t ON true"];

/// What can be nested: the text before it, and its start, middle and end.
const NESTED: &[(&str, &str, &str, &str)] = &[
    ("SELECT ", "(", "1", ")"),
    ("SELECT ", "(SELECT ", "1", ")"),
    ("SELECT ", "CASE WHEN (", "1", ") THEN 1 END"),
    ("SELECT ", "EXISTS (SELECT ", "1", ")"),
    ("SELECT ", "f(", "1", ")"),
    ("SELECT ", "(1, ", "1", ")"),
    ("SELECT ", "CAST(", "1", " AS int)"),
    ("SELECT ", "EXTRACT(year FROM ", "1", ")"),
    ("SELECT a FROM ", "(", "t JOIN u ON true", ")"),
    ("SELECT a FROM ", "LATERAL (SELECT a FROM ", "t", ") x"),
    ("SELECT a FROM ", "(", "t", ")"),
    ("", "WITH x AS (", "SELECT 1", ") SELECT 1"),
];

/// Long and deeply nested texts, on which a parser might recurse or take quadratic time.
fn exhausting() -> Vec<String> {
    let prefixes = PREFIXES
        .iter()
        .map(|link| format!("SELECT a FROM t WHERE {}a", link.repeat(7_900 / link.split(' ').count())));
    let suffixes = SUFFIXES.iter().map(|(start, link)| format!("{start}{}", link.repeat(2_500)));
    let joins = JOINS.iter().map(|join| format!("SELECT a FROM t{}", join.repeat(limits::QUERY_JOINS)));
    let signs = SIGNS.iter().map(|sign| format!("SELECT 1 {}", sign.repeat(20_000)));
    let nested = NESTED.iter().map(|(before, open, inner, close)| {
        let n = limits::QUERY_NESTING;
        format!("{before}{}{inner}{}", open.repeat(n), close.repeat(n))
    });
    prefixes.chain(suffixes).chain(joins).chain(signs).chain(nested).collect()
}

#[test]
fn the_work_on_a_query_is_bounded() {
    // A thread of the service has 2 MB of stack.
    let work = || {
        for text in exhausting() {
            for dialect in BOTH {
                let time = ThreadTime::start();
                let _ = read(&text, dialect);
                let _ = crate::bindings::column(&text, dialect);
                let taken = time.elapsed();
                assert!(taken.as_secs() < 5, "{taken:?} {text}");
            }
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
    let deep = |n: usize| format!("SELECT {}1{}", "(".repeat(n), ")".repeat(n));
    assert!(read(&deep(limits::QUERY_NESTING), Dialect::Postgresql).is_ok());
    refused(&deep(limits::QUERY_NESTING + 1), Dialect::Postgresql, "nested brackets");
    refused(&deep(10_000), Dialect::Postgresql, "nested brackets");
    refused(&format!("SELECT {}a", "a OR ".repeat(5_000)), Dialect::Postgresql, "tokens");
    refused(&format!("SELECT {}a", "- ".repeat(1_000)), Dialect::Postgresql, "nests too deeply");
    refused(&format!("SELECT a FROM t{}", " JOIN t".repeat(101)), Dialect::Postgresql, "more than 100 joins");
}
