//! What somebody may do in another user's place: by a token, as a deputy, or in a group. Roles that are
//! inherited, and looked up in a table of permissions, start from that user.

use super::service::Service;
use portcullis_testkit::local::ways::Way;

const POLICY: &str = r#"
actor User {}
actor Token { relations = { user: User }; }
resource Account { roles = ["admin", "viewer"]; relations = { parent: Account }; role if role on "parent"; }
resource Campaign {
  roles = ["admin", "viewer"]; relations = { account: Account }; permissions = ["view", "edit"]; role if role on "account";
}
has_permission(user: User, permission: String, campaign: Campaign) if
  has_role(user, role, campaign) and grants(role, permission);
has_permission(token: Token, permission: String, campaign: Campaign) if
  has_relation(token, "user", user) and has_permission(user, permission, campaign);
allow(actor: Actor, action: String, campaign: Campaign) if has_permission(actor, action, campaign);
allow(user: User, action: String, campaign: Campaign) if
  acts_for(user, other) and has_permission(other, action, campaign);
declare grants(String, String);
declare acts_for(User, User);
"#;

const DOCUMENT: &str = "
facts:
  has_relation(Token:_, user, User:_):
    query: SELECT id, user_id FROM tokens
  acts_for(User:_, User:_):
    query: SELECT deputy_id, user_id FROM deputies
  has_role(User:_, String:_, Account:_):
    query: SELECT user_id, role, account_id FROM account_roles
  has_relation(Account:_, parent, Account:_):
    query: SELECT id, parent_id FROM accounts
  has_relation(Campaign:_, account, Account:_):
    query: SELECT id, account_id FROM campaigns
  grants(String:_, String:_):
    query: SELECT role, permission FROM permissions
sql_types: { User: integer, Token: integer, Account: integer, Campaign: integer, String: text }
tables: { Token: tokens.id, Account: accounts.id, Campaign: campaigns.id }
";

const SCHEMA: &str = "
CREATE TEMPORARY TABLE tokens (id INTEGER UNIQUE, user_id INTEGER);
INSERT INTO tokens VALUES (1, 1), (2, 2), (3, NULL), (NULL, 1);
CREATE TEMPORARY TABLE deputies (deputy_id INTEGER, user_id INTEGER);
INSERT INTO deputies VALUES (3, 1), (3, 1), (3, NULL), (4, 2), (4, 3), (NULL, 1);
CREATE TEMPORARY TABLE account_roles (user_id INTEGER, role TEXT, account_id INTEGER);
INSERT INTO account_roles VALUES
  (1, 'admin', 10), (1, 'viewer', 20), (2, 'viewer', 11), (3, 'other', 10), (3, 'viewer', 30), (NULL, 'admin', 20);
CREATE TEMPORARY TABLE accounts (id INTEGER UNIQUE, parent_id INTEGER);
INSERT INTO accounts VALUES (10, NULL), (11, 10), (12, 11), (20, 21), (21, 20), (30, 30), (NULL, 10);
CREATE TEMPORARY TABLE campaigns (id INTEGER UNIQUE, account_id INTEGER);
INSERT INTO campaigns VALUES (100, 10), (110, 11), (120, 12), (200, 20), (210, 21), (300, 30), (400, NULL), (NULL, 10);
CREATE TEMPORARY TABLE permissions (role TEXT, permission TEXT);
INSERT INTO permissions VALUES ('admin', 'edit'), ('admin', 'view'), ('viewer', 'view'), (NULL, 'edit'), ('viewer', NULL);
";

/// Who may do what to which campaigns, by hand.
const EXPECTED: [(&str, &str, &str); 12] = [
    ("User:1", "view", "100 110 120 200 210"),
    ("User:1", "edit", "100 110 120"),
    ("User:2", "view", "110 120"),
    ("User:2", "edit", ""),
    ("User:3", "view", "100 110 120 200 210 300"),
    ("User:3", "edit", "100 110 120"),
    ("User:4", "view", "110 120 300"),
    ("User:4", "edit", ""),
    ("Token:1", "view", "100 110 120 200 210"),
    ("Token:1", "edit", "100 110 120"),
    ("Token:2", "view", "110 120"),
    ("Token:3", "view", ""),
];

#[test]
fn the_same_rows_pass() {
    let expected =
        EXPECTED.map(|(actor, action, ids)| (format!("allow({actor}, \"{action}\", Campaign:?)"), ids));
    Service::new(POLICY, "", DOCUMENT).passes(SCHEMA, "campaigns", &["campaigns.id"], &expected);
}

/// A recursion begins with the roles of one user, not with the accounts of all campaigns.
#[test]
fn roles_start_from_the_other_user() {
    let service = Service::new(POLICY, "", DOCUMENT);
    for actor in ["User:3", "Token:1"] {
        let filter = service.filter(&format!("allow({actor}, \"view\", Campaign:?)"), "campaigns.id");
        let (recursions, _) = filter.split_once("\n  SELECT ").unwrap();
        assert!(recursions.contains("FROM account_roles AS"), "{filter}");
        assert!(!recursions.contains("campaigns AS"), "{filter}");
    }
}

/// Two roles under conditions of their own, asked for another user.
const OF_ACCOUNTS: &str = r#"
actor User {}
resource Account {
  roles = ["admin", "viewer"]; relations = { parent: Account }; permissions = ["view"]; role if role on "parent";
}
has_permission(user: User, permission: String, account: Account) if
  has_role(user, "admin", account) and grants("admin", permission);
has_permission(user: User, permission: String, account: Account) if
  has_role(user, "viewer", account) and grants("viewer", permission) and active(user);
allow(user: User, action: String, account: Account) if
  acts_for(user, other) and has_permission(other, action, account);
declare grants(String, String);
declare active(User);
declare acts_for(User, User);
"#;

const ACCOUNTS: &str = "
facts:
  acts_for(User:_, User:_):
    query: SELECT deputy_id, user_id FROM deputies
  active(User:_):
    query: SELECT user_id FROM active_users
  has_role(User:_, String:_, Account:_):
    query: SELECT user_id, role, account_id FROM account_roles
  has_relation(Account:_, parent, Account:_):
    query: SELECT id, parent_id FROM accounts
  grants(String:_, String:_):
    query: SELECT role, permission FROM permissions
sql_types: { User: integer, Account: integer, String: text }
tables: { Account: accounts.id }
";

/// Only roles on the account and on those above it are read, not everybody's.
#[test]
fn users_are_found_from_the_account() {
    let service = Service::new(OF_ACCOUNTS, "", ACCOUNTS);
    for (way, column) in [(Way::Subjects, "users.id"), (Way::Select, "")] {
        let sql = service.sql("allow(User:?, \"view\", Account:100)", way, column);
        let [read, found] = ["account_roles AS", ".account_id = "].map(|text| sql.matches(text).count());
        assert!(read > 0 && read == found, "{sql}");
    }
}
