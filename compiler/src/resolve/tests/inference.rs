//! Untyped variables get their types from their uses, and no answer is lost.

use super::*;
use insta::assert_snapshot;

const BLOCKS: &str = r#"
    actor User {} actor Team { relations = { member: User }; }
    resource Org { roles = ["admin", "member"]; permissions = ["audit"]; }
    resource Folder { roles = ["viewer", "admin"]; relations = { parent: Folder, org: Org }; }
    resource Doc { relations = { parent: Folder, owner: Actor }; }
"#;

fn inferred(text: &str) -> String {
    rules(&format!("{BLOCKS}{text}"))
}

#[test]
fn a_relation_tells_the_related_type() {
    assert_snapshot!(inferred(r#"p(d: Doc) if has_relation(d, "parent", f) and q(f);"#), @r#"p(d: Doc) :- has_relation(d, "parent", f: Folder), q(f)"#);
    assert_snapshot!(inferred(r#"p(d: Doc) if has_relation(d, "owner", a) and has_relation(d, "other", b) and q(a, b);"#), @r#"p(d: Doc) :- has_relation(d, "owner", a: {User, Team}), has_relation(d, "other", b), q(a, b)"#);
}

#[test]
fn a_relation_tells_the_types_that_have_it() {
    assert_snapshot!(inferred(r#"p(f: Folder) if has_relation(x, "parent", f); q(o) if has_relation(_, "org", o);"#), @r#"
    p(f: Folder) :- has_relation(x: {Folder, Doc}, "parent", f)
    q(o: Org) :- has_relation(_1: Folder, "org", o)
    "#);
}

#[test]
fn types_travel_along_relations() {
    assert_snapshot!(
        inferred(r#"p(x) if has_relation(x, "owner", _) and has_relation(x, "parent", f) and has_relation(f, "org", o) and q(o);"#),
        @r#"p(x: Doc) :- has_relation(x, "owner", _1: {User, Team}), has_relation(x, "parent", f: Folder), has_relation(f, "org", o: Org), q(o)"#
    );
}

#[test]
fn a_role_or_permission_tells_the_types_that_declare_it() {
    assert_snapshot!(inferred(r#"p(u: User) if has_role(u, "admin", x) and has_permission(u, "audit", y) and q(x, y);"#), @r#"p(u: User) :- has_role(u, "admin", x: {Org, Folder}), has_permission(u, "audit", y: Org), q(x, y)"#);
}

#[test]
fn names_that_no_block_declares_tell_nothing() {
    assert_snapshot!(inferred(r#"p(u: User) if has_role(u, "ghost", x) and has_relation(y, "ghost", x) and q(x, y);"#), @r#"p(u: User) :- has_role(u, "ghost", x), has_relation(y, "ghost", x), q(x, y)"#);
}

#[test]
fn a_name_that_is_used_with_other_types_keeps_them() {
    let text =
        r#"p(u: User) if has_role(u, "viewer", x) and q(x); r(u: User, l: Lab) if has_role(u, "viewer", l);"#;
    assert_snapshot!(inferred(text), @r#"
    p(u: User) :- has_role(u, "viewer", x: {Folder, Lab}), q(x)
    r(u: User, l: Lab) :- has_role(u, "viewer", l)
    "#);
    assert_snapshot!(inferred(r#"p(u: User) if has_role(u, "viewer", x) and q(x); declare has_role(User, String, Room);"#), @r#"p(u: User) :- has_role(u, "viewer", x: {Folder, Room}), q(x)"#);
    let derived =
        r#"p(u: User) if has_role(u, "viewer", x) and q(x); has_role(u: User, "viewer", x) if grant(u, x);"#;
    assert_snapshot!(inferred(derived), @r#"
    p(u: User) :- has_role(u, "viewer", x), q(x)
    has_role(u: User, "viewer", x) :- grant(u, x)
    "#);
}

#[test]
fn comparisons_and_literals_tell_types() {
    let text =
        r#"p(x, y, z, w) if q(x, y, z, w) and x < 3 and y = "a" and z in [1, "a", Lab{"l"}] and w = z;"#;
    assert_snapshot!(inferred(text), @r#"p(x: Integer, y: String, z: {String, Integer, Lab}, w: {String, Integer, Lab}) :- q(x, y, z, w), x < 3, y = "a", z in [1, "a", Lab{"l"}], w = z"#);
}

#[test]
fn a_negated_test_tells_nothing_of_a_variable_bound_outside() {
    assert_snapshot!(inferred(r#"p(x) if q(x) and not has_role(_, "viewer", x) and x != "a";"#), @r#"p(x) :- q(x), not has_role(_1, "viewer", x), x != "a""#);
    assert_snapshot!(inferred(r#"p(u: User) if q(u) and not has_role(u, "viewer", x);"#), @r#"p(u: User) :- q(u), not has_role(u, "viewer", x: Folder)"#);
}

#[test]
fn each_alternative_is_inferred_apart() {
    assert_snapshot!(inferred(r#"p(x) if q(x) and (x = "a" or x > 1 or r(x));"#), @r#"
    p(x: String) :- q(x), x = "a"
    p(x: Integer) :- q(x), x > 1
    p(x) :- q(x), r(x)
    "#);
}

#[test]
fn a_typed_variable_keeps_its_type() {
    assert_snapshot!(inferred(r#"p(u: User) if has_role(u, "viewer", x) and x matches Resource and q(x);"#), @r#"p(u: User) :- has_role(u, "viewer", x: {User, Team, Org, Folder, Doc}), q(x)"#);
    assert_snapshot!(inferred(r#"has_role(team: Team, "viewer", "everything");"#), @r#"has_role(team: Team, "viewer", "everything")"#);
}

#[test]
fn generated_predicates_share_types_with_their_callers() {
    assert_snapshot!(inferred(r#"p(u: User) if has_role(u, "viewer", x) and not (q(x, y) and r(y));"#), @r#"
    'p.1(x: Folder) :- q(x, y), r(y)
    p(u: User) :- has_role(u, "viewer", x: Folder), not 'p.1(x)
    "#);
}
