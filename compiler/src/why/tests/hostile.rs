//! Policies and facts that would exhaust a stack, the memory or patience.

use super::bench::Bench;
use crate::why::{Budget, Verdict};
use std::fmt::Write;

const CHAIN: &str = r#"actor User {}
resource Folder {
  roles = ["reader"];
  relations = { parent: Folder };
  "reader" if "reader" on "parent";
}
"#;

/// Folders in each other: `f0` in `f1` and so on.
fn folders(n: usize) -> String {
    let mut facts = String::new();
    for at in 0..n {
        writeln!(facts, "has_relation(Folder:f{at}, \"parent\", Folder:f{})", at + 1).unwrap();
    }
    facts
}

#[test]
fn a_deep_hierarchy_is_explained_or_cut() {
    let facts = |n: usize| format!("{}has_role(User:ada, \"reader\", Folder:f{n})\n", folders(n));
    let question = r#"has_role(User:ada, "reader", Folder:f0)"#;
    let deep = Bench::new(CHAIN, &facts(500)).reasons(question).explanation;
    assert_eq!((deep.verdict, deep.steps[deep.proof[0]].height), (Verdict::Holds, 500));
    let mut bench = Bench::new(CHAIN, &facts(1_500));
    bench.budget = Budget { goals: 1_000, work: 100_000 };
    let too_deep = bench.reasons(question).explanation;
    assert_eq!((too_deep.verdict, too_deep.truncated), (Verdict::Unknown, true));
}

#[test]
fn a_circle_ends() {
    let facts = format!("{}has_relation(Folder:f20, \"parent\", Folder:f0)\n", folders(20));
    let bench = Bench::new(CHAIN, &facts);
    let no = bench.reasons(r#"has_role(User:ada, "reader", Folder:f0)"#);
    assert_eq!((no.explanation.verdict, no.explanation.truncated), (Verdict::Fails, false));
    assert_eq!((no.suggestions.sets.len(), no.suggestions.truncated), (5, true));
}

#[test]
fn a_long_chain_of_negations_takes_no_stack() {
    let mut policy = String::from("actor User {}\np0(u: User) if base(u);\ndeclare base(User);\n");
    for at in 1..1_500 {
        writeln!(policy, "p{at}(u: User) if base(u) and not p{}(u);", at - 1).unwrap();
    }
    let bench = Bench::new(&policy, "base(User:x)");
    let odd = bench.reasons("p1499(User:x)").explanation;
    assert_eq!((odd.verdict, odd.truncated), (Verdict::Fails, false));
    let even = bench.reasons("p1498(User:x)").explanation;
    assert_eq!(even.verdict, Verdict::Holds);
}

#[test]
fn a_wide_question_is_cut() {
    let policy = "actor User {}\nactor Group {}\n\
        p(u: User) if within(u, g) and g matches Group and within(v, g) and v matches User and boss(v);\n\
        declare within(User, Group); declare boss(User);";
    let mut facts = String::from("boss(User:nobody)\n");
    for user in 0..60 {
        for group in 0..60 {
            writeln!(facts, "within(User:u{user}, Group:g{group})").unwrap();
        }
    }
    let mut bench = Bench::new(policy, &facts);
    bench.budget = Budget { goals: 100, work: 2_000 };
    let wide = bench.reasons("p(User:u0)").explanation;
    assert_eq!((wide.verdict, wide.truncated), (Verdict::Unknown, true));
}

#[test]
fn a_rule_of_many_conditions_is_explained() {
    let conditions: Vec<String> = (0..400).map(|at| format!("c{at}(u)")).collect();
    let policy = format!("actor User {{}}\np(u: User) if {};\n", conditions.join(" and "));
    let facts: Vec<String> = (0..399).map(|at| format!("c{at}(User:x)")).collect();
    let why = Bench::new(&policy, &facts.join("\n")).why("p(User:x)");
    assert!(why.contains("lacks c399(User:x)") && why.ends_with("with c399(User:x)\n"), "{why}");
}

/// A fact with three arguments of any type has a thousand kinds, so a rule that requires and denies one has a
/// million denials. Then only the kinds that there are take part.
#[test]
fn denials_of_many_kinds_of_fact_are_limited() {
    let mut policy = String::from(
        "actor User {}\np(x: User) if f(x, _, _, _) and g(x, _) and not f(x, _, _, x) and not blocked(x);\n\
         declare blocked(User);\n",
    );
    for at in 0..7 {
        writeln!(policy, "resource R{at} {{}}").unwrap();
    }
    let bench = Bench::new(&policy, "f(User:a, R0:a, R1:a, R2:a)\ng(User:a, R0:a)\nblocked(User:b)");
    let proved = bench.reasons("p(User:a)").explanation;
    assert_eq!((proved.verdict, proved.truncated), (Verdict::Holds, false));
    let no = bench.reasons("p(User:b)").explanation;
    assert_eq!((no.verdict, no.truncated), (Verdict::Fails, true));
}
