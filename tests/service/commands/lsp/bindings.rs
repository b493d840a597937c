//! Data bindings in an editor: mistakes, formatting, and completion from a live database.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a server that answers otherwise has failed the test"
)]

use super::super::bindings::postgresql;
use portcullis_testkit::lsp::Editor;
use rusqlite::Connection;
use serde_json::{Value, json};

const BINDINGS: &str = "file:///policies/bindings.yaml";

const POLICY: &str = r#"actor User {}
resource Repo { roles = ["reader"]; }
declare is_public(Repo);
"#;

fn open(editor: &mut Editor, text: &str) -> Value {
    let document = json!({ "uri": BINDINGS, "languageId": "yaml", "version": 1, "text": text });
    editor.notify("textDocument/didOpen", &json!({ "textDocument": document }));
    let sent = editor.read();
    assert_eq!(
        (&sent["method"], &sent["params"]["uri"]),
        (&json!("textDocument/publishDiagnostics"), &json!(BINDINGS))
    );
    sent["params"]["diagnostics"].clone()
}

/// What is offered at `^`.
fn labels(editor: &mut Editor, text: &str) -> Vec<String> {
    let before = text.split('^').next().unwrap();
    let position = json!({ "line": before.matches('\n').count(), "character": before.rsplit('\n').next().unwrap().len() });
    open(editor, &text.replacen('^', "", 1));
    let found = editor.ask(
        "textDocument/completion",
        &json!({ "textDocument": { "uri": BINDINGS }, "position": position }),
    );
    found.as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn mistakes_have_their_line_and_the_layout_is_corrected() {
    let mut editor = Editor::start();
    let found = open(&mut editor, "facts:\n  is_public(Repo:_):\n    query: SELECT id, name FROM repos\n");
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found[0]["severity"], 1);
    assert!(found[0]["range"]["start"]["line"].as_u64().unwrap() >= 1, "{found}");

    let text = "facts:\n    is_public(Repo:_):   # some\n        query:  SELECT id FROM repos\n\n\n";
    assert_eq!(open(&mut editor, text), json!([]));
    let options =
        json!({ "textDocument": { "uri": BINDINGS }, "options": { "tabSize": 2, "insertSpaces": true } });
    let edits = editor.ask("textDocument/formatting", &options);
    let formatted = "facts:\n  is_public(Repo:_):   # some\n    query: SELECT id FROM repos\n";
    assert_eq!(edits[0]["newText"], formatted);
    open(&mut editor, formatted);
    assert_eq!(editor.ask("textDocument/formatting", &options), json!([]));
    // Other YAML is left alone.
    assert_eq!(open(&mut editor, "- services:\n      - web\n"), json!([]));
    assert_eq!(editor.ask("textDocument/formatting", &options), Value::Null);
    editor.end();
}

#[test]
fn tables_and_columns_of_the_database_are_offered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let database = Connection::open(&path).unwrap();
    database.execute_batch("CREATE TABLE repos (id INTEGER, \"public name\" TEXT);").unwrap();
    let url = format!("sqlite:{}", path.display());
    let mut editor = Editor::start_with(&["--database", &url], &json!({}));
    editor.open(POLICY);
    assert_eq!(labels(&mut editor, "facts:\n  ^"), ["has_role(User:_, reader, Repo:_)", "is_public(Repo:_)"]);
    let query = |text: &str| format!("facts:\n  is_public(Repo:_):\n    query: SELECT {text}\n");
    assert_eq!(labels(&mut editor, &query("id FROM ^")), ["repos"]);
    assert_eq!(labels(&mut editor, &query("r.^ FROM repos r")), ["id", "\"public name\""]);

    // A table that is created later is offered after a document is saved.
    database.execute_batch("CREATE TABLE users (id INTEGER)").unwrap();
    editor.notify("textDocument/didSave", &json!({ "textDocument": { "uri": BINDINGS } }));
    let tables = (0..200).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let found = labels(&mut editor, &query("id FROM ^"));
        (found.len() == 2).then_some(found)
    });
    assert_eq!(tables.unwrap(), ["repos", "users"]);
    editor.end();
}

/// Names are offered as a query must write them; tables that the role may not read are not offered.
#[test]
fn tables_of_postgresql_have_their_schema_and_quotes() {
    let tables = "CREATE TABLE repos (id int, \"Owner\" int); CREATE VIEW shown AS SELECT id FROM repos;
        CREATE SCHEMA other; CREATE TABLE other.\"Odd one\" (x int);
        CREATE ROLE completing LOGIN; CREATE TABLE hidden (id int);
        GRANT USAGE ON SCHEMA other TO completing;
        GRANT SELECT ON repos, shown, other.\"Odd one\" TO completing;";
    let url = postgresql("completed", tables).replace("user=postgres", "user=completing");
    let mut editor = Editor::start_with(&["--database", &url], &json!({}));
    editor.open(POLICY);
    let query = |text: &str| format!("facts:\n  is_public(Repo:_):\n    query: SELECT {text}\n");
    assert_eq!(labels(&mut editor, &query("id FROM ^")), ["other.\"Odd one\"", "repos", "shown"]);
    assert_eq!(labels(&mut editor, &query("r.^ FROM repos AS r")), ["id", "\"Owner\""]);
    editor.end();
}

/// The database is asked when a document is opened and when it is saved.
#[test]
fn what_the_database_contradicts_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let database = Connection::open(&path).unwrap();
    database.execute_batch("CREATE TABLE repos (id INTEGER PRIMARY KEY);").unwrap();
    let mut editor = Editor::start_with(&["--database", &format!("sqlite:{}", path.display())], &json!({}));
    let text =
        "dialect: sqlite\nfacts:\n  is_public(Repo:_):\n    query: SELECT id FROM repos WHERE public\n";
    assert_eq!(open(&mut editor, text), json!([]));
    let sent = editor.read();
    let found = &sent["params"]["diagnostics"];
    assert_eq!((&found[0]["code"], &found[0]["severity"]), (&json!("query_refused"), &json!(1)), "{sent}");
    assert_eq!(found[0]["range"]["start"], json!({ "line": 2, "character": 2 }));
    assert!(found[0]["message"].as_str().unwrap().contains("no such column: public"), "{sent}");

    database.execute_batch("ALTER TABLE repos ADD COLUMN public BOOLEAN").unwrap();
    editor.notify("textDocument/didSave", &json!({ "textDocument": { "uri": BINDINGS } }));
    let sent = editor.read();
    let errors: Vec<&Value> = sent["params"]["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|found| found["severity"] == 1)
        .collect();
    assert_eq!(errors, Vec::<&Value>::new());
    editor.end();
}

#[test]
fn a_database_that_does_not_answer_is_named() {
    let mut editor = Editor::start_with(&["--database", "sqlite:missing.db"], &json!({}));
    editor.open(POLICY);
    assert_eq!(
        labels(&mut editor, "facts:\n  is_^"),
        ["has_role(User:_, reader, Repo:_)", "is_public(Repo:_)"]
    );
    open(&mut editor, "facts:\n  is_public(Repo:_):\n    query: SELECT id FROM \n");
    let position = json!({ "line": 2, "character": 26 });
    let asked = json!({ "textDocument": { "uri": BINDINGS }, "position": position });
    let answer = editor.request("textDocument/completion", &asked);
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("the database does not answer"),
        "{answer}"
    );
    editor.end();
}
