//! One printed text serves many questions, and only those that it is right for.

use super::service::{Service, caller, column, rows};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;

/// Every fact is in the caller's tables, and the policy knows one user and one repository by id.
const POLICY: &str = r#"
actor User { relations = { friend: User }; }
resource Repository {
  permissions = ["read", "watch", "own"];
}
has_permission(u: User, "watch", r: Repository) if watches(u, r);
has_permission(u: User, "read", _: Repository) if u = User{"root"};
has_permission(_: User, "read", r: Repository) if r = Repository{"7"} and is_public(r);
has_permission(u: User, "own", v: User) if u = v;
has_permission(u: User, "own", v: User) if has_relation(u, "friend", v);
"#;

const DOCUMENT: &str = "
facts:
  is_public(Repository:_):
    query: SELECT id FROM repositories
  watches(User:_, Repository:_):
    query: SELECT who, repository_id FROM watchers
  has_relation(User:_, friend, User:_):
    query: SELECT who, who FROM watchers
";

const TYPES: &str = "sql_types:\n  Repository: integer\n";

#[test]
fn values_that_mean_something_have_a_text_of_their_own() {
    // In an order in which each follows one that it is not like.
    let questions = [
        ("allow(User:ada, \"watch\", Repository:1)", "true"),
        ("allow(User:ada, \"watch\", Repository:hr)", "false"),
        ("allow(User:ada, \"watch\", Repository:6)", "true"),
        ("allow(User:ada, \"watch\", Repository:01)", "false"),
        ("allow(User:\"o'x:y\", \"watch\", Repository:6)", "false"),
        ("allow(User:ada, \"watch\", Repository:99999999999)", "false"),
        ("allow(User:bob, \"read\", Repository:7)", "false"),
        ("allow(User:bob, \"read\", Repository:8)", "false"),
        ("allow(User:root, \"read\", Repository:8)", "true"),
        ("allow(User:root, \"read\", Repository:7)", "true"),
        ("allow(User:bob, \"own\", User:ada)", "false"),
        ("allow(User:bob, \"own\", User:bob)", "true"),
        ("allow(User:cyd, \"own\", User:bob)", "false"),
        ("allow(User:root, \"own\", User:bob)", "false"),
        ("allow(User:root, \"own\", User:root)", "true"),
    ];
    for types in ["", TYPES] {
        let service = Service::new(POLICY, "", &format!("{DOCUMENT}{types}"));
        for dialect in DIALECTS {
            let caller = caller(dialect);
            for (question, allowed) in questions {
                let sql = service.sql_for(dialect, question, Way::Authorize, "");
                let allowed = if dialect == Dialect::Sqlite {
                    u8::from(allowed == "true").to_string()
                } else {
                    allowed.to_owned()
                };
                assert_eq!(rows(&caller, &sql), [[allowed]], "{question}\n{sql}");
            }
        }
    }
}

#[test]
fn each_column_has_a_text_of_its_own() {
    let service = Service::new(POLICY, "", &format!("{DOCUMENT}{TYPES}"));
    for (who, watched) in [("ada", "1 6"), ("bob", "")] {
        for name in ["id", "r.id", "(r.id + 0)"] {
            let filter = service.filter(&format!("allow(User:{who}, \"watch\", Repository:?)"), name);
            assert!(filter.contains(name), "{filter}");
            let sql = format!("SELECT id FROM repositories r WHERE {filter} ORDER BY id");
            assert_eq!(column(&caller(Dialect::Postgresql), &sql), watched, "{sql}");
        }
    }
}

/// Inside a query over `bans`, `id` would be a column of `bans`. So a plan that was made for `memos.id` must
/// not serve a question about `id`, nor the other way round.
#[test]
fn a_plan_for_a_qualified_column_serves_no_other() {
    let policy = r#"
actor User {}
resource Memo { permissions = ["read"]; }
allow(user: User, "read", memo: Memo) if not banned(user, memo);
"#;
    let document = "facts:\n  banned(User:_, Memo:_):\n    query: SELECT user_id, memo_id FROM bans\n";
    let columns = ["memos.id", "id"];
    for dialect in DIALECTS {
        let caller = Caller::new(dialect).unwrap();
        caller
            .script(
                "CREATE TEMPORARY TABLE memos (id TEXT);
                 CREATE TEMPORARY TABLE bans (id TEXT, user_id TEXT, memo_id TEXT);
                 INSERT INTO memos VALUES ('a'), ('b');
                 INSERT INTO bans VALUES ('7', 'ada', 'a')",
            )
            .unwrap();
        for order in [columns, [columns[1], columns[0]]] {
            let service = Service::new(policy, "", document);
            for asked in order {
                let filter = service.sql_for(dialect, "allow(User:ada, \"read\", Memo:?)", Way::List, asked);
                let sql = format!("SELECT id FROM memos WHERE {filter}");
                assert_eq!(column(&caller, &sql), "b", "{sql}");
            }
        }
    }
}
