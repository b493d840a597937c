//! The transcript of a session, with every message of both sides: `snapshots/lsp/session.snap`.

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

/// A value with a line for each element of an array.
fn lines(value: &Value) -> String {
    match value {
        Value::Array(elements) => elements.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}
