//! `String: text`, without which no statement leads on from a text by an index: `--fix` writes it where the
//! columns are plain texts, the answers stay the same, and `check` says which columns prevent it.

use super::fix::rows;
use super::{check, findings, postgresql, sqlite};
use std::collections::BTreeSet;
use std::fs;

const POLICY: &str = r#"
actor User {}
resource Team { relations = { member: User }; }
resource Device { permissions = ["view", "reset"]; }
declare team_tag(Team, String);
declare device_tag(Device, String);
has_permission(user: User, "view", device: Device) if
  has_relation(team, "member", user) and
  team_tag(team, tag) and
  device_tag(device, tag);
has_permission(user: User, "reset", device: Device) if
  has_permission(user, "view", device) and
  not device_tag(device, "locked");
"#;

/// A user for each tag. Some tags differ in blanks and case only, and each device has one of them.
const TABLES: &str = "
    CREATE EXTENSION citext;
    CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    CREATE DOMAIN label AS varchar(20);
    CREATE TYPE level AS ENUM ('a', 'A', 'locked');
    CREATE TABLE members (team integer NOT NULL, who integer NOT NULL);
    CREATE TABLE team_tags (team integer NOT NULL, tag text NOT NULL);
    CREATE INDEX ON team_tags (tag);
    CREATE TABLE devices (
      id integer PRIMARY KEY, plain text NOT NULL, short varchar(20) NOT NULL, labelled label NOT NULL,
      padded char(8) NOT NULL, caseless citext NOT NULL, level level, named name NOT NULL,
      bytewise text COLLATE \"C\" NOT NULL, caseless_too text COLLATE loose NOT NULL, online boolean NOT NULL);
    INSERT INTO devices
      SELECT n, tag, tag, tag, tag, tag, CASE WHEN tag IN ('a', 'A', 'locked') THEN CAST(tag AS level) END, tag, tag, tag,
             n > 2
      FROM (VALUES (1, 'a'), (2, 'A'), (3, 'a '), (4, ' a'), (5, ''), (6, 'locked'), (7, 'a')) AS t (n, tag);
    INSERT INTO team_tags SELECT row_number() OVER (ORDER BY tag), tag FROM (SELECT DISTINCT plain FROM devices) AS t (tag);
    INSERT INTO members SELECT n, n FROM generate_series(1, 6) AS n;
";

/// The document with this column for the tags of devices.
fn document(column: &str) -> String {
    format!(
        "facts:
  has_relation(Team:_, member, User:_):
    query: SELECT team, who FROM members
  team_tag(Team:_, String:_):
    query: SELECT team, tag FROM team_tags
  device_tag(Device:_, String:_):
    query: SELECT id, {column} FROM devices
sql_types: {{Team: integer, User: integer, Device: integer}}
tables: {{Device: devices.id}}
"
    )
}

#[test]
fn texts_are_declared_where_the_rows_stay_the_same() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.polar"), POLICY).unwrap();
    let database = postgresql("fix_texts", TABLES);
    for column in ["plain", "short", "labelled", "lower(plain) AS tag", "CAST(level AS text) AS tag"] {
        let (before, after) =
            (document(column), document(column).replace("integer}", "integer, String: text}"));
        let (_, out, _) = check(folder.path(), &before, &database, &["--fix", "--write"]);
        assert!(
            out.contains("\nsql_types: String: text\n  every bound column of String is compared as `text`\n"),
            "{out}"
        );
        assert_eq!(fs::read_to_string(folder.path().join("bindings.yaml")).unwrap(), after);
        let mut seen = BTreeSet::new();
        for user in 1..=6 {
            for action in ["view", "reset"] {
                let question = format!("allow(User:{user}, {action:?}, Device:?)");
                let rows = |document: &str| rows(folder.path(), document, &database, &question, "devices.id");
                let expected = rows(&before);
                assert_eq!(rows(&after), expected, "{column}: {question}");
                seen.extend(expected);
            }
        }
        assert!(seen.contains("1") && seen.contains("6"), "{column}: {seen:?}");
    }
}

#[test]
fn columns_that_prevent_it_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let database = postgresql("fix_other_texts", TABLES);
    for (column, reason) in [
        ("padded", "`devices.padded` is `character(8)` (select `CAST(padded AS text)`)"),
        ("caseless", "`devices.caseless` is `citext` (select `CAST(caseless AS text)`)"),
        ("level", "`devices.level` is `level` (select `CAST(level AS text)`)"),
        ("online", "`devices.online` is `boolean` (select `CAST(online AS text)`)"),
        ("named", "`devices.named` has the collation `C` (select `named COLLATE \"default\"`)"),
        ("bytewise", "`devices.bytewise` has the collation `C` (select `bytewise COLLATE \"default\"`)"),
        (
            "caseless_too",
            "`devices.caseless_too` has the collation `loose` (select `caseless_too COLLATE \"default\"`)",
        ),
    ] {
        let (_, out, err) = check(folder.path(), &document(column), &database, &["--fix"]);
        assert!(out.contains("nothing to change in bindings.yaml"), "{column}: {out}{err}");
        let (_, found) = findings(folder.path(), &document(column), &database, &[]);
        let note = format!(
            "note String -: not all of its columns are plain texts: {reason}. So a rule that leads from a text of one \
             row to other rows with it, such as a tag, cannot use the index on `team_tags.tag`, as it could with \
             `String: text` under `sql_types`"
        );
        assert!(found.contains(&note), "{found:#?}");
    }
    // An entry that is wrong for a column is removed, as for ids.
    let wrong = document("level").replace("integer}", "integer, String: text}");
    let (_, out, _) = check(folder.path(), &wrong, &database, &["--fix"]);
    assert!(out.contains("\nsql_types: without String\n"), "{out}");
    // Without an index there is nothing to gain.
    let unindexed = document("level").replace("team, tag FROM team_tags", "team, lower(tag) FROM team_tags");
    let (_, found) = findings(folder.path(), &unindexed, &database, &[]);
    assert!(!found.iter().any(|line| line.contains("plain texts")), "{found:#?}");
}

/// A SQLite column may contain values of any type, which an entry would compare differently.
#[test]
fn on_sqlite_texts_stay_undeclared() {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(folder.path(), "CREATE TABLE tags (id INTEGER PRIMARY KEY, tag TEXT NOT NULL)");
    let bindings = "dialect: sqlite
facts:
  tag(Device:_, String:_):
    query: SELECT id, tag FROM tags
sql_types: {Device: integer}
tables: {Device: tags.id}
";
    let (_, out, _) = check(folder.path(), bindings, &database, &["--fix"]);
    assert!(out.contains("nothing to change in bindings.yaml"), "{out}");
    let (_, found) = findings(folder.path(), bindings, &database, &[]);
    assert_eq!(found, Vec::<String>::new());
}
