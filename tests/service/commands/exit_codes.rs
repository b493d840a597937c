//! The program as its users run it: exit codes, the standard output, the standard error.

#![expect(clippy::unwrap_used, reason = "a test that cannot start its program has failed")]

use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::program::{Service, portcullis};
use std::fs;
use std::process::Output;
use tempfile::TempDir;

const POLICY: &str = r#"actor User {}
resource Repo {
  roles = ["reader"];
  permissions = ["read"];
  "read" if "reader";
}
test "readers read" {
  setup { has_role(User{"a"}, "reader", Repo{"r"}); }
  assert allow(User{"a"}, "read", Repo{"r"});
}
"#;

const INVALID: &str = "resource Repo { roles = [\"reader\"]; \"reader\" if \"raeder\"; }\n";

/// A folder with a good policy, one that does not validate, and one whose test fails.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("good.polar"), POLICY).unwrap();
    fs::write(folder.path().join("invalid.polar"), INVALID).unwrap();
    fs::write(folder.path().join("failing.polar"), POLICY.replace("assert allow", "assert_not allow"))
        .unwrap();
    folder
}

/// Exit code, standard output, standard error.
fn run(args: &[&str]) -> (i32, String, String) {
    let folder = folder();
    ended(&portcullis(folder.path()).args(args).output().unwrap())
}

fn ended(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn wrong_arguments_exit_with_2_and_help_shows_examples() {
    assert_eq!(run(&[]).0, 2);
    assert_eq!(run(&["compile", "good.polar"]).0, 2);
    assert_eq!(run(&["compile", "good.polar", "allow(User:a", "--dialect", "sqlite"]).0, 2);
    assert_eq!(run(&["compile", "good.polar", "p()", "--dialect", "db2"]).0, 2);
    let commands = [
        "serve",
        "compile",
        "explain",
        "why",
        "test",
        "validate",
        "fmt",
        "generate",
        "keys",
        "bindings check",
    ];
    let keys = ["keys create", "keys list", "keys revoke", "config show", "login", "logout"];
    let more = [
        "environments list",
        "environments delete",
        "facts import",
        "facts export",
        "backup",
        "restore",
        "review",
        "stats",
    ];
    let asked = ["authorize", "list", "list-subjects", "actions", "query", "facts get", "facts add"];
    let remote = [
        "facts remove",
        "policy get",
        "policy push",
        "policy diff",
        "store migrate",
        "store check",
        "completions",
        "man",
    ];
    for command in commands.into_iter().chain(keys).chain(more).chain(asked).chain(remote) {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let (code, out, err) = run(&words);
        assert!(code == 0 && err.is_empty() && out.contains(&format!("  portcullis {command}")), "{out}");
    }
}

#[test]
fn names_that_the_policy_does_not_have_are_warned_of() {
    for command in ["compile", "explain"] {
        let (code, _, err) = run(&[command, "good.polar", r#"allow(Usr:a, "raed", Repo:r)"#]);
        let expected = "warning: the policy does not name the type `Usr`; did you mean `User`?\n\
            warning: the policy does not name the action `raed`; did you mean `read`?\n";
        assert_eq!((code, err.as_str()), (0, expected), "{command}");
        let (code, _, err) = run(&[command, "good.polar", r#"allw(User:a, "read", Repo:r)"#]);
        assert!(code == 1 && err.contains("did you mean `allow`?"), "{command}: {err}");
    }
}

#[test]
fn compile_prints_sql_over_predictable_tables() {
    let (code, out, err) = run(&["compile", "good.polar", r#"allow(User:o'hara, "read", Repo:?)"#]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("has_role_user_string_repo") && out.contains("'o''hara'"), "{out}");
    assert!(out.starts_with("-- one row for each answer") && out.ends_with(";\n"), "{out}");
    let (code, pg, _) =
        run(&["compile", "good.polar", "allow(User:a, \"read\", Repo:r)", "--dialect", "postgresql"]);
    assert!(code == 0 && pg.starts_with("-- one row: is there an answer?"), "{pg}");
}

#[test]
fn a_question_for_a_database_of_ones_own_has_its_own_arguments() {
    let question = r#"allow(User:a, "read", Repo:?)"#;
    for args in [
        &["--filter", "id"] as &[&str],
        &["--facts", "facts.txt"],
        &["--bindings", "b.yaml", "--dialect", "sqlite"],
    ] {
        for command in ["compile", "explain"] {
            assert_eq!(run(&[&[command, "good.polar", question], args].concat()).0, 2, "{args:?}");
        }
    }
    let folder = folder();
    fs::write(folder.path().join("b.yaml"), "").unwrap();
    fs::write(folder.path().join("facts.txt"), "has_role(User:a, \"reader\", Repo:?)").unwrap();
    let local = |question: &str, args: &[&str]| {
        let args = [&["compile", "good.polar", question, "--bindings", "b.yaml"], args].concat();
        ended(&portcullis(folder.path()).args(args).output().unwrap())
    };
    let (code, _, err) = local("allow(User:a, \"read\", ?)", &[]);
    assert!(code == 2 && err.contains("`?` needs a type"), "{err}");
    let (code, _, err) = local("allow(User:a, ?, Repo:?)", &["--filter", "id"]);
    assert!(code == 2 && err.contains("`?` needs a type"), "{err}");
    let (code, _, err) = local(question, &["--facts", "facts.txt"]);
    assert!(code == 1 && err.starts_with("error: `facts.txt`, line 1: a fact must have values"), "{err}");
    let (code, _, err) = local(question, &["--facts", "missing.txt"]);
    assert!(code == 1 && err.starts_with("error: cannot read `missing.txt`: "), "{err}");
}

#[test]
fn with_bindings_compile_prints_sql_for_their_tables() {
    let folder = folder();
    let bindings = "dialect: sqlite
facts:
  has_role(User:_, String:_, Repo:_):
    query: SELECT user_id, role, repo_id FROM members
sql_types: {Repo: integer}
";
    fs::write(folder.path().join("b.yaml"), bindings).unwrap();
    fs::write(folder.path().join("facts.txt"), "# stored\nhas_role(User:a, \"reader\", Repo:7)\n").unwrap();
    let print = |command: &str, question: &str, args: &[&str]| {
        let files = ["--bindings", "b.yaml", "--facts", "facts.txt"];
        let args = [&[command, "good.polar", question] as &[&str], &files, args].concat();
        let (code, out, err) = ended(&portcullis(folder.path()).args(args).output().unwrap());
        let unknown = "warning: the policy does not name the role `banana`\n";
        let expected = if question.contains("banana") { unknown } else { "" };
        assert_eq!((code, err.as_str()), (0, expected), "{question}");
        out
    };
    let application = rusqlite::Connection::open_in_memory().unwrap();
    let tables = "CREATE TABLE members (user_id TEXT, role TEXT, repo_id INTEGER);
                  INSERT INTO members VALUES ('a', 'reader', 8), ('a', 'banana', 9);";
    application.execute_batch(tables).unwrap();
    let rows = |sql: &str| {
        let mut statement = application.prepare(sql).unwrap();
        let column = statement.column_name(0).unwrap().to_owned();
        let mut rows: Vec<String> = Vec::new();
        let mut found = statement.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            rows.push(row.get::<_, String>(0).unwrap_or_else(|_| row.get::<_, i64>(0).unwrap().to_string()));
        }
        rows.sort();
        (column, rows.join(" "))
    };
    let answer = |column: &str, rows: &str| (column.to_owned(), rows.to_owned());
    let list = r#"allow(User:a, "read", Repo:?)"#;
    assert_eq!(rows(&print("compile", list, &[])), answer("repo", "7 8"));
    assert_eq!(rows(&print("compile", r#"allow(User:a, "read", Repo:8)"#, &[])), answer("allowed", "1"));
    assert_eq!(rows(&print("compile", "allow(User:a, ?, Repo:7)", &[])), answer("actions", "read"));
    let exists = r#"has_role(User:_, "reader", Repo:?r) and has_role(User:a, "banana", Repo:?r)"#;
    assert_eq!(rows(&print("compile", exists, &[])), answer("r", ""));
    assert_eq!(rows(&print("compile", r#"has_role(User:_, "banana", Repo:9)"#, &[])), answer("result", "1"));
    let condition = print("compile", list, &["--filter", "m.repo_id"]);
    assert!(!condition.contains(';'), "{condition}");
    let filtered = format!("SELECT repo_id FROM members AS m WHERE NOT {condition}");
    assert_eq!(rows(&filtered), answer("repo_id", "9"));
    let explained = print("explain", list, &["--filter", "m.repo_id"]);
    assert!(explained.contains("has_role(User:_, String:_, Repo:_)"), "{explained}");
    let (_, sql) = explained.split_once("== the SQL for sqlite ==\n\n").unwrap();
    assert_eq!(sql.trim_end(), condition.trim_end());
}

#[test]
fn explain_prints_the_sql_at_the_end() {
    let (code, out, err) = run(&["explain", "good.polar", "allow(User:a, \"read\", Repo:?)"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.to_lowercase().contains("sql") && out.contains("has_role_user_string_repo"), "{out}");
}

#[test]
fn a_policy_or_question_that_is_wrong_is_explained_on_the_standard_error() {
    let (code, out, err) = run(&["compile", "invalid.polar", "allow(User:a, \"read\", Repo:r)"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("error[P02") && err.contains("invalid.polar:1:"), "{err}");
    let (code, _, err) = run(&["compile", "good.polar", "allow(User, \"read\")"]);
    assert!(code == 2 && err.contains("column 11: expected `:`"), "{err}");
    let (code, _, err) = run(&["compile", "good.polar", "alow(User:a)"]);
    let expected = "warning: the policy does not name the predicate `alow`; did you mean `allow`?\n\
        error: the policy has no predicate `alow` with 1 argument: correct ";
    assert!(code == 1 && err.starts_with(expected), "{err}");
    let (code, _, err) = run(&["compile", "missing.polar", "p()"]);
    let missing = "error: cannot read `missing.polar`: No such file or directory; check the path\n";
    assert_eq!((code, err.as_str()), (1, missing));
    let question = "allow(User:a, \"read\", Repo:r)";
    for command in ["compile", "explain", "why"] {
        let (code, _, err) = run(&[command, question, "good.polar"]);
        let exchanged =
            "error: `good.polar` is not a question: give the policy first, and then the question\n";
        assert_eq!((code, err.as_str()), (2, exchanged), "{command}");
    }
}

#[test]
fn validate_reports_every_file_and_fails_on_errors_only() {
    let (code, out, err) = run(&["validate", "good.polar"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "good.polar: valid\n", ""));
    let (code, out, err) = run(&["validate", "good.polar", "invalid.polar"]);
    assert!(code == 1 && out.starts_with("good.polar: valid\ninvalid.polar: 1 error"), "{out}");
    assert!(err.contains("raeder"), "{err}");
    let (code, out, err) = run(&["validate", "invalid.polar", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, err.as_str()), (1, ""));
    assert_eq!(json[0]["valid"], false);
    assert_eq!(json[0]["diagnostics"][0]["labels"][0]["line"], 1);
}

#[test]
fn fmt_lays_files_out_and_leaves_one_with_errors_as_it_is() {
    let folder = folder();
    let run = |args: &[&str]| ended(&portcullis(folder.path()).args(args).output().unwrap());
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let messy = "# who\nactor   User{}\r\nresource Repo { roles=[ \"reader\" ]; } # what";
    let laid_out = "# who\nactor User {}\n\nresource Repo {\n  roles = [\"reader\"];\n} # what\n";
    let broken = "resource Repo {";
    fs::write(folder.path().join("messy.polar"), messy).unwrap();
    fs::write(folder.path().join("broken.polar"), broken).unwrap();

    let (code, out, err) = run(&["fmt", "--check", "messy.polar"]);
    assert!(
        code == 1 && out.contains("\n+actor User {}\n") && err.starts_with("1 file would be "),
        "{out}{err}"
    );
    assert_eq!(read("messy.polar"), messy);

    let (code, out, err) = run(&["fmt", "missing.polar", "messy.polar", "broken.polar"]);
    let [missing, faulty] =
        ["missing", "broken"].map(|file| format!("{file}.polar: 1 error, not formatted\n"));
    assert_eq!(out, format!("{missing}messy.polar: formatted\n{faulty}"));
    assert!(
        code == 1 && err.contains("cannot read `missing.polar`") && err.contains("broken.polar:1:"),
        "{err}"
    );
    assert_eq!([read("messy.polar"), read("broken.polar")], [laid_out, broken]);

    assert_eq!(run(&["fmt", "--check", "messy.polar"]), (0, String::new(), String::new()));
    let (code, out, _) = run(&["fmt", "messy.polar", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &json[0]["changed"]), (0, &serde_json::Value::Bool(false)));
}

#[test]
fn fmt_lays_out_the_standard_input() {
    let folder = folder();
    let input = fs::File::open(folder.path().join("good.polar")).unwrap();
    let output = portcullis(folder.path()).args(["fmt", "-"]).stdin(input).output().unwrap();
    let (code, out, err) = ended(&output);
    assert_eq!((code, err.as_str()), (0, ""));
    let setup = "setup {\n    has_role(User{\"a\"}, \"reader\", Repo{\"r\"});\n  }";
    let (policy, test) = POLICY.split_once("\ntest").unwrap();
    let (_, assertion) = test.split_once(" }\n").unwrap();
    let policy = policy.replace("\nresource", "\n\nresource");
    assert_eq!(out, format!("{policy}\n\ntest \"readers read\" {{\n  {setup}\n{assertion}"));
    let (code, _, err) = run(&["fmt", "-", "--check"]);
    assert!(code == 1 && err.contains("`-` cannot be combined with "), "{err}");
}

#[test]
fn test_runs_the_tests_of_a_policy() {
    let (code, out, err) = run(&["test", "good.polar"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out, "good.polar\n  ok      readers read  1/1\n1 test, 0 failed\n");
    let (code, out, err) = run(&["test", "good.polar", "failing.polar"]);
    assert!(code == 1 && out.contains("  FAILED  readers read  0/1\n1 test, 1 failed"), "{out}");
    assert!(err.contains("line 9") && err.contains("has an answer"), "{err}");
    let (code, out, _) = run(&["test", "invalid.polar", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(code == 1 && json[0]["invalid"][0]["message"].as_str().unwrap().contains("raeder"), "{out}");
    assert_eq!(json[0]["code"], "invalid_policy");
}

/// Whether some document is open depends on all documents, and nothing enumerates those that are not closed.
const REFUSED: &str = r#"actor User {}
resource Doc { relations = { folder: Doc }; }
open(doc: Doc) if not closed(doc);
busy(user: User) if known(user) and doc matches Doc and open(doc);
test "t" {
  setup { known(User{"ada"}); closed(Doc{"plan"}); }
  assert known(User{"ada"});
  assert busy(User{"ada"});
}
"#;

#[test]
fn an_assertion_that_cannot_be_decided_has_the_code_of_its_refusal() {
    let folder = folder();
    fs::write(folder.path().join("refused.polar"), REFUSED).unwrap();
    let args = ["test", "good.polar", "failing.polar", "refused.polar", "--format", "json"];
    let (code, out, _) = ended(&portcullis(folder.path()).args(args).output().unwrap());
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 1);
    let codes: Vec<_> = json.as_array().unwrap().iter().map(|file| file["code"].as_str()).collect();
    assert_eq!(codes, [None, Some("policy_tests_failed"), Some("policy_tests_failed")], "{out}");
    let refused = &json[2]["refused"][0];
    assert_eq!((&refused["line"], &refused["code"]), (&8.into(), &"not_enumerable".into()), "{out}");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("the rule at line 3 tests `doc`, which nothing enumerates, by `not closed(…)`"),
        "{message}"
    );
    assert!(json[2]["failures"][0].as_str().unwrap().ends_with(&format!("cannot be decided: {message}")));
}

#[test]
fn keys_are_made_listed_and_revoked() {
    let folder = folder();
    let keys = |args: &[&str]| {
        ended(&portcullis(folder.path()).arg("keys").args(args).args(["--data", "d"]).output().unwrap())
    };
    let (code, key, _) = keys(&["create", "--name", "billing", "--read-only"]);
    assert!(code == 0 && key.starts_with("e_0123456789_"), "{key}");
    let id = key.split('_').nth(2).unwrap();
    let (_, listed, _) = keys(&["list"]);
    assert!(listed.starts_with(&format!("{id}  read-only   created 20")), "{listed}");
    assert!(listed.ends_with("  last used never       billing\n"), "{listed}");
    assert_eq!(keys(&["revoke", id]).0, 0);
    assert!(keys(&["list"]).1.ends_with("revoked\n"));
    assert_eq!(keys(&["revoke", "0000"]).0, 1);
    assert_eq!(keys(&["list", "--environment", "../x"]).0, 1);
}

/// Status and body of the policy that a service has.
fn policy(service: &Service, key: &str) -> (u16, String) {
    service.caller.send(key, "GET /api/policy", &[], None).unwrap()
}

#[test]
fn serve_answers_with_the_policy_it_was_given() {
    let folder = folder();
    let service = Service::start(folder.path(), &["--dev", "--policy", "good.polar"]);
    let (status, body) = policy(&service, DEVELOPMENT_KEY);
    assert!(status == 200 && body.contains("good.polar"), "{status} {body}");
    assert_eq!(policy(&service, "e_0123456789_12345_wrong").0, 401);
}

#[test]
fn the_development_key_is_for_development_only() {
    let folder = folder();
    let service = Service::start(folder.path(), &[]);
    assert_eq!(policy(&service, DEVELOPMENT_KEY).0, 401);
}

#[test]
fn serve_refuses_to_start_with_a_policy_that_does_not_validate() {
    let (code, out, err) = run(&["serve", "--listen", "127.0.0.1:0", "--policy", "invalid.polar"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("raeder"), "{err}");
}
