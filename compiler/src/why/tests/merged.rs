//! Attempts of one rule that differ only in types.

use super::bench::Bench;
use super::says;

const POLICY: &str = "actor User {}\nresource Doc {}\n\
    allow(_: User, \"w\", d: Doc) if is_tagged(d, _) and is_open(d);\n\
    allow(u: User, \"v\", d: Doc) if level(u, _) and is_open(d);\n\
    level(u: User, x) if likes(u, x);\n\
    allow(_: User, \"x\", d: Doc) if is_tagged(d, x) and ranks(x);\n\
    declare is_tagged(Doc, String); declare is_tagged(Doc, Integer); declare is_tagged(Doc, Doc);\n\
    declare is_open(Doc); declare likes(User, String); declare likes(User, Integer);\n\
    ranks(x: String) if likes(_, x);\n\
    ranks(x: Integer) if likes(_, x);";

#[test]
fn a_value_of_any_type_is_one_attempt() {
    says(
        &Bench::new(POLICY, "is_open(Doc:1)"),
        r#"allow(User:1, "w", Doc:1)"#,
        r#"
0: allow(User:1, "w", Doc:1), no fact
   line 3: has [is_open(Doc:1)], lacks is_tagged(Doc:1, _)"#,
    );
}

#[test]
fn a_goal_of_any_type_is_one_goal() {
    says(
        &Bench::new(POLICY, "is_open(Doc:1)"),
        r#"allow(User:1, "v", Doc:1)"#,
        r#"
0: allow(User:1, "v", Doc:1), no fact
   line 4: has [is_open(Doc:1)], lacks goal 1
1: level(User:1, _), no fact
   line 5: has [], lacks likes(User:1, _)"#,
    );
}

/// The rule does not read tags that are documents, but `_` would deny them too.
#[test]
fn where_another_type_has_a_fact_the_types_are_shown() {
    says(
        &Bench::new(POLICY, "is_tagged(Doc:1, Doc:2)"),
        r#"allow(User:1, "x", Doc:1)"#,
        r#"
0: allow(User:1, "x", Doc:1), no fact
   line 6: has [], lacks is_tagged(Doc:1, Integer:_)
   line 6: has [], lacks is_tagged(Doc:1, String:_)"#,
    );
}

/// Only facts can be a permission of a user, but with any actor a rule counts as well.
#[test]
fn what_a_rule_derives_for_another_type_is_not_denied() {
    let policy = "actor User {}\nactor Group {}\nresource Doc {}\n\
        allow(_: User, \"x\", d: Doc) if is_seen(a, d) and is_good(a);\n\
        is_seen(g: Group, d: Doc) if is_shared(g, d);\n\
        is_good(a: User) if likes(a, 1);\n\
        is_good(a: Doc) if likes(a, 1);\n\
        declare is_shared(Group, Doc); declare is_seen(User, Doc); declare is_seen(Doc, Doc);\n\
        declare likes(User, Integer); declare likes(Doc, Integer);";
    let why = Bench::new(policy, "is_shared(Group:1, Doc:1)").why(r#"allow(User:1, "x", Doc:1)"#);
    assert!(why.contains("is_seen(User:_, Doc:1)") && !why.contains("is_seen(_, Doc:1)"), "{why}");
}
