//! Requests that change a policy or run something: renaming, and the commands of lenses. Also diagnostics on
//! request.

use portcullis_testkit::lsp::{Editor, URI, document, range};
use serde_json::{Value, json};
use std::path::Path;

const POLICY: &str = r#"actor User {}
resource Repo {
  roles = ["reader"];
  permissions = ["read"];
  "read" if "reader";
}
test "readers read" {
  setup { has_role(User{"ada"}, "reader", Repo{"site"}); }
  assert allow(User{"ada"}, "read", Repo{"site"});
  assert_not allow(User{"bob"}, "read", Repo{"site"});
}
test "anyone reads" {
  setup { has_role(User{"ada"}, "reader", Repo{"site"}); }
  assert allow(User{"bob"}, "read", Repo{"site"});
}
"#;

fn at([line, character]: [u64; 2]) -> Value {
    json!({ "textDocument": document(), "position": { "line": line, "character": character } })
}

#[test]
fn a_role_is_renamed_wherever_it_is_named() {
    let mut editor = Editor::start();
    editor.open(POLICY);
    let prepared = editor.ask("textDocument/prepareRename", &at([4, 14]));
    assert_eq!(prepared, json!({ "range": range([4, 13], [4, 19]), "placeholder": "reader" }));
    let mut params = at([4, 14]);
    params["newName"] = json!("viewer");
    let edits = editor.ask("textDocument/rename", &params)["changes"][URI].clone();
    let edits = edits.as_array().unwrap();
    let lines: Vec<&Value> = edits.iter().map(|edit| &edit["range"]["start"]["line"]).collect();
    assert_eq!(lines, [2, 4, 7, 12]);
    assert!(edits.iter().all(|edit| edit["newText"] == "\"viewer\""), "{edits:?}");

    params["newName"] = json!("read");
    let refused = editor.request("textDocument/rename", &params);
    assert_eq!(
        refused["error"],
        json!({ "code": -32803, "message": "`read` is already a permission of `Repo`" })
    );
    let refused = editor.request("textDocument/prepareRename", &at([8, 10]));
    assert_eq!(refused["error"]["message"], "`allow` is a built-in predicate");
    editor.end();
}

#[test]
fn a_lens_runs_its_test_and_shows_the_result() {
    let mut editor = Editor::start();
    editor.open(POLICY);
    let lenses = editor.ask("textDocument/codeLens", &json!({ "textDocument": document() }));
    let lenses = lenses.as_array().unwrap();
    let titles: Vec<(&str, u64)> = lenses
        .iter()
        .map(|lens| {
            (lens["command"]["title"].as_str().unwrap(), lens["range"]["start"]["line"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(titles, [("SQL", 4), ("run test", 6), ("run test", 11)]);

    let ran = editor.ask("workspace/executeCommand", &lenses[1]["command"]);
    assert_eq!(ran, json!({ "test": "readers read", "passed": 2, "total": 2, "failures": [] }));
    let shown = editor.notifications.pop().unwrap();
    assert_eq!(shown["method"], "window/showMessage");
    let message = "test `readers read`: 2 of 2 assertions hold";
    assert_eq!(shown["params"], json!({ "type": 3, "message": message }));

    let ran = editor.ask("workspace/executeCommand", &lenses[2]["command"]);
    let failure = "line 14: `assert allow(User{\"bob\"}, \"read\", Repo{\"site\"})` has no answer";
    assert_eq!(ran["failures"], json!([failure]));
    let shown = editor.notifications.pop().unwrap();
    let message = format!("test `anyone reads`: 0 of 1 assertion holds\n{failure}");
    assert_eq!(shown["params"], json!({ "type": 1, "message": message }));
    editor.end();
}

#[test]
fn a_lens_shows_the_sql_of_its_rule() {
    let mut editor = Editor::start_with(&["--dialect", "postgresql"], &json!({}));
    editor.open(POLICY);
    let params = json!({ "command": "portcullis.showSql", "arguments": [URI, 5] });
    let shown = editor.ask("workspace/executeCommand", &params);
    assert_eq!(shown["question"], "has_permission(User:example, \"read\", Repo:?)");
    let sql = shown["sql"].as_str().unwrap();
    assert!(sql.contains("has_role_user_string_repo") && sql.ends_with(';'), "{sql}");
    editor.end();
}

#[test]
fn a_command_that_cannot_be_executed_says_why() {
    let mut editor = Editor::start();
    editor.open(&POLICY.replace("\"read\" if", "\"raed\" if"));
    let mut refused = |command: &str, arguments: Value| {
        let params = json!({ "command": command, "arguments": arguments });
        let response = editor.request("workspace/executeCommand", &params);
        assert_eq!(response["error"]["code"], -32803);
        response["error"]["message"].as_str().unwrap().to_owned()
    };
    let run = "portcullis.runTest";
    assert_eq!(refused(run, json!([URI, "x"])), "the policy has errors, so that its tests cannot run");
    assert_eq!(refused(run, json!(["file:///no.polar", "x"])), "`file:///no.polar` is not open");
    assert_eq!(refused(run, json!([])), "`portcullis.runTest` takes a document and the name of a test");
    assert_eq!(refused("portcullis.no", json!([])), "there is no command `portcullis.no`");
    let sql = refused("portcullis.showSql", json!([URI, 5]));
    assert_eq!(sql, "the rule in line 5 has errors, or nothing can match it");
    editor.end();
}

#[test]
fn a_code_leads_to_its_page() {
    let mut editor = Editor::start();
    let found = editor.open(&POLICY.replace("\"read\" if", "\"raed\" if"));
    let page = found[0]["codeDescription"]["href"].as_str().unwrap();
    let path = Path::new(page.strip_prefix("file://").unwrap());
    assert!(path.ends_with("fixtures/diagnostics/P0201-undeclared-term.md") && path.is_file(), "{page}");
    editor.end();
    let mut editor = Editor::start_with(&["--pages", "https://example.com/codes/"], &json!({}));
    let found = editor.open("actor User {");
    let page = "https://example.com/codes/P0111-unclosed-bracket.md";
    assert_eq!(found[0]["codeDescription"]["href"], page);
    editor.end();
}

#[test]
fn an_editor_that_asks_for_diagnostics_gets_them_once() {
    let mut editor = Editor::start_with(&[], &json!({ "textDocument": { "diagnostic": {} } }));
    let opened = json!({ "uri": URI, "languageId": "polar", "version": 1, "text": "actor User {" });
    editor.notify("textDocument/didOpen", &json!({ "textDocument": opened }));
    let report = editor.ask("textDocument/diagnostic", &json!({ "textDocument": document() }));
    assert_eq!((&report["kind"], &report["items"][0]["code"]), (&json!("full"), &json!("P0111")));
    assert_eq!(editor.notifications, Vec::<Value>::new());
    let other = json!({ "textDocument": { "uri": "file:///closed.polar" } });
    assert_eq!(editor.ask("textDocument/diagnostic", &other)["items"], json!([]));
    editor.end();
}
