//! Which calls hold wherever the rest of their clause holds, and are dropped.

use super::bound::{OPEN_FOLDERS, program};
use crate::datalog::Goal;

/// Who sees a folder. Only a rule of this predicate asks whether it is open.
const SEES: &str = r#"
    sees(u: User, f: Folder) if has_role(u, "viewer", f);
    sees(u: User, f: Folder) if has_role(u, "admin", f) and open(f);
"#;

/// Whether the program of these rules still asks who sees a folder.
fn asks_who_sees(rules: &str) -> bool {
    let program = program("Folder", &format!("{SEES}{rules}"));
    let mut goals =
        program.relations.iter().flat_map(|relation| &relation.clauses).flat_map(|clause| &clause.goals);
    goals.any(|goal| matches!(goal, Goal::Scan { source, .. } if *source == OPEN_FOLDERS))
}

#[test]
fn what_another_condition_gives_is_not_asked() {
    let rules = r#"
        changes(u: User, f: Folder) if has_role(u, "viewer", f) and active(u);
        has_permission(u: User, "read", f: Folder) if sees(u, f) and changes(u, f);
    "#;
    assert!(!asks_who_sees(rules));
}

#[test]
fn each_way_to_the_other_condition_must_give_it() {
    let rules = r#"
        changes(u: User, f: Folder) if has_role(u, "viewer", f) and active(u);
        changes(u: User, f: Folder) if has_role(u, "editor", f) and grants("editor", "write");
        has_permission(u: User, "read", f: Folder) if sees(u, f) and changes(u, f);
    "#;
    assert!(asks_who_sees(rules));
    assert!(!asks_who_sees(&format!(r#"sees(u: User, f: Folder) if has_role(u, "editor", f); {rules}"#)));
}

/// Roles reach from a folder to those below it, and not to those above it.
#[test]
fn a_role_on_the_parent_gives_one_on_the_folder() {
    let above = r#"
        has_permission(u: User, "read", f: Folder) if sees(u, f) and has_relation(f, "parent", p) and has_role(u, "viewer", p);
    "#;
    assert!(!asks_who_sees(above));
    assert!(asks_who_sees(&above.replace(r#"(f, "parent", p)"#, r#"(p, "parent", f)"#)));
}

#[test]
fn a_denial_gives_nothing() {
    let rules = r#"
        has_permission(u: User, "read", f: Folder) if sees(u, f) and has_role(u, "editor", f) and not has_role(u, "viewer", f);
    "#;
    assert!(asks_who_sees(rules));
}

/// Each of the two follows from the other, so one of them stays. Their clauses become equal only after the
/// pass that makes one relation of equal ones.
#[test]
fn of_two_conditions_that_give_each_other_one_stays() {
    let rules = r#"
        watches(u: User, f: Folder) if has_role(u, "viewer", f);
        watches(u: User, f: Folder) if has_role(u, "admin", f) and open(f);
        watches(u: User, f: Folder) if has_role(u, "admin", f) and open(f) and active(u);
        has_permission(u: User, "read", f: Folder) if sees(u, f) and watches(u, f);
    "#;
    assert!(asks_who_sees(rules));
}
