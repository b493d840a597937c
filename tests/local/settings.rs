//! Limits that a table of words and numbers has for a word: the largest, or the smallest, decides for all
//! rows.

use super::service::Service;

/// A permission for each comparison.
const POLICY: &str = r#"
actor User {}
resource Case { permissions = ["up_to", "below", "from", "above", "ghost"]; }
has_permission(u: User, "up_to", c: Case) if member(u) and limit("head", x) and level(c, y) and x >= y;
has_permission(u: User, "below", c: Case) if member(u) and limit("head", x) and level(c, y) and y < x;
has_permission(u: User, "from", c: Case) if member(u) and limit("head", x) and level(c, y) and x <= y;
has_permission(u: User, "above", c: Case) if member(u) and limit("head", x) and level(c, y) and y > x;
has_permission(u: User, "ghost", c: Case) if member(u) and limit("ghost", x) and level(c, y) and x >= y;
declare member(User);
declare limit(String, Integer);
declare level(Case, Integer);
"#;

const DOCUMENT: &str = "
facts:
  member(User:_):
    query: SELECT id FROM members
  limit(String:_, Integer:_):
    query: SELECT role, most FROM limits
  level(Case:_, Integer:_):
    query: SELECT id, level FROM cases
tables: { Case: cases.id }
sql_types: { User: integer, Case: integer, Integer: bigint, String: text }
";

/// The limits of `head` are 3 and 5.
const SCHEMA: &str = "
CREATE TEMPORARY TABLE members (id INTEGER);
INSERT INTO members VALUES (1);
CREATE TEMPORARY TABLE limits (role TEXT, most BIGINT);
INSERT INTO limits VALUES
  ('head', 5), ('head', 3), ('head', 3), ('head', NULL), ('clerk', 9), ('clerk', -9), (NULL, 9), ('ghost', NULL);
CREATE TEMPORARY TABLE cases (id INTEGER UNIQUE, level BIGINT);
INSERT INTO cases VALUES
  (1, -9), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 9223372036854775807), (8, NULL), (NULL, 4);
";

#[test]
fn the_furthest_limit_decides() {
    let expected = [
        ("up_to", "1 2 3 4 5"),
        ("below", "1 2 3 4"),
        ("from", "3 4 5 6 7"),
        ("above", "4 5 6 7"),
        ("ghost", ""),
    ];
    let of = |user: u8| {
        expected.map(|(action, ids)| {
            (format!("allow(User:{user}, {action:?}, Case:?)"), if user == 1 { ids } else { "" })
        })
    };
    let untyped = DOCUMENT.split("sql_types").next().unwrap();
    for document in [DOCUMENT, untyped] {
        let service = Service::new(POLICY, "", document);
        service.passes(SCHEMA, "cases", &["cases.id"], &[of(1), of(2)].concat());
    }
}

/// The limits of a word are read once, not for each row. Those of things are not a few: each row is compared
/// with them until one decides.
#[test]
fn the_limits_of_a_word_are_read_once() {
    let filter = |policy: &str, document: &str| {
        Service::new(policy, "", document).filter("allow(User:1, \"up_to\", Case:?)", "cases.id")
    };
    let of_word = filter(POLICY, DOCUMENT);
    assert!(of_word.contains("cases.level <= (\n") && of_word.contains("SELECT max(q.c0)"), "{of_word}");
    let things = [("limit(\"head\", x)", "limit(_, \"head\", x)"), ("limit(String", "limit(User, String")];
    let policy = things
        .iter()
        .fold(POLICY.replace("\"ghost\", x)", "\"head\", x)"), |text, (of, by)| text.replace(of, by));
    let document = DOCUMENT
        .replace("limit(String:_", "limit(User:_, String:_")
        .replace("SELECT role", "SELECT id, role");
    let of_things = filter(&policy, &document);
    assert!(!of_things.contains("max(") && of_things.contains("EXISTS ("), "{of_things}");
}
