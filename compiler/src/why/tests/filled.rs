//! Values in what is lacking that other conditions determine.

use super::bench::Bench;
use super::says;

/// The look-up without rows ends the attempt, but another look-up says which organization is meant.
#[test]
fn what_is_lacking_has_the_values_that_other_conditions_determine() {
    let policy = "actor User {}\nresource Org { roles = [\"member\"]; }\nresource Repo {\n\
        permissions = [\"read\"]; relations = { org: Org };\n\"read\" if \"member\" on \"org\"; }";
    says(
        &Bench::new(policy, r#"has_relation(Repo:1, "org", Org:1)"#),
        r#"allow(User:1, "read", Repo:1)"#,
        r#"
0: allow(User:1, "read", Repo:1), no fact
   implied: has [], lacks goal 1
1: has_permission(User:1, "read", Repo:1), no fact
   line 5: has [has_relation(Repo:1, "org", Org:1)], lacks has_role(User:1, "member", Org:1)
with has_role(User:1, "member", Org:1)"#,
    );
}

#[test]
fn a_derived_condition_determines_values_too() {
    let policy = "actor User {}\nresource Org { roles = [\"admin\"]; }\nresource Repo {}\n\
        allow(u: User, \"read\", r: Repo) if owner(r, o) and has_role(u, \"admin\", o);\n\
        owner(r: Repo, o: Org) if in_folder(r, f) and of_org(f, o);\n\
        declare in_folder(Repo, Integer); declare of_org(Integer, Org);";
    says(
        &Bench::new(policy, "in_folder(Repo:1, 7)\nof_org(7, Org:1)"),
        r#"allow(User:1, "read", Repo:1)"#,
        r#"
0: allow(User:1, "read", Repo:1), no fact
   line 4: has [owner(Repo:1, Org:1)], lacks has_role(User:1, "admin", Org:1)
with has_role(User:1, "admin", Org:1)"#,
    );
}

#[test]
fn conditions_lead_to_a_value_one_after_the_other() {
    let policy = "actor User {}\nresource Doc {}\n\
        allow(u: User, \"read\", d: Doc) if likes(u, z) and in_folder(d, x) and next(x, y) and next(y, z);\n\
        declare likes(User, Integer); declare in_folder(Doc, Integer); declare next(Integer, Integer);";
    says(
        &Bench::new(policy, "in_folder(Doc:1, 7)\nnext(7, 8)\nnext(8, 9)"),
        r#"allow(User:1, "read", Doc:1)"#,
        r#"
0: allow(User:1, "read", Doc:1), no fact
   line 3: has [in_folder(Doc:1, 7); next(7, 8); next(8, 9)], lacks likes(User:1, 9)
with likes(User:1, 9)"#,
    );
}

/// Deriving the value would take more than display is worth.
#[test]
fn a_value_that_takes_too_much_stays_open() {
    let policy = "actor User {}\nresource Doc {}\n\
        allow(u: User, \"read\", d: Doc) if likes(u, x) and reaches(d, x);\n\
        reaches(d: Doc, x: Integer) if starts(d, x);\n\
        reaches(d: Doc, y: Integer) if reaches(d, x) and next(x, y);\n\
        declare likes(User, Integer); declare starts(Doc, Integer); declare next(Integer, Integer);";
    let chain: Vec<String> = (0..20_000).map(|at| format!("next({at}, {})", at + 1)).collect();
    let bench = Bench::new(policy, &format!("starts(Doc:1, 0)\n{}", chain.join("\n")));
    let why = bench.why(r#"allow(User:1, "read", Doc:1)"#);
    assert!(why.contains("lacks likes(User:1, Integer:_)") && !why.contains("truncated"), "{why}");
    let bench = Bench::new(policy, "starts(Doc:1, 0)\nnext(0, 1)");
    let why = bench.why(r#"allow(User:1, "read", Doc:1)"#);
    assert!(why.contains("has [reaches(Doc:1, 0)], lacks likes(User:1, 0)"), "{why}");
}

/// Most of the user's groups lead nowhere.
#[test]
fn a_way_among_many_that_end_is_followed() {
    let policy = "actor User {}\nresource Doc {}\n\
        allow(u: User, \"read\", d: Doc) if group_of(u, g) and parent(g, z) and grant(z, d);\n\
        declare group_of(User, Integer); declare parent(Integer, Integer); declare grant(Integer, Doc);";
    let groups: Vec<String> = (1..=9).map(|group| format!("group_of(User:1, {group})")).collect();
    says(
        &Bench::new(policy, &format!("{}\nparent(9, 40)", groups.join("\n"))),
        r#"allow(User:1, "read", Doc:1)"#,
        r#"
0: allow(User:1, "read", Doc:1), no fact
   line 3: has [group_of(User:1, 9); parent(9, 40)], lacks grant(40, Doc:1)
with grant(40, Doc:1)"#,
    );
}

/// A group that is banned, or a lease that has ended, would not be enough with the grant that is lacking.
#[test]
fn values_for_which_another_condition_fails_come_last_and_say_so() {
    let policy = "actor User {}\nresource Doc {}\n\
        allow(u: User, \"read\", d: Doc) if lease(u, g, n) and n > 10 and not banned(g) and grant(g, d);\n\
        declare lease(User, Integer, Integer); declare banned(Integer); declare grant(Integer, Doc);";
    let facts = "lease(User:1, 1, 9)\nlease(User:1, 2, 11)\nlease(User:1, 3, 12)\nbanned(2)";
    says(
        &Bench::new(policy, facts),
        r#"allow(User:1, "read", Doc:1)"#,
        r#"
0: allow(User:1, "read", Doc:1), no fact
   line 3: has [lease(User:1, 3, 12)], lacks grant(3, Doc:1)
   line 3: has [lease(User:1, 1, 9)], lacks n > 10: 9 > 10
   line 3: has [lease(User:1, 2, 11)], lacks refuted by banned(2) fact
with grant(3, Doc:1)"#,
    );
}
