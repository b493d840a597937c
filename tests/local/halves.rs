//! Filters whose alternatives are split, beside a stored fact about one row.

use super::service::Service;

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
