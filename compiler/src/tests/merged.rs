//! Which clauses that differ in a literal become one.

use super::bound::{FOLDERS_OF_DOCUMENTS, PARENTS, program};
use crate::catalog::SourceId;
use crate::datalog::Goal;

/// How many scans of the folders of documents the program has. A document may be read if it is in an open
/// folder by `link`, or as the rules for `inside` say.
fn scans(inside: &str) -> usize {
    let rules = r#"
        has_permission(_: User, "read", d: Doc) if inside(d, f) and open(f);
        has_permission(_: User, "read", d: Doc) if has_relation(d, "link", f) and open(f);
    "#;
    count(FOLDERS_OF_DOCUMENTS, &format!("{rules}{inside}"))
}

/// How many scans of a relation the program of these rules has.
fn count(read: SourceId, rules: &str) -> usize {
    let program = program("Doc", rules);
    let goals =
        program.relations.iter().flat_map(|relation| &relation.clauses).flat_map(|clause| &clause.goals);
    goals.filter(|goal| matches!(goal, Goal::Scan { source, .. } if *source == read)).count()
}

#[test]
fn a_literal_joins_those_of_a_relation_that_is_one_scan() {
    let inside = r#"
        inside(d: Doc, f: Folder) if has_relation(d, "folder", f);
        inside(d: Doc, f: Folder) if has_relation(d, "copy", f);
    "#;
    assert_eq!(scans(inside), 1);
}

#[test]
fn a_relation_with_another_condition_is_read_by_itself() {
    let inside = r#"
        inside(d: Doc, f: Folder) if has_relation(d, "folder", f) and grants("copy", "read");
        inside(d: Doc, f: Folder) if has_relation(d, "copy", f) and grants("copy", "read");
    "#;
    assert_eq!(scans(inside), 2);
    // `f` is any open folder, not one that the document is in.
    let crossed = r#"
        inside(d: Doc, f: Folder) if has_relation(d, "folder", _) and open(f);
        inside(d: Doc, f: Folder) if has_relation(d, "copy", _) and open(f);
    "#;
    assert_eq!(scans(crossed), 2);
}

#[test]
fn several_literals_on_either_side_are_one_list() {
    let inside = r#"
        inside(d: Doc, f: Folder) if has_relation(d, "folder", f);
        inside(d: Doc, f: Folder) if has_relation(d, "copy", f);
        has_permission(_: User, "read", d: Doc) if has_relation(d, "draft", f) and open(f);
    "#;
    assert_eq!(scans(inside), 1);
}

/// The caller ignores the folder, which must still be its own copy or link.
#[test]
fn a_scan_with_one_value_in_two_columns_keeps_the_value() {
    let rules = r#"
        has_permission(u: User, "read", _: Doc) if active(u) and looped(_);
        has_permission(u: User, "read", _: Doc) if active(u) and has_relation(f, "parent", g) and f matches Folder and g matches Folder;
        looped(f: Folder) if has_relation(f, "copy", f);
        looped(f: Folder) if has_relation(f, "link", f);
    "#;
    assert_eq!(count(PARENTS, rules), 2);
}
