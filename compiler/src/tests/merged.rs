//! Which clauses that differ in a literal become one.

use super::bound::{FOLDERS_OF_DOCUMENTS, program};
use crate::datalog::Goal;

/// How often the program reads the folders of documents, if a document in an open folder may be read: by a
/// link, or in the way that these rules say.
fn readings(inside: &str) -> usize {
    let rules = r#"
        has_permission(_: User, "read", d: Doc) if inside(d, f) and open(f);
        has_permission(_: User, "read", d: Doc) if has_relation(d, "link", f) and open(f);
    "#;
    let program = program("Doc", &format!("{rules}{inside}"));
    let goals =
        program.relations.iter().flat_map(|relation| &relation.clauses).flat_map(|clause| &clause.goals);
    goals.filter(|goal| matches!(goal, Goal::Scan { source, .. } if *source == FOLDERS_OF_DOCUMENTS)).count()
}

#[test]
fn a_literal_joins_those_of_a_relation_that_is_one_scan() {
    let inside = r#"
        inside(d: Doc, f: Folder) if has_relation(d, "folder", f);
        inside(d: Doc, f: Folder) if has_relation(d, "copy", f);
    "#;
    assert_eq!(readings(inside), 1);
}

#[test]
fn a_relation_with_another_condition_is_read_by_itself() {
    let inside = r#"
        inside(d: Doc, f: Folder) if has_relation(d, "folder", f) and grants("copy", "read");
        inside(d: Doc, f: Folder) if has_relation(d, "copy", f) and grants("copy", "read");
    "#;
    assert_eq!(readings(inside), 2);
    // The folder of the head is another one than that of the document.
    let crossed = r#"
        inside(d: Doc, f: Folder) if has_relation(d, "folder", _) and open(f);
        inside(d: Doc, f: Folder) if has_relation(d, "copy", _) and open(f);
    "#;
    assert_eq!(readings(crossed), 2);
}
