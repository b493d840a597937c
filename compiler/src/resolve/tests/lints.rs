//! Lints, which never reject a policy.

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
fn a_variable_of_shorthand_that_is_neither_the_actor_nor_the_resource_is_pointed_at() {
    let text = r#"actor User {} resource R { permissions = ["a"]; "a" if open(resorce) or listed(resource, actor, _x); }
        global { permissions = ["g"]; "g" if auditor(resource) and knows(actor, x) and x2(x); }"#;
    assert_snapshot!(findings(text), @"
    P0701 1:61 [resorce] the variable `resorce` is used once -> resource
    P0701 2:54 [resource] the variable `resource` is used once -> _resource
    ");
}

#[test]
fn and_beside_or_wants_parentheses() {
    let text = r#"actor User {} resource R { roles = ["a", "b", "c"]; "a" if "b" and "c" or "c"; "b" if ("a" and "c") or "c"; }
        p(x) if (a(x) or b(x) and c(x)); p(x) if a(x) or (b(x) and c(x));"#;
    assert_snapshot!(findings(text), @r#"
    P0702 1:60 ["b" and "c"] `and` and `or` are mixed without parentheses
    P0702 2:26 [b(x) and c(x)] `and` and `or` are mixed without parentheses
    "#);
}

#[test]
fn a_declared_name_without_a_rule_is_pointed_at() {
    let text = r#"actor User {} global { roles = ["ghost", "admin"]; }
        resource R { roles = ["used", "unused", "read_by_longhand"]; permissions = ["granted", "never"]; "granted" if "used" or global "admin"; }
        resource S extends R { roles = ["unused_too"]; }
        p(u: User) if has_role(u, "read_by_longhand", r) and q(r);"#;
    assert_snapshot!(findings(text), @r#"
    P0703 1:33 ["ghost"] no rule reads the role `ghost` of `global`
    P0703 2:39 ["unused"] no rule reads the role `unused` of `R`
    P0703 2:96 ["never"] no rule uses the permission `never` of `R`
    P0703 3:41 ["unused_too"] no rule reads the role `unused_too` of `S`
    "#);
    let by_variable = r#"actor User {} resource R { roles = ["a"]; permissions = ["b"]; }
        has_permission(u: User, p, r: R) if has_role(u, role, r) and grants(role, p);"#;
    assert_snapshot!(findings(by_variable), @"");
    let derived_only = r#"actor User {} resource R { roles = ["a", "b"]; relations = { x: User, y: R, z: R }; "a" if "b"; "b" if "x"; }
        has_relation(r: R, "z", s: R) if q(r, s);"#;
    assert_snapshot!(findings(derived_only), @r#"
    P0703 1:37 ["a"] no rule reads the role `a` of `R`
    P0703 1:71 [y] no rule reads the relation `y` of `R`
    P0703 1:77 [z] no rule reads the relation `z` of `R`
    "#);
    let relations = r#"actor User {} resource R { permissions = ["p"]; relations = { a: User, b: User }; "p" if "a"; }
        resource S extends R {}"#;
    assert_snapshot!(findings(relations), @"P0703 1:72 [b] no rule reads the relation `b` of `R`");
}

#[test]
fn a_rule_that_can_never_match_is_pointed_at() {
    let text = r#"actor User {} p(x: User) if x matches String; p(x) if q(x) and x = 1 and x = "a";
        p(x) if q(x) and (x matches User or x = 3);"#;
    assert_snapshot!(findings(text), @r#"
    P0704 1:15 [p(x: User) if x matches String;] this rule can never match
    P0704 1:47 [p(x) if q(x) and x = 1 and x = "a";] this rule can never match
    "#);
    assert_snapshot!(findings(r#"resource R { roles = ["a", "b"]; "a" if "b"; "b" if "a"; }"#), @r#"P0704 1:34 ["a" if "b";] this rule can never match, because no `actor` block is declared"#);
}

#[test]
fn almost_a_built_in_predicate_is_pointed_at() {
    let text = r#"p(u: User) if has_roles(u, "a", r) and has_role(u, "a", r, r) and has_relation(u, r) and alow(u, "a", r);"#;
    assert_snapshot!(findings(text), @"
    P0705 1:15 [has_roles] `has_roles` is almost the built-in predicate `has_role` -> has_role
    P0705 1:40 [has_role] `has_role` has 2 or 3 arguments, not 4
    P0705 1:67 [has_relation] `has_relation` has 3 arguments, not 2
    P0705 1:90 [alow] `alow` is almost the built-in predicate `allow` -> allow
    ");
}

#[test]
fn an_intended_name_is_not_a_near_miss() {
    // Edit distance two, and documented so.
    let far = r#"p(u: User, r: R) if has_group(u, g) and grants_permission(g, "read") and has_rules(r);"#;
    assert_snapshot!(findings(far), @"");
    let own_rules = "has_roles(u: User) if q(u); p(u: User) if has_roles(u);";
    assert_snapshot!(findings(own_rules), @"");
    assert_snapshot!(findings("p(u: User) if has_roles(u); declare has_roles(User);"), @"");
    let own_facts = r#"p(u: User) if has_roles(u) and allows(u);
        test fixture f { has_roles(User{"a"}); }
        test "t" { setup { fixture f; allows(User{"a"}); } assert p(User{"a"}); }"#;
    assert_snapshot!(findings(own_facts), @"");
}

#[test]
fn a_head_that_nothing_mentions_and_almost_a_built_in_one_is_pointed_at() {
    let text = r#"actor User {} resource R { permissions = ["p"]; }
        has_permision(u: User, "p", r: R) if q(u, r);
        has_permision(u: User, "s", r: R) if q(u, r);
        alow(u: User, "p", r: R) if q(u, r);
        allow(u: User) if s(u);"#;
    assert_snapshot!(findings(text), @r#"
    P0703 1:43 ["p"] no rule uses the permission `p` of `R`
    P0705 2:9 [has_permision] `has_permision` is almost the built-in predicate `has_permission`
    P0705 4:9 [alow] `alow` is almost the built-in predicate `allow`
    P0705 5:9 [allow] `allow` has 2 or 3 arguments, not 1
    "#);
    // A wrong number of arguments, or a name at a distance of one, that something mentions.
    let mentioned = r#"actor User {} resource R { permissions = ["p"]; "p" if allowed(actor, "p", resource); }
        allows(u: User, "p", r: R) if q(u, r);
        alow(u: User, "p", r: R) if q(u, r);
        has_roles(u: User, r: R) if q(u, r);
        allow(u: User) if s(u);
        p(u: User) if allow(u) and has_roles(u, _);
        declare alow(User, String, R);
        test "t" { setup { q(User{"a"}, R{"b"}); } assert allows(User{"a"}, "p", R{"b"}); }"#;
    assert_snapshot!(findings(mentioned), @"");
}

#[test]
fn a_type_that_no_rule_of_allow_takes_is_pointed_at() {
    let blocks = r#"actor User {} resource Folder { permissions = ["read"]; "read" if open(resource); }
        resource Doc { permissions = ["read"]; "read" if open(resource); } resource Tag {}"#;
    let with = |rule: &str| findings(&[blocks, "\n", rule].concat());
    assert_snapshot!(with("allow(u: User, a: String, d: Doc) if has_permission(u, a, d);"), @"P0708 1:24 [Folder] no check of a `Folder` is ever allowed, because no rule of `allow` takes one");
    for covered in [
        "",
        "allow(u: User, a: String) if has_permission(u, a);",
        "allow(u: User, a, d) if has_permission(u, a, d);",
        "allow(u: User, a, d: Resource) if has_permission(u, a, d);",
        r#"allow(u: User, a, d: Doc) if has_permission(u, a, d); allow(_: User, "read", Folder{"all"});"#,
        "allow(u: User, a, d) if d matches Doc and has_permission(u, a, d);",
    ] {
        assert_eq!(with(covered), "", "{covered}");
    }
}

#[test]
fn a_type_is_taken_with_its_supertype_or_one_of_its_subtypes() {
    let text = r#"actor User {} resource Item { permissions = ["read"]; "read" if open(resource); }
        resource Folder extends Item {} resource Doc extends Item {}
        allow(u: User, a: String, d: TYPE) if has_permission(u, a, d);"#;
    assert_snapshot!(findings(&text.replace("TYPE", "Item")), @"");
    assert_snapshot!(findings(&text.replace("TYPE", "Doc")), @"P0708 2:18 [Folder] no check of a `Folder` is ever allowed, because no rule of `allow` takes one");
}

#[test]
fn matches_of_an_undeclared_type_is_pointed_at() {
    assert_snapshot!(findings("actor User {} p(x) if q(x) and (x matches Usr or x matches User or x matches String);"), @"P0706 1:43 [Usr] `matches` with `Usr`, which no block declares");
}
