//! Which recursions become one, and where their conditions go.

use super::bound::program;
use std::collections::BTreeSet;

fn recursions(resource: &str, rules: &str) -> usize {
    program(resource, rules).self_recursive().len()
}

#[test]
fn roles_of_a_table_of_permissions_are_one_recursion() {
    let rule = "has_permission(u: User, p: String, f: Folder) if has_role(u, r, f) and grants(r, p);";
    assert_eq!(recursions("Folder", rule), 1);
}

#[test]
fn roles_between_the_rule_and_the_recursions_are_unfolded() {
    let rule = "has_permission(u: User, p: String, d: Doc) if has_role(u, r, d) and grants(r, p);";
    assert_eq!(recursions("Doc", rule), 1);
}

#[test]
fn each_exit_has_the_condition_of_its_recursion() {
    let rules = r#"
        has_permission(u: User, "read", f: Folder) if has_role(u, "admin", f) and active(u);
        has_permission(u: User, "read", f: Folder) if has_role(u, "editor", f) and grants("editor", "read");
        has_permission(u: User, "read", f: Folder) if has_role(u, "viewer", f);
    "#;
    let program = program("Folder", rules);
    let recursions = program.self_recursive();
    assert_eq!(recursions.len(), 1);
    let only = *recursions.first().expect("a recursion");
    let exits = program.relations[only].clauses.iter().filter(|clause| clause.callees().next().is_none());
    // The role of each, and one condition for two of them.
    let n_goals: BTreeSet<usize> = exits.clone().map(|exit| exit.goals.len()).collect();
    assert_eq!((exits.count(), n_goals), (3, BTreeSet::from([1, 2])));
}

#[test]
fn a_condition_of_all_stays_with_the_rule() {
    let rules = r#"
        has_permission(u: User, "read", f: Folder) if has_role(u, "admin", f) and active(u);
        has_permission(u: User, "read", f: Folder) if has_role(u, "editor", f) and active(u);
    "#;
    let program = program("Folder", rules);
    let recursions = program.self_recursive();
    assert_eq!(recursions.len(), 1);
    let only = *recursions.first().expect("a recursion");
    let exits = program.relations[only].clauses.iter().filter(|clause| clause.callees().next().is_none());
    assert_eq!(exits.map(|exit| exit.goals.len()).collect::<Vec<_>>(), [1]);
}

/// An open folder does not open what it contains.
#[test]
fn a_condition_on_what_a_step_changes_is_not_asked_of_exits() {
    let rules = r#"
        has_permission(u: User, "read", f: Folder) if has_role(u, "admin", f) and open(f);
        has_permission(u: User, "read", f: Folder) if has_role(u, "editor", f);
    "#;
    assert_eq!(recursions("Folder", rules), 2);
}

#[test]
fn a_recursion_that_something_else_asks_for_stays() {
    let rules = r#"
        has_permission(u: User, "read", f: Folder) if has_role(u, "viewer", f);
        has_permission(u: User, "read", f: Folder) if has_role(u, "editor", f) and not has_role(u, "viewer", f);
    "#;
    assert_eq!(recursions("Folder", rules), 2);
}

#[test]
fn recursions_of_other_steps_stay() {
    let rules = r#"
        above(u: User, f: Folder) if has_relation(g, "parent", f) and g matches Folder and above(u, g);
        above(u: User, f: Folder) if has_role(u, "editor", f);
        has_permission(u: User, "read", f: Folder) if has_role(u, "viewer", f);
        has_permission(u: User, "read", f: Folder) if above(u, f);
    "#;
    // `above` starts from editors of a folder or of one above it.
    assert_eq!(recursions("Folder", rules), 3);
}

#[test]
fn exits_of_a_recursion_are_united_and_its_steps_stay() {
    let rules = r#"
        above(u: User, f: Folder) if has_relation(g, "parent", f) and g matches Folder and above(u, g);
        above(u: User, f: Folder) if has_role(u, "editor", f) and active(u);
        above(u: User, f: Folder) if has_role(u, "viewer", f);
        has_permission(u: User, "read", f: Folder) if above(u, f);
    "#;
    assert_eq!(recursions("Folder", rules), 2);
}
