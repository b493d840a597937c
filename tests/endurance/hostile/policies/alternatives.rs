//! Policies that allow something in hundreds of ways. The ways stand side by side, under a negation, or in
//! several conditions, so that each combination of them is a way of its own.

use super::{USER_AND_DOC, answers, answers_or_refusals, joined, lines};

#[test]
fn five_hundred_alternatives() {
    let body = joined(500, " or ", |n| format!("a{n}(u, d)"));
    let facts = lines(500, |n| format!("a{n}(User:ada, Doc:d{n})"));
    answers_or_refusals(
        "five_hundred_alternatives",
        format!("{USER_AND_DOC}has_permission(u: User, \"read\", d: Doc) if {body};"),
        &facts,
        &[("allow(User:ada, \"read\", Doc:?)", "500 rows"), ("allow(User:ada, \"read\", Doc:d499)", "yes")],
    );
}

#[test]
fn a_thousand_alternatives() {
    let body = joined(1_000, " or ", |n| format!("a{n}(u, d)"));
    answers_or_refusals(
        "a_thousand_alternatives",
        format!("{USER_AND_DOC}has_permission(u: User, \"read\", d: Doc) if {body};"),
        "a7(User:ada, Doc:a)\na999(User:ada, Doc:b)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a, Doc:b"), ("allow(User:ada, \"read\", Doc:c)", "no")],
    );
}

#[test]
fn none_of_a_thousand_alternatives() {
    let body = joined(1_000, " or ", |n| format!("a{n}(u, d)"));
    answers_or_refusals(
        "none_of_a_thousand_alternatives",
        format!("{USER_AND_DOC}has_permission(u: User, \"read\", d: Doc) if all(u, d) and not ({body});"),
        "all(User:ada, Doc:a)\nall(User:ada, Doc:b)\na999(User:ada, Doc:b)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:b)", "no")],
    );
}

#[test]
fn many_ways_that_each_split_in_many() {
    let rules = lines(100, |n| {
        format!(
            "has_permission(u: User, \"read\", d: Doc) if a{n}(u, d) and q(u, d);\nq(u: User, d: Doc) if b{n}(u, d);"
        )
    });
    let facts = lines(100, |n| format!("a{n}(User:ada, Doc:d{n})\nb{n}(User:ada, Doc:d{})", n / 2));
    answers_or_refusals(
        "many_ways_that_each_split_in_many",
        format!("{USER_AND_DOC}{rules}"),
        &facts,
        &[
            ("allow(User:ada, \"read\", Doc:?)", "50 rows"),
            ("allow(User:ada, \"read\", Doc:d49)", "yes"),
            ("allow(User:ada, \"read\", Doc:d50)", "no"),
        ],
    );
}

#[test]
fn many_negated_alternatives() {
    let body = joined(300, " or ", |n| format!("a{n}(d)"));
    let facts = lines(300, |n| format!("a{n}(Doc:d{n})"));
    answers(
        "many_negated_alternatives",
        format!("{USER_AND_DOC}has_permission(u: User, \"read\", d: Doc) if all(u, d) and not ({body});"),
        &(facts + "all(User:ada, Doc:d1)\nall(User:ada, Doc:x)"),
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:x"), ("allow(User:ada, \"read\", Doc:d1)", "no")],
    );
}

#[test]
fn a_thousand_literals() {
    let body = joined(1_000, " or ", |n| format!("level(d, {n})"));
    answers(
        "a_thousand_literals",
        format!("{USER_AND_DOC}has_permission(_: User, \"read\", d: Doc) if {body};"),
        "level(Doc:a, 5)\nlevel(Doc:b, 1000)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:b)", "no")],
    );
}

#[test]
fn a_product_of_alternatives() {
    let body = joined(60, " and ", |n| format!("(a{n}(d) or b{n}(d))"));
    let facts = lines(60, |n| format!("{}{n}(Doc:a)", if n % 3 == 0 { "a" } else { "b" }));
    answers(
        "a_product_of_alternatives",
        format!("{USER_AND_DOC}has_permission(_: User, \"read\", d: Doc) if {body};"),
        &facts,
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:b)", "no")],
    );
}

#[test]
fn a_product_of_alternatives_with_all_facts() {
    let body = joined(14, " and ", |n| format!("(a{n}(d) or b{n}(d))"));
    let facts = lines(14, |n| format!("a{n}(Doc:a)\nb{n}(Doc:b)"));
    answers_or_refusals(
        "a_product_of_alternatives_with_all_facts",
        format!("{USER_AND_DOC}has_permission(_: User, \"read\", d: Doc) if {body};"),
        &facts,
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a, Doc:b"), ("allow(User:ada, \"read\", Doc:c)", "no")],
    );
}
