//! Transcripts of sessions, with the messages of both sides: `snapshots/lsp`.

use portcullis_testkit::lsp::{Editor, URI, document};
use serde_json::{Value, json};
use std::fmt::Write;

const POLICY: &str = r#"actor User {}
resource Repo {
  roles = ["reader"];
  permissions = ["read"];
  "read" if "raeder";
}
test "readers read" {
  setup { has_role(User{"ada"}, "reader", Repo{"site"}); }
  assert allow(User{"ada"}, "read", Repo{"site"});
}
"#;

#[test]
fn a_session_as_both_sides_wrote_it() {
    let mut editor = Editor::start_with(&["--pages", "https://example.com/codes"], &json!({}));
    let mut transcript = String::new();
    let mut note = |side: &str, what: &str, value: &Value| {
        write!(transcript, "{side} {what}\n{}\n\n", lines(value)).unwrap();
    };
    let position = json!({ "line": 4, "character": 15 });
    let at = json!({ "textDocument": document(), "position": position });
    note("<", "textDocument/publishDiagnostics", &json!(editor.open(POLICY)));
    let range = json!({ "start": position, "end": position });
    let fix = json!({ "textDocument": document(), "range": range, "context": { "diagnostics": [] } });
    let mut exchange = |editor: &mut Editor, method: &str, params: &Value| {
        note(">", method, params);
        let answer = editor.ask(method, params);
        for told in editor.notifications.drain(..) {
            note("<", told["method"].as_str().unwrap(), &told["params"]);
        }
        note("<", method, &answer);
    };
    exchange(&mut editor, "textDocument/codeAction", &fix);
    exchange(&mut editor, "textDocument/completion", &at);
    editor.open(&POLICY.replace("raeder", "reader"));
    exchange(&mut editor, "textDocument/hover", &at);
    exchange(&mut editor, "textDocument/definition", &at);
    exchange(&mut editor, "textDocument/prepareRename", &at);
    let rename = json!({ "textDocument": document(), "position": position, "newName": "viewer" });
    exchange(&mut editor, "textDocument/rename", &rename);
    exchange(&mut editor, "textDocument/codeLens", &json!({ "textDocument": document() }));
    let run = json!({ "command": "portcullis.runTest", "arguments": [URI, "readers read"] });
    exchange(&mut editor, "workspace/executeCommand", &run);
    editor.end();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots/lsp"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("session", transcript));
}

#[test]
fn a_session_with_data_bindings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch("CREATE TABLE repos (id INTEGER, owner_id INTEGER)").unwrap();
    let mut editor = Editor::start_with(&["--database", &format!("sqlite:{}", path.display())], &json!({}));
    let mut transcript = String::new();
    let uri = "file:///policies/bindings.yaml";
    editor.open(&POLICY.replace("raeder", "reader"));
    let mut typed = |text: &str, request: &str, params: &Value| {
        let opened = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": text });
        editor.notify("textDocument/didOpen", &json!({ "textDocument": opened }));
        let told = editor.read();
        let answer = editor.ask(request, params);
        let (method, diagnostics) = (told["method"].as_str().unwrap(), lines(&told["params"]["diagnostics"]));
        let shown = text.trim_end();
        write!(transcript, "{shown}\n\n< {method}\n{diagnostics}\n\n").unwrap();
        write!(transcript, "> {request}\n{params}\n\n< {request}\n{}\n\n", lines(&answer)).unwrap();
    };
    let at = |line: u32, character: u32| json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } });
    typed("facts:\n  has_", "textDocument/completion", &at(1, 6));
    let query = |text: &str| format!("facts:\n  has_role(User:_, reader, Repo:_):\n    query: {text}\n");
    typed(&query("SELECT r.ow FROM repos r"), "textDocument/completion", &at(2, 22));
    let wrong = format!("{}\n\n\n", query("  SELECT id FROM repos").replace("    query", "        query"));
    let options =
        json!({ "textDocument": { "uri": uri }, "options": { "tabSize": 2, "insertSpaces": true } });
    typed(&wrong, "textDocument/formatting", &options);
    editor.end();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots/lsp"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("bindings", transcript));
}

/// A value with a line for each element of an array.
fn lines(value: &Value) -> String {
    match value {
        Value::Array(elements) => elements.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}
