//! Diagnostics about names, binding and types.

use super::*;
use insta::assert_snapshot;

#[test]
fn unknown_names_in_shorthand_come_with_the_near_one() {
    let text = r#"actor User {}
        global { roles = ["admin"]; "admni" if "admin"; "admin" if "x" on "y"; }
        resource Org { roles = ["member"]; }
        resource Repo { roles = ["reader"]; permissions = ["read"]; relations = { org: Org, owner: User, lab: Lab };
            "raed" if "reader";
            "read" if "raeder" and ("nothing" or "x" on "org" or "member" on "ogr");
            "read" if "memer" on "org";
            "read" if "member" on "reader";
            "read" if "member" on "lab" or role on "lab";
            "read" if global "adnim" or global "zzz";
        }"#;
    assert_snapshot!(findings(text), @r#"
    P0201 2:37 ["admni"] `admni` is not declared in `global` -> "admin"
    P0211 2:75 ["y"] `on` has no meaning in the `global` block
    P0201 5:13 ["raed"] `raed` is not declared in `Repo` -> "read"
    P0201 6:23 ["raeder"] `raeder` is not declared in `Repo` -> "reader"
    P0201 6:37 ["nothing"] `nothing` is not declared in `Repo`
    P0218 6:50 ["x"] `x` is not declared in `Org`, which `org` leads to
    P0203 6:78 ["ogr"] unknown relation `ogr` on `Repo` -> "org"
    P0218 7:23 ["memer"] `memer` is not declared in `Org`, which `org` leads to -> "member"
    P0203 8:35 ["reader"] unknown relation `reader` on `Repo`
    P0202 9:35 ["lab"] `lab` leads to `Lab`, which has no block
    P0202 9:52 ["lab"] `lab` leads to `Lab`, which has no block
    P0217 10:30 ["adnim"] `adnim` is not declared in the `global` block
    P0217 10:48 ["zzz"] `zzz` is not declared in the `global` block
    "#);
}

#[test]
fn a_global_name_needs_a_global_block() {
    assert_snapshot!(findings(r#"actor U {} resource R { roles = ["a"]; "a" if global "b"; }"#), @r#"P0217 1:54 ["b"] `b` is not declared, because there is no `global` block"#);
}

#[test]
fn a_variable_that_nothing_binds_is_refused() {
    let text = r"
        a(x) if q(x) and y > 3 and y < 4;
        b(x) if q(x) and not r(y) and not s(y);
        c(x) if (q(x, y) or r(x)) and not s(y);
        d(x) if q(x) and not (y = z);
        e(x) if q(x) and not (r(x) and y != x);
        f(x) if q(x) and y = z and z != x;
        g(x) if q(x) and not y matches User and y = y;
        h(x) if q(x) and not (r(x, y) and not (s(y) and z < 3));";
    assert_snapshot!(findings(text), @r"
    P0301 2:26 [y > 3] nothing binds `y`, which is compared here
    P0301 3:43 [s(y)] nothing binds `y`, which two `not`s share
    P0301 4:43 [s(y)] nothing binds `y`, which a `not` tests
    P0301 5:31 [y = z] nothing binds `y`, which a `not` tests
    P0301 5:31 [y = z] nothing binds `z`, which a `not` tests
    P0301 6:40 [y != x] nothing binds `y`, which a `not` tests
    P0301 7:26 [y = z] nothing binds `y`, which is compared here
    P0301 7:26 [y = z] nothing binds `z`, which is compared here
    P0301 8:30 [y matches User] nothing binds `y`, which a `not` tests
    P0301 9:57 [z < 3] nothing binds `z`, which a `not` tests
    ");
}

#[test]
fn what_is_bound_is_not_refused() {
    let text = r#"actor User {}
        a(x) if not r(x) and x != 3;
        b(x) if (q(x, y) or r(x, y)) and not s(y);
        c(x) if (y = 1 or y = 2) and q(x) and not s(y);
        d(x) if q(x) and y in ["a"] and not s(y);
        e(x) if q(x) and y = x and not s(y);
        f(x) if q(x) and not (r(x, y) and y > 3);
        g(x) if q(x) and t = @current_unix_time and not s(t);"#;
    assert_snapshot!(findings(text), @"");
}

#[test]
fn order_comparisons_are_of_integers() {
    let text = r#"
        a(x: String) if x > 3;
        b(x) if q(x) and x > "a";
        c(x) if q(x) and x matches String and x < 3;
        d(x: Integer) if x > @current_unix_time;"#;
    assert_snapshot!(findings(text), @r#"
    P0302 2:25 [x] `<`, `<=`, `>` and `>=` compare Integers only
    P0302 3:30 ["a"] `<`, `<=`, `>` and `>=` compare Integers only
    P0302 4:47 [x < 3] `<`, `<=`, `>` and `>=` compare Integers only
    "#);
}

#[test]
fn literals_that_no_value_has_are_refused() {
    let text = r#"p(x) if q(x, Actor{"a"}) and x in [y, @current_unix_time, 1];"#;
    assert_snapshot!(findings(text), @r"
    P0307 1:14 [Actor] no value has the type `Actor` itself
    P0308 1:36 [y] the list after `in` can contain only literals
    P0308 1:39 [@current_unix_time] the list after `in` can contain only literals
    ");
}
