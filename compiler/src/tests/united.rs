//! Which recursions become one, and where their conditions go.

use crate::catalog::{BindingId, Catalog, Relation, RelationArg, RelationSource};
use crate::check;
use crate::datalog::Specialised;
use crate::deadline::Deadline;
use crate::question::{Question, QuestionVar, Shape};
use crate::rewrite::{Context, forms};
use crate::source::SourceMap;
use crate::specialise::specialise;
use std::collections::BTreeSet;

/// The blocks that the rules of each test are added to.
const BLOCKS: &str = r#"
    actor User {}
    resource Folder {
      roles = ["admin", "editor", "viewer"];
      permissions = ["read", "write"];
      relations = { parent: Folder };
      role if role on "parent";
    }
    resource Doc {
      roles = ["admin", "editor", "viewer"];
      permissions = ["read", "write"];
      relations = { folder: Folder };
      role if role on "folder";
    }
    declare grants(String, String);
    declare active(User);
    declare open(Folder);
"#;

/// The program of *which … may ada read* after all passes, and how many recursions the question reaches.
fn program(resource: &str, rules: &str) -> (Specialised, usize) {
    let policy =
        check(&SourceMap::new("policy.polar", format!("{BLOCKS}{rules}"))).program.expect("a policy");
    let relation = |predicate: &str, types: &[&str]| Relation {
        predicate: predicate.into(),
        args: types
            .iter()
            .enumerate()
            .map(|(at, ty)| RelationArg::Column { ty: (*ty).into(), column: format!("arg{at}") })
            .collect(),
        source: RelationSource::Bound { binding: BindingId::from_index(0), has_typed_texts: true },
    };
    let relations = vec![
        relation("has_role", &["User", "String", "Folder"]),
        relation("has_role", &["User", "String", "Doc"]),
        relation("has_relation", &["Folder", "String", "Folder"]),
        relation("has_relation", &["Doc", "String", "Folder"]),
        relation("grants", &["String", "String"]),
        relation("active", &["User"]),
        relation("open", &["Folder"]),
    ];
    let catalog = Catalog { relations: relations.into() };
    let question = Question::atom(
        "allow",
        vec![
            QuestionVar::given("who", "User", "ada"),
            QuestionVar::given("action", "String", "read"),
            QuestionVar::wanted("what", Some(resource)),
        ],
    );
    let shape = Shape::of(&policy, &question);
    let specialised = specialise(&policy, &catalog, &shape, Deadline::NEVER).expect("a program");
    let context = Context { program: &policy, catalog: &catalog, deadline: Deadline::NEVER };
    let forms = forms(specialised, &context, &mut |_, _| {}).expect("no fault");
    let program = forms.first().expect("a form").program.clone();
    let n_recursions = program.self_recursive().len();
    (program, n_recursions)
}

fn recursions(resource: &str, rules: &str) -> usize {
    program(resource, rules).1
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
    let (program, n_recursions) = program("Folder", rules);
    assert_eq!(n_recursions, 1);
    let only = program.self_recursive().into_iter().next().expect("a recursion");
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
    let (program, n_recursions) = program("Folder", rules);
    assert_eq!(n_recursions, 1);
    let only = program.self_recursive().into_iter().next().expect("a recursion");
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
