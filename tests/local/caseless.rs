//! Columns declared as `citext`: found by their indexes, and equal only if their bytes are.

use super::service::{Service, column};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;

const POLICY: &str = r#"
actor User {}
actor Group {}
resource File {
  permissions = ["close", "keep", "see", "read"];
  relations = { owner: User, group: Group };
  "close" if "owner";
}
declare member(User, Group);
declare parent(Group, Group);
declare banned(User, File);
inside(user: User, group: Group) if member(user, group);
inside(user: User, group: Group) if inside(user, inner) and parent(inner, group);
has_permission(user: User, "keep", file: File) if
  has_relation(file, "owner", owner) and member(owner, group) and member(user, group);
has_permission(user: User, "see", file: File) if
  has_relation(file, "group", group) and member(user, group) and not banned(user, file);
has_permission(user: User, "read", file: File) if
  has_relation(file, "group", group) and inside(user, group) and not banned(user, file);
"#;

const DOCUMENT: &str = "
facts:
  has_relation(File:_, owner, User:_):
    query: SELECT id, owner FROM files
  has_relation(File:_, group, Group:_):
    query: SELECT id, team FROM files
  member(User:_, Group:_):
    query: SELECT who, team FROM members
  parent(Group:_, Group:_):
    query: SELECT inside, team FROM teams
  banned(User:_, File:_):
    query: SELECT who, file FROM bans
tables:
  File: files.id
  User: users.mail
sql_types: { File: bigint, User: citext, Group: citext }
";

/// Ids that differ in case. The bans and the members of groups are in columns of text.
const TABLES: &str = "
BEGIN;
CREATE TEMPORARY TABLE users (mail citext NOT NULL);
CREATE TEMPORARY TABLE files (id bigint PRIMARY KEY, owner citext NOT NULL, team citext NOT NULL);
CREATE TEMPORARY TABLE members (who citext NOT NULL, team WORDS NOT NULL);
CREATE TEMPORARY TABLE teams (inside citext NOT NULL, team citext NOT NULL);
CREATE TEMPORARY TABLE bans (who WORDS NOT NULL, file bigint NOT NULL);
CREATE INDEX by_owner ON files (owner);
CREATE INDEX by_team ON files (team);
CREATE INDEX by_mail ON users (mail);
INSERT INTO users VALUES ('ada'), ('Ada'), ('ADA'), ('bob');
INSERT INTO files VALUES (1, 'ada', 'Red'), (2, 'Ada', 'red'), (3, 'ADA', 'Blue'), (4, 'bob', 'green'),
  (5, 'ada', 'Blue'), (6, 'bob', 'Blue'), (7, 'bob', 'Red'), (8, 'bob', 'Red');
INSERT INTO members VALUES ('ada', 'Red'), ('Ada', 'blue'), ('bob', 'RED');
INSERT INTO teams VALUES ('Red', 'Blue'), ('red', 'green'), ('Blue', 'red '), ('BLUE', 'green');
INSERT INTO bans VALUES ('ada', 5), ('Ada', 6), ('ada', 7), ('ADA', 8);
";

/// Runs a test over each type of the columns that need not be `citext`.
fn over_tables(test: impl Fn(&Service, &Caller)) {
    let service = Service::new(POLICY, "", DOCUMENT);
    for words in ["citext", "text", "varchar(9)"] {
        let caller = Caller::new(Dialect::Postgresql).unwrap();
        caller.script(&TABLES.replace("WORDS", words)).unwrap();
        test(&service, &caller);
        caller.script("ROLLBACK").unwrap();
    }
}

/// Neither a grant nor a ban of `Ada` is one of `ada`.
#[test]
fn ids_that_differ_in_case_are_different() {
    over_tables(|service, caller| {
        for (user, permission, files) in [
            ("ada", "close", "1 5"),
            ("Ada", "close", "2"),
            ("aDa", "close", ""),
            ("ada", "keep", "1 5"),
            ("Ada", "keep", "2"),
            ("bob", "keep", "4 6 7 8"),
            ("ada", "see", "1 8"),
            ("Ada", "see", ""),
            ("ada", "read", "1 3 6 8"),
            ("bob", "read", ""),
        ] {
            let question = format!("allow(User:{user}, \"{permission}\", File:?)");
            let filter = service.filter(&question, "files.id");
            let sql = format!("SELECT id FROM files WHERE {filter} ORDER BY id");
            assert_eq!(column(caller, &sql), files, "{question}\n{sql}");
            for file in 1..=8 {
                let question = format!("allow(User:{user}, \"{permission}\", File:{file})");
                let sql = service.sql(&question, Way::Authorize, "");
                let is_listed = files.split(' ').any(|listed| listed == file.to_string());
                assert_eq!(column(caller, &sql), is_listed.to_string(), "{question}\n{sql}");
            }
        }
        for (question, users) in [
            ("allow(User:?, \"close\", File:2)", "Ada"),
            ("allow(User:?, \"see\", File:7)", ""),
            ("allow(User:?, \"see\", File:8)", "ada"),
            ("allow(User:?, \"read\", File:3)", "ada"),
        ] {
            let filter = service.sql(question, Way::Subjects, "users.mail");
            let sql = format!("SELECT CAST(mail AS TEXT) FROM users WHERE {filter}");
            assert_eq!(column(caller, &sql), users, "{question}\n{sql}");
        }
        let sql = service.sql("has_relation(File:?, \"owner\", User:?)", Way::Select, "");
        assert_eq!(caller.run(&sql).unwrap().rows.len(), 8, "{sql}");
        let sql = service.sql("member(User:?, Group:?)", Way::Select, "");
        assert_eq!(caller.run(&sql).unwrap().rows.len(), 3, "{sql}");
    });
}

/// A literal and a set are looked up by the index of the column.
#[test]
fn columns_that_ignore_case_are_found_by_their_indexes() {
    let service = Service::new(POLICY, "", DOCUMENT);
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller.script(&TABLES.replace("WORDS", "citext")).unwrap();
    caller
        .script(
            "INSERT INTO files SELECT n, 'x' || n, 'x' || n FROM generate_series(100, 5000) AS n;
             INSERT INTO users SELECT 'x' || n FROM generate_series(100, 5000) AS n;
             ANALYZE files; ANALYZE users; ANALYZE members;",
        )
        .unwrap();
    for (question, name, table, found) in [
        ("allow(User:ada, \"close\", File:?)", "files.id", "files", "(owner = 'ada'::citext)"),
        ("allow(User:ada, \"see\", File:?)", "files.id", "files", "(team = ANY ("),
        ("allow(User:?, \"close\", File:1)", "users.mail", "users", "(mail = "),
    ] {
        let way = if name == "users.mail" { Way::Subjects } else { Way::List };
        let filter = service.sql(question, way, name);
        let sql = format!("EXPLAIN SELECT * FROM {table} WHERE {filter}");
        let plan = caller.run(&sql).unwrap().rows;
        let plan: Vec<String> = plan.into_iter().filter_map(|mut row| row.pop().flatten()).collect();
        let is_found = |line: &String| line.contains("Index Cond: ") && line.contains(found);
        assert!(plan.iter().any(is_found), "{sql}\n{}", plan.join("\n"));
    }
    caller.script("ROLLBACK").unwrap();
}
