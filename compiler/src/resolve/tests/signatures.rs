//! Facts that may be stored, and facts that are rejected.

use super::*;
use insta::assert_snapshot;

const POLICY: &str = r#"
    actor User {} actor Bot {}
    resource Node { roles = ["reader"]; permissions = ["read"]; relations = { owner: User };
        "read" if "reader" or "owner"; }
    resource Doc extends Node {}
    allow(u: User, "archive", d: Doc) if is_closed(d, false) and size(d, 3) and tag(d, t) and not seen(u, _);
    declare note(Node, String, Integer);
"#;

#[test]
fn every_call_counts_with_abstract_types_spelled_out() {
    assert_snapshot!(signatures(POLICY), @r#"
    allow(User, "archive", Doc)
    has_permission({User, Bot}, "read", {Node, Doc})
    has_relation({Node, Doc}, "owner", {User, Bot})
    has_role({User, Bot}, "reader", {Node, Doc})
    is_closed(Doc, Boolean)
    note({Node, Doc}, String, Integer)
    seen(User, _)
    size(Doc, Integer)
    tag(Doc, _)
    "#);
}

#[test]
fn the_implied_entry_points_accept_permissions() {
    assert_snapshot!(print::signatures(&program("")), @r"
    allow(_, String)
    allow(_, String, _)
    has_permission(_, String)
    has_permission(_, String, _)
    ");
}

#[test]
fn signatures_that_differ_in_one_argument_are_merged() {
    let text = r#"p(x: A) if q(x, "l"); p(x: B) if q(x, "l"); p(x: A) if q(x, "m"); p(x) if r(x, "a"); p(x: A) if r(x, s) and s matches String and t(s);"#;
    assert_snapshot!(signatures(text), @r#"
    p(_)
    q(A, "m")
    q({A, B}, "l")
    r(A, String)
    r(_, "a")
    t(String)
    "#);
}

#[test]
fn the_policys_own_tests_make_no_fact_useful() {
    assert_snapshot!(signatures(r#"p(x: A) if q(x); test "t" { assert_not r(A{"a"}); }"#), @"
    p(A)
    q(A)
    ");
}

#[test]
fn what_a_rule_derives_counts_by_the_types_of_its_head() {
    let text = r#"actor User {} resource R { roles = ["a", "b"]; "a" if "b"; }
        p(x: User, "s") if q(x); p(x: R, 3) if q(x); r(x, x, _) if t(x); s(x: User) if x matches R;"#;
    assert_snapshot!(signatures(text), @r#"
    has_role(User, "a", R)
    has_role(User, "b", R)
    p(User, "s")
    p(R, Integer)
    q({User, R})
    r(_, _, _)
    t(_)
    "#);
}

#[test]
fn what_a_block_declares_counts_whether_it_is_read_or_not() {
    let text = r#"actor User {} actor Team { relations = { lead: User }; } global { roles = ["g"]; }
        resource R { roles = ["a"]; permissions = ["p"]; relations = { up: R, by: Actor, plain: Thing }; }
        resource S extends R { roles = ["b"]; }"#;
    assert_snapshot!(signatures(text), @r#"
    has_relation(Team, "lead", User)
    has_relation({R, S}, "by", {User, Team})
    has_relation({R, S}, "plain", Thing)
    has_relation({R, S}, "up", {R, S})
    has_role({User, Team}, "g")
    has_role({User, Team}, "a", {R, S})
    has_role({User, Team}, "b", S)
    "#);
}

fn accepts(predicate: &str, args: &[(&str, &str)]) -> bool {
    program(POLICY).accepts(predicate, args).is_ok()
}

#[test]
fn facts_are_accepted_by_type_and_string_literal() {
    assert!(accepts("has_role", &[("User", "a"), ("String", "reader"), ("Doc", "d")]));
    assert!(accepts("has_role", &[("Bot", "a"), ("String", "reader"), ("Node", "d")]));
    assert!(!accepts("has_role", &[("User", "a"), ("String", "writer"), ("Doc", "d")]));
    assert!(!accepts("has_role", &[("Doc", "a"), ("String", "reader"), ("Doc", "d")]));
    assert!(!accepts("has_role", &[("User", "a"), ("String", "reader")]));
    assert!(accepts("has_relation", &[("Doc", "d"), ("String", "owner"), ("Bot", "b")]));
    assert!(!accepts("has_relation", &[("Doc", "d"), ("String", "parent"), ("Bot", "b")]));
    assert!(accepts("note", &[("Doc", "d"), ("String", "anything"), ("Integer", "1")]));
    assert!(!accepts("note", &[("Doc", "d"), ("String", "anything"), ("String", "1")]));
}

#[test]
fn integer_and_boolean_literals_count_by_type() {
    assert!(accepts("is_closed", &[("Doc", "d"), ("Boolean", "true")]));
    assert!(accepts("size", &[("Doc", "d"), ("Integer", "4")]));
    assert!(!accepts("size", &[("Doc", "d"), ("String", "3")]));
}

#[test]
fn any_is_every_type_that_the_policy_mentions() {
    assert!(accepts("tag", &[("Doc", "d"), ("User", "u")]));
    assert!(accepts("tag", &[("Doc", "d"), ("Boolean", "true")]));
    assert!(!accepts("tag", &[("Doc", "d"), ("Stranger", "s")]));
    for no_value_has_it in ["Actor", "Resource", ""] {
        assert!(!accepts("tag", &[("Doc", "d"), (no_value_has_it, "s")]));
    }
}

#[test]
fn entry_points_are_accepted() {
    assert!(accepts("allow", &[("User", "u"), ("String", "x"), ("Doc", "d")]));
    assert!(accepts("has_permission", &[("User", "u"), ("String", "create")]));
    let implied = program("p(x: Doc) if q(x);");
    assert!(implied.accepts("has_permission", &[("Doc", "u"), ("String", "read"), ("Doc", "d")]).is_ok());
    // This policy replaces `allow` and never reads a permission, but a rule grants one.
    assert!(accepts("has_permission", &[("User", "u"), ("String", "read"), ("Doc", "d")]));
    assert!(!accepts("has_permission", &[("User", "u"), ("String", "write"), ("Doc", "d")]));
}

#[test]
fn the_refusal_is_the_text_that_clients_know() {
    let refusal = program(POLICY).accepts("has_role", &[("User", "u"), ("String", "steward"), ("Lab", "l")]);
    assert_eq!(
        refusal.unwrap_err().to_string(),
        "has_role(User, \"steward\", Lab) is not used in policy. Help: use this fact in your policy, or add \
         'declare has_role(...)' to your policy to force this fact type to be accepted."
    );
}

#[test]
fn generated_predicates_accept_nothing() {
    let program = program("p(x) if q(x) and not (a(x, y) and b(y));");
    assert!(program.accepts("'p.1", &[("String", "x")]).is_err());
    assert!(program.accepts("q", &[("String", "x")]).is_ok());
    assert!(program.accepts("p", &[("String", "x")]).is_ok());
}
