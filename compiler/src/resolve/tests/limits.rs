//! Wide and repetitive policies finish quickly, with a finding where a limit is exceeded.

use super::*;
use std::fmt::Write as _;

fn codes(text: &str) -> Vec<String> {
    let found = findings(text);
    let mut codes: Vec<String> =
        found.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.into_iter().filter(|code| !code.starts_with("P07")).collect()
}

fn list(of: impl Fn(usize) -> String, n: usize, separator: &str) -> String {
    (0..n).map(of).collect::<Vec<_>>().join(separator)
}

#[test]
fn many_roles_times_many_rules_is_refused() {
    let roles = list(|at| format!("\"r{at}\""), 2_000, ", ");
    let rules = "role if role on \"parent\";\n".repeat(100);
    let text =
        format!("actor U {{}} resource R {{ roles = [{roles}]; relations = {{ parent: R }}; {rules} }}");
    assert_eq!(codes(&text), ["P0604"]);
}

#[test]
fn products_of_alternatives_stay_small() {
    let either = |at: usize| format!("(a{at}(x) or b{at}(x))");
    let text = format!("p(x) if {};", list(either, 500, " and "));
    assert!(rules(&text).lines().count() < 1_100);
    let neither = |at: usize| format!("not (a{at}(x) and b{at}(x))");
    let text = format!("p(x) if {};", list(neither, 500, " and "));
    assert!(rules(&text).lines().count() < 1_100);
    let under_not =
        format!("p(x) if q(x) and not ({});", list(|at| format!("(a{at}(x) and not b{at}(x))"), 500, " or "));
    assert!(rules(&under_not).lines().count() < 1_100);
}

#[test]
fn a_condition_with_too_many_tests_is_refused() {
    let text = format!("p(x) if {};", list(|at| format!("a{at}(x)"), 6_000, " or "));
    assert_eq!(codes(&text), ["P0607"]);
}

#[test]
fn nested_alternations_do_not_explode() {
    let mut text = "q(x)".to_owned();
    for at in 0..30 {
        text = format!("(({text} or r{at}(y{at}, x)) and y{at} != x and y{at} = z{at} and s(z{at}))");
    }
    assert_eq!(codes(&format!("p(x) if {text};")), [""; 0]);
}

#[test]
fn long_chains_of_extends_end() {
    let mut text = "resource T0 { roles = [\"a\"]; }".to_owned();
    for at in 1..3_000 {
        let _ = writeln!(text, "resource T{at} extends T{} {{ roles = [\"r{at}\"]; }}", at - 1);
    }
    assert_eq!(codes(&text), ["P0606"]);
}

#[test]
fn a_realistic_policy_of_two_hundred_blocks_is_resolved() {
    let mut text = "actor User {} actor Team { relations = { member: User }; }\n".to_owned();
    for at in 0..200 {
        let parent = at / 2;
        let _ = write!(
            text,
            "resource T{at} {{ roles = [\"reader\", \"writer\", \"admin\"];
            permissions = [\"read\", \"write\", \"delete\", \"share\", \"list\", \"audit\"];
            relations = {{ parent: T{parent}, owner: User, team: Team }};
            \"reader\" if \"writer\"; \"writer\" if \"admin\"; role if role on \"parent\"; \"admin\" if \"owner\";
            \"read\" if \"reader\"; \"write\" if \"writer\"; \"delete\" if \"admin\"; \"share\" if \"writer\" and not \"reader\" on \"parent\";
            \"list\" if \"read\"; \"audit\" if \"admin\" on \"parent\"; \"read\" if is_public(resource); \"list\" if \"read\" on \"parent\"; }}\n"
        );
    }
    let program = program(&text);
    assert!(program.rules.len() > 200 * 12);
    assert!(program.signatures.len() < 20_000);
}
