//! What each kind of rule becomes in a filter over a table's rows, next to what an expert writes.
//!
//! One table of documents, and a policy that differs in a line. The columns hold NULL wherever a column may,
//! and both texts must pass the same rows for every user on every database. The text of each pattern is a
//! snapshot: a fact about the row is a column of it, what starts from the actor is an array, and a guard is
//! asked of the array's values.

use super::service::{Service, column, shape};
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;

pub(crate) const SCHEMA: &str = "
CREATE TEMPORARY TABLE documents (
  id INTEGER UNIQUE, owner_id INTEGER, folder_id INTEGER, deleted INTEGER, status TEXT, size INTEGER);
INSERT INTO documents VALUES
  (1, 1, 10, 0, 'final', 5), (2, 1, 11, 1, 'draft', 50), (3, 2, 10, 1, 'final', 500), (4, 2, 11, NULL, NULL, NULL),
  (5, NULL, 10, 0, 'final', 7), (6, 1, NULL, 0, 'final', 8), (7, NULL, NULL, NULL, NULL, NULL),
  (8, 3, 12, 0, 'draft', 1), (9, 2, 10, 0, 'draft', 20), (NULL, 1, 10, 0, 'final', 5);
CREATE TEMPORARY TABLE folders (id INTEGER UNIQUE, tenant_id INTEGER, archived INTEGER);
INSERT INTO folders VALUES (10, 100, 0), (11, 100, 1), (12, 101, NULL), (NULL, 100, 1);
CREATE TEMPORARY TABLE tenants (id INTEGER UNIQUE, suspended INTEGER);
INSERT INTO tenants VALUES (100, 0), (101, 1);
CREATE TEMPORARY TABLE folder_roles (user_id INTEGER, role TEXT, folder_id INTEGER);
INSERT INTO folder_roles VALUES
  (1, 'viewer', 10), (1, 'viewer', 12), (2, 'viewer', 11), (2, 'viewer', 11), (2, 'editor', 10), (3, 'viewer', NULL),
  (NULL, 'viewer', 10), (3, 'editor', 12);
CREATE TEMPORARY TABLE blocks (document_id INTEGER, user_id INTEGER);
INSERT INTO blocks VALUES (1, 1), (9, 2), (NULL, 1), (3, NULL);
CREATE TEMPORARY TABLE quotas (user_id INTEGER, folder_id INTEGER, kind TEXT, most INTEGER);
INSERT INTO quotas VALUES (1, 10, 'edit', 100), (2, 10, 'view', 100), (2, 11, 'edit', 100), (3, 12, 'edit', 1);
CREATE TEMPORARY TABLE deputies (user_id INTEGER, deputy_id INTEGER, active INTEGER);
INSERT INTO deputies VALUES (1, 2, 1), (2, 3, 1), (3, 1, 0), (2, 4, 1), (NULL, 4, 1), (2, NULL, 1);
CREATE TEMPORARY TABLE limits (user_id INTEGER, most INTEGER);
INSERT INTO limits VALUES (1, 10), (2, 20), (2, NULL), (3, 0);
";

pub(crate) const DOCUMENT: &str = "
facts:
  has_relation(Document:_, owner, User:_):
    query: SELECT id, owner_id FROM documents
  has_relation(Document:_, folder, Folder:_):
    query: SELECT id, folder_id FROM documents
  deleted(Document:_):
    query: SELECT id FROM documents WHERE deleted = 1
  status(Document:_, String:_):
    query: SELECT id, status FROM documents
  flag(Document:_, Integer:_):
    query: SELECT id, deleted FROM documents
  size(Document:_, Integer:_):
    query: SELECT id, size FROM documents
  limit(User:_, Integer:_):
    query: SELECT user_id, most FROM limits
  has_relation(Folder:_, tenant, Tenant:_):
    query: SELECT id, tenant_id FROM folders
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

const POLICY: &str = r#"
actor User {}
resource Tenant {}
resource Folder {
  roles = ["viewer"];
  permissions = ["read"];
  relations = { tenant: Tenant };
  "read" if "viewer";
}
resource Document {
  permissions = ["read"];
  relations = { owner: User, folder: Folder };
  SHORTHAND
}
declare deleted(Document);
declare status(Document, String);
declare size(Document, Integer);
declare flag(Document, Integer);
declare limit(User, Integer);
declare quota(User, Folder, String, Integer);
declare deputy(User, User);
declare archived(Folder);
declare suspended(Tenant);
declare blocked(Document, User);
RULE
"#;

/// One kind of rule: its snapshot, shorthand of documents, a rule, and what an expert asks of a row for the
/// user `?`.
pub(crate) struct Pattern {
    pub(crate) shape: &'static str,
    shorthand: &'static str,
    rule: &'static str,
    expert: &'static str,
}

impl Pattern {
    /// The whole policy.
    pub(crate) fn policy(&self) -> String {
        POLICY.replace("SHORTHAND", self.shorthand).replace("RULE", self.rule)
    }

    /// What an expert asks of a row of the table that is called `name`, for this user.
    pub(crate) fn expert(&self, user: &str, name: &str) -> String {
        let condition = self.expert.replace("VIEWED", VIEWED).replace("DEPUTY", DEPUTY).replace('?', user);
        format!("({}) AND {name}.id IS NOT NULL", condition.replace("d.", &format!("{name}.")))
    }
}

const OWN_OR_VIEWED: &str = r#""read" if "owner"; "read" if "read" on "folder";"#;
const VIEWED: &str =
    "d.folder_id IN (SELECT folder_id FROM folder_roles WHERE user_id = ? AND role = 'viewer')";

const QUOTA_OF_DEPUTY: &str = r#"
acts_for(u: User, v: User) if deputy(v, u);
acts_for(u: User, u: User);
has_permission(u: User, "read", d: Document) if acts_for(u, v) and has_relation(d, "folder", f) and size(d, s)
  and quota(v, f, "edit", most) and s <= most and has_relation(d, "owner", o) and o != u and o != v
  and not blocked(d, u) and not blocked(d, v);"#;
const DEPUTY: &str = "EXISTS (
  SELECT 1 FROM quotas q
  WHERE q.kind = 'edit' AND q.folder_id = d.folder_id AND d.size <= q.most AND d.owner_id <> q.user_id AND d.owner_id <> ?
    AND (q.user_id = ? OR q.user_id IN (SELECT user_id FROM deputies WHERE deputy_id = ? AND active = 1))
    AND NOT EXISTS (SELECT 1 FROM blocks b WHERE b.document_id = d.id AND b.user_id IN (?, q.user_id)))";

pub(crate) const PATTERNS: &[Pattern] = &[
    Pattern {
        shape: "pattern-own-or-viewed",
        shorthand: OWN_OR_VIEWED,
        rule: "",
        expert: "(d.owner_id = ? OR VIEWED)",
    },
    Pattern {
        shape: "pattern-guard-on-the-row",
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not deleted(d);",
        expert: "(d.owner_id = ? OR VIEWED) AND COALESCE(d.deleted, 0) <> 1",
    },
    Pattern {
        shape: "pattern-guard-on-the-row-in-each-rule",
        shorthand: r#"
  "read" if "owner" and not deleted(resource);
  "read" if "read" on "folder" and not deleted(resource);"#,
        rule: "",
        expert: "(d.owner_id = ? OR VIEWED) AND COALESCE(d.deleted, 0) <> 1",
    },
    Pattern {
        shape: "pattern-guard-on-row-and-actor",
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not blocked(d, u);",
        expert: "(d.owner_id = ? OR VIEWED) \
                 AND NOT EXISTS (SELECT 1 FROM blocks b WHERE b.document_id = d.id AND b.user_id = ?)",
    },
    Pattern {
        shape: "pattern-guard-on-the-container",
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d)
  and has_relation(d, \"folder\", f) and not archived(f);",
        expert: "(d.owner_id = ? OR VIEWED) AND d.folder_id IS NOT NULL \
                 AND NOT EXISTS (SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1)",
    },
    Pattern {
        shape: "pattern-guard-beyond-the-container",
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d)
  and has_relation(d, \"folder\", f) and has_relation(f, \"tenant\", t) and not suspended(t);",
        expert: "(d.owner_id = ? OR VIEWED) AND EXISTS (
                   SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.tenant_id IS NOT NULL
                     AND NOT EXISTS (SELECT 1 FROM tenants t WHERE t.id = f.tenant_id AND t.suspended = 1))",
    },
    Pattern {
        shape: "pattern-attribute-in-one-rule",
        shorthand: r#""read" if "owner"; "read" if "read" on "folder" and status(resource, "final");"#,
        rule: "",
        expert: "(d.owner_id = ? OR VIEWED AND d.status = 'final')",
    },
    // Conditions on two columns differ, although they ask for the same value.
    Pattern {
        shape: "pattern-two-attributes-of-one-value",
        shorthand: r#""read" if size(resource, 1) and flag(resource, 1);"#,
        rule: "",
        expert: "d.size = 1 AND d.deleted = 1",
    },
    Pattern {
        shape: "pattern-attribute-alone",
        shorthand: r#""read" if status(resource, "draft"); "read" if "read" on "folder";"#,
        rule: "",
        expert: "(d.status = 'draft' OR VIEWED)",
    },
    // What deputies may read, everyone may.
    Pattern {
        shape: "pattern-covered-alternative",
        shorthand: r#""read" if status(resource, "final");"#,
        rule: "has_permission(u: User, \"read\", d: Document) if deputy(v, u) and v matches User and status(d, \"final\");",
        expert: "d.status = 'final'",
    },
    Pattern {
        shape: "pattern-limit-of-the-actor",
        shorthand: r#""read" if "owner";"#,
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f)
  and has_role(u, \"viewer\", f) and size(d, s) and limit(u, most) and s <= most;",
        expert: "(d.owner_id = ? OR VIEWED AND d.size <= (SELECT MAX(most) FROM limits WHERE user_id = ?))",
    },
    // Neither alternative may borrow the other's role or quota.
    Pattern {
        shape: "pattern-quota-of-each-role",
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and size(d, s)
  and has_role(u, \"viewer\", f) and has_relation(d, \"folder\", g) and quota(u, g, \"view\", most) and s <= most;
has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and size(d, s)
  and has_role(u, \"editor\", f) and has_relation(d, \"folder\", g) and quota(u, g, \"edit\", most) and s <= most;",
        expert: "EXISTS (
                   SELECT 1 FROM folder_roles r JOIN quotas q ON q.user_id = r.user_id AND q.folder_id = r.folder_id
                   WHERE r.user_id = ? AND r.folder_id = d.folder_id AND d.size <= q.most
                     AND (r.role = 'viewer' AND q.kind = 'view' OR r.role = 'editor' AND q.kind = 'edit'))",
    },
    // Two alternatives that differ only in whose quota counts.
    Pattern {
        shape: "pattern-quota-of-a-deputy",
        shorthand: "",
        rule: QUOTA_OF_DEPUTY,
        expert: "DEPUTY",
    },
    Pattern {
        shape: "pattern-own-or-quota-of-a-deputy",
        shorthand: r#""read" if "owner";"#,
        rule: QUOTA_OF_DEPUTY,
        expert: "(d.owner_id = ? OR DEPUTY)",
    },
    Pattern {
        shape: "pattern-four-eyes",
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f)
  and has_role(u, \"viewer\", f) and has_relation(d, \"owner\", o) and o != u;",
        expert: "VIEWED AND d.owner_id <> ?",
    },
    Pattern {
        shape: "pattern-guard-inside-the-set",
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f)
  and has_role(u, \"viewer\", f) and not archived(f);",
        expert: "VIEWED AND NOT EXISTS (SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1)",
    },
    Pattern {
        shape: "pattern-two-relations-at-once",
        shorthand: r#""read" if "read" on "folder" and "owner";"#,
        rule: "",
        expert: "VIEWED AND d.owner_id = ?",
    },
    Pattern {
        shape: "pattern-denied-relation",
        shorthand: r#""read" if "read" on "folder" and not "owner";"#,
        rule: "",
        expert: "VIEWED AND (d.owner_id IS NULL OR d.owner_id <> ?)",
    },
    Pattern {
        shape: "pattern-denied-alternatives",
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not hidden(d);
hidden(d: Document) if deleted(d);
hidden(d: Document) if has_relation(d, \"folder\", f) and archived(f);
hidden(d: Document) if size(d, s) and s > 10;",
        expert: "(d.owner_id = ? OR VIEWED) AND COALESCE(d.deleted, 0) <> 1 AND COALESCE(d.size, 0) <= 10 \
                 AND NOT EXISTS (SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1)",
    },
];

#[test]
fn every_pattern_passes_the_rows_that_an_expert_passes() {
    for pattern in PATTERNS {
        let policy = pattern.policy();
        for document in [DOCUMENT, DOCUMENT.split("tables:").next().unwrap()] {
            let service = Service::new(&policy, "", document);
            for dialect in DIALECTS {
                let caller = Caller::new(dialect).unwrap();
                caller.script(SCHEMA).unwrap();
                for user in ["1", "2", "3", "4"] {
                    let question = format!("allow(User:{user}, \"read\", Document:?)");
                    let filter = service.sql_for(dialect, &question, Way::List, "documents.id");
                    let of_alias = service.sql_for(dialect, &question, Way::List, "listed.id");
                    let expert = pattern.expert(user, "d");
                    let rows = |from: &str, condition: &str| {
                        let sql = format!(
                            "SELECT id FROM {from} WHERE ({condition}) AND id IS NOT NULL ORDER BY id"
                        );
                        (column(&caller, &sql), sql)
                    };
                    let (ours, sql) = rows("documents", &filter);
                    assert_eq!(ours, rows("documents d", &expert).0, "{}: {sql}", pattern.shape);
                    let (same, sql) = rows("documents AS listed", &of_alias);
                    assert_eq!(same, ours, "{}: {sql}", pattern.shape);
                    let unknown = format!("SELECT COUNT(*) FROM documents WHERE ({filter}) IS NULL");
                    assert_eq!(column(&caller, &unknown), "0", "{}: {filter}", pattern.shape);
                }
            }
        }
        let service = Service::new(&policy, "", DOCUMENT);
        let filter = service.filter("allow(User:1, \"read\", Document:?)", "documents.id");
        shape(pattern.shape, &filter);
    }
}

/// A column with a document's id in another table, where the document may be gone: what is granted on the id
/// itself still passes, and what needs the document's row does not.
#[test]
fn a_column_may_name_things_without_a_row() {
    let shorthand = format!("roles = [\"reader\"]; {OWN_OR_VIEWED}");
    // What guards one alternative guards no other one.
    let rule =
        "has_permission(u: User, \"read\", d: Document) if has_role(u, \"reader\", d) and limit(u, 10);";
    let policy = POLICY.replace("SHORTHAND", &shorthand).replace("RULE", rule);
    let facts = [
        "User:1, \"reader\", Document:99",
        "User:1, \"reader\", Document:8",
        "User:2, \"reader\", Document:99",
    ]
    .map(|role| format!("has_role({role})"));
    let service = Service::new(&policy, &facts.join("\n"), DOCUMENT);
    for dialect in DIALECTS {
        let caller = Caller::new(dialect).unwrap();
        caller.script(SCHEMA).unwrap();
        caller.script("INSERT INTO blocks VALUES (99, 5), (98, 5), (8, 5), (4, 5);").unwrap();
        for (user, expected) in [("1", "1 3 8 9 99"), ("2", "3 4 9"), ("3", "8"), ("4", "")] {
            let question = format!("allow(User:{user}, \"read\", Document:?)");
            let filter = service.sql_for(dialect, &question, Way::List, "blocks.document_id");
            let sql = format!("SELECT DISTINCT document_id FROM blocks WHERE {filter} ORDER BY document_id");
            assert_eq!(column(&caller, &sql), expected, "{sql}");
            // A column that does not name its table means no other one inside the filter's queries.
            caller.script("CREATE TEMPORARY TABLE listed AS SELECT document_id AS id FROM blocks;").unwrap();
            for name in ["id", "listed.id", "l.id"] {
                let filter = service.sql_for(dialect, &question, Way::List, name);
                let alias = name.split_once('.').map_or("l", |(alias, _)| alias);
                let sql = format!("SELECT DISTINCT id FROM listed AS {alias} WHERE {filter} ORDER BY id");
                assert_eq!(column(&caller, &sql), expected, "{sql}");
            }
            caller.script("DROP TABLE listed;").unwrap();
        }
    }
}

/// A row that is looked up twice is read once also where a row that it leads to was replaced by it before:
/// the same folder comes from the document's own condition and from what the document inherits.
#[test]
fn a_row_that_another_source_sees_is_still_read() {
    let policy = r#"
        actor User {}
        actor Team { roles = ["reader"]; "reader" if member(User{"2"}, resource) and not member(actor, resource); }
        resource Folder { roles = ["reader"]; relations = { team: Team }; "reader" if "reader" on "team"; }
        resource Document {
          roles = ["reader"];
          permissions = ["write"];
          relations = { folder: Folder };
          "write" if role on "folder" and "reader";
          role if role on "folder";
        }"#;
    let document = "
facts:
  member(User:_, Team:_):
    query: SELECT user_id, team_id FROM members
  has_relation(Document:_, folder, Folder:_):
    query: SELECT id, folder_id FROM documents
  has_relation(Folder:_, team, Team:_):
    query: SELECT id, tenant_id FROM folders
tables:
  Document: documents.id
  Folder: folders.id
";
    let service = Service::new(policy, "", document);
    for dialect in DIALECTS {
        let caller = Caller::new(dialect).unwrap();
        caller.script(SCHEMA).unwrap();
        caller.script("CREATE TEMPORARY TABLE members (user_id INTEGER, team_id INTEGER);").unwrap();
        caller.script("INSERT INTO members VALUES (2, 100), (1, 100), (2, 101), (3, NULL);").unwrap();
        for (user, expected) in [("1", "8"), ("2", ""), ("3", "1 2 3 4 5 8 9")] {
            let question = format!("allow(User:{user}, \"write\", Document:?)");
            let filter = service.sql_for(dialect, &question, Way::List, "documents.id");
            let sql = format!("SELECT id FROM documents WHERE {filter} ORDER BY id");
            assert_eq!(column(&caller, &sql), expected, "{sql}");
        }
    }
}
