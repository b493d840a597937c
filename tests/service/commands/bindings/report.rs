//! What `bindings check` reports of a document: queries that the database refuses, columns without an index
//! or that may be NULL, promises that a table does not keep, and facts that no rule reads. A document that
//! fits has no findings.

use super::{TABLES, TYPES, check, findings, postgresql, sqlite};
use portcullis_testkit::program::portcullis;
use serde_json::Value as Json;
use std::fs;

#[test]
fn bindings_that_fit_have_no_findings() {
    let folder = tempfile::tempdir().unwrap();
    let bindings = format!(
        "facts:
  has_role(User:_, String:_, Repo:_):
    query: SELECT user_id, role, repo_id FROM members
  has_relation(Repo:_, parent, Repo:_):
    query: SELECT id, parent_id FROM repos WHERE parent_id IS NOT NULL
  age(User:_, Integer:_):
    query: SELECT id, age FROM users
{TYPES}tables:
  Repo: repos.id
"
    );
    let database = postgresql("fitting", TABLES);
    let (code, out, err) = check(folder.path(), &bindings, &database, &[]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("line  bound"), "{out}");
    assert!(lines[1].starts_with('2') && lines[1].ends_with("user_id    uuid     no    yes"), "{out}");
    assert!(out.contains("bindings.yaml on postgresql: 0 errors, 0 warnings, 0 notes"), "{out}");
}

#[test]
fn what_the_database_refuses_is_an_error_in_its_words() {
    let folder = tempfile::tempdir().unwrap();
    let bindings = format!(
        "facts:
  has_role(User:_, String:_, Repo:_):
    query: SELECT user_id, rol, repo_id FROM members
  is_public(Repo:_):
    query: SELECT id FROM reposs
  age(User:_, Integer:_):
    query: SELECT * FROM users
{TYPES}"
    );
    let database = postgresql("refused", TABLES);
    let (code, out, _) = check(folder.path(), &bindings, &database, &[]);
    assert_eq!(code, 1);
    assert!(out.contains("error: line 4, is_public(Repo:_):\n  relation \"reposs\" does not exist"), "{out}");
    let (code, found) = findings(folder.path(), &bindings, &database, &[]);
    assert_eq!(code, 1);
    assert!(found[0].contains("column \"rol\" does not exist (Perhaps"), "{found:?}");
    assert!(found[2].contains("the query has 3 columns and the key 2 `_`"), "{found:?}");
}

/// The codes are those of `docs/local-checks/findings.md`.
#[test]
fn each_finding_has_a_code() {
    let folder = tempfile::tempdir().unwrap();
    let bindings = "facts:
  is_public(Repo:_):
    query: SELECT id FROM reposs
  age(User:_, Integer:_):
    query: SELECT * FROM users
  has_relation(Repo:_, parent, Repo:_):
    query: SELECT id, parent_id FROM repos
  named(Slug:_, User:_):
    query: SELECT upper(slug), owner FROM repos
sql_types: {User: text, Repo: bigint, Thing: nothing}
tables:
  User: members.user_id
  Repo: seen.id
";
    let database = postgresql("coded", TABLES);
    let (_, out, _) = check(folder.path(), bindings, &database, &["--json"]);
    let report: Json = serde_json::from_str(&out).unwrap();
    let mut found = Vec::new();
    for entry in report["entries"].as_array().unwrap() {
        let codes =
            entry["findings"].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap());
        found.push((entry["key"].as_str().unwrap(), codes.collect::<Vec<_>>()));
    }
    let expected = [
        ("Thing", vec!["unknown_sql_type"]),
        ("is_public(Repo:_)", vec!["query_refused"]),
        ("age(User:_, Integer:_)", vec!["column_count"]),
        ("has_relation(Repo:_, parent, Repo:_)", vec!["nullable"]),
        ("named(Slug:_, User:_)", vec!["computed_column", "other_sql_type", "no_index"]),
        ("Repo", vec!["promise_not_table"]),
        // The type of the column is reported once, at the bound query.
        ("User", vec!["promise_not_unique"]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn missing_indexes_and_nullable_columns_are_no_errors() {
    let folder = tempfile::tempdir().unwrap();
    let bindings = format!(
        "facts:
  has_relation(Repo:_, parent, Repo:_):
    query: SELECT id, parent_id FROM repos
  owner(User:_, Repo:_):
    query: SELECT owner, id FROM repos
  seen(User:_, Repo:_):
    query: SELECT owner, id FROM seen
  slug(String:_, Repo:_):
    query: SELECT slug, id + 1 FROM repos
{TYPES}"
    );
    let (code, found) = findings(folder.path(), &bindings, &postgresql("indexed", TABLES), &[]);
    assert_eq!(code, 0);
    let expected = [
        "note has_relation(Repo:_, parent, Repo:_) parent_id: may be NULL, and rows with NULL are not facts",
        "warning owner(User:_, Repo:_) owner: no index of `repos` starts with `owner`: a look-up by this \
         column reads the whole table",
        "warning slug(String:_, Repo:_) ?column?: is computed, so no index of a column is used, only one on this \
         very expression: select a table's own column, and write its type under `sql_types`",
    ];
    assert_eq!(found, expected);
}

/// Many bindings may read one column: the text names it once, the JSON with each of them.
#[test]
fn the_text_has_one_note_for_the_nullable_columns_of_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let tables = "
        CREATE TABLE a (id integer PRIMARY KEY NOT NULL, x integer, y integer);
        CREATE TABLE b (id integer PRIMARY KEY NOT NULL, x integer);
        CREATE INDEX a_x ON a (x);
        CREATE INDEX a_y ON a (y);
        CREATE INDEX b_x ON b (x);
    ";
    let database = sqlite(folder.path(), tables);
    let bindings = "dialect: sqlite
facts:
  r(Repo:_, Repo:_):
    query: SELECT y AS other, x FROM a
  s(Repo:_, Repo:_):
    query: SELECT id, x FROM a
  t(Repo:_, Repo:_):
    query: SELECT id, x FROM b
sql_types: {Repo: integer}
tables: {Repo: a.id}
";
    let (code, out, _) = check(folder.path(), bindings, &database, &[]);
    let notes = "
note: table `a`, columns `x`, `y`:
  may be NULL, and rows with NULL are not facts
note: table `b`, column `x`:
  may be NULL, and rows with NULL are not facts";
    assert!(code == 0 && out.contains(notes) && out.matches("may be NULL").count() == 2, "{out}");
    assert!(out.ends_with("0 warnings, 2 notes\n"), "{out}");
    let (_, found) = findings(folder.path(), bindings, &database, &[]);
    assert_eq!(found.iter().filter(|line| line.contains("may be NULL")).count(), 4, "{found:?}");
}

#[test]
fn a_table_of_rows_must_keep_its_promise() {
    let folder = tempfile::tempdir().unwrap();
    let bindings = |column: &str| format!("{TYPES}tables: {{Repo: {column}}}\n");
    let database = postgresql("promised", TABLES);
    let check = |column: &str| findings(folder.path(), &bindings(column), &database, &[]);
    assert_eq!(check("public.repos.id"), (0, vec![]));
    let (code, found) = check("repos.parent_id");
    assert_eq!(code, 1);
    assert!(found[0].contains("several rows of `repos` may share a value"), "{found:?}");
    assert!(found[1].contains("may be NULL: declare it NOT NULL"), "{found:?}");
    let (code, found) = check("members.repo_id");
    assert!(code == 1 && found.len() == 1 && found[0].contains("give it a unique index"), "{found:?}");
    let (code, found) = check("seen.id");
    assert!(
        code == 0 && found[0].starts_with("warning Repo id: `seen` is not a table with rows"),
        "{found:?}"
    );
    assert_eq!(check("missing.id").0, 1);
}

#[test]
fn facts_that_the_policy_does_not_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let policy = "actor User {} resource Repo { roles = [\"admin\"]; permissions = [\"read\"]; \"read\" if \"admin\"; }";
    fs::write(folder.path().join("policy.polar"), policy).unwrap();
    let bindings = format!(
        "facts:
  has_role(User:_, String:_, Repo:_):
    query: SELECT user_id, role, repo_id FROM members
  has_role(User:_, admin, Repo:_):
    query: SELECT user_id, repo_id FROM members
  has_role(User:_, owner, Repo:_):
    query: SELECT user_id, repo_id FROM members
  has_roll(User:_, String:_, Repo:_):
    query: SELECT user_id, role, repo_id FROM members
{TYPES}"
    );
    let database = postgresql("read_by", TABLES);
    let (code, found) = findings(folder.path(), &bindings, &database, &["--policy", "policy.polar"]);
    assert_eq!(code, 0);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[2].starts_with("note Repo -: has no entry"), "{found:?}");
    assert!(found[0].starts_with("warning has_role(User:_, owner, Repo:_) -: no rule"), "{found:?}");
    assert!(found[1].starts_with("warning has_roll(User:_, String:_, Repo:_) -: no rule"), "{found:?}");
}

/// It would be left out, and the denial with it.
#[test]
fn a_key_that_a_denial_needs_in_another_case_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let policy = "actor User {} resource Repo { permissions = [\"read\"]; }\n\
                  has_permission(u: User, \"read\", r: Repo) if owner(u, r) and not locked(r);";
    fs::write(folder.path().join("policy.polar"), policy).unwrap();
    let database = sqlite(folder.path(), "CREATE TABLE repos (id TEXT PRIMARY KEY, owner TEXT NOT NULL);");
    let check = |keys: &[&str]| {
        let lines = keys.iter().map(|key| format!("  {key}(Repo:_): {{query: SELECT id FROM repos}}"));
        let bindings = format!("dialect: sqlite\nfacts:\n{}\n", lines.collect::<Vec<_>>().join("\n"));
        let (code, found) = findings(folder.path(), &bindings, &database, &["--policy", "policy.polar"]);
        (code, found.into_iter().filter(|line| line.contains("no rule of the policy")).collect::<Vec<_>>())
    };
    for (name, severity, exit) in [("lockd", "warning", 0), ("Locked", "error", 1)] {
        let (code, found) = check(&[name]);
        assert!(code == exit && found.len() == 1, "{found:?}");
        assert!(found[0].starts_with(&format!("{severity} {name}(Repo:_) -: ")), "{found:?}");
        let help =
            ", but a denial reads `locked`, which no key binds: write `locked`, unless its facts are stored";
        assert!(found[0].ends_with(help), "{found:?}");
        // It may belong to another policy.
        let (code, found) = check(&[name, "locked"]);
        assert!(code == 0 && found.len() == 1 && found[0].starts_with("warning "), "{found:?}");
    }
    // Without its facts, less is permitted.
    assert_eq!(check(&["Owner"]).0, 0);
}

#[test]
fn a_file_of_sqlite_is_checked_too() {
    let folder = tempfile::tempdir().unwrap();
    let tables = "
        CREATE TABLE repos (id INTEGER PRIMARY KEY, parent_id INTEGER, owner TEXT NOT NULL);
        CREATE INDEX by_owner ON repos (owner) WHERE parent_id IS NULL;
        CREATE TABLE members (user_id TEXT NOT NULL, role TEXT NOT NULL, repo_id INTEGER NOT NULL,
                              PRIMARY KEY (user_id, repo_id)) WITHOUT ROWID;
        CREATE INDEX by_repo ON members (repo_id);
        CREATE VIEW seen AS SELECT id, owner FROM repos;
    ";
    let database = sqlite(folder.path(), tables);
    let bindings = "dialect: sqlite
facts:
  has_role(User:_, String:_, Repo:_):
    query: SELECT m.user_id, m.role, m.repo_id FROM members m JOIN repos r ON r.id = m.repo_id
  has_relation(Repo:_, parent, Repo:_):
    query: SELECT id, parent_id FROM repos
  owner(User:_, Repo:_):
    query: SELECT owner, id FROM seen
sql_types: {Repo: integer}
tables: {Repo: repos.id}
";
    let (code, found) = findings(folder.path(), bindings, &database, &[]);
    let expected = [
        "note has_relation(Repo:_, parent, Repo:_) parent_id: may be NULL, and rows with NULL are not facts",
        "warning has_relation(Repo:_, parent, Repo:_) parent_id: no index of `repos` starts with `parent_id`: \
         a look-up by this column reads the whole table",
        "warning owner(User:_, Repo:_) owner: no index of `repos` starts with `owner`: a look-up by this \
         column reads the whole table",
    ];
    assert_eq!((code, found), (0, expected.map(str::to_owned).to_vec()));
    let wrong = bindings
        .replace("{Repo: integer}", "{Repo: text}")
        .replace("repos.id", "members.user_id")
        .replace("FROM seen", "FROM sen");
    let (code, found) = findings(folder.path(), &wrong, &database, &[]);
    assert_eq!(code, 1);
    let has = |part: &str| found.iter().any(|line| line.contains(part));
    assert!(has("repo_id: is `integer`, but `sql_types` says otherwise"), "{found:?}");
    assert!(has("error owner(User:_, Repo:_) -: no such table: sen"), "{found:?}");
    assert!(has("error Repo user_id: several rows of `members` may share a value"), "{found:?}");
}

#[test]
fn a_sync_configuration_is_called_one() {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(folder.path(), "CREATE TABLE t (id TEXT PRIMARY KEY)");
    let sync =
        "dialect: sqlite\ndbs:\n  main: {}\nfacts:\n  p(T:_):\n    db: main\n    query: SELECT id FROM t\n";
    let (code, out, err) = check(folder.path(), sync, &database, &[]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.starts_with("note: `bindings.yaml`: this is a sync configuration"), "{err}");
    assert!(err.contains("`dbs` (line 2), `db` of a fact (line 6)"), "{err}");
    let mongo = "source: mongodb\nfacts:\n  p(T:_):\n    collection: t\n";
    let (code, _, err) = check(folder.path(), mongo, &database, &[]);
    assert!(code == 1 && err.contains("line 1: this is a sync configuration, `source: mongodb`"), "{err}");
    fs::write(folder.path().join("policy.polar"), "q(x: T) if p(x);").unwrap();
    fs::write(folder.path().join("bindings.yaml"), sync).unwrap();
    let mut compile = portcullis(folder.path());
    let output =
        compile.args(["compile", "policy.polar", "q(T:?)", "--bindings", "bindings.yaml"]).output().unwrap();
    assert!(output.status.success() && !output.stdout.is_empty());
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .starts_with("note: `bindings.yaml`: this is a sync configuration")
    );
}

/// An index that starts with columns whose values a query demands, a primary key that includes the partition
/// key, and numbers of few digits in two types.
#[test]
fn what_serves_all_the_same_is_no_finding() {
    let tables = "
        CREATE TABLE grants (kind text, user_id bigint NOT NULL, of_kind text, repo_id bigint NOT NULL);
        CREATE INDEX ON grants (kind, user_id, of_kind);
        CREATE INDEX ON grants (of_kind, repo_id);
        CREATE TABLE entries (id bigint NOT NULL, day date NOT NULL, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
        CREATE TABLE friends (id integer NOT NULL, friend numeric(12,0) NOT NULL);
        CREATE INDEX ON friends (id); CREATE INDEX ON friends (friend);
        CREATE TABLE people (id bigint PRIMARY KEY, level numeric(4,0) NOT NULL, rank smallint NOT NULL);";
    let bindings = "facts:
  granted(User:_, Repo:_):
    query: SELECT user_id, repo_id FROM grants WHERE kind = 'User' AND of_kind IN ('Repo', 'Fork')
  refused(User:_, Repo:_):
    query: SELECT user_id, repo_id FROM grants WHERE kind <> 'Team' AND of_kind = 'Repo'
  level(User:_, Integer:_):
    query: SELECT id, level FROM people
  rank(User:_, Integer:_):
    query: SELECT id, rank FROM people
  friend(User:_, User:_):
    query: SELECT id, friend FROM friends
sql_types: {User: bigint, Repo: bigint, Entry: bigint, Integer: smallint}
tables: {Entry: entries.id}
";
    let (code, found) =
        findings(tempfile::tempdir().unwrap().path(), bindings, &postgresql("served", tables), &[]);
    assert_eq!(code, 0, "{found:?}");
    let expected = [
        "warning refused(User:_, Repo:_) user_id: no index of `grants` starts with `user_id`: a look-up by this \
         column reads the whole table",
        "warning Entry id: `entries` is partitioned, and PostgreSQL keeps this column unique only together \
         with the partition key, so rows that differ in that key may share a value: keep the promise only if no id is \
         ever used twice, for example because all come from one sequence",
    ];
    assert_eq!(found, expected);
}

/// Types whose cast to text is not the text that an application takes for the id, or depends on the session.
#[test]
fn a_type_with_another_text_is_found() {
    let tables = "
        CREATE DOMAIN address AS inet;
        CREATE TABLE hosts (ip inet PRIMARY KEY, behind address NOT NULL, seen date NOT NULL, load float8 NOT NULL);";
    let bindings = "facts:
  behind(Host:_, Host:_):
    query: SELECT ip, behind FROM hosts
  named(Name:_):
    query: SELECT host(ip) FROM hosts
  seen(Host:_, String:_):
    query: SELECT ip, seen FROM hosts
  load(Host:_, Load:_):
    query: SELECT ip, load FROM hosts
";
    let folder = tempfile::tempdir().unwrap();
    let database = postgresql("other_text", tables);
    let codes = |bindings: &str| {
        let (code, out, _) = check(folder.path(), bindings, &database, &["--json"]);
        let report: Json = serde_json::from_str(&out).unwrap();
        let entries = report["entries"].as_array().unwrap();
        let all = entries.iter().flat_map(|entry| entry["findings"].as_array().unwrap());
        let of_text = all.filter(|finding| finding["code"].as_str().unwrap().ends_with("_text"));
        let shown = of_text.map(|found| format!("{} {}", found["column"], found["code"]).replace('"', ""));
        (code, shown.collect::<Vec<_>>())
    };
    let expected = [
        "ip other_text",
        "behind other_text",
        "ip other_text",
        "seen session_text",
        "ip other_text",
        "load session_text",
    ];
    assert_eq!(codes(bindings), (1, expected.map(str::to_owned).to_vec()));
    let (code, _, err) =
        check(folder.path(), &format!("{bindings}sql_types: {{Host: inet}}\n"), &database, &[]);
    assert!(code != 0 && err.contains("select `host(column)`, and write `text`"), "{err}");
}
