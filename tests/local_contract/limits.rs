//! How much of the store may stand in a text: what the question needs, up to a bound, and nothing else.

use super::service::{DOCUMENT, POLICY, Service, caller, column};
use super::text::QUESTIONS;
use crate::support::local::DIALECTS;
use crate::support::local::asked::Way;
use crate::support::notation::{Fact, Value};
use portcullis_compiler::Dialect;

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

/// The text is what the question needs; the store may hold whatever else it likes.
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
