//! Policies in which each rule refers to the next one, hundreds or thousands of times. A link may have two
//! clauses, join a table or negate what is below it.

use super::{USER_AND_DOC, answers, answers_or_refusals, lines};
use crate::hostile::probe::on_a_small_stack;
use portcullis_testkit::policy;

#[test]
fn a_long_chain() {
    let links = lines(1_000, |n| format!("p{n}(d: Doc) if p{}(d);", n + 1));
    answers(
        "a_long_chain",
        format!(
            "{USER_AND_DOC}{links}p1000(d: Doc) if end(d);\nhas_permission(_: User, \"read\", d: Doc) if p0(d);"
        ),
        "end(Doc:a)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a")],
    );
}

/// The walk over what reads what must not need a stack as deep as the chain.
#[test]
fn a_chain_as_long_as_a_policy() {
    let links = lines(25_000, |n| format!("p{n}(d: Doc) if p{}(d);", n + 1));
    let policy = format!("{USER_AND_DOC}{links}p25000(d: Doc) if end(d);");
    let checked =
        on_a_small_stack("a_chain_as_long_as_a_policy", move || policy::program(&policy).map(|_| ()));
    assert_eq!(checked, Ok(()));
}

#[test]
fn a_chain_where_each_link_has_two_clauses() {
    let links = lines(300, |n| {
        format!("p{n}(d: Doc) if a{n}(d) and p{m}(d);\np{n}(d: Doc) if b{n}(d) and p{m}(d);", m = n + 1)
    });
    let policy = format!(
        "{USER_AND_DOC}{links}p300(d: Doc) if end(d);\nhas_permission(_: User, \"read\", d: Doc) if p0(d);"
    );
    let facts = lines(300, |n| format!("{}{n}(Doc:a)", if n % 2 == 0 { "a" } else { "b" }))
        + "end(Doc:a)\nend(Doc:b)";
    answers_or_refusals(
        "a_chain_where_each_link_has_two_clauses",
        policy,
        &facts,
        &[
            ("allow(User:ada, \"read\", Doc:?)", "Doc:a"),
            ("allow(User:ada, \"read\", Doc:a)", "yes"),
            ("p250(Doc:b)", "no"),
        ],
    );
}

#[test]
fn a_chain_where_each_link_branches() {
    let links = lines(300, |n| {
        format!("p{n}(x: Doc) if a{n}(x, y) and p{m}(y);\np{n}(x: Doc) if b{n}(x, y) and p{m}(y);", m = n + 1)
    });
    let policy = format!(
        "{USER_AND_DOC}{links}p300(d: Doc) if end(d);\nhas_permission(_: User, \"read\", d: Doc) if p0(d);"
    );
    let facts = lines(300, |n| format!("{}{n}(Doc:a, Doc:a)\n", if n % 2 == 0 { "a" } else { "b" }))
        .replace("\n\n", "\n")
        + "end(Doc:a)\nend(Doc:b)";
    answers_or_refusals(
        "a_chain_where_each_link_branches",
        policy,
        &facts,
        &[
            ("allow(User:ada, \"read\", Doc:?)", "Doc:a"),
            ("allow(User:ada, \"read\", Doc:a)", "yes"),
            ("p250(Doc:b)", "no"),
        ],
    );
}

#[test]
fn a_chain_full_of_facts() {
    let links = lines(60, |n| {
        format!("p{n}(x: Doc) if a{n}(x, y) and p{m}(y);\np{n}(x: Doc) if b{n}(x, y) and p{m}(y);", m = n + 1)
    });
    let policy = format!(
        "{USER_AND_DOC}{links}p60(d: Doc) if end(d);\nhas_permission(_: User, \"read\", d: Doc) if p0(d);"
    );
    let facts = lines(60, |n| format!("a{n}(Doc:a, Doc:a)\nb{n}(Doc:a, Doc:a)")) + "end(Doc:a)";
    answers_or_refusals(
        "a_chain_full_of_facts",
        policy,
        &facts,
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:a)", "yes")],
    );
}

#[test]
fn negation_of_negation() {
    let links = lines(300, |n| format!("p{n}(d: Doc) if doc(d) and not p{}(d);", n + 1));
    answers_or_refusals(
        "negation_of_negation",
        format!(
            "{USER_AND_DOC}{links}p300(d: Doc) if end(d);\nhas_permission(_: User, \"read\", d: Doc) if p0(d);"
        ),
        "doc(Doc:a)\ndoc(Doc:b)\nend(Doc:a)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:b)", "no")],
    );
}
