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
fn an_implied_condition_is_not_asked() {
    let rules = r#"
        changes(u: User, f: Folder) if has_role(u, "viewer", f) and active(u);
        has_permission(u: User, "read", f: Folder) if sees(u, f) and changes(u, f);
    "#;
    assert!(!asks_who_sees(rules));
}

#[test]
fn every_alternative_must_imply_the_condition() {
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
fn a_role_on_the_parent_implies_one_on_the_folder() {
    let above = r#"
        has_permission(u: User, "read", f: Folder) if sees(u, f) and has_relation(f, "parent", p) and has_role(u, "viewer", p);
    "#;
    assert!(!asks_who_sees(above));
    assert!(asks_who_sees(&above.replace(r#"(f, "parent", p)"#, r#"(p, "parent", f)"#)));
}

#[test]
fn a_negated_condition_implies_nothing() {
    let rules = r#"
        has_permission(u: User, "read", f: Folder) if sees(u, f) and has_role(u, "editor", f) and not has_role(u, "viewer", f);
    "#;
    assert!(asks_who_sees(rules));
}

/// The third rule is contained in the second, but equal relations are merged before it is dropped. So the
/// pass meets two relations that imply each other.
#[test]
fn of_two_equivalent_conditions_one_stays() {
    let rules = r#"
        watches(u: User, f: Folder) if has_role(u, "viewer", f);
        watches(u: User, f: Folder) if has_role(u, "admin", f) and open(f);
        watches(u: User, f: Folder) if has_role(u, "admin", f) and open(f) and active(u);
        has_permission(u: User, "read", f: Folder) if sees(u, f) and watches(u, f);
    "#;
    assert!(asks_who_sees(rules));
}
