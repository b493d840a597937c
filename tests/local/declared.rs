//! What `sql_types` says of a column never changes an answer: each declaration with each type of column.
//!
//! A column holds some ids and the store knows others: short and wide numbers, UUIDs, words, and texts that
//! some type takes for another. One user may read what is stored, another is banned from it, a third may read
//! below it. The answer is that of the texts. Where a declaration contradicts the column, PostgreSQL may
//! refuse the statement instead; SQLite, which finds no statement wrong, must still be right.

use super::service::{Service, decision};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::caller::{Caller, printed};
use portcullis_testkit::local::ways::Way;
use std::collections::BTreeSet;
use std::fmt::Debug;

const POLICY: &str = r#"
actor User {}
resource Doc {
  roles = ["reader", "banned"];
  permissions = ["read", "post", "reach"];
  relations = { parent: Doc };
  "read" if "reader" and in_use(resource);
  "reach" if "reader" and in_use(resource);
  "reach" if "reach" on "parent";
}
has_permission(user: User, "post", doc: Doc) if in_use(doc) and not has_role(user, "banned", doc);
"#;

const FACTS: &str = "
facts:
  in_use(Doc:_):
    query: SELECT id FROM docs
  has_relation(Doc:_, parent, Doc:_):
    query: SELECT id, parent_id FROM docs
";

pub(crate) const UUID: &str = "018f3c2e-7b1a-7c3d-9e4f-0123456789ab";
pub(crate) const CAPITALS: &str = "018F3C2E-7B1A-7C3D-9E4F-0123456789AB";

/// What is stored, a user each.
const STORED: &[&str] = &[
    "5",
    "-5",
    "05",
    "5.0",
    "5.50",
    " 5",
    "5 ",
    "32768",
    "3000000000",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "123456789012345678901234567890",
    "hr",
    "HR",
    "hr ",
    "1e3",
    "true",
    UUID,
    CAPITALS,
];

/// Types that are declared; the empty one is not.
pub(crate) const DECLARED: &[&str] = &[
    "",
    "smallint",
    "integer",
    "serial",
    "bigint",
    "numeric",
    "numeric(30)",
    "numeric(10,2)",
    "decimal(38,0)",
    "uuid",
    "text",
    "varchar(2)",
    "char(4)",
    "character(32)",
    "char(32)",
    "citext",
    "mood",
    "boolean",
    "real",
    "date",
    "small_number",
];

/// A column's type, what it holds, and what may be declared without being wrong about it.
pub(crate) type Held = (&'static str, &'static [&'static str], &'static [&'static str]);

const WHOLE: &[&str] =
    &["smallint", "integer", "serial", "bigint", "numeric", "numeric(30)", "decimal(38,0)"];
const WORDS: &[&str] =
    &["text", "varchar(2)", "citext", "numeric(10,2)", "mood", "boolean", "real", "date", "small_number"];

pub(crate) const POSTGRESQL: &[Held] = &[
    ("SMALLINT", &["5", "-5", "32767"], WHOLE),
    ("INTEGER", &["5", "-5", "32768"], WHOLE),
    ("BIGINT", &["5", "3000000000", "9223372036854775807", "-9223372036854775808"], WHOLE),
    ("NUMERIC", &["5", "9223372036854775808", "123456789012345678901234567890"], &["numeric", "numeric(30)"]),
    ("small_number", &["5", "7"], WHOLE),
    ("UUID", &[UUID], &["uuid"]),
    ("TEXT", &["5", "05", "5 ", "hr", "HR", UUID, CAPITALS, "1e3"], WORDS),
    ("VARCHAR(40)", &["5", "5.0", "hr", "hr ", CAPITALS], WORDS),
    ("CHAR(40)", &["5", "hr", UUID], &["char(4)", "character(32)"]),
    ("CITEXT", &["5", "hr", "HR"], &["citext"]),
    ("mood", &["hr", "5"], &["mood"]),
];

const AFFINE: &[&str] =
    &["", "smallint", "integer", "serial", "bigint", "numeric", "numeric(30)", "decimal(38,0)"];
const WRITTEN: &[&str] =
    &["", "uuid", "text", "varchar(2)", "char(4)", "character(32)", "char(32)", "citext"];

pub(crate) const SQLITE: &[Held] = &[
    ("INTEGER", &["5", "-5", "3000000000", "9223372036854775807", "-9223372036854775808", "hr"], AFFINE),
    ("NUMERIC", &["5", "3000000000", "hr", "1.5"], AFFINE),
    ("INTEGER COLLATE NOCASE", &["5", "hr"], AFFINE),
    ("TEXT", &["5", "05", "5 ", "hr", "HR", UUID, CAPITALS, "1e3"], WRITTEN),
    ("TEXT COLLATE NOCASE", &["5", "hr", UUID], WRITTEN),
    ("TEXT COLLATE RTRIM", &["5", "hr"], WRITTEN),
];

/// For a declaration and a column, one in `STEP` users is asked about, another for each; and all at once.
const STEP: usize = 6;

/// A question whose answer is not that of the texts.
pub(crate) struct Fault {
    /// Whether the database refuses the statement.
    pub(crate) is_refusal: bool,
    /// The question, the statement and what is wrong.
    pub(crate) what: String,
}

#[test]
fn a_declaration_never_changes_an_answer() {
    for (dialect, columns) in [(Dialect::Postgresql, POSTGRESQL), (Dialect::Sqlite, SQLITE)] {
        for (at, (ty, held, right)) in columns.iter().enumerate() {
            let caller = Caller::new(dialect).unwrap();
            prepare(&caller, "pg_temp", ty, held);
            let finds_no_fault = dialect == Dialect::Sqlite;
            for (number, declared) in DECLARED.iter().enumerate() {
                if finds_no_fault && !right.contains(declared) {
                    continue;
                }
                for fault in faults(&caller, held, declared, at + number) {
                    let may_fail = !finds_no_fault && !right.contains(declared);
                    assert!(may_fail && fault.is_refusal, "{declared} over {ty}, {}", fault.what);
                }
            }
        }
    }
}

/// Makes the table with the column, in this schema of PostgreSQL; each id is the parent of the next.
pub(crate) fn prepare(caller: &Caller, schema: &str, ty: &str, held: &[&str]) {
    if caller.dialect() == Dialect::Postgresql {
        caller
            .script(&format!(
                "CREATE TYPE {schema}.mood AS ENUM ('hr', '5');
                 CREATE DOMAIN {schema}.small_number AS integer CHECK (VALUE < 1000);
                 SET search_path = {schema}, public;"
            ))
            .unwrap();
    }
    caller.script(&format!("CREATE TABLE docs (id {ty}, parent_id {ty})")).unwrap();
    for (at, id) in held.iter().enumerate() {
        let parent = at.checked_sub(1).map_or("NULL".to_owned(), |above| format!("'{}'", held[above]));
        caller.script(&format!("INSERT INTO docs VALUES ('{id}', {parent})")).unwrap();
    }
    let shown = printed(caller, "SELECT CAST(id AS TEXT) FROM docs").unwrap();
    assert_eq!(texts(&shown), owned(held.iter()), "{ty}");
}

/// What is wrong with the answers about a column under a declaration, for the users of this turn.
pub(crate) fn faults(caller: &Caller, held: &[&str], declared: &str, turn: usize) -> Vec<Fault> {
    let dialect = caller.dialect();
    let users = STORED.iter().enumerate().map(|(user, id)| (format!("u{user}"), vec![*id]));
    let users: Vec<_> = users.chain([("all".to_owned(), STORED.to_vec())]).collect();
    let stored = users.iter().flat_map(|(user, ids)| {
        ids.iter().map(move |id| {
            let roles = ["reader", "banned"];
            roles.map(|role| format!("has_role(User:{user}, {role:?}, Doc:{id:?})\n")).concat()
        })
    });
    let stored: String = stored.collect();
    let service = Service::new(POLICY, &stored, &document(declared));
    let is_asked = |at: usize| at == STORED.len() || (at + turn).is_multiple_of(STEP);
    let mut faults = Vec::new();
    for (user, ids) in users.iter().enumerate().filter(|(at, _)| is_asked(*at)).map(|(_, user)| user) {
        let reach = held.iter().position(|id| ids.contains(id)).unwrap_or(held.len());
        for (permission, answer) in [
            ("read", owned(held.iter().filter(|id| ids.contains(id)))),
            ("post", owned(held.iter().filter(|id| !ids.contains(id)))),
            ("reach", owned(held[reach..].iter())),
        ] {
            let question = format!("allow(User:{user}, {permission:?}, Doc:?)");
            let filter = service.sql_for(dialect, &question, Way::List, "id");
            let sql = format!("SELECT CAST(id AS TEXT) FROM docs WHERE {filter}");
            let found = printed(caller, &sql);
            faults.extend(fault(&question, &sql, found.map(|rows| texts(&rows)), &answer));
            for id in held {
                let question = format!("allow(User:{user}, {permission:?}, Doc:{id:?})");
                let sql = service.sql_for(dialect, &question, Way::Authorize, "");
                let found = decision(caller, &sql);
                faults.extend(fault(&question, &sql, found, &answer.contains(*id)));
            }
        }
    }
    faults
}

fn fault<A: PartialEq + Debug>(
    question: &str,
    sql: &str,
    found: Result<A, String>,
    answer: &A,
) -> Option<Fault> {
    match found {
        Ok(found) if found == *answer => None,
        Ok(found) => {
            let what = format!("{question}: {found:?}, not {answer:?}\n{sql}");
            Some(Fault { is_refusal: false, what })
        }
        Err(error) => Some(Fault { is_refusal: true, what: format!("{question}: {error}") }),
    }
}

/// The bindings of the table with this type declared.
pub(crate) fn document(declared: &str) -> String {
    let types = if declared.is_empty() { String::new() } else { format!("sql_types:\n  Doc: {declared}\n") };
    format!("{FACTS}{types}")
}

fn texts(rows: &[Vec<Option<String>>]) -> BTreeSet<String> {
    rows.concat().into_iter().flatten().collect()
}

fn owned<'i>(ids: impl Iterator<Item = &'i &'i str>) -> BTreeSet<String> {
    ids.map(|id| (*id).to_owned()).collect()
}
