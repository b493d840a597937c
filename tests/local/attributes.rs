//! Attributes of the user, compared with the row and with its container: each comparison is a condition by
//! itself, although the user's row has both.

use super::service::Service;

const POLICY: &str = r#"
actor User {}
resource Case { roles = ["reader"]; }
resource Document { relations = { case: Case, author: User }; permissions = ["read"]; "read" if "author"; }
has_permission(user: User, "read", document: Document) if
  has_relation(document, "case", case) and has_role(user, "reader", case)
  and clearance(user, own) and level(case, needed) and own >= needed
  and is_cleared(user, document);
is_cleared(_: User, document: Document) if is_unclassified(document);
is_cleared(user: User, document: Document) if
  clearance(user, own) and level(document, needed) and own >= needed;
declare clearance(User, Integer);
declare level(Case, Integer);
declare level(Document, Integer);
declare is_unclassified(Document);
"#;

const DOCUMENT: &str = "
facts:
  clearance(User:_, Integer:_):
    query: SELECT id, clearance FROM people
  has_role(User:_, String:_, Case:_):
    query: SELECT person_id, role, case_id FROM teams
  level(Case:_, Integer:_):
    query: SELECT id, level FROM cases
  has_relation(Document:_, case, Case:_):
    query: SELECT id, case_id FROM papers
  has_relation(Document:_, author, User:_):
    query: SELECT id, author_id FROM papers
  level(Document:_, Integer:_):
    query: SELECT id, level FROM papers
  is_unclassified(Document:_):
    query: SELECT id FROM papers WHERE level IS NULL
sql_types: { User: integer, Case: integer, Document: integer, Integer: integer }
tables: { User: people.id, Case: cases.id, Document: papers.id }
";

const SCHEMA: &str = "
CREATE TEMPORARY TABLE people (id INTEGER UNIQUE, clearance INTEGER);
INSERT INTO people VALUES (1, 5), (2, 1), (3, NULL), (NULL, 9);
CREATE TEMPORARY TABLE teams (person_id INTEGER, role TEXT, case_id INTEGER);
INSERT INTO teams VALUES
  (1, 'reader', 10), (1, 'reader', 10), (1, 'reader', 11), (1, 'other', 13), (2, 'reader', 10), (2, 'reader', 13),
  (3, 'reader', 10), (NULL, 'reader', 12), (1, 'reader', NULL);
CREATE TEMPORARY TABLE cases (id INTEGER UNIQUE, level INTEGER);
INSERT INTO cases VALUES (10, 1), (11, 6), (12, 0), (13, NULL), (NULL, 0);
CREATE TEMPORARY TABLE papers (id INTEGER UNIQUE, case_id INTEGER, author_id INTEGER, level INTEGER);
INSERT INTO papers VALUES
  (1, 10, 9, 5), (2, 10, 9, 6), (3, 10, 9, NULL), (4, 11, 9, 0), (5, 11, 1, 9), (6, 12, 9, 0), (7, 13, 9, 0),
  (8, NULL, 2, NULL), (9, 10, NULL, 1), (NULL, 10, 1, 0);
";

/// Which papers a person may read, by hand.
const EXPECTED: [(u8, &str); 4] = [(1, "1 3 5 9"), (2, "3 8 9"), (3, ""), (4, "")];

#[test]
fn the_same_rows_pass() {
    let expected = EXPECTED.map(|(user, ids)| (format!("allow(User:{user}, \"read\", Document:?)"), ids));
    Service::new(POLICY, "", DOCUMENT).passes(SCHEMA, "papers", &["papers.id"], &expected);
}

/// Read once, the user's row would connect the two comparisons, and each paper would be tested with all cases
/// of the user.
#[test]
fn an_attribute_starts_two_conditions() {
    let service = Service::new(POLICY, "", DOCUMENT);
    let filter = service.filter("allow(User:1, \"read\", Document:?)", "papers.id");
    assert!(filter.contains("papers.case_id = ANY(ARRAY("), "{filter}");
    let inside: Vec<&str> = filter.lines().filter(|line| line.starts_with("    ")).collect();
    assert!(!inside.iter().any(|line| line.contains("papers.")), "{filter}");
    // The alternatives of the level share the set of cases.
    assert_eq!(filter.matches("FROM teams").count(), 1, "{filter}");
}
