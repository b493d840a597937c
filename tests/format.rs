//! The fixtures' format is read strictly: a line that is misread would be a test that never runs.

#![expect(clippy::unwrap_used, reason = "helpers of a test binary; a panic is the failure")]

mod support;

use support::fixture::{Answer, Expected, parse};
use support::notation::{self, Cell, Value};

const PAGE: &str = "# Title

A sentence.

```policy
actor User {}
```

```facts
p(User:a)
```

## one

Why.

| query | answer |
| --- | --- |
| p(User:a) | yes |
";

fn refusal(page: &str) -> String {
    parse(page).map(|cases| cases.len()).unwrap_err()
}

#[test]
fn a_page_yields_one_case_a_heading_with_the_shared_facts() {
    let page = format!("{PAGE}\n## two\n\nWhy.\n\n```facts +\np(User:b)\n```\n\nrefuses: q(User:a)\n");
    let cases = parse(&page).unwrap();
    assert_eq!(cases.iter().map(|case| case.name.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(cases[0].facts.len(), 1);
    assert_eq!(cases[1].facts.len(), 2);
    assert_eq!(cases[0].queries[0].answer, Expected::Is(Answer::Decision(true)));
    assert!(!cases[1].storable[0].1);
}

#[test]
fn a_page_without_headings_is_a_failure() {
    assert_eq!(refusal(PAGE.split("## one").next().unwrap()), "the page has no heading: it tests nothing");
    assert_eq!(refusal(""), "the page has no heading: it tests nothing");
}

#[test]
fn a_heading_that_checks_nothing_is_a_failure() {
    assert_eq!(refusal(PAGE.split("| query").next().unwrap()), "`one` checks nothing");
}

#[test]
fn a_heading_and_a_page_say_why() {
    assert!(refusal(&PAGE.replace("Why.\n", "")).starts_with("`one` does not say why"));
    assert!(refusal(&PAGE.replace("A sentence.", "")).contains("`Title` does not say why"));
    assert!(refusal(&PAGE.replace("Why.", "why")).starts_with("`one` does not say why"));
}

#[test]
fn a_misspelt_check_is_an_error_not_prose() {
    assert_eq!(refusal(&format!("{PAGE}\nrefuse: q(User:a)\n")), "line 21: `refuse:` is no check");
    assert_eq!(refusal(&PAGE.replace("Why.", "accept: q(User:a)")), "line 15: `accept:` is no check");
}

#[test]
fn prose_ends_where_the_checks_begin() {
    assert_eq!(refusal(&format!("{PAGE}\nMore.\n")), "line 21: prose stands before the blocks and tables");
}

#[test]
fn blocks_stand_where_they_have_a_meaning() {
    assert!(refusal(&PAGE.replace("```facts", "```fact")).contains("a block `fact` cannot stand here"));
    assert!(refusal(&format!("{PAGE}\n```facts\n```\n")).contains("a block `facts` cannot stand here"));
    assert!(refusal(&PAGE.replace("```facts", "```facts +")).contains("a block `facts +` cannot"));
    assert!(refusal(&format!("{PAGE}\n```facts +\n")).contains("the block does not end"));
}

#[test]
fn tables_have_their_head_and_an_answer_that_fits() {
    assert!(refusal(&PAGE.replace("| query |", "| question |")).contains("a table begins with"));
    assert!(refusal(&PAGE.replace("| --- | --- |\n", "")).contains("stands under the table's head"));
    assert!(refusal(&PAGE.replace("| p(User:a) | yes |\n", "")).contains("a table without rows"));
    assert!(refusal(&PAGE.replace("| yes |", "| User:a |")).contains("nothing is wanted"));
    assert!(refusal(&PAGE.replace("| p(User:a) | yes |", "| p(User:?) | yes |")).contains("expected `:`"));
    assert!(refusal(&PAGE.replace("| p(User:a) | yes |", "| p(?, ?) | User:a |")).contains("wants 2 values"));
}

#[test]
fn a_star_takes_the_type_that_the_question_wants() {
    let page = PAGE.replace("| p(User:a) | yes |", "| p(User:?) | * |\n| p(?) | User:*, * |");
    let cases = parse(&page).unwrap();
    let rows = |row: usize| match &cases[0].queries[row].answer {
        Expected::Is(Answer::Rows(rows)) => rows.iter().cloned().collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(rows(0), [[Cell::AnyOf("User".into())]]);
    assert_eq!(rows(1), [[Cell::AnyOf("User".into())], [Cell::Any]]);
}

#[test]
fn values_are_written_so_that_they_can_be_read_back() {
    let hostile = ["a", "a b", "'; DROP TABLE facts; --", "\"\\\n\t\0", "é,)(", "*", "?", "_x", ""];
    for value in hostile.iter().flat_map(|id| [Value::new("String", id), Value::new("User", id)]) {
        let fact = notation::fact(&format!("p({value})")).unwrap();
        assert_eq!(fact.args, [value]);
    }
    for number in ["0", "-1", "9223372036854775807"] {
        assert_eq!(notation::fact(&format!("p({number})")).unwrap().args, [Value::new("Integer", number)]);
    }
}

#[test]
fn a_named_variable_is_the_same_wherever_it_stands() {
    let question = notation::question("p(User:?x, User:_, Org:[a, b]) and q(User:?x, 5)").unwrap();
    assert_eq!(question.atoms[0].args, [0, 1, 2]);
    assert_eq!(question.atoms[1].args, [0, 3]);
    assert!(notation::question("p(User:?x, Org:?x)").unwrap_err().contains("two different things"));
    assert!(notation::fact("p(User:?)").unwrap_err().contains("is not a concrete value"));
}
