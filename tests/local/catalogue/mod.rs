//! The catalogue of patterns: one table of documents, and a policy that differs in a line.
//!
//! `kinds`, `guards`, `choices`, `pairs` and `deputies` have the patterns; `docs/local-checks/patterns.md`
//! shows them to users. The columns hold NULL wherever a column may.

mod choices;
mod deputies;
mod guards;
mod kinds;
mod pairs;
mod sets;

use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) const SCHEMA: &str = "
CREATE TEMPORARY TABLE documents (
  id INTEGER UNIQUE, owner_id INTEGER, folder_id INTEGER, deleted INTEGER, status TEXT, size INTEGER);
INSERT INTO documents VALUES
  (1, 1, 10, 0, 'final', 5), (2, 1, 11, 1, 'draft', 50), (3, 2, 10, 1, 'final', 500), (4, 2, 11, NULL, NULL, NULL),
  (5, NULL, 10, 0, 'final', 7), (6, 1, NULL, 0, 'final', 8), (7, NULL, NULL, NULL, NULL, NULL),
  (8, 3, 12, 0, 'draft', 1), (9, 2, 10, 0, 'draft', 20), (NULL, 1, 10, 0, 'final', 5);
CREATE TEMPORARY TABLE folders (id INTEGER UNIQUE, tenant_id INTEGER, archived INTEGER, keeper_id INTEGER);
INSERT INTO folders VALUES (10, 100, 0, 2), (11, 100, 1, 1), (12, 101, NULL, NULL), (NULL, 100, 1, 1);
CREATE TEMPORARY TABLE tenants (id INTEGER UNIQUE, suspended INTEGER);
INSERT INTO tenants VALUES (100, 0), (101, 1);
CREATE TEMPORARY TABLE folder_roles (user_id INTEGER, role TEXT, folder_id INTEGER);
INSERT INTO folder_roles VALUES
  (1, 'viewer', 10), (1, 'viewer', 12), (2, 'viewer', 11), (2, 'viewer', 11), (2, 'editor', 10), (3, 'viewer', NULL),
  (NULL, 'viewer', 10), (3, 'editor', 12), (2, 'editor', 11), (1, 'editor', 12);
CREATE TEMPORARY TABLE blocks (document_id INTEGER, user_id INTEGER);
INSERT INTO blocks VALUES (1, 1), (9, 2), (NULL, 1), (3, NULL), (8, 1);
CREATE TEMPORARY TABLE quotas (user_id INTEGER, folder_id INTEGER, kind TEXT, most INTEGER);
INSERT INTO quotas VALUES
  (1, 10, 'edit', 100), (2, 10, 'view', 100), (2, 11, 'edit', 100), (3, 12, 'edit', 1), (2, 10, 'view', 5), (1, 12, 'view', 9),
  (1, 10, 'view', 3), (3, 10, 'other', 50), (3, 11, 'view', 11),
  (1, 10, 'final', 1), (1, 11, 'draft', 1), (2, 12, 'draft', 2), (2, NULL, 'final', 3), (2, 11, NULL, 4),
  (3, 10, 'final', NULL), (4, 10, 'draft', 9);
CREATE TEMPORARY TABLE deputies (user_id INTEGER, deputy_id INTEGER, active INTEGER);
INSERT INTO deputies VALUES (1, 2, 1), (2, 3, 1), (3, 1, 0), (2, 4, 1), (NULL, 4, 1), (2, NULL, 1);
CREATE TEMPORARY TABLE parents (folder_id INTEGER, parent_id INTEGER);
INSERT INTO parents VALUES (10, 11), (11, 12), (12, 12), (NULL, 10), (10, NULL);
CREATE TEMPORARY TABLE bans (user_id INTEGER, folder_id INTEGER);
INSERT INTO bans VALUES (1, 12), (2, 11), (3, NULL), (NULL, 10);
CREATE TEMPORARY TABLE role_permissions (role TEXT, permission TEXT);
INSERT INTO role_permissions VALUES ('viewer', 'read'), ('viewer', 'read'), ('owner', 'read'), ('editor', 'write'), (NULL, 'read');
CREATE TEMPORARY TABLE loans (user_id INTEGER, folder_id INTEGER, until BIGINT);
INSERT INTO loans VALUES (1, 10, 99999999999), (1, 12, 1000000000), (2, 11, 99999999999), (2, 10, NULL), (3, NULL, 99999999999);
CREATE TEMPORARY TABLE tenant_members (user_id INTEGER, tenant_id INTEGER);
INSERT INTO tenant_members VALUES (1, 100), (2, 101), (2, 101), (3, 100), (3, 101), (NULL, 100), (4, NULL);
CREATE TEMPORARY TABLE staff (user_id INTEGER);
INSERT INTO staff VALUES (2), (4), (4), (NULL);
CREATE TEMPORARY TABLE limits (user_id INTEGER, most INTEGER);
INSERT INTO limits VALUES (1, 10), (2, 20), (2, NULL), (3, 0);
CREATE TEMPORARY TABLE role_limits (role TEXT, most INTEGER);
INSERT INTO role_limits VALUES ('viewer', 5), ('viewer', 7), ('viewer', NULL), ('editor', NULL), (NULL, 1000);
";

pub(crate) const DOCUMENT: &str = "
facts:
  has_relation(Document:_, owner, User:_):
    query: SELECT id, owner_id FROM documents
  has_relation(Document:_, folder, Folder:_):
    query: SELECT id, folder_id FROM documents
  deleted(Document:_):
    query: SELECT id FROM documents WHERE deleted = 1
  kept_by(Document:_, User:_):
    query: SELECT id, owner_id FROM documents WHERE deleted = 0
  kept_in(Document:_, Folder:_):
    query: SELECT id, folder_id FROM documents WHERE deleted = 0
  filed(Document:_, Folder:_):
    query: SELECT id, folder_id + 0 FROM documents
  status(Document:_, String:_):
    query: SELECT id, status FROM documents
  flag(Document:_, Integer:_):
    query: SELECT id, deleted FROM documents
  size(Document:_, Integer:_):
    query: SELECT id, size FROM documents
  lent(User:_, Folder:_, Integer:_):
    query: SELECT user_id, folder_id, until FROM loans
  member(User:_, Tenant:_):
    query: SELECT user_id, tenant_id FROM tenant_members
  staff(User:_):
    query: SELECT user_id FROM staff
  limit(User:_, Integer:_):
    query: SELECT user_id, most FROM limits
  role_limit(String:_, Integer:_):
    query: SELECT role, most FROM role_limits
  has_relation(Folder:_, tenant, Tenant:_):
    query: SELECT id, tenant_id FROM folders
  keeper(Folder:_, User:_):
    query: SELECT id, keeper_id FROM folders
  archived(Folder:_):
    query: SELECT id FROM folders WHERE archived = 1
  suspended(Tenant:_):
    query: SELECT id FROM tenants WHERE suspended = 1
  blocked(Document:_, User:_):
    query: SELECT document_id, user_id FROM blocks
  quota(User:_, Folder:_, String:_, Integer:_):
    query: SELECT user_id, folder_id, kind, most FROM quotas
  deputy(User:_, User:_):
    query: SELECT user_id, deputy_id FROM deputies WHERE active = 1
  has_relation(Folder:_, parent, Folder:_):
    query: SELECT folder_id, parent_id FROM parents
  banned(User:_, Folder:_):
    query: SELECT user_id, folder_id FROM bans
  permits(String:_, String:_):
    query: SELECT role, permission FROM role_permissions
  has_role(User:_, String:_, Folder:_):
    query: SELECT user_id, role, folder_id FROM folder_roles
sql_types:
  User: integer
  Document: integer
  Folder: integer
  Tenant: integer
  Integer: integer
tables:
  Document: documents.id
  Folder: folders.id
  Tenant: tenants.id
";

pub(crate) const POLICY: &str = r#"
actor User {}
resource Tenant {}
resource Folder {
  roles = ["viewer", "editor"];
  permissions = ["read"];
  relations = { tenant: Tenant, parent: Folder };
  "read" if "viewer";
}
resource Document {
  permissions = ["read"];
  relations = { owner: User, folder: Folder };
  SHORTHAND
}
declare deleted(Document);
declare kept_by(Document, User);
declare kept_in(Document, Folder);
declare filed(Document, Folder);
declare status(Document, String);
declare size(Document, Integer);
declare flag(Document, Integer);
declare lent(User, Folder, Integer);
declare limit(User, Integer);
declare role_limit(String, Integer);
declare member(User, Tenant);
declare staff(User);
declare permits(String, String);
declare quota(User, Folder, String, Integer);
declare deputy(User, User);
declare banned(User, Folder);
declare archived(Folder);
declare keeper(Folder, User);
declare suspended(Tenant);
declare blocked(Document, User);
RULE
"#;

/// All kinds of rules.
pub(crate) fn patterns() -> impl Iterator<Item = &'static Pattern> {
    let special = pairs::PAIRS.iter().chain(deputies::DEPUTIES);
    kinds::KINDS.iter().chain(guards::GUARDS).chain(choices::CHOICES).chain(special)
}

/// One kind of rule.
pub(crate) struct Pattern {
    /// The name of its snapshots.
    pub(crate) shape: &'static str,
    /// What it is, for the page.
    pub(crate) title: &'static str,
    /// Why its text is fast, or what it costs, for the page.
    pub(crate) why: &'static str,
    /// Whether no index can find its rows, so that each row is read.
    pub(crate) reads_each_row: bool,
    /// Shorthand of documents.
    pub(crate) shorthand: &'static str,
    /// Rules.
    pub(crate) rule: &'static str,
    /// What an expert asks of the row `d` for the user `?`.
    expert: &'static str,
}

impl Pattern {
    /// The whole policy.
    pub(crate) fn policy(&self) -> String {
        POLICY.replace("SHORTHAND", self.shorthand).replace("RULE", self.rule)
    }

    /// What an expert asks of a row of the table that is called `name`, for this user.
    pub(crate) fn expert(&self, user: &str, name: &str) -> String {
        let condition = self.expert.replace("VIEWED", sets::VIEWED).replace("DEPUTY", sets::DEPUTY);
        let condition = condition
            .replace("EDITED", sets::EDITED)
            .replace("CHANGED", sets::CHANGED)
            .replace("BELOW", sets::BELOW)
            .replace("ACTIVE", sets::ACTIVE)
            .replace("PERMITTED", sets::PERMITTED)
            .replace("BANNED", sets::BANNED)
            .replace("TRUSTED", sets::TRUSTED)
            .replace("PRINCIPALS", sets::PRINCIPALS)
            .replace("CLOSED", sets::CLOSED)
            .replace("KEPT", sets::KEPT)
            .replace("USABLE", sets::USABLE);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let condition = condition.replace("NOW", &now.to_string()).replace('?', user);
        format!("({}) AND {name}.id IS NOT NULL", condition.replace("d.", &format!("{name}.")))
    }
}

/// A text with the time of the request, the only number of ten digits, replaced by a fixed one.
pub(crate) fn at_fixed_time(text: &str) -> String {
    let mut fixed = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        let (number, after) = number.split_at(end);
        fixed.extend([before, if number.len() == 10 { "1800000000" } else { number }]);
        rest = after;
    }
    fixed + rest
}
