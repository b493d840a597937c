//! Under `--format json`, or `--json` for short, a command that fails reports a message and a code, which
//! `docs/errors.md` lists.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop where it is"
)]

use portcullis_testkit::program::portcullis;
use portcullis_testkit::server::{POLICY, Server};
use serde_json::Value as Json;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const BINDINGS: &str = "dialect: sqlite\nfacts:\n  is_public(Repo:_):\n    query: SELECT id FROM repos\n";

/// A folder with good files and bad ones.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("good.polar", POLICY),
        ("invalid.polar", "resource Repo { roles = [\"reader\"]; \"reader\" if \"raeder\"; }\n"),
        ("open.polar", "actor User {}\ndeclare banned(User);\nopen(u: User) if not banned(u);\n"),
        ("bindings.yaml", BINDINGS),
        ("facts.txt", "has_role(User:ada, \"reader\", Repo:\n"),
    ];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    fs::create_dir(folder.path().join("empty")).unwrap();
    folder
}

/// Runs a command, which must fail, and returns its exit code and the code of its error.
fn failed(folder: &Path, args: &[&str]) -> (i32, String) {
    let output = portcullis(folder).args(args).output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let json: Json = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{args:?}: {out} {err}"));
    assert_eq!(err, "", "{args:?}");
    assert!(json["message"].as_str().is_some_and(|message| message.len() > 10), "{args:?}: {out}");
    let code = json["code"].as_str().unwrap();
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/errors.md")).unwrap();
    assert!(page.contains(&format!("\n| `{code}` | ")), "{code}");
    (output.status.code().unwrap(), code.to_owned())
}

#[test]
fn different_failures_have_different_codes() {
    let folder = folder();
    let question = "allow(User:ada, \"read\", Repo:r)";
    let cases: &[(&[&str], i32, &str)] = &[
        (&["why", "good.polar", question, "--facts", "missing.txt"], 1, "file_error"),
        (&["why", "good.polar", question, "--facts", "facts.txt"], 1, "invalid_fact"),
        (&["why", "good.polar", "allow(User, \"read\")"], 2, "invalid_question"),
        (&["why", "good.polar", "p(_)"], 1, "invalid_question"),
        (&["why", "good.polar", "alow(User:a)"], 1, "unknown_predicate"),
        (&["why", "invalid.polar", question], 1, "invalid_policy"),
        (&["why", "--url", "http://127.0.0.1:1", question, "--key-file", "missing.txt"], 1, "file_error"),
        (&["compile", "good.polar", "allow(User, \"read\")"], 2, "invalid_question"),
        (&["compile", question, "good.polar"], 2, "invalid_question"),
        (&["compile", "invalid.polar", question], 1, "invalid_policy"),
        (&["compile", "open.polar", "open(User:?)"], 1, "not_enumerable"),
        (&["explain", "open.polar", "open(User:?)"], 1, "not_enumerable"),
        (&["compile", "good.polar", question, "--bindings", "good.polar"], 1, "invalid_bindings"),
        (&["explain", "missing.polar", question], 1, "file_error"),
        (&["explain", "good.polar", question, "--bindings", "good.polar"], 1, "invalid_bindings"),
        (&["test", "good.polar", "--filter", "nobody"], 1, "no_test"),
        (&["fmt", "-", "good.polar"], 1, "invalid_arguments"),
        (&["list", "User:ada", "read", "Repo", "--data", "none"], 1, "unknown_environment"),
        (&["query", "p(_)"], 2, "invalid_question"),
        (&["authorize", "User:ada"], 2, "invalid_question"),
        (&["facts", "add", "p(T:?)"], 2, "invalid_fact"),
        (&["stats", "--url", "nowhere"], 2, "invalid_arguments"),
        (&["stats", "--url", "http://127.0.0.1:1"], 1, "service_unreachable"),
        (&["stats", "--url", "http://example.com"], 1, "no_key"),
        (&["stats", "--url", "http://example.com", "--key-file", "good.polar"], 1, "invalid_key"),
        (&["stats", "--config", "good.polar"], 1, "invalid_settings"),
        (&["config", "show", "--config", "missing.toml"], 1, "invalid_settings"),
        (&["bindings", "check", "good.polar", "--database", "mysql://x"], 1, "invalid_bindings"),
        (&["bindings", "check", "bindings.yaml", "--database", "mysql://x"], 2, "invalid_arguments"),
        (&["bindings", "check", "bindings.yaml", "--database", "sqlite:none.db"], 1, "database_error"),
    ];
    for (args, exit_code, code) in cases {
        for format in [&["--format", "json"] as &[&str], &["--json"]] {
            let args = [args, format].concat();
            assert_eq!(failed(folder.path(), &args), (*exit_code, (*code).to_owned()), "{args:?}");
        }
    }
}

#[test]
fn what_a_service_refuses_has_its_code() {
    let folder = folder();
    let server = Server::empty();
    let url = format!("http://{}", server.address);
    let failed = |args: &[&str]| {
        let args: Vec<&str> = args.iter().copied().chain(["--url", &url, "--json"]).collect();
        failed(folder.path(), &args).1
    };
    assert_eq!(failed(&["policy", "get"]), "no_policy");
    assert_eq!(failed(&["policy", "get", "--version-id", "7"]), "not_found");
    assert_eq!(failed(&["policy", "push", "invalid.polar"]), "invalid_policy");
    fs::write(folder.path().join("key.txt"), "e_0123456789_1_unknown").unwrap();
    assert_eq!(failed(&["stats", "--key-file", "key.txt"]), "unauthorized");
}

#[test]
fn both_names_of_the_format_print_the_same_document() {
    let folder = folder();
    let question = "allow(User:ada, \"read\", Repo:r)";
    let cases: &[&[&str]] = &[
        &["compile", "good.polar", question],
        &["compile", "good.polar", question, "--bindings", "bindings.yaml"],
        &["explain", "good.polar", question],
        &["explain", "good.polar", question, "--bindings", "bindings.yaml"],
        &["why", "good.polar", question],
        &["authorize", question, "--policy", "good.polar"],
        &["query", "is_public(Repo:_)", "--policy", "good.polar"],
        &["validate", "good.polar"],
        &["test", "good.polar"],
        &["fmt", "--check", "good.polar"],
        &["config", "show"],
        &["environments", "list", "--data", "empty"],
    ];
    for args in cases {
        let printed = |format: &[&str]| {
            let output = portcullis(folder.path()).args(*args).args(format).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let long = printed(&["--format", "json"]);
        assert!(serde_json::from_str::<Json>(&long).is_ok(), "{args:?}: {long}");
        assert_eq!(printed(&["--json"]), long, "{args:?}");
    }
}

#[test]
fn compile_and_explain_write_their_sql_in_a_document() {
    let folder = folder();
    let json = |args: &[&str]| -> Json {
        let output = portcullis(folder.path()).args(args).arg("--json").output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let question = "allow(User:ada, \"read\", Repo:r)";
    let compiled = json(&["compile", "good.polar", question]);
    let sql = compiled["sql"].as_str().unwrap();
    assert!(sql.starts_with("SELECT ") && compiled["refused_if"].is_null(), "{compiled:#}");
    let explained = json(&["explain", "good.polar", question]);
    assert!(explained["sql"].is_string() && explained["stages"][0]["title"].is_string(), "{explained:#}");
    let bound = ["--bindings", "bindings.yaml"];
    let compiled = json(&[&["compile", "good.polar", question], &bound[..]].concat());
    let explained = json(&[&["explain", "good.polar", question], &bound[..]].concat());
    assert_eq!(explained["explanation"]["sql"], compiled["sql"]);
    assert!(explained["stages"][0]["text"].is_string(), "{explained:#}");
}
