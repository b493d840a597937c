//! Columns of the row that are compared with pairs of the user's, which are looked up in one set.

use super::service::{Service, column};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;

/// Staff who are responsible for some countries of some companies, beside other alternatives. `level` makes
/// it three columns.
const POLICY: &str = r#"
actor User {}
resource Company {}
resource Person { permissions = ["view", "edit", "rank"]; relations = { company: Company }; }
has_permission(u: User, "view", p: Person) if head(u, p);
has_permission(u: User, "view", p: Person) if partner(u, c, k, _) and has_relation(p, "company", c) and country(p, k);
has_permission(u: User, "rank", p: Person) if head(u, p);
has_permission(u: User, "rank", p: Person) if
  partner(u, c, k, l) and has_relation(p, "company", c) and country(p, k) and level(p, l);
# The same denied.
has_permission(u: User, "edit", p: Person) if has_permission(u, "view", p) and not closed(u, p);
closed(u: User, p: Person) if head(u, p);
closed(u: User, p: Person) if partner(u, c, k, 2) and has_relation(p, "company", c) and country(p, k);
declare head(User, Person);
declare country(Person, String);
declare level(Person, Integer);
declare partner(User, Company, String, Integer);
"#;

const DOCUMENT: &str = "
facts:
  has_relation(Person:_, company, Company:_):
    query: SELECT id, company_id FROM persons
  country(Person:_, String:_):
    query: SELECT id, country FROM persons
  level(Person:_, Integer:_):
    query: SELECT id, level FROM persons
  head(User:_, Person:_):
    query: SELECT head_id, id FROM persons
  partner(User:_, Company:_, String:_, Integer:_):
    query: SELECT user_id, company_id, country, level FROM partners
tables: { Person: persons.id }
sql_types: { User: integer, Person: integer, Company: integer, String: text, Integer: bigint }
";

/// NULL in every column that may be compared. The columns of a pair differ in their types.
const SCHEMA: &str = "
CREATE TEMPORARY TABLE persons (
  id INTEGER UNIQUE, company_id INTEGER, country VARCHAR(2), level INTEGER, head_id INTEGER);
INSERT INTO persons VALUES
  (1, 10, 'DE', 1, NULL), (2, 10, 'FR', 1, NULL), (3, 11, 'DE', 1, NULL), (4, 11, 'FR', 2, NULL),
  (5, 10, NULL, 1, NULL), (6, NULL, 'DE', 1, NULL), (7, NULL, NULL, NULL, NULL), (8, 12, 'FR', 3, 1),
  (9, 10, 'DE', NULL, 3), (10, 10, 'DE', 2, 3), (NULL, 10, 'DE', 1, 1);
CREATE TEMPORARY TABLE partners (user_id INTEGER, company_id BIGINT, country TEXT, level BIGINT);
INSERT INTO partners VALUES
  (1, 10, 'DE', 1), (1, 11, 'FR', 2), (1, 11, 'FR', 2), (1, NULL, 'DE', 1), (1, 10, NULL, 1), (1, NULL, NULL, 1),
  (1, 11, 'DE', NULL), (2, NULL, 'FR', 1), (2, 10, NULL, 1), (4, 10, 'de', 1), (NULL, 10, 'FR', 1);
";

const EXPECTED: [(u8, &str, &str); 10] = [
    (1, "view", "1 4 8 9 10"),
    (1, "rank", "1 4 8"),
    (1, "edit", "1 9 10"),
    (2, "view", ""),
    (2, "rank", ""),
    (3, "view", "9 10"),
    (3, "rank", "9 10"),
    (3, "edit", ""),
    (4, "view", ""),
    (5, "view", ""),
];

const HASHED: &str = "SELECT unnest(a.c0) AS c0, unnest(a.c1) AS c1";

/// Also under `NOT`: the condition is never NULL.
#[test]
fn only_whole_pairs_pass() {
    let untyped = DOCUMENT.split("sql_types").next().unwrap();
    let padded = DOCUMENT.replace("String: text", "String: char(2)");
    let wide = DOCUMENT.replace("Company: integer", "Company: numeric");
    for document in [DOCUMENT, untyped, &padded, &wide] {
        let service = Service::new(POLICY, "", document);
        for dialect in DIALECTS {
            let caller = Caller::new(dialect).unwrap();
            caller.script(SCHEMA).unwrap();
            for (user, action, ids) in EXPECTED {
                let question = format!("allow(User:{user}, {action:?}, Person:?)");
                let filter = service.sql_for(dialect, &question, Way::List, "persons.id");
                let rows = |condition: &str| {
                    let sql = format!("SELECT id FROM persons WHERE id > 0 AND {condition} ORDER BY id");
                    column(&caller, &sql)
                };
                assert_eq!(rows(&filter), ids, "{question} {dialect}: {filter}");
                let passed: Vec<&str> = ids.split_whitespace().collect();
                let all = (1..=10).map(|id| id.to_string());
                let others: Vec<String> = all.filter(|id| !passed.contains(&id.as_str())).collect();
                assert_eq!(
                    rows(&format!("NOT {filter}")),
                    others.join(" "),
                    "{question} {dialect}: {filter}"
                );
            }
        }
    }
}

#[test]
fn the_pairs_of_a_user_are_hashed_where_each_row_is_tested() {
    let of = |document: &str, action: &str| {
        let question = format!("allow(User:1, {action:?}, Person:?)");
        Service::new(POLICY, "", document).filter(&question, "persons.id")
    };
    let pair = of(DOCUMENT, "view");
    assert!(
        pair.contains("((persons.company_id, persons.country) IN (\n") && pair.contains(HASHED),
        "{pair}"
    );
    assert!(!pair.contains("EXISTS"), "{pair}");
    let triple = of(DOCUMENT, "rank");
    assert!(triple.contains("((persons.company_id, persons.country, persons.level) IN (\n"), "{triple}");
    let untyped = of(DOCUMENT.split("sql_types").next().unwrap(), "view");
    assert!(
        untyped.contains("((CAST(persons.company_id AS TEXT), CAST(persons.country AS TEXT)) IN (\n"),
        "{untyped}"
    );
    // Blanks at the end need a second comparison.
    let padded = of(&DOCUMENT.replace("String: text", "String: char(2)"), "view");
    assert!(!padded.contains(HASHED) && padded.contains("EXISTS"), "{padded}");
}

/// Where it is the only alternative, the database may join the pairs with the table, from either side.
#[test]
fn a_test_that_all_rows_must_pass_may_become_a_join() {
    let policy = POLICY.replace("has_permission(u: User, \"view\", p: Person) if head(u, p);", "");
    let filter =
        Service::new(&policy, "", DOCUMENT).filter("allow(User:1, \"view\", Person:?)", "persons.id");
    assert!(!filter.contains(HASHED) && filter.contains("EXISTS ("), "{filter}");
}

/// What does not start from the user is as large as the table: each row looks its own pair up.
#[test]
fn pairs_of_everybody_are_not_hashed() {
    let policy = POLICY.replace("partner(u, c, k, _)", "partner(_, c, k, _)");
    let filter =
        Service::new(&policy, "", DOCUMENT).filter("allow(User:1, \"view\", Person:?)", "persons.id");
    assert!(!filter.contains(HASHED) && filter.contains("EXISTS ("), "{filter}");
}

/// Rows that only a text joins may be as many as both tables have pairs, as a role of the user's in every
/// company and all that the role opens: each row looks its own pair up.
#[test]
fn pairs_that_a_text_joins_are_not_hashed() {
    let policy = POLICY.replace("partner(u, c, k, _)", "partner(u, c, r, _) and opens(r, k)");
    let policy = policy + "declare opens(String, String);";
    let opens = "  opens(String:_, String:_):\n    query: SELECT country, country FROM partners\ntables:";
    let service = Service::new(&policy, "", &DOCUMENT.replace("tables:", opens));
    let filter = service.filter("allow(User:1, \"view\", Person:?)", "persons.id");
    assert!(!filter.contains(HASHED) && filter.contains("EXISTS ("), "{filter}");
    let expected = [(1, "1 4 8 9 10"), (2, ""), (3, "9 10"), (4, "")]
        .map(|(user, ids)| (format!("allow(User:{user}, \"view\", Person:?)"), ids));
    service.passes(SCHEMA, "persons", &["persons.id", "id"], &expected);
}

/// The user's rows and those of a table with a literal, as all that a role may *view*: both are few.
#[test]
fn pairs_that_a_text_joins_with_rows_of_a_literal_are_hashed() {
    let policy = POLICY.replace("partner(u, c, k, _)", "partner(u, c, r, _) and opens(r, k, \"view\")");
    let policy = policy + "declare opens(String, String, String);";
    let opens = "  opens(String:_, String:_, String:_):\n    query: SELECT role, country, action FROM opened\ntables:";
    let service = Service::new(&policy, "", &DOCUMENT.replace("tables:", opens));
    let filter = service.filter("allow(User:1, \"view\", Person:?)", "persons.id");
    let pair = "((persons.company_id, persons.country) IN (\n";
    assert!(filter.contains(pair) && filter.contains(HASHED), "{filter}");
    let schema = format!(
        "{SCHEMA} CREATE TEMPORARY TABLE opened (role TEXT, country TEXT, action TEXT);
         INSERT INTO opened VALUES
           ('DE', 'DE', 'view'), ('FR', 'FR', 'view'), ('DE', 'FR', 'edit'), ('FR', NULL, 'view'), (NULL, 'FR', 'view');"
    );
    let expected = [(1, "1 4 8 9 10"), (2, ""), (3, "9 10"), (4, "")]
        .map(|(user, ids)| (format!("allow(User:{user}, \"view\", Person:?)"), ids));
    service.passes(&schema, "persons", &["persons.id", "id"], &expected);
}

/// What a role on a file's folder opens is in a table: such pairs of a file and a kind are not listed, as a
/// role may open very many.
const OPENED: &str = r#"
actor User {}
resource Folder { roles = ["clerk", "chief"]; }
resource File {}
resource Record { permissions = ["read"]; relations = { file: File, author: User }; "read" if "author"; }
has_permission(u: User, "read", r: Record) if
  has_relation(r, "file", file) and filed(file, f) and has_role(u, role, f) and kind(r, k) and opens(role, k);
declare filed(File, Folder);
declare kind(Record, String);
declare opens(String, String);
"#;

const OPENED_BINDINGS: &str = "
facts:
  has_relation(Record:_, file, File:_): { query: 'SELECT id, file_id FROM records' }
  has_relation(Record:_, author, User:_): { query: 'SELECT id, author_id FROM records' }
  kind(Record:_, String:_): { query: 'SELECT id, kind FROM records' }
  filed(File:_, Folder:_): { query: 'SELECT id, folder_id FROM files' }
  has_role(User:_, String:_, Folder:_): { query: 'SELECT user_id, role, folder_id FROM folder_roles' }
  opens(String:_, String:_): { query: 'SELECT role, kind FROM role_kinds' }
tables: { Record: records.id, File: files.id }
sql_types: { User: integer, Record: integer, File: integer, Folder: integer, String: text }
";

const OPENED_SCHEMA: &str = "
CREATE TEMPORARY TABLE records (id INTEGER UNIQUE, file_id INTEGER, author_id INTEGER, kind TEXT);
INSERT INTO records VALUES
  (1, 10, NULL, 'note'), (2, 10, 9, 'pay'), (3, 11, 9, 'note'), (4, NULL, 1, 'pay'), (5, 10, 9, NULL), (6, 12, 9, 'note');
CREATE TEMPORARY TABLE files (id INTEGER UNIQUE, folder_id INTEGER);
INSERT INTO files VALUES (10, 20), (11, 21), (12, NULL);
CREATE TEMPORARY TABLE folder_roles (user_id INTEGER, role TEXT, folder_id INTEGER);
INSERT INTO folder_roles VALUES (1, 'clerk', 20), (2, 'chief', 20), (2, 'clerk', 21), (3, NULL, 20), (3, 'clerk', NULL);
CREATE TEMPORARY TABLE role_kinds (role TEXT, kind TEXT);
INSERT INTO role_kinds VALUES ('clerk', 'note'), ('chief', 'note'), ('chief', 'pay'), ('chief', NULL), (NULL, 'note');
";

/// PostgreSQL may hash the test, or run it for each row: a fence would forbid the first.
#[test]
fn what_a_role_opens_is_left_to_the_database() {
    let service = Service::new(OPENED, "", OPENED_BINDINGS);
    let expected = [(1, "1 4"), (2, "1 2 3"), (3, ""), (9, "2 3 5 6")]
        .map(|(user, ids)| (format!("allow(User:{user}, \"read\", Record:?)"), ids));
    service.passes(OPENED_SCHEMA, "records", &["records.id", "id"], &expected);
    let question = "allow(User:1, \"read\", Record:?)";
    let filter = service.sql_for(Dialect::Postgresql, question, Way::List, "records.id");
    assert!(filter.contains("role_kinds") && !filter.contains("OFFSET 0"), "{filter}");
}
