//! Flattening of longhand rules: alternatives, negation, scopes.

use super::*;
use insta::assert_snapshot;

#[test]
fn rules_of_one_name_are_alternatives_and_arities_are_apart() {
    assert_snapshot!(rules("p(x: A) if q(x); p(x: B) if q(x); p(x: A, y: A) if r(x, y);"), @r"
    p(x: A) :- q(x)
    p(x: B) :- q(x)
    p(x: A, y: A) :- r(x, y)
    ");
}

#[test]
fn heads_keep_repeated_variables_and_literals() {
    assert_snapshot!(rules(r#"p(x: A, x, "lit", 7, true, A{"id"}, Integer{7}, _, _) if q(x);"#), @r#"p(x: A, x, "lit", 7, true, A{"id"}, 7, _1, _2) :- q(x)"#);
    assert_snapshot!(rules("p(@current_unix_time, x) if q(x);"), @"p(@current_unix_time, x) :- q(x)");
}

#[test]
fn a_rule_without_a_body_holds_for_everything() {
    assert_snapshot!(rules(r#"has_permission(_: User, "read", _: Organization); p(x) if true; p(_x) if false;"#), @r#"
    has_permission(_0: User, "read", _1: Organization)
    p(x)
    p(_x) :- false
    "#);
}

#[test]
fn matches_narrows_and_its_negation_excludes() {
    let text = r"actor User {} actor Admin extends User {}
        p(x) if q(x) and x matches User;
        p(x) if q(x) and x matches! User;
        p(x) if q(x) and not x matches User;
        p(x) if q(x) and not (not x matches User);
        p(x: Admin) if q(x) and x matches String;";
    assert_snapshot!(rules(text), @r"
    p(x: {User, Admin}) :- q(x)
    p(x: User) :- q(x)
    p(x) :- q(x), not x matches {User, Admin}
    p(x: {User, Admin}) :- q(x)
    p(x: {}) :- q(x)
    ");
}

#[test]
fn types_that_exclude_each_other_hold_of_nothing() {
    let text = "p(x) if q(x) and y matches A and y matches B; r(x) if q(x) and y matches A;";
    assert_snapshot!(rules(text), @r"
    p(x) :- q(x), false
    r(x) :- q(x)
    ");
}

#[test]
fn or_is_distributed() {
    assert_snapshot!(rules("p(x) if (a(x) or b(x)) and (c(x) or d(x));"), @r"
    p(x) :- a(x), c(x)
    p(x) :- a(x), d(x)
    p(x) :- b(x), c(x)
    p(x) :- b(x), d(x)
    ");
}

#[test]
fn negation_is_pushed_to_single_tests() {
    assert_snapshot!(rules("p(x, y) if not (a(x) and b(y));"), @r"
    p(x, y) :- not a(x)
    p(x, y) :- not b(y)
    ");
    assert_snapshot!(rules("p(x, y) if not (a(x) or b(y));"), @"p(x, y) :- not a(x), not b(y)");
    assert_snapshot!(rules("p(x, y) if not (a(x) or not (b(y) and c(x)));"), @"p(x, y) :- not a(x), b(y), c(x)");
    assert_snapshot!(rules(r#"p(x, y) if not (x = y) and not x in ["a"] and not (x != "b");"#), @r#"p(x: String, y) :- x != y, not x in ["a"], x = "b""#);
    assert_snapshot!(rules("p(x, y) if not x < y and not x <= y and not x > y and not x >= y;"), @"p(x: Integer, y: Integer) :- x >= y, x > y, x <= y, x < y");
    assert_snapshot!(rules("p(x) if a(x) and not true; p(x) if a(x) and not false;"), @r"
    p(x) :- false
    p(x) :- a(x)
    ");
}

#[test]
fn a_local_variable_of_a_not_is_existential_inside_it() {
    assert_snapshot!(rules("p(x) if not a(x, y);"), @"p(x) :- not a(x, y)");
    assert_snapshot!(rules("p(x) if not (a(x, y) and b(y));"), @r"
    'p.1(x) :- a(x, y), b(y)
    p(x) :- not 'p.1(x)
    ");
    assert_snapshot!(rules("p(x) if not a(x, _) and not b(x, _);"), @"p(x) :- not a(x, _1), not b(x, _2)");
}

#[test]
fn alternatives_under_one_not_have_their_own_local_variables() {
    assert_snapshot!(rules("p(x) if not (a(x, y) or b(x, y));"), @"p(x) :- not a(x, y), not b(x, y2)");
    assert_snapshot!(rules("p(x) if (a(x) and not c(x, y)) or (b(x) and not d(x, y));"), @r"
    p(x) :- a(x), not c(x, y)
    p(x) :- b(x), not d(x, y)
    ");
}

#[test]
fn nested_nots_have_nested_scopes() {
    assert_snapshot!(rules("p(x) if not (a(x, y) and not b(x, y, z));"), @r"
    'p.1(x) :- a(x, y), not b(x, y, z)
    p(x) :- not 'p.1(x)
    ");
    assert_snapshot!(rules("p(x) if not (not a(x, y));"), @"p(x) :- a(x, y)");
    assert_snapshot!(rules("p(x) if q(x) and not (a(x) and not (b(x, y) and not c(y, z)));"), @r"
    'p.1(x) :- b(x, y), not c(y, z)
    p(x) :- q(x), not a(x)
    p(x) :- q(x), 'p.1(x)
    ");
}

#[test]
fn a_local_comparison_becomes_a_predicate() {
    assert_snapshot!(rules("p(x) if q(x) and not (y = 3 and r(x, y)); s(x) if q(x) and not y = 3;"), @r"
    'p.1(x) :- y: Integer = 3, r(x, y)
    p(x) :- q(x), not 'p.1(x)
    's.2() :- y: Integer = 3
    s(x) :- q(x), not 's.2()
    ");
}

#[test]
fn a_large_disjunction_becomes_a_predicate_over_what_it_shares() {
    let choice = |name: &str| (0..9).map(|at| format!("{name}{at}(x, y)")).collect::<Vec<_>>().join(" or ");
    let text = format!("p(x) if ({}) and ({}) and c(x, z);", choice("a"), choice("b"));
    let shown = rules(&text);
    assert_eq!(shown.lines().count(), 18, "{shown}");
    assert!(shown.contains("'p.1(x, y) :- b8(x, y)"), "{shown}");
    assert!(shown.contains("p(x) :- a0(x, y), 'p.1(x, y), c(x, z)"), "{shown}");
}

#[test]
fn literals_are_compared_at_once() {
    let text = r#"p(x) if q(x) and 1 < 2 and "a" != "b"; p(x) if q(x) and 2 <= 1; p(x) if q(x) and "a" in ["b", "a"];
        p(x) if q(x) and 1 = "1"; p(x) if q(x) and String{"a"} = "a" and -9223372036854775808 < 9223372036854775807;"#;
    assert_snapshot!(rules(text), @r"
    p(x) :- q(x)
    p(x) :- false
    p(x) :- q(x)
    p(x) :- false
    p(x) :- q(x)
    ");
}

#[test]
fn comparisons_bind_through_equality_in_any_order() {
    assert_snapshot!(rules(r#"p(x) if a < 3 and a = b and b = c and r(c, x); q(x) if y != "a" and y in ["a", "b"] and r(x);"#), @r#"
    p(x) :- a: Integer < 3, a = b: Integer, b = c: Integer, r(c, x)
    q(x) :- y: String != "a", y in ["a", "b"], r(x)
    "#);
}

#[test]
fn the_current_time_is_an_integer() {
    assert_snapshot!(rules("p(x) if expires(x, t) and t > @current_unix_time;"), @"p(x) :- expires(x, t: Integer), t > @current_unix_time");
}

#[test]
fn allow_is_implied_for_each_arity_apart() {
    assert_snapshot!(print::rules(&program("")), @r"
    allow(actor, action: String, resource) :- has_permission(actor, action, resource)
    allow(actor, action: String) :- has_permission(actor, action)
    ");
    assert_snapshot!(print::rules(&program("allow(a, b, c) if may(a, b, c);")), @r"
    allow(a, b, c) :- may(a, b, c)
    allow(actor, action: String) :- has_permission(actor, action)
    ");
    assert_snapshot!(print::rules(&program("allow(a, b) if may(a, b); allow(a, b, c) if may2(a, b, c);")), @r"
    allow(a, b) :- may(a, b)
    allow(a, b, c) :- may2(a, b, c)
    ");
}
