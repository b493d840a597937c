//! Filters whose alternatives are split: beside a stored fact about one row, and inside each other.

use super::service::{Service, column};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;

/// Auditors read what their organisation is a partner of, managers what theirs has if somebody owns it.
const POLICY: &str = r#"
actor User {}
resource Org { roles = ["manager", "auditor"]; }
resource Document { permissions = ["read"]; relations = { org: Org, partner: Org, owner: User }; }
has_permission(user: User, "read", document: Document) if
  has_relation(document, "partner", org) and has_role(user, "auditor", org);
has_permission(user: User, "read", document: Document) if
  has_relation(document, "owner", _) and has_relation(document, "org", org) and has_role(user, "manager", org);
"#;

const BINDINGS: &str = "
facts:
  has_relation(Document:_, org, Org:_): { query: 'SELECT id, org_id FROM papers' }
  has_relation(Document:_, partner, Org:_): { query: 'SELECT id, partner_id FROM papers' }
  has_relation(Document:_, owner, User:_): { query: 'SELECT id, owner_id FROM papers' }
  has_role(User:_, String:_, Org:_): { query: 'SELECT user_id, role, org_id FROM org_roles' }
tables: { Document: papers.id }
";

const SCHEMA: &str = "
CREATE TEMPORARY TABLE papers (id INTEGER UNIQUE, org_id INTEGER, partner_id INTEGER, owner_id INTEGER);
INSERT INTO papers VALUES
  (10, 1, NULL, NULL), (20, 1, NULL, 9), (30, 1, NULL, NULL), (40, 2, 1, NULL), (50, 2, NULL, 9), (60, NULL, NULL, 9);
CREATE TEMPORARY TABLE org_roles (user_id INTEGER, role TEXT, org_id INTEGER);
INSERT INTO org_roles VALUES
  (1, 'manager', 1), (2, 'auditor', 1), (3, 'manager', 2), (5, 'manager', 1), (5, 'auditor', 1);
";

/// The stored owner is a literal of the column in a test beside a row's, which the split moves.
#[test]
fn a_split_filter_keeps_a_row_that_a_stored_fact_adds() {
    let stored = "has_relation(Document:30, \"owner\", User:8)";
    let service = Service::new(POLICY, stored, BINDINGS);
    let expected = [(1, "20 30"), (2, "40"), (3, "50"), (4, ""), (5, "20 30 40")]
        .map(|(user, ids)| (format!("allow(User:{user}, \"read\", Document:?)"), ids));
    service.passes(SCHEMA, "papers", &["papers.id", "id"], &expected);
}

/// Oneself, one's reports, and those of an organization who report to somebody.
const PEOPLE: &str = r#"
actor User { permissions = ["view"]; relations = { manager: User, org: Org }; }
resource Org { roles = ["auditor"]; }
has_permission(user: User, "view", user: User);
has_permission(user: User, "view", other: User) if has_relation(other, "manager", user);
has_permission(user: User, "view", other: User) if
  has_relation(other, "manager", _) and has_relation(other, "org", org) and has_role(user, "auditor", org);
"#;

const PEOPLE_BINDINGS: &str = "
facts:
  has_relation(User:_, manager, User:_): { query: 'SELECT id, manager_id FROM people' }
  has_relation(User:_, org, Org:_): { query: 'SELECT id, org_id FROM people' }
  has_role(User:_, String:_, Org:_): { query: 'SELECT user_id, role, org_id FROM org_roles' }
sql_types: { User: integer, Org: integer, String: text }
tables: { User: people.id }
";

const PEOPLE_SCHEMA: &str = "
CREATE TEMPORARY TABLE people (id INTEGER UNIQUE, manager_id INTEGER, org_id INTEGER);
INSERT INTO people VALUES (1, NULL, 8), (2, 1, NULL), (3, 2, 8), (4, NULL, 7), (5, 3, 7), (NULL, 1, 7);
CREATE TEMPORARY TABLE org_roles (user_id INTEGER, role TEXT, org_id INTEGER);
INSERT INTO org_roles VALUES (1, 'auditor', 7), (3, 'auditor', 8), (9, 'auditor', 8);
";

/// An id beside the alternatives is in both halves. Otherwise PostgreSQL would compare the rows that it finds
/// with all values of the sets again.
#[test]
fn the_halves_have_the_id_that_stands_beside_them() {
    let service = Service::new(PEOPLE, "", PEOPLE_BINDINGS);
    let expected = [(1, "1 2 5"), (2, "2 3"), (3, "3 5"), (4, "4"), (9, "3")]
        .map(|(user, ids)| (format!("allow(User:{user}, \"view\", User:?)"), ids));
    service.passes(PEOPLE_SCHEMA, "people", &["people.id", "id"], &expected);
    let question = "allow(User:1, \"view\", User:?)";
    let filter = service.sql_for(Dialect::Postgresql, question, Way::List, "people.id");
    assert_eq!(filter.matches("people.id = 1").count(), 2, "{filter}");
}

/// Two alternatives are choices between the same sets, under different conditions, and one has a third.
const CHOICES: &str = r#"
actor User {}
resource Org { roles = ["manager", "auditor"]; }
resource Paper { permissions = ["read"]; relations = { org: Org, partner: Org, owner: User }; }
has_permission(user: User, "read", paper: Paper) if mine(user, paper) and public(paper);
has_permission(user: User, "read", paper: Paper) if near(user, paper) and not gone(paper);
has_permission(user: User, "read", paper: Paper) if has_relation(paper, "org", org) and has_role(user, "manager", org);
mine(user: User, paper: Paper) if has_relation(paper, "owner", user);
mine(user: User, paper: Paper) if
  has_relation(paper, "partner", org) and has_role(user, "auditor", org) and final(paper);
near(user: User, paper: Paper) if has_relation(paper, "owner", user);
near(user: User, paper: Paper) if has_relation(paper, "partner", org) and has_role(user, "auditor", org);
declare public(Paper);
declare gone(Paper);
declare final(Paper);
"#;

const CHOICES_BINDINGS: &str = "
facts:
  has_relation(Paper:_, org, Org:_): { query: 'SELECT id, org_id FROM papers' }
  has_relation(Paper:_, partner, Org:_): { query: 'SELECT id, partner_id FROM papers' }
  has_relation(Paper:_, owner, User:_): { query: 'SELECT id, owner_id FROM papers' }
  public(Paper:_): { query: 'SELECT id FROM papers WHERE open = 1' }
  gone(Paper:_): { query: 'SELECT id FROM papers WHERE gone = 1' }
  final(Paper:_): { query: 'SELECT id FROM papers WHERE done = 1' }
  has_role(User:_, String:_, Org:_): { query: 'SELECT user_id, role, org_id FROM org_roles' }
sql_types: { User: integer, Org: integer, Paper: integer, String: text }
tables: { Paper: papers.id }
";

/// Every combination of values.
const ALL_PAPERS: &str = "
CREATE TEMPORARY TABLE papers (
  id INTEGER UNIQUE, org_id INTEGER, partner_id INTEGER, owner_id INTEGER, open INTEGER, gone INTEGER, done INTEGER);
INSERT INTO papers
  SELECT row_number() OVER (ORDER BY o.column1, p.column1, w.column1, a.column1, g.column1, d.column1),
    o.column1, p.column1, w.column1, a.column1, g.column1, d.column1
  FROM (VALUES (1), (2), (NULL)) o, (VALUES (1), (2), (NULL)) p, (VALUES (1), (9), (NULL)) w,
    (VALUES (0), (1)) a, (VALUES (0), (1), (NULL)) g, (VALUES (0), (1)) d;
CREATE TEMPORARY TABLE org_roles (user_id INTEGER, role TEXT, org_id INTEGER);
INSERT INTO org_roles VALUES (1, 'manager', 1), (1, 'auditor', 2), (2, 'auditor', 1), (2, 'auditor', 2), (3, 'manager', 2), (9, 'auditor', 1);
";

const EXPERT: &str = "
  (owner_id = ? OR partner_id IN (SELECT org_id FROM org_roles WHERE user_id = ? AND role = 'auditor') AND done = 1) AND open = 1
  OR (owner_id = ? OR partner_id IN (SELECT org_id FROM org_roles WHERE user_id = ? AND role = 'auditor')) AND COALESCE(gone, 0) <> 1
  OR org_id IN (SELECT org_id FROM org_roles WHERE user_id = ? AND role = 'manager')";

/// A half that the other one implies is left out of the tests of a row only beside that one.
#[test]
fn choices_inside_alternatives_pass_the_rows_that_an_expert_passes() {
    let service = Service::new(CHOICES, "", CHOICES_BINDINGS);
    for dialect in DIALECTS {
        let caller = Caller::new(dialect).unwrap();
        caller.script(ALL_PAPERS).unwrap();
        for user in ["1", "2", "3", "4", "9"] {
            let question = format!("allow(User:{user}, \"read\", Paper:?)");
            let filter = service.sql_for(dialect, &question, Way::List, "papers.id");
            let rows = |condition: &str| {
                column(&caller, &format!("SELECT id FROM papers WHERE {condition} ORDER BY id"))
            };
            assert_eq!(rows(&filter), rows(&EXPERT.replace('?', user)), "{user} {dialect}: {filter}");
        }
    }
}
