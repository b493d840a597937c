//! Which calls are asked once, and what is only tested then.

use super::bound::{OPEN_FOLDERS, ROLES_ON_DOCUMENTS, ROLES_ON_FOLDERS, program, rewritten};
use crate::catalog::SourceId;
use crate::datalog::{Adornment, Clause, Goal, Specialised};
use crate::ir::Polarity;

/// The clauses that call what reads a bound query.
fn callers(program: &Specialised, read: SourceId) -> Vec<&Clause> {
    let reads = |goal: &Goal| matches!(goal, Goal::Scan { source, .. } if *source == read);
    let calls = |goal: &Goal| match goal {
        Goal::Call { polarity: Polarity::Positive, rel, .. } => {
            program.relations[*rel].clauses.iter().any(|clause| clause.goals.iter().any(reads))
        }
        _ => false,
    };
    let clauses = program.relations.iter().flat_map(|relation| &relation.clauses);
    clauses.filter(|clause| clause.goals.iter().any(calls)).collect()
}

#[test]
fn what_two_clauses_ask_is_asked_once() {
    let rules = r#"
        has_permission(u: User, "read", d: Doc) if has_role(u, "editor", d) and active(u);
        has_permission(u: User, "read", d: Doc) if has_role(u, "editor", d) and has_relation(d, "folder", f) and open(f);
    "#;
    let program = program("Doc", rules);
    let callers = callers(&program, ROLES_ON_DOCUMENTS);
    assert_eq!(callers.len(), 1);
    // The role, and either case.
    assert_eq!(callers.first().map(|clause| clause.goals.len()), Some(2));
    // One case does not give the document, the other does not give the user: both come from the role.
    let cases = callers.first().and_then(|clause| clause.goals.last()?.callee()).expect("a call");
    let columns = program.relations[cases].adornments.iter().filter(|column| column.has_column());
    assert!(columns.clone().all(|column| matches!(column, Adornment::Tested(Some(_)))));
    assert_eq!(columns.count(), 2);
}

#[test]
fn what_all_cases_ask_of_the_head_is_asked_with_the_call() {
    let rules = r#"
        has_permission(u: User, "read", d: Doc) if has_role(u, "editor", d) and active(u) and has_role(u, "admin", f)
          and has_relation(d, "folder", f);
        has_permission(u: User, "read", d: Doc) if has_role(u, "editor", d) and has_relation(d, "folder", f) and active(u)
          and open(f);
    "#;
    let program = program("Doc", rules);
    let callers = callers(&program, ROLES_ON_DOCUMENTS);
    let of_document = callers.iter().find(|clause| clause.head.len() == 2 && clause.goals.len() == 3);
    let clause = of_document.expect("the role, the condition on the user, and either case");
    assert_eq!(clause.goals.iter().filter(|goal| matches!(goal, Goal::Scan { .. })).count(), 1);
}

/// A condition for any user is a relation without the user, so the rule becomes two clauses.
#[test]
fn what_differs_in_one_condition_is_one_clause() {
    let rules = r#"
        suits(_: User, d: Doc) if has_relation(d, "folder", f) and open(f);
        suits(u: User, _: Doc) if active(u);
        has_permission(u: User, "read", d: Doc) if has_relation(d, "folder", f) and has_role(u, "viewer", f) and suits(u, d);
    "#;
    // The recursion of the role calls itself, too.
    let programs = rewritten("Doc", rules, true);
    let n_callers = |program| callers(program, ROLES_ON_FOLDERS).len();
    assert_eq!(programs.iter().map(n_callers).collect::<Vec<_>>(), [2, 3]);
    let merged = programs.first().expect("a program");
    let reader = callers(merged, ROLES_ON_FOLDERS).into_iter().find(|clause| clause.goals.len() == 3);
    let conditions = reader.and_then(|clause| clause.goals.last()?.callee()).expect("a call");
    let conditions = &merged.relations[conditions];
    assert_eq!(conditions.clauses.len(), 2);
    let mut columns = conditions.adornments.iter().filter(|column| column.has_column());
    assert!(columns.all(|column| column.is_tested()));
}

/// Without either of its two equal conditions, a clause is the same.
#[test]
fn a_clause_is_merged_only_with_others() {
    let rules = r#"
        has_permission(u: User, "read", d: Doc) if has_relation(d, "folder", f) and has_role(u, "viewer", f) and active(u)
          and active(u);
    "#;
    assert_eq!(rewritten("Doc", rules, true).len(), 1);
}

/// The role gives the document its values, and the conditions the user.
#[test]
fn what_gives_other_values_than_the_rest_stays() {
    let rules = r#"
        read_by_anyone(d: Doc) if has_relation(d, "folder", f) and has_role(_, "viewer", f);
        has_permission(u: User, "read", d: Doc) if read_by_anyone(d) and active(u);
        has_permission(u: User, "read", d: Doc) if read_by_anyone(d) and has_role(u, "admin", d);
    "#;
    // There is no second form, because the first is as the rules are.
    assert_eq!(rewritten("Doc", rules, true).len(), 1);
}

/// The second clause asks for more than the first, which is the call alone, with its arguments in another
/// order.
#[test]
fn a_call_that_is_a_clause_by_itself_stays() {
    let rules = r#"
        edited(d: Doc, u: User) if has_role(u, "editor", d);
        edited(d: Doc, u: User) if has_role(u, "editor", d) and active(u);
        has_permission(u: User, "read", d: Doc) if edited(d, u) and has_role(u, "viewer", d);
    "#;
    let cases = program("Doc", rules).relations;
    assert!(cases.iter().flat_map(|relation| &relation.adornments).all(|column| !column.is_tested()));
}

/// A folder is open to users who are not banned from it, so that the call only tests the user. Each case
/// gives the user a value, and one of them only tests the folder: they would wait for each other.
#[test]
fn a_call_that_waits_for_its_cases_stays() {
    let rules = r#"
        offered(u: User, f: Folder) if open(f) and not has_role(u, "viewer", f);
        offered(u: User, f: Folder) if has_relation(f, "parent", _) and not has_role(u, "admin", f);
        taken(u: User, f: Folder) if offered(u, f) and active(u) and not has_role(u, "editor", f);
        taken(u: User, f: Folder) if offered(u, f) and has_role(u, "viewer", f);
        has_permission(u: User, "read", d: Doc) if has_relation(d, "folder", f) and taken(_, f) and has_role(u, "viewer", d);
    "#;
    assert_eq!(callers(&program("Doc", rules), OPEN_FOLDERS).len(), 2);
}

/// A plan of the rules as they are may bind a value that no plan of the others binds.
#[test]
fn rules_as_they_are_come_second() {
    let calls = |rules: &str| -> Vec<usize> {
        let programs = rewritten("Doc", rules, true);
        programs.iter().map(|program| callers(program, ROLES_ON_DOCUMENTS).len()).collect()
    };
    let shared = r#"
        has_permission(u: User, "read", d: Doc) if has_role(u, "editor", d) and active(u);
        has_permission(u: User, "read", d: Doc) if has_role(u, "editor", d) and has_relation(d, "folder", f) and open(f);
    "#;
    assert_eq!(calls(shared), [1, 2]);
    let alone = r#"has_permission(u: User, "read", d: Doc) if has_role(u, "editor", d) and active(u);"#;
    assert_eq!(calls(alone), [1]);
}
