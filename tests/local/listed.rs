//! What a filter lists once, instead of looking it up for each row: what the texts of the user's rows lead
//! to, and the containers that a set of the user's finds, beside an alternative that no index answers.

use super::service::Service;

const POLICY: &str = r#"
actor User {}
global { roles = ["auditor"]; }
resource Branch {}
resource Account { relations = { branch: Branch }; permissions = ["view"]; "view" if global "auditor"; }
resource Payment { relations = { account: Account, author: User }; permissions = ["view", "tag"]; "view" if "view" on "account"; "tag" if "author"; }
has_permission(user: User, "view", account: Account) if has_relation(account, "branch", branch) and serves(user, branch);
has_permission(user: User, "tag", payment: Payment) if follows(user, tag) and tagged(payment, tag);
declare serves(User, Branch);
declare follows(User, String);
declare tagged(Payment, String);
"#;

const DOCUMENT: &str = "
facts:
  has_role(User:_, String:_):
    query: SELECT user_id, role FROM global_roles
  serves(User:_, Branch:_):
    query: SELECT user_id, branch_id FROM staff
  has_relation(Account:_, branch, Branch:_):
    query: SELECT id, branch_id FROM accounts
  has_relation(Payment:_, account, Account:_):
    query: SELECT id, account_id FROM payments
  has_relation(Payment:_, author, User:_):
    query: SELECT id, author_id FROM payments
  follows(User:_, String:_):
    query: SELECT user_id, tag FROM followed
  tagged(Payment:_, String:_):
    query: SELECT payment_id, tag FROM tags
sql_types: { User: integer, Branch: integer, Account: integer, Payment: integer, String: text }
tables: { Account: accounts.id, Payment: payments.id }
";

const SCHEMA: &str = "
CREATE TEMPORARY TABLE global_roles (user_id INTEGER, role TEXT);
INSERT INTO global_roles VALUES (4, 'auditor'), (1, 'other'), (NULL, 'auditor'), (2, NULL);
CREATE TEMPORARY TABLE staff (user_id INTEGER, branch_id INTEGER);
INSERT INTO staff VALUES (1, 7), (1, 7), (2, 8), (3, NULL), (NULL, 7);
CREATE TEMPORARY TABLE accounts (id INTEGER UNIQUE, branch_id INTEGER);
INSERT INTO accounts VALUES (70, 7), (71, 7), (80, 8), (90, NULL), (NULL, 7);
CREATE TEMPORARY TABLE payments (id INTEGER UNIQUE, account_id INTEGER, author_id INTEGER);
INSERT INTO payments VALUES (1, 70, 3), (2, 71, 1), (3, 80, 1), (4, 90, 2), (5, NULL, 2), (NULL, 70, 1);
CREATE TEMPORARY TABLE followed (user_id INTEGER, tag TEXT);
INSERT INTO followed VALUES (1, 'tax'), (1, 'tax'), (2, 'law'), (2, NULL), (NULL, 'law'), (3, 'other');
CREATE TEMPORARY TABLE tags (payment_id INTEGER, tag TEXT);
INSERT INTO tags VALUES (1, 'tax'), (4, 'tax'), (4, 'law'), (5, NULL), (NULL, 'tax'), (3, 'Law');
";

/// Who may do what to which payments, by hand.
const EXPECTED: [(&str, u8, &str); 8] = [
    ("view", 1, "1 2"),
    ("view", 2, "3"),
    ("view", 3, ""),
    ("view", 4, "1 2 3 4"),
    ("tag", 1, "1 2 3 4"),
    ("tag", 2, "4 5"),
    ("tag", 3, "1"),
    ("tag", 4, ""),
];

#[test]
fn the_same_rows_pass() {
    let expected =
        EXPECTED.map(|(action, user, ids)| (format!("allow(User:{user}, \"{action}\", Payment:?)"), ids));
    Service::new(POLICY, "", DOCUMENT).passes(SCHEMA, "payments", &["payments.id", "id"], &expected);
}

/// The actor's rows are a set, whether a text, a container or the actor leads to them.
#[test]
fn nothing_is_looked_up_for_each_row() {
    let service = Service::new(POLICY, "", DOCUMENT);
    let filter = |action: &str| {
        let question = format!("allow(User:1, \"{action}\", Payment:?)");
        service.filter(&question, "payments.id")
    };
    for (action, set) in [("tag", "payments.id = ANY(ARRAY("), ("view", "payments.account_id IN (")] {
        let filter = filter(action);
        assert!(filter.contains(set), "{filter}");
        // Nothing of the row is mentioned inside a set or a test.
        let inside: Vec<&str> = filter.lines().filter(|line| line.starts_with("    ")).collect();
        assert!(!inside.iter().any(|line| line.contains("payments.")), "{filter}");
    }
}
