//! `portcullis bindings check` against real databases: what it finds, and what it finds nothing wrong with.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop where it is"
)]

use portcullis_testkit::program::portcullis;
use serde_json::Value as Json;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use portcullis_testkit::postgres::{Session, WIRE};
use tokio_postgres::NoTls;

/// A database of its own on the tests' server, with these tables; its address.
pub(super) fn postgresql(name: &str, tables: &str) -> String {
    let session = Session::new().expect("a PostgreSQL");
    WIRE.block_on(async {
        let server = session.client();
        server.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        let row = server.query_one("SELECT current_setting('unix_socket_directories')", &[]).await.unwrap();
        let address = format!("postgresql:///{name}?user=postgres&host={}", row.get::<_, String>(0));
        let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(tables).await.unwrap();
        address
    })
}

/// A file with these tables; its address.
pub(super) fn sqlite(folder: &Path, tables: &str) -> String {
    let path = folder.join("app.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch(tables).unwrap();
    format!("sqlite:{}", path.display())
}

/// Exit code, standard output, standard error.
pub(super) fn check(folder: &Path, bindings: &str, database: &str, args: &[&str]) -> (i32, String, String) {
    let file = folder.join("bindings.yaml");
    fs::write(&file, bindings).unwrap();
    let mut command = portcullis(folder);
    command.args(["bindings", "check", "bindings.yaml", "--database", database]).args(args);
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// The findings, each as `severity key column: message`, and the exit code.
pub(super) fn findings(folder: &Path, bindings: &str, database: &str, args: &[&str]) -> (i32, Vec<String>) {
    let (code, out, err) = check(folder, bindings, database, &[&["--json"], args].concat());
    assert_eq!(err, "");
    let report: Json = serde_json::from_str(&out).unwrap();
    let mut lines = Vec::new();
    for entry in report["entries"].as_array().unwrap() {
        for finding in entry["findings"].as_array().unwrap() {
            let text = |value: &Json| value.as_str().unwrap_or("-").to_owned();
            let (severity, column) = (text(&finding["severity"]), text(&finding["column"]));
            lines.push(format!("{severity} {} {column}: {}", text(&entry["key"]), text(&finding["message"])));
        }
    }
    (code, lines)
}

const TABLES: &str = "
    CREATE TABLE users (id uuid PRIMARY KEY, age integer NOT NULL, level text NOT NULL);
    CREATE TABLE repos (id bigint PRIMARY KEY, parent_id bigint, owner uuid NOT NULL, slug varchar(40) NOT NULL);
    CREATE INDEX ON repos (parent_id);
    CREATE INDEX ON repos (owner) WHERE parent_id IS NULL;
    CREATE UNIQUE INDEX ON repos (lower(slug));
    CREATE TABLE members (user_id uuid NOT NULL, role text NOT NULL, repo_id bigint NOT NULL,
                          PRIMARY KEY (user_id, repo_id));
    CREATE INDEX ON members (repo_id);
    CREATE VIEW seen AS SELECT id, owner FROM repos;
";

const TYPES: &str = "sql_types: {User: uuid, Repo: bigint}\n";

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
    query: SELECT lower(slug), owner FROM repos
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
        ("User", vec!["promise_not_unique", "other_sql_type"]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_type_that_disagrees_is_named_with_the_right_one() {
    let folder = tempfile::tempdir().unwrap();
    let bindings = "facts:
  owner(User:_, Repo:_):
    query: SELECT owner, id FROM repos
  named(Slug:_, Thing:_):
    query: SELECT slug, id FROM repos
sql_types: {User: text, Repo: integer}
";
    let database = postgresql("typed", TABLES);
    let (code, found) = findings(folder.path(), bindings, &database, &[]);
    let of = |part: &str| found.iter().filter(|line| line.contains(part)).count();
    assert_eq!(code, 1, "{found:?}");
    assert_eq!(
        of("error owner(User:_, Repo:_) owner: is `uuid` where `sql_types` says `text`"),
        1,
        "{found:?}"
    );
    // The width of an integer does not matter.
    assert_eq!(of("owner(User:_, Repo:_) id:"), 0, "{found:?}");
    assert_eq!(
        of("warning named(Slug:_, Thing:_) id: is `bigint`, but compared as text: add `Thing: bigint`"),
        1
    );
    assert_eq!(of("slug: is"), 0, "{found:?}");
    for (column, told, finding) in [
        ("id::int", "bigint", None),
        ("id::numeric(20)", "integer", Some("warning")),
        ("id", "numeric", Some("warning")),
        ("id::numeric", "numeric", None),
        ("id::numeric(10, 2)", "numeric", Some("error")),
        ("id::numeric(10, 2)", "integer", Some("error")),
        ("id::numeric(10, 2)", "numeric(10, 2)", None),
        ("id::text", "bigint", Some("error")),
    ] {
        let told = bindings
            .replace("SELECT owner, id", &format!("SELECT owner, {column}"))
            .replace("Repo: integer", &format!("Repo: '{told}'"));
        let (_, found) = findings(folder.path(), &told, &database, &[]);
        let is_of_type = |line: &&String| {
            line.contains("owner(User:_, Repo:_) id: is `") && line.contains("where `sql_types` says")
        };
        let mut found_of = found.iter().filter(is_of_type);
        assert_eq!(found_of.next().map(|line| line.split(' ').next().unwrap()), finding, "{found:?}");
    }
    let unknown = bindings.replace("User: text", "User: made_up");
    let (code, found) = findings(folder.path(), &unknown, &database, &[]);
    assert!(
        code == 1 && found[0].starts_with("error User -: the database has no type `made_up`"),
        "{found:?}"
    );
}

/// An id is its bytes; where the database finds others equal to it, a user would get another's rights.
#[test]
fn columns_in_which_different_ids_are_equal_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let tables = "
        CREATE EXTENSION citext;
        CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
        CREATE TABLE readers (who text COLLATE loose NOT NULL, doc citext NOT NULL, PRIMARY KEY (who, doc));
        CREATE INDEX ON readers (doc);
        INSERT INTO readers VALUES ('ada', 'a');
    ";
    let bindings = "facts:\n  reads(User:_, Doc:_):\n    query: SELECT who, doc FROM readers\n";
    let database = postgresql("loose", tables);
    let (code, found) = findings(folder.path(), bindings, &database, &[]);
    let expected = [
        "error reads(User:_, Doc:_) who: has the collation `loose`, which treats different ids as equal: give it a \
         deterministic one",
        "warning reads(User:_, Doc:_) doc: is compared as text, because ids are case-sensitive, so its index \
         is not used: store ids as text",
    ];
    assert_eq!((code, found.as_slice()), (1, expected.map(str::to_owned).as_slice()));
    let told = format!("{bindings}sql_types: {{Doc: text}}\n");
    let (_, found) = findings(folder.path(), &told, &database, &[]);
    let wrong = "error reads(User:_, Doc:_) doc: is `citext` where `sql_types` says `text`: write `Doc: citext` there";
    assert!(found.contains(&wrong.to_owned()), "{found:?}");
}

#[test]
fn a_collation_over_which_recursions_are_refused_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let tables = r#"CREATE TABLE folders (id text COLLATE "C" PRIMARY KEY, parent_id text NOT NULL);
                    CREATE INDEX ON folders (parent_id);"#;
    let bindings =
        "facts:\n  has_relation(Folder:_, parent, Folder:_):\n    query: SELECT id, parent_id FROM folders\n";
    let (code, found) = findings(folder.path(), bindings, &postgresql("collated", tables), &[]);
    let expected = "warning has_relation(Folder:_, parent, Folder:_) id: has the collation `C`: PostgreSQL refuses a \
                    recursion over it, and a comparison with a column of another collation; if a question is refused for this \
                    reason, select `id COLLATE \"default\"`";
    assert_eq!((code, found), (0, vec![expected.to_owned()]));
}

#[test]
fn an_integer_over_numeric_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let tables = "CREATE TABLE docs (id text PRIMARY KEY, size numeric NOT NULL);";
    let bindings = "facts:\n  weighs(Doc:_, Integer:_):\n    query: SELECT id, size FROM docs\nsql_types: {Integer: bigint}\n";
    let (code, found) = findings(folder.path(), bindings, &postgresql("weighed", tables), &[]);
    let expected = "error weighs(Doc:_, Integer:_) size: is `numeric` where `sql_types` says `bigint`: write \
                    `Integer: numeric` there";
    assert_eq!((code, found), (1, vec![expected.to_owned()]));
}

#[test]
fn what_sqlite_converts_to_no_declared_type_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(folder.path(), "CREATE TABLE marks (user TEXT NOT NULL, doc NOT NULL);
                                          CREATE INDEX of_user ON marks (user); CREATE INDEX of_doc ON marks (doc);");
    let bindings = "dialect: sqlite
facts:
  marked(User:_, Doc:_):
    query: SELECT user, doc FROM marks
  weighed(Doc:_, Integer:_):
    query: SELECT doc || '', length(user) FROM marks
sql_types: {Doc: integer, Integer: integer, User: text}
";
    let (code, found) = findings(folder.path(), bindings, &database, &[]);
    let remedy = |what: &str, ty: &str| {
        format!(
            "{what}, so SQLite compares its values unconverted, not as `integer`: select a column declared as that \
             type, or leave `{ty}` out of `sql_types`"
        )
    };
    for wrong in [
        format!("error marked(User:_, Doc:_) doc: {}", remedy("has no declared type", "Doc")),
        format!("error weighed(Doc:_, Integer:_) doc || '': {}", remedy("is computed", "Doc")),
        format!("error weighed(Doc:_, Integer:_) length(user): {}", remedy("is computed", "Integer")),
    ] {
        assert!(found.contains(&wrong), "{wrong}\n{found:#?}");
    }
    let untold =
        bindings.lines().filter(|line| !line.starts_with("sql_types")).collect::<Vec<_>>().join("\n");
    let (untold, _) = findings(folder.path(), &untold, &database, &[]);
    assert_eq!((code, untold), (1, 0));
}

#[test]
fn what_no_index_serves_and_what_may_be_null_is_no_error() {
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
        "warning slug(String:_, Repo:_) ?column?: is computed, so no index is used: select a table's own \
         column, and write its type under `sql_types`",
    ];
    assert_eq!(found, expected);
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
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("warning has_role(User:_, owner, Repo:_) -: no rule"), "{found:?}");
    assert!(found[1].starts_with("warning has_roll(User:_, String:_, Repo:_) -: no rule"), "{found:?}");
}

#[test]
fn nothing_is_run_and_nothing_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let tables = "
        CREATE TABLE hits (id bigint PRIMARY KEY);
        CREATE FUNCTION hit() RETURNS bigint LANGUAGE sql AS 'INSERT INTO hits VALUES (1) RETURNING id';
    ";
    let bindings = "facts:\n  p(Repo:_):\n    query: SELECT hit()\nsql_types: {Repo: bigint}\n";
    let database = postgresql("untouched", tables);
    let (code, found) = findings(folder.path(), bindings, &database, &[]);
    assert!(code == 0 && found.len() == 1, "{found:?}");
    let count = WIRE.block_on(async {
        let (client, connection) = tokio_postgres::connect(&database, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.query_one("SELECT count(*) FROM hits", &[]).await.unwrap().get::<_, i64>(0)
    });
    assert_eq!(count, 0);
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
    assert!(has("repo_id: is `integer` where `sql_types` says `text`"), "{found:?}");
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

#[test]
fn what_cannot_be_checked_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let check = |bindings: &str, database: &str| check(folder.path(), bindings, database, &[]);
    let (code, _, err) = check("facts: {}", "mysql://localhost/app");
    assert!(code == 2 && err.contains("must start with `postgresql://` or `sqlite:`"), "{err}");
    let (code, _, err) = check("facts: {}", "sqlite:missing.db");
    assert!(code == 1 && err.starts_with("error: the database does not answer"), "{err}");
    let (code, _, err) = check("facts: {}", "postgresql://app:secret@127.0.0.1:1/app");
    assert!(code == 1 && err.contains("does not answer") && !err.contains("secret"), "{err}");
    fs::write(folder.path().join("text.db"), "this is no database, whatever its name may say").unwrap();
    let (code, _, err) = check("dialect: sqlite", "sqlite:text.db");
    assert!(code == 1 && err.contains("does not answer"), "{err}");
    let database = sqlite(folder.path(), "CREATE TABLE t (id TEXT PRIMARY KEY)");
    let (code, _, err) = check("facts: {}", &database);
    assert!(code == 1 && err.contains("for postgresql, but the database is sqlite"), "{err}");
    let (code, _, err) = check("facts:\n  p(:\n    query: SELECT 1", &database);
    assert!(code == 1 && err.starts_with("error: `bindings.yaml`: data bindings, line "), "{err}");
}

/// What an address leaves open is what it is to `psql`.
#[test]
fn an_address_is_completed_as_by_the_programs_of_postgresql() {
    let folder = tempfile::tempdir().unwrap();
    let address = postgresql("surroundings", TABLES);
    let socket = address.rsplit_once("host=").unwrap().1;
    let bindings = "dialect: postgresql\nfacts:\n  is_public(Repo:_):\n    query: SELECT id FROM repos\n";
    fs::write(folder.path().join("bindings.yaml"), bindings).unwrap();
    let check = |address: &str, variables: &[(&str, &str)]| {
        let mut command = portcullis(folder.path());
        command.args(["bindings", "check", "bindings.yaml", "--database", address]);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let here = [("PGHOST", socket), ("PGUSER", "postgres"), ("PGDATABASE", "surroundings")];
    assert_eq!(check("postgresql:///surroundings", &here[..2]), (0, String::new()));
    assert_eq!(check("postgresql://", &here), (0, String::new()));
    let (code, err) = check("postgresql:///surroundings", &[("PGHOST", "/nowhere"), ("PGPORT", "7")]);
    assert!(code == 1 && err.contains("at /nowhere port 7"), "{err}");
    // A socket has no encryption and needs none; over the network it is not done without.
    let encrypted = ("PGSSLMODE", "verify-full");
    assert_eq!(check("postgresql:///surroundings", &[here[0], here[1], encrypted]), (0, String::new()));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let network = format!("postgresql://ada@{}/app", listener.local_addr().unwrap());
    let refusing = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 8]).unwrap();
        stream.write_all(b"N").unwrap();
    });
    let (code, err) = check(&network, &[encrypted]);
    assert!(code == 1 && err.contains("TLS"), "{err}");
    refusing.join().unwrap();
}
