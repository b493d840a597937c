//! Policies of very many rules, and rules of very many conditions, variables or arguments. Each question gets
//! its answer, and a rule with too many conditions is refused when the policy is checked.

use super::{USER_AND_DOC, answers, answers_or_refusals, joined, lines};
use crate::hostile::probe::on_a_small_stack;
use portcullis_testkit::policy;

#[test]
fn ten_thousand_rules() {
    let policy = format!(
        "{USER_AND_DOC}{}has_permission(u: User, \"read\", d: Doc) if p9999(u, d);",
        lines(10_000, |n| format!("p{n}(u: User, d: Doc) if a{n}(u, d);"))
    );
    answers(
        "ten_thousand_rules",
        policy,
        "a9999(User:ada, Doc:a)\na1(User:ada, Doc:b)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("p1(User:?, Doc:?)", "(User:ada, Doc:b)")],
    );
}

#[test]
fn ten_thousand_rules_for_one_permission() {
    let rules = lines(10_000, |n| format!("has_permission(u: User, \"read\", d: Doc) if a{n}(u, d);"));
    answers(
        "ten_thousand_rules_for_one_permission",
        format!("{USER_AND_DOC}{rules}"),
        "a9999(User:ada, Doc:a)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:b)", "no")],
    );
}

#[test]
fn five_hundred_tables_of_one_permission() {
    let rules = lines(500, |n| format!("has_permission(u: User, \"read\", d: Doc) if a{n}(u, d);"));
    let facts = lines(500, |n| format!("a{n}(User:ada, Doc:d{n})"));
    answers_or_refusals(
        "five_hundred_tables_of_one_permission",
        format!("{USER_AND_DOC}{rules}"),
        &facts,
        &[("allow(User:ada, \"read\", Doc:?)", "500 rows"), ("allow(User:ada, \"read\", Doc:d499)", "yes")],
    );
}

#[test]
fn five_thousand_conjuncts() {
    let body = joined(5_000, " and ", |n| format!("a{n}(d)"));
    answers(
        "five_thousand_conjuncts",
        format!("{USER_AND_DOC}has_permission(_: User, \"read\", d: Doc) if {body};"),
        "a0(Doc:a)",
        &[("allow(User:ada, \"read\", Doc:?)", "nothing"), ("allow(User:ada, \"read\", Doc:a)", "no")],
    );
}

#[test]
fn one_condition_too_many() {
    let body = joined(5_001, " and ", |n| format!("a{n}(d)"));
    let text = format!("{USER_AND_DOC}has_permission(_: User, \"read\", d: Doc) if {body};");
    let refused = on_a_small_stack("one_condition_too_many", move || policy::program(&text).map(|_| ()));
    let message = refused.unwrap_err();
    assert!(message.contains("is too large"), "{message}");
}

#[test]
fn as_many_conjuncts_as_tables() {
    let body = joined(120, " and ", |n| format!("a{n}(d)"));
    let facts = lines(120, |n| format!("a{n}(Doc:a)"));
    answers_or_refusals(
        "as_many_conjuncts_as_tables",
        format!("{USER_AND_DOC}has_permission(_: User, \"read\", d: Doc) if {body};"),
        &facts,
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:a)", "yes")],
    );
}

#[test]
fn a_join_of_a_hundred_variables() {
    let body = joined(100, " and ", |n| format!("next(x{n}, x{})", n + 1));
    let policy = format!(
        "{USER_AND_DOC}has_permission(_: User, \"read\", x0: Doc) if {body};\ndeclare next(Doc, Doc);"
    );
    answers_or_refusals(
        "a_join_of_a_hundred_variables",
        policy,
        "next(Doc:a, Doc:a)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:a)", "yes")],
    );
}

#[test]
fn a_wide_predicate() {
    let params = joined(32, ", ", |n| format!("x{n}: Doc"));
    let body = joined(31, " and ", |n| format!("next(x{n}, x{})", n + 1));
    let rotated = joined(32, ", ", |n| format!("x{}", (n + 1) % 32));
    let given = joined(32, ", ", |_| "Doc:a".to_owned());
    let wanted = joined(32, ", ", |_| "Doc:?".to_owned());
    answers(
        "a_wide_predicate",
        format!(
            "{USER_AND_DOC}wide({params}) if {body};\nwide({params}) if wide({rotated});\ndeclare next(Doc, Doc);"
        ),
        "next(Doc:a, Doc:a)",
        &[(&format!("wide({given})"), "yes"), (&format!("wide({wanted})"), "1 rows")],
    );
}

/// Each table of the plan reads the one before in several places.
#[test]
fn the_same_call_sixteen_times() {
    let calls = joined(16, " and ", |_| "allow(User:?u, String:?a, Repository:?r)".to_owned());
    answers(
        "the_same_call_sixteen_times",
        include_str!("../../../../fixtures/example/policy.polar").to_owned(),
        "has_role(User:u1, \"maintainer\", Organization:o1)
has_relation(Folder:f, \"organization\", Organization:o1)
has_relation(Folder:g, \"parent\", Folder:f)
has_relation(Repository:r, \"folder\", Folder:g)
has_role(Group:g, \"reader\", Repository:r)
has_relation(Group:g, \"member\", User:u1)",
        &[(&calls, "3 rows")],
    );
}
