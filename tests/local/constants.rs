//! Constants that a key of the bindings names and the policy does not: they meet each other, and columns.

use super::service::{Service, caller, rows};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::ways::Way;

const POLICY: &str = r#"
actor User { relations = { boss: User, friend: User }; }
resource Repository { permissions = ["see", "hide"]; }
reaches(u: User, r: Repository) if
  has_relation(u, "boss", v) and has_relation(v, "friend", w) and watches(w, r);
has_permission(u: User, "see", r: Repository) if reaches(u, r);
has_permission(u: User, "hide", r: Repository) if not reaches(u, r);
"#;

/// `cyd` is the boss of those who watch, has one of those as a friend, and watches what is public.
const DOCUMENT: &str = "
facts:
  has_relation(User:_, boss, User:cyd):
    query: SELECT who FROM watchers
  has_relation(User:cyd, friend, User:_):
    query: SELECT DISTINCT 'cyd' FROM watchers
  watches(User:cyd, Repository:_):
    query: SELECT id FROM repositories WHERE public = 1
";

#[test]
fn two_keys_that_name_one_entity_meet() {
    for types in ["", "sql_types:\n  User: text\n  Repository: integer\n"] {
        let service = Service::new(POLICY, "", &format!("{DOCUMENT}{types}"));
        for dialect in DIALECTS {
            let caller = caller(dialect);
            for (who, repository, sees) in [("ada", 5, true), ("ada", 1, false), ("cyd", 5, false)] {
                for (action, allowed) in [("see", sees), ("hide", !sees)] {
                    let question = format!("allow(User:{who}, \"{action}\", Repository:{repository})");
                    let sql = service.sql_for(dialect, &question, Way::Authorize, "");
                    let allowed = match dialect {
                        Dialect::Sqlite => u8::from(allowed).to_string(),
                        Dialect::Postgresql => allowed.to_string(),
                    };
                    assert_eq!(rows(&caller, &sql), [[allowed]], "{question}\n{sql}");
                }
            }
        }
    }
}
