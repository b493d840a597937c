//! Rules that a goal's types or values exclude.

use super::bench::Bench;
use super::says;

#[test]
fn a_rule_for_another_type_of_actor_is_mentioned() {
    let policy = "actor Person {}\nactor Robot {}\nresource Box { permissions = [\"move\", \"scan\"]; }\n\
        allow(actor: Actor, action: String, box: Box) if has_permission(actor, action, box) and actor matches Person;\n\
        allow(_: Person, \"scan\", _: Box);\n\
        has_permission(_: Person, \"move\", _: Box) if is_open(1);\n\
        declare is_open(Integer);";
    says(
        &Bench::new(policy, ""),
        r#"allow(Robot:r1, "move", Box:2)"#,
        r#"
0: allow(Robot:r1, "move", Box:2), no fact
   line 4: has [], lacks Robot:r1 matches Person"#,
    );
}

#[test]
fn a_value_that_a_condition_excludes_is_mentioned() {
    let policy = "actor User {}\nresource Doc {}\n\
        allow(_: User, action: String, _: Doc) if action in [\"read\"] and is_open(1);\n\
        allow(_: User, \"write\", d: Doc) if d = Doc{\"1\"} and is_open(2);\n\
        allow(u: User, \"write\", d: Doc) if may(u, d);\n\
        may(_: User, d: Doc) if d = Doc{\"1\"} and is_open(3);\n\
        may(_: User, d: Doc) if not d matches Doc and is_open(4);\n\
        allow(_: User, \"write\", Doc{\"1\"}) if is_open(5);\n\
        declare is_open(Integer);";
    says(
        &Bench::new(policy, ""),
        r#"allow(User:1, "write", Doc:2)"#,
        r#"
0: allow(User:1, "write", Doc:2), no fact
   line 5: has [], lacks goal 1
   line 3: has [], lacks "write" in ["read"]
   line 4: has [], lacks d = Doc{"1"}: Doc:2 = Doc:1
1: may(User:1, Doc:2), no fact
   line 6: has [], lacks d = Doc{"1"}: Doc:2 = Doc:1
   line 7: has [], lacks Doc:2 is not of type Doc
with may(User:1, Doc:2)"#,
    );
}

#[test]
fn a_rule_about_another_action_is_not_mentioned() {
    let policy = "actor User {}\nresource Doc { permissions = [\"read\", \"write\"]; \"read\" if is_open(1); }\n\
        resource Folder { permissions = [\"write\"]; \"write\" if is_open(2); }\n\
        declare is_open(Integer);";
    says(
        &Bench::new(policy, ""),
        r#"allow(User:1, "write", Doc:2)"#,
        r#"
0: allow(User:1, "write", Doc:2), no fact
   implied: has [], lacks goal 1
1: has_permission(User:1, "write", Doc:2), no fact"#,
    );
}

/// The implied rule is the only one for `allow`, and what it needs is excluded.
#[test]
fn the_only_condition_of_a_rule_is_followed() {
    let policy = "actor Person {}\nactor Robot {}\nresource Box { permissions = [\"move\"]; }\n\
        has_permission(_: Person, \"move\", _: Box) if is_open(1);\n\
        declare is_open(Integer);";
    says(
        &Bench::new(policy, ""),
        r#"allow(Robot:r1, "move", Box:2)"#,
        r#"
0: allow(Robot:r1, "move", Box:2), no fact
   implied: has [], lacks goal 1
1: has_permission(Robot:r1, "move", Box:2), no fact
   line 4: has [], lacks Robot:r1 matches Person"#,
    );
}

/// A rule with a literal in its head can only be used with this value.
#[test]
fn a_goal_that_only_a_literal_answers_fails() {
    let policy = "actor User {}\nresource Doc {}\n\
        allow(u: User, \"read\", d: Doc) if is_member(u) and opens(d);\n\
        opens(Doc{\"1\"}) if is_on(1);\n\
        declare is_member(User); declare is_on(Integer);";
    says(
        &Bench::new(policy, "is_member(User:1)"),
        r#"allow(User:1, "read", Doc:2)"#,
        r#"
0: allow(User:1, "read", Doc:2), no fact
   line 3: has [is_member(User:1)], lacks goal 1
1: opens(Doc:2), no fact
with opens(Doc:2)"#,
    );
}

#[test]
fn many_excluded_rules_are_counted() {
    let rule = |at: usize| format!("may(_: Group, n: Integer) if next(n, {at});\n");
    let rules: String = (1..=14).map(rule).collect();
    // The one about users comes last in the policy, and is shown first.
    let policy = format!(
        "actor User {{}}\nactor Group {{}}\n{rules}may(_: User, n: Integer) if n in [2, 3];\n\
         declare next(Integer, Integer);"
    );
    let why = Bench::new(&policy, "").why("may(User:1, 1)");
    assert_eq!(why.matches("lacks User:1 matches Group").count(), 4, "{why}");
    assert!(why.contains("lacks 1 in [2, 3]") && why.contains("and 10 others"), "{why}");
}
