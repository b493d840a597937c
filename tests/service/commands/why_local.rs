//! `portcullis why --bindings`: explanations of local checks on real databases.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop where it is"
)]

use super::bindings::{postgresql, sqlite};
use portcullis_testkit::program::{Program, portcullis};
use portcullis_testkit::server::Server;
use portcullis_testkit::wire::fact_json;
use serde_json::{Value as Json, json};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const POLICY: &str = r#"actor User {}

resource Folder {
  roles = ["reader"];
  relations = { parent: Folder };
  "reader" if "reader" on "parent";
}

resource Doc {
  permissions = ["read"];
  relations = { folder: Folder };
  "read" if "reader" on "folder" and not is_banned(actor);
}
"#;

const BINDINGS: &str = "facts:
  has_relation(Doc:_, folder, Folder:_):
    query: SELECT id, folder_id FROM docs
  has_relation(Folder:_, parent, Folder:_):
    query: SELECT id, parent_id FROM folders
  is_banned(User:_):
    query: SELECT name FROM banned
sql_types: {Doc: integer, Folder: integer}
";

/// Folder 1 contains 2, which contains 3, which contains itself again and the documents 7 and 8.
const TABLES: &str = "
    CREATE TABLE folders (id integer NOT NULL, parent_id integer);
    INSERT INTO folders VALUES (1, NULL), (2, 1), (3, 2), (3, 3);
    CREATE TABLE docs (id integer PRIMARY KEY, folder_id integer NOT NULL);
    INSERT INTO docs VALUES (7, 3), (8, 3);
    CREATE TABLE banned (name text NOT NULL);
    INSERT INTO banned VALUES ('eve');
";

const FACTS: &str = "has_role(User:ada, \"reader\", Folder:1)\nhas_role(User:eve, \"reader\", Folder:3)\n";

fn folder(dialect: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.polar"), POLICY).unwrap();
    fs::write(folder.path().join("facts.txt"), FACTS).unwrap();
    fs::write(folder.path().join("bindings.yaml"), format!("{BINDINGS}dialect: {dialect}\n")).unwrap();
    folder
}

/// Exit code, standard output, standard error.
fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output = portcullis(folder).arg("why").args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// The explanation of a question with the facts in the files and in a database.
fn explained(folder: &Path, database: &str, question: &str, more: &[&str]) -> String {
    let args = ["policy.polar", question, "--facts", "facts.txt", "--bindings", "bindings.yaml"];
    let (code, out, err) = run(folder, &[args.as_slice(), &["--database", database], more].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    out
}

fn is_explained(folder: &Path, database: &str) {
    let yes = explained(folder, database, r#"allow(User:ada, "read", Doc:7)"#, &[]);
    let expected = r#"yes: allow(User:ada, "read", Doc:7)
line numbers refer to policy.polar

allow(User:ada, "read", Doc:7)  implied rule: allow(actor, action: String, resource) :- has_permission(actor, action, resource)
└─ has_permission(User:ada, "read", Doc:7)  line 12: "read" if "reader" on "folder" and not is_banned(actor);
   ├─ has_relation(Doc:7, "folder", Folder:3)  your database: has_relation(Doc:_, folder, Folder:_)
   ├─ has_role(User:ada, "reader", Folder:3)  line 6: "reader" if "reader" on "parent";
   │  ├─ has_relation(Folder:3, "parent", Folder:2)  your database: has_relation(Folder:_, parent, Folder:_)
   │  └─ has_role(User:ada, "reader", Folder:2)  line 6: "reader" if "reader" on "parent";
   │     ├─ has_relation(Folder:2, "parent", Folder:1)  your database: has_relation(Folder:_, parent, Folder:_)
   │     └─ has_role(User:ada, "reader", Folder:1)  stored
   └─ not is_banned(User:ada)
"#;
    assert_eq!(yes, expected);
    let banned = explained(folder, database, r#"allow(User:eve, "read", Doc:8)"#, &[]);
    assert!(
        banned.contains("✗ must not hold: is_banned(User:eve)  your database: is_banned(User:_)"),
        "{banned}"
    );
    let no = explained(folder, database, r#"allow(User:bob, "read", Doc:8)"#, &["--format", "json"]);
    let no: Json = serde_json::from_str(&no).unwrap();
    assert_eq!((&no["allowed"], &no["truncated"]), (&json!(false), &json!(false)), "{no}");
    let suggested: Vec<&Json> =
        no["suggestions"].as_array().unwrap().iter().map(|set| &set[0]["args"][2]["id"]).collect();
    assert_eq!(suggested, [&json!("3"), &json!("2"), &json!("1")], "{no}");
    let any = explained(folder, database, r#"has_role(User:ada, "reader", Folder:_)"#, &[]);
    assert!(any.starts_with("yes: ") && any.contains("  stored"), "{any}");
    let strange = explained(folder, database, r#"allow(User:ada, "read", Doc:"it's 7?")"#, &[]);
    assert!(strange.starts_with("no: "), "{strange}");
}

#[test]
fn a_check_on_a_file_of_sqlite_is_explained() {
    let folder = folder("sqlite");
    is_explained(folder.path(), &sqlite(folder.path(), TABLES));
}

#[test]
fn a_check_on_postgresql_is_explained() {
    let folder = folder("postgresql");
    is_explained(folder.path(), &postgresql("why_local", TABLES));
}

#[test]
fn a_service_explains_with_its_facts_and_those_of_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let bindings = "dialect: sqlite\nfacts:\n  has_relation(Repo:_, org, Org:_):\n    query: SELECT repo, org FROM orgs\n";
    fs::write(folder.join("bindings.yaml"), bindings).unwrap();
    fs::write(folder.join("key"), portcullis::http::DEVELOPMENT_KEY).unwrap();
    let tables = "CREATE TABLE orgs (repo text, org text); INSERT INTO orgs VALUES ('a', 'o'), ('b', NULL);";
    let database = sqlite(folder, tables);
    let server = Server::start();
    server.add(&[&["has_role", "User:ada", "String:member", "Org:o"]]);
    let url = format!("http://{}", server.address);
    let service =
        ["--url", &url, "--key-file", "key", "--bindings", "bindings.yaml", "--database", &database];
    let ask = |question: &str| run(folder, &[&[question], service.as_slice()].concat());
    let (code, out, err) = ask(r#"allow(User:ada, "read", Repo:a)"#);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(
        out.starts_with("yes: ") && out.contains("your database: has_relation(Repo:_, org, Org:_)"),
        "{out}"
    );
    assert!(out.contains(r#"has_role(User:ada, "member", Org:o)  stored"#), "{out}");
    let (code, out, _) = ask(r#"allow(User:ada, "read", Repo:b)"#);
    assert!(code == 0 && out.starts_with("no: "), "{out}");
}

#[test]
fn a_data_folder_explains_with_its_facts_and_those_of_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let bindings = "dialect: sqlite\nfacts:\n  has_relation(Doc:_, folder, Folder:_):\n    query: SELECT id, folder_id FROM docs\n";
    fs::write(folder.join("bindings.yaml"), bindings).unwrap();
    let tables = "CREATE TABLE docs (id text, folder_id text); INSERT INTO docs VALUES ('7', '3');";
    let database = sqlite(folder, tables);
    let service = Program::spawn(folder, "d", &["--dev"]).answering().unwrap();
    let post = |path: &str, body: Json| {
        assert_eq!(service.caller.post(portcullis::http::DEVELOPMENT_KEY, path, &body).0, 200, "{path}");
    };
    post("policy", json!({ "src": POLICY }));
    post("facts", fact_json(&["has_role", "User:ada", "String:reader", "Folder:3"]));
    let question = r#"allow(User:ada, "read", Doc:7)"#;
    let args = ["--data", "d", question, "--bindings", "bindings.yaml", "--database", &database];
    let (code, out, err) = run(folder, &args);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("your database: has_relation(Doc:_, folder, Folder:_)"), "{out}");
    assert!(out.contains(r#"has_role(User:ada, "reader", Folder:3)  stored"#), "{out}");
}

#[test]
fn what_the_database_or_the_document_refuses_is_said_without_secrets() {
    let folder = folder("sqlite");
    let question = r#"allow(User:ada, "read", Doc:7)"#;
    let refused = |database: &str| {
        let args = ["policy.polar", question, "--bindings", "bindings.yaml", "--database", database];
        let (code, out, err) = run(folder.path(), &args);
        assert!(code != 0 && out.is_empty(), "{out}");
        assert!(!err.contains("zqx"), "{err}");
        err
    };
    let without_tables = refused(&sqlite(folder.path(), "CREATE TABLE other (id integer)"));
    let said = "the database answers with an error: no such table";
    assert!(without_tables.contains(said), "{without_tables}");
    fs::write(folder.path().join("bindings.yaml"), BINDINGS).unwrap();
    let other = refused(&sqlite(folder.path(), ""));
    assert!(other.contains("postgresql") && other.contains("sqlite"), "{other}");
    let silent = refused("postgresql://ada:zqx@127.0.0.1:1/app");
    assert!(
        silent.contains("the database does not answer") && silent.contains("check its address"),
        "{silent}"
    );
    let without_tables = refused(&postgresql("why_without_tables", ""));
    let said = "the database answers with an error: relation \"docs\" does not exist; run `portcullis bindings check`";
    assert!(without_tables.contains(said), "{without_tables}");
    assert_eq!(run(folder.path(), &["policy.polar", question, "--database", "sqlite:app.db"]).0, 2);
    assert_eq!(run(folder.path(), &["policy.polar", question, "--bindings", "bindings.yaml"]).0, 2);
}
