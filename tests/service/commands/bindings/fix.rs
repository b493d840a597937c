//! `portcullis bindings check --fix` against real databases: what it changes, what it leaves alone, and that
//! the corrected document gives the same rows.

use super::{check, findings, postgresql, sqlite};
use portcullis_testkit::postgres::WIRE;
use portcullis_testkit::program::portcullis;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Corrects a document; the text of the file afterwards, and what was printed.
pub(super) fn fixed(folder: &Path, bindings: &str, database: &str) -> (String, String) {
    let (code, out, err) = check(folder, bindings, database, &["--fix", "--write"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    (fs::read_to_string(folder.join("bindings.yaml")).unwrap(), out)
}

/// Checks that nothing more is to be corrected.
#[track_caller]
pub(super) fn is_settled(folder: &Path, bindings: &str, database: &str) {
    let (code, out, err) = check(folder, bindings, database, &["--fix", "--write"]);
    assert!(out.ends_with("nothing to change in bindings.yaml\n"), "{code} {out}{err}");
    assert_eq!(fs::read_to_string(folder.join("bindings.yaml")).unwrap(), bindings);
}

/// Corrects a document to which nothing but promises is to be added.
#[track_caller]
fn is_settled_but_promised(folder: &Path, bindings: &str, promises: &str, database: &str) {
    let (text, _) = fixed(folder, bindings, database);
    assert_eq!(text, format!("{bindings}{promises}"));
    is_settled(folder, &text, database);
}

/// The ids that a filter over a table's column lets through on PostgreSQL.
pub(super) fn rows(
    folder: &Path,
    bindings: &str,
    database: &str,
    question: &str,
    column: &str,
) -> BTreeSet<String> {
    fs::write(folder.join("bindings.yaml"), bindings).unwrap();
    let args = ["compile", "policy.polar", question, "--bindings", "bindings.yaml", "--filter", column];
    let output = portcullis(folder).args(args).output().unwrap();
    let filter = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (table, _) = column.rsplit_once('.').unwrap();
    let filter = filter.trim_end().trim_end_matches(';');
    let statement = format!("SELECT {column} FROM {table} WHERE {filter}");
    WIRE.block_on(async {
        let (client, connection) = tokio_postgres::connect(database, NoTls).await.unwrap();
        tokio::spawn(connection);
        let messages = client.simple_query(&statement).await.unwrap();
        let id = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        };
        messages.iter().filter_map(id).collect()
    })
}

const POLICY: &str = r#"
actor User {}
resource Folder {
  roles = ["reader"];
  relations = { parent: Folder };
  role if role on "parent";
}
resource Doc {
  permissions = ["read"];
  relations = { folder: Folder, owner: User };
  "read" if "owner";
  "read" if "reader" on "folder";
}
age(_: User, _: Integer);
"#;

const TABLES: &str = r#"
    CREATE TABLE "Users" ("Id" uuid PRIMARY KEY, age integer NOT NULL);
    CREATE TABLE folders (id bigint PRIMARY KEY, parent_id integer);
    CREATE INDEX ON folders (parent_id);
    CREATE TABLE docs (slug varchar(40) PRIMARY KEY, folder_id bigint NOT NULL, owner uuid NOT NULL);
    CREATE INDEX ON docs (folder_id);
    CREATE TABLE folder_roles (user_id uuid NOT NULL, folder_id bigint NOT NULL, role text NOT NULL,
                               PRIMARY KEY (folder_id, user_id));
    INSERT INTO "Users" SELECT CAST('00000000-0000-0000-0000-00000000000' || n AS uuid), n FROM generate_series(1, 5) n;
    INSERT INTO folders VALUES (1, NULL), (2, 1), (3, 2), (4, NULL);
    INSERT INTO docs SELECT 'd' || n, 1 + n % 4, CAST('00000000-0000-0000-0000-00000000000' || (1 + n % 5) AS uuid)
      FROM generate_series(1, 40) n;
    INSERT INTO folder_roles VALUES ('00000000-0000-0000-0000-000000000001', 2, 'reader'),
                                    ('00000000-0000-0000-0000-000000000002', 4, 'reader');
"#;

/// Comments in every place, and sections between others.
const BINDINGS: &str = r#"# The facts of the application.
facts:
  age(User:_, Integer:_):   # years
    query: SELECT "Id", age FROM "Users"

  has_relation(Folder:_, parent, Folder:_):
    query: SELECT id, parent_id FROM folders   # a tree
  has_role(User:_, String:_, Folder:_):
    query: |
      -- two keys
      SELECT user_id, role, folder_id FROM folder_roles
  has_relation(Doc:_, folder, Folder:_):
    query: 'SELECT slug, folder_id FROM docs'
  has_relation(Doc:_, owner, User:_):
    query: >
      SELECT d.slug, d.owner
      FROM docs d

# PostgreSQL.
dialect: postgresql
# The end.
"#;

const ADDED: &str = r#"
sql_types:
  User: uuid
  Integer: integer
  Folder: bigint
  String: text
  Doc: character varying(40)

tables:
  User: '"Users"."Id"'
  Folder: folders.id
  Doc: docs.slug
"#;

#[test]
fn a_document_without_types_gets_all_of_them_and_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.polar"), POLICY).unwrap();
    let database = postgresql("fix_all", TABLES);
    // Without `--write` nothing is written.
    let (code, out, err) = check(folder.path(), BINDINGS, &database, &["--fix"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("--- bindings.yaml\n+++ bindings.yaml (corrected)\n@@ "), "{out}");
    for part in
        ["\n+  User: uuid\n", "\nsql_types: User: uuid\n  every bound column of User is compared as `uuid`\n"]
    {
        assert!(out.contains(part), "{part}\n{out}");
    }
    assert!(
        out.ends_with("the report above is about the corrected document; --write changes bindings.yaml\n")
    );
    assert_eq!(fs::read_to_string(folder.path().join("bindings.yaml")).unwrap(), BINDINGS);

    let (text, out) = fixed(folder.path(), BINDINGS, &database);
    // A comment at the end stays there.
    let (sections, end) = BINDINGS.split_at(BINDINGS.find("# The end.").unwrap());
    assert_eq!(text, format!("{sections}{ADDED}{end}"));
    assert!(out.ends_with("8 changes written to bindings.yaml\n"), "{out}");
    is_settled(folder.path(), &text, &database);
    let (code, found) = findings(folder.path(), &text, &database, &[]);
    let expected = [
        "note has_relation(Folder:_, parent, Folder:_) parent_id: may be NULL, and rows with NULL are not facts",
        "warning has_role(User:_, String:_, Folder:_) user_id: no index of `folder_roles` starts with `user_id`: a \
         look-up by this column reads the whole table",
        "warning has_relation(Doc:_, owner, User:_) owner: no index of `docs` starts with `owner`: a look-up by this \
         column reads the whole table",
    ];
    assert_eq!((code, found), (0, expected.map(str::to_owned).to_vec()));
    for user in 1..=3 {
        let question = format!("allow(User:00000000-0000-0000-0000-00000000000{user}, \"read\", Doc:?)");
        let before = rows(folder.path(), BINDINGS, &database, &question, "docs.slug");
        assert_eq!(before, rows(folder.path(), &text, &database, &question, "docs.slug"));
        assert_eq!(before.len(), readable_docs(user), "{before:?}");
    }
}

/// The number of documents in the folders that a user may read, and of her own.
fn readable_docs(user: usize) -> usize {
    let folders: &[usize] = match user {
        1 => &[2, 3],
        2 => &[4],
        _ => &[],
    };
    (1..=40).filter(|n| folders.contains(&(1 + n % 4)) || 1 + n % 5 == user).count()
}

#[test]
fn indexes_are_wished_for_as_statements() {
    let folder = tempfile::tempdir().unwrap();
    let database = postgresql("fix_wishes", TABLES);
    let (_, out, _) = check(folder.path(), BINDINGS, &database, &["--json"]);
    let report: Json = serde_json::from_str(&out).unwrap();
    let indexes = report["advice"]["indexes"].as_array().unwrap();
    let ddl: Vec<&str> = indexes.iter().map(|index| index["ddl"].as_str().unwrap()).collect();
    assert_eq!(ddl, ["CREATE INDEX ON folder_roles (user_id);", "CREATE INDEX ON docs (owner);"]);
    let reason = "no index starts with folder_roles.user_id, by which User is looked up in has_role(User:_, String:_, Folder:_)";
    assert_eq!(indexes[0]["reason"], reason);
    // The databases decide, not the server of the tests.
    let settings = |tables: &str| {
        let database = postgresql(if tables.contains("= on") { "fix_jit_on" } else { "fix_jit_off" }, tables);
        let (_, out, _) =
            check(folder.path(), "facts:\n  p(T:_):\n    query: SELECT id FROM t\n", &database, &[]);
        out
    };
    let table = "CREATE TABLE t (id text PRIMARY KEY);";
    let on = settings(&format!("{table} ALTER DATABASE fix_jit_on SET jit = on;"));
    let off = settings(&format!("{table} ALTER DATABASE fix_jit_off SET jit = off; ANALYZE t;"));
    assert!(on.contains("  ANALYZE t;\n"), "{on}");
    assert!(!off.contains("ALTER ROLE") && !off.contains("ANALYZE"), "{off}");
    // A server may be built without it.
    if on.contains("ALTER ROLE") {
        assert!(on.contains("  ALTER ROLE postgres SET jit = off;\n    -- `jit` is on: "), "{on}");
    }
}

#[test]
fn entries_that_the_database_contradicts_are_replaced_or_removed() {
    let folder = tempfile::tempdir().unwrap();
    let database = postgresql("fix_wrong", TABLES);
    let facts = "facts:
  has_role(User:_, String:_, Folder:_):
    query: SELECT user_id, role, folder_id FROM folder_roles
  has_relation(Folder:_, parent, Folder:_):
    query: SELECT id, parent_id FROM folders
";
    let wrong = format!(
        "tables:
  User: folder_roles.user_id   # not alone
  # The tree.
  Folder: folders.parent_id
{facts}sql_types: {{Folder: text, Other: text, User: made_up}}
"
    );
    let (code, out, _) = check(folder.path(), &wrong, &database, &["--fix"]);
    assert_eq!(code, 1, "{out}");
    let right = format!(
        "tables:
  # The tree.
  Folder: folders.id
{facts}sql_types: {{Folder: bigint, Other: text, User: uuid, String: text}}
"
    );
    let (text, _) = fixed(folder.path(), &wrong, &database);
    assert_eq!(text, right);
    is_settled(folder.path(), &text, &database);
    // Removed from a section that has no other entry, and from braces.
    let wrong = format!("{facts}tables:\n  User: folder_roles.user_id\n");
    assert!(fixed(folder.path(), &wrong, &database).0.contains("\ntables:\n  Folder: folders.id\n"));
    let wrong = format!("{facts}tables: {{User: folder_roles.user_id, Gone: gone.id}}\n");
    let (code, out, _) = check(folder.path(), &wrong, &database, &["--fix", "--write"]);
    assert_eq!(code, 1, "nothing binds Gone, so its entry stays\n{out}");
    assert!(
        fs::read_to_string(folder.path().join("bindings.yaml"))
            .unwrap()
            .contains("tables: {Gone: gone.id, Folder: folders.id}")
    );
}

#[test]
fn a_promise_is_made_only_if_it_is_true() {
    let folder = tempfile::tempdir().unwrap();
    let tables = "
        CREATE TABLE partly (id bigint NOT NULL, gone boolean); CREATE UNIQUE INDEX ON partly (id) WHERE NOT gone;
        CREATE INDEX ON partly (id);
        CREATE TABLE later (id bigint NOT NULL UNIQUE DEFERRABLE);
        CREATE TABLE perhaps (id bigint UNIQUE);
        CREATE TABLE pair (id bigint, n bigint, PRIMARY KEY (id, n));
        CREATE TABLE parents (id bigint PRIMARY KEY); CREATE TABLE children () INHERITS (parents);
        CREATE TABLE base (id bigint PRIMARY KEY); CREATE VIEW seen AS SELECT b.id FROM base b, generate_series(1, 2);
        CREATE TABLE parted (id bigint PRIMARY KEY) PARTITION BY HASH (id);
        CREATE TABLE parts PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0);
        CREATE TABLE one (id bigint PRIMARY KEY); CREATE TABLE two (id bigint PRIMARY KEY);
    ";
    let sources = ["partly", "later", "perhaps", "pair", "parents", "seen", "parted", "one"];
    let fact = |table: &str| format!("  p({table}:_):\n    query: SELECT id FROM {table}\n");
    // Two tables have each id once: which of them has the rows is not known.
    let bindings = format!(
        "facts:\n{}  q(both:_):\n    query: SELECT id FROM one\n  r(both:_):\n    query: SELECT id FROM two\n",
        sources.map(fact).concat()
    );
    let database = postgresql("fix_promises", tables);
    let (text, _) = fixed(folder.path(), &bindings, &database);
    let (_, promises) = text.split_once("tables:\n").unwrap();
    assert_eq!(promises, "  parted: parted.id\n  one: one.id\n");
    is_settled(folder.path(), &text, &database);
    let (_, found) = findings(folder.path(), &text, &database, &[]);
    let choice =
        "note both -: each of one.id, two.id contains an id once: write the one whose rows you filter";
    assert!(found.iter().any(|line| line.starts_with(choice)), "{found:?}");
    for table in ["partly", "later", "perhaps", "pair", "parents"] {
        let promised = format!("{bindings}sql_types: {{{table}: bigint}}\ntables: {{{table}: {table}.id}}\n");
        let (code, found) = findings(folder.path(), &promised, &database, &[]);
        assert!(
            code == 1 && found.iter().any(|line| line.starts_with(&format!("error {table} id: "))),
            "{found:?}"
        );
    }
}

#[test]
fn columns_that_differ_are_compared_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let tables = "
        CREATE TABLE users (id text PRIMARY KEY); CREATE TABLE members (user_id varchar(40) PRIMARY KEY);
        CREATE TABLE audit (user_id uuid PRIMARY KEY);
        CREATE TABLE numbered (user_id bigint PRIMARY KEY);
        CREATE TABLE docs (id bigint PRIMARY KEY);
        CREATE TABLE grants (user_id text, object_type text, object_id text, target_id text);
    ";
    let bindings = "facts:
  is_user(User:_): {query: SELECT id FROM users}
  is_member(User:_): {query: SELECT user_id FROM members}
  is_auditor(User:_): {query: \"SELECT user_id AS auditor FROM audit\"}
";
    let database = postgresql("fix_casts", tables);
    let (_, found) = findings(folder.path(), bindings, &database, &[]);
    let differs = "warning User -: its columns have types that do not compare without a cast, which prevents the use of \
                   indexes: `users.id` is `text`, `audit.user_id` is `uuid`; ";
    assert!(found.iter().any(|line| line.starts_with(differs)), "{found:?}");
    let (text, _) = fixed(folder.path(), bindings, &database);
    let cast = bindings.replace("SELECT user_id AS auditor", "SELECT CAST(user_id AS text) AS auditor");
    assert_eq!(text, format!("{cast}sql_types:\n  User: text\n"));
    is_settled(folder.path(), &text, &database);
    // A column of two types of resources has texts; the table of one of them has numbers.
    let grants = "facts:
  is_public(Doc:_): {query: SELECT id FROM docs}
  may_read(User:_, Doc:_): {query: \"SELECT user_id, object_id FROM grants WHERE object_type = 'Doc'\"}
  may_write(User:_, Doc:_): {query: \"SELECT user_id, target_id FROM grants\"}
sql_types:
  User: text
";
    is_settled_but_promised(folder.path(), grants, "tables:\n  Doc: docs.id\n", &database);
    // No type is the usual one: an entry would be wrong for some column.
    let bindings = "facts:
  is_auditor(User:_):
    query: SELECT user_id FROM audit
  is_numbered(User:_):
    query: SELECT user_id FROM numbered
sql_types:
  User: bigint   # of one of them
";
    let (text, _) = fixed(folder.path(), bindings, &database);
    assert!(text.ends_with("numbered\nsql_types:\n"), "{text}");
    is_settled(folder.path(), &text, &database);
}

#[test]
fn on_sqlite_only_what_its_tables_guarantee_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(
        folder.path(),
        "
        CREATE TABLE \"Repos\" (\"Id\" INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER NOT NULL);
        CREATE TABLE odd (id INTEGER PRIMARY KEY DESC);
        CREATE TABLE loose (id TEXT PRIMARY KEY, untyped UNIQUE NOT NULL);
        CREATE TABLE keyed (id TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE pair (a TEXT, b TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;
        CREATE VIEW twice AS SELECT r.\"Id\" AS id FROM \"Repos\" r JOIN pair;
    ",
    );
    let bindings = "dialect: sqlite
facts:
  repo(Repo:_, Name:_, Integer:_):
    query: SELECT r.\"Id\", r.name, r.n FROM \"Repos\" r
  odd(Odd:_):
    query: SELECT id FROM odd
  loose(Loose:_, Untyped:_):
    query: SELECT id, untyped FROM loose
  keyed(Keyed:_):
    query: SELECT id FROM keyed
  pair(A:_, B:_):
    query: SELECT a, b FROM pair
  twice(Twice:_):
    query: SELECT id FROM twice
";
    let (text, out) = fixed(folder.path(), bindings, &database);
    let added = "sql_types:
  Repo: integer
  Name: text
  Odd: integer
  Loose: text
  Keyed: text
  A: text
  B: text
  Twice: integer
tables:
  Repo: '`Repos`.`Id`'
  Keyed: keyed.id
";
    assert_eq!(text, format!("{bindings}{added}"));
    assert!(out.contains("\n  CREATE INDEX \"pair_b\" ON \"pair\" (\"b\");\n"), "{out}");
    is_settled(folder.path(), &text, &database);
    // A promise about a view cannot be checked.
    let promised = format!("{bindings}sql_types: {{Twice: integer}}\ntables: {{Twice: twice.id}}\n");
    let (code, found) = findings(folder.path(), &promised, &database, &[]);
    let warning = "warning Twice id: `twice` is not a table with rows: name the table behind it";
    assert!(code == 0 && found.contains(&warning.to_owned()), "{found:?}");
}
