//! Lints advise and never refuse.

use super::*;
use insta::assert_snapshot;

#[test]
fn a_variable_used_once_is_pointed_at() {
    assert_snapshot!(findings("p(x, _y, z) if q(z, w);"), @r"
    P0701 1:3 [x] the variable `x` is used once -> _x
    P0701 1:21 [w] the variable `w` is used once -> _w
    ");
}

#[test]
fn and_beside_or_wants_parentheses() {
    let text = r#"actor User {} resource R { roles = ["a", "b", "c"]; "a" if "b" and "c" or "c"; "b" if ("a" and "c") or "c"; }
        p(x) if (a(x) or b(x) and c(x)); p(x) if a(x) or (b(x) and c(x));"#;
    assert_snapshot!(findings(text), @r#"
    P0702 1:60 ["b" and "c"] `and` and `or` stand side by side without parentheses
    P0702 2:26 [b(x) and c(x)] `and` and `or` stand side by side without parentheses
    "#);
}

#[test]
fn a_role_or_permission_without_a_rule_is_pointed_at() {
    let text = r#"actor User {} global { roles = ["ghost", "admin"]; }
        resource R { roles = ["used", "unused", "read_by_longhand"]; permissions = ["granted", "never"]; "granted" if "used" or global "admin"; }
        resource S extends R { roles = ["unused_too"]; }
        p(u: User) if has_role(u, "read_by_longhand", r) and q(r);"#;
    assert_snapshot!(findings(text), @r#"
    P0703 1:33 ["ghost"] no rule uses the role `ghost` of `global`
    P0703 2:39 ["unused"] no rule uses the role `unused` of `R`
    P0703 2:96 ["never"] no rule uses the permission `never` of `R`
    P0703 3:41 ["unused_too"] no rule uses the role `unused_too` of `S`
    "#);
    let by_variable = r#"actor User {} resource R { roles = ["a"]; permissions = ["b"]; }
        has_permission(u: User, p, r: R) if has_role(u, role, r) and grants(role, p);"#;
    assert_snapshot!(findings(by_variable), @"");
}

#[test]
fn a_rule_that_can_never_match_is_pointed_at() {
    let text = r#"actor User {} p(x: User) if x matches String; p(x) if q(x) and x = 1 and x = "a";
        p(x) if q(x) and (x matches User or x = 3);"#;
    assert_snapshot!(findings(text), @r#"
    P0704 1:15 [p(x: User) if x matches String;] this rule can never match
    P0704 1:47 [p(x) if q(x) and x = 1 and x = "a";] this rule can never match
    "#);
    assert_snapshot!(findings(r#"resource R { roles = ["a", "b"]; "a" if "b"; "b" if "a"; }"#), @r#"P0704 1:34 ["a" if "b";] this rule can never match, as no `actor` block is declared"#);
}

#[test]
fn almost_a_built_in_predicate_is_pointed_at() {
    let text = r#"has_permision(u: User, "read", r: R) if has_roles(u, "a", r) and has_role(u, "a", r, r) and has_relation(u, r);
        alow(u: User) if has_rule(u); declare has_rule(User);"#;
    assert_snapshot!(findings(text), @r"
    P0705 1:1 [has_permision] `has_permision` is almost the built-in predicate `has_permission` -> has_permission
    P0705 1:41 [has_roles] `has_roles` is almost the built-in predicate `has_role` -> has_role
    P0705 1:66 [has_role] `has_role` has 2 or 3 arguments, not 4
    P0705 1:93 [has_relation] `has_relation` has 3 arguments, not 2
    P0705 2:9 [alow] `alow` is almost the built-in predicate `allow` -> allow
    ");
}

#[test]
fn matches_of_an_undeclared_type_is_pointed_at() {
    assert_snapshot!(findings("actor User {} p(x) if q(x) and (x matches Usr or x matches User or x matches String);"), @"P0706 1:43 [Usr] `matches` with `Usr`, which no block declares");
}
