//! The language server as an editor speaks with it: a process, and messages on its standard input and output.

mod acting;
mod bindings;
mod session;

use portcullis_testkit::lsp::{Editor, URI, document, range};
use serde_json::{Value, json};

const POLICY: &str = r#"# é🦀
actor User {}
resource Repo {
  roles = ["reader"];
  relations = { parent: Repo };
  "reader" if "raeder";
  "reader" if "reader" on "parent";
}
is_open(r: Repo) if opened(r, "🦀"); is_open(_: Repo) if is_open(r) and r matches Repo;
"#;

#[test]
fn findings_follow_the_text_and_their_fixes_remove_them() {
    let mut editor = Editor::start();
    let findings = editor.open(POLICY);
    let errors: Vec<&Value> = findings.iter().filter(|found| found["severity"] == 1).collect();
    assert_eq!(errors.len(), 1, "{findings:?}");
    assert_eq!((&errors[0]["code"], &errors[0]["source"]), (&json!("P0201"), &json!("portcullis")));
    assert_eq!(errors[0]["range"], range([5, 14], [5, 22]));

    let params = json!({ "textDocument": document(), "range": range([5, 15], [5, 15]), "context": { "diagnostics": [] } });
    let fixes = editor.ask("textDocument/codeAction", &params);
    assert_eq!(fixes[0]["title"], "Replace `\"raeder\"` with `\"reader\"`");
    let edit = &fixes[0]["edit"]["changes"][URI][0];
    assert_eq!(edit["range"], range([5, 14], [5, 22]));

    let text = POLICY.replace("\"raeder\"", edit["newText"].as_str().unwrap());
    editor.notify(
        "textDocument/didChange",
        &json!({ "textDocument": { "uri": URI, "version": 2 }, "contentChanges": [{ "text": text }] }),
    );
    assert!(editor.findings().iter().all(|found| found["severity"] == 2));
    editor.notify("textDocument/didClose", &json!({ "textDocument": document() }));
    assert_eq!(editor.findings(), Vec::<Value>::new());
    editor.end();
}

#[test]
fn a_rule_and_a_predicate_are_explained_where_the_pointer_is() {
    let mut editor = Editor::start();
    editor.open(POLICY);
    let shown = |editor: &mut Editor, [line, character]: [u64; 2]| -> Value {
        let position = json!({ "line": line, "character": character });
        editor.ask("textDocument/hover", &json!({ "textDocument": document(), "position": position }))
    };
    // The rule with an error has no longhand, the others have.
    assert_eq!(shown(&mut editor, [5, 4]), Value::Null);
    assert_eq!(shown(&mut editor, [6, 4])["range"], range([6, 2], [6, 35]));
    editor.end();
    let mut editor = Editor::start();
    editor.open(&POLICY.replace("raeder", "reader"));
    let rule = shown(&mut editor, [6, 4]);
    assert_eq!(rule["range"], range([6, 2], [6, 35]));
    let longhand = "```polar
has_role(actor: User, \"reader\", resource: Repo) :- has_relation(resource, \"parent\", parent: Repo), has_role(actor, \"reader\", parent)
```
Reads facts:

```polar
has_relation(Repo, \"parent\", Repo)
has_role(User, \"reader\", Repo)
```
";
    assert_eq!(rule["contents"], json!({ "kind": "markdown", "value": longhand }));
    let predicate = shown(&mut editor, [8, 58]);
    assert_eq!(predicate["range"], range([8, 57], [8, 64]));
    let text = predicate["contents"]["value"].as_str().unwrap();
    assert!(
        text.contains("is_open(r: Repo) :- opened(r, \"🦀\")") && text.contains("May be stored:"),
        "{text}"
    );
    assert_eq!(shown(&mut editor, [0, 0]), Value::Null);
    editor.end();
}

#[test]
fn names_are_completed_while_a_line_is_typed() {
    let mut editor = Editor::start();
    // `^` is the pointer; the line does not parse.
    let labels = |editor: &mut Editor, line: &str| -> Vec<String> {
        let line = POLICY.replace("  \"reader\" if \"raeder\";", line);
        let at = line.find('^').unwrap();
        let before = line.get(..at).unwrap();
        let (number, column) = (before.matches('\n').count(), before.rsplit('\n').next().unwrap().len());
        editor.open(&line.replacen('^', "", 1));
        let position = json!({ "line": number, "character": column });
        let asked = json!({ "textDocument": document(), "position": position });
        let found = editor.ask("textDocument/completion", &asked);
        found.as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(labels(&mut editor, "  \"reader\" if \"^"), ["reader", "parent"]);
    assert_eq!(labels(&mut editor, "  \"reader\" if \"reader\" on \"^\";"), ["parent"]);
    assert_eq!(
        labels(&mut editor, "} is_open(_: ^"),
        ["User", "Repo", "String", "Integer", "Boolean", "Actor", "Resource"]
    );
    let words = labels(&mut editor, "  ^");
    for word in ["permissions", "is_open", "has_role", "User"] {
        assert_eq!(words.iter().filter(|found| *found == word).count(), 1, "{words:?}");
    }
    assert!(!words.contains(&"declare".to_owned()), "{words:?}");
    assert!(labels(&mut editor, "} de^").contains(&"declare".to_owned()));
    assert!(labels(&mut editor, "} test \"t\" { ^ }").contains(&"assert_not".to_owned()));
    assert_eq!(labels(&mut editor, "  # note: ^"), Vec::<String>::new());
    // The text ends inside the block, and a name replaces all that has been typed of it.
    editor.open(
        "resource Repo {\n  roles = [\"a \\\"b\\\"\"];\n  relations = { parent: Repo };\n  \"x\" if \"a \\\"",
    );
    let position = json!({ "line": 3, "character": 14 });
    let asked = json!({ "textDocument": document(), "position": position });
    let found = editor.ask("textDocument/completion", &asked);
    let edit = json!({ "range": range([3, 10], [3, 14]), "newText": "a \\\"b\\\"" });
    assert_eq!((&found[0]["label"], &found[0]["textEdit"]), (&json!("a \"b\""), &edit));
    editor.end();
}

#[test]
fn names_lead_to_their_definitions_and_references() {
    let mut editor = Editor::start();
    editor.open(POLICY);
    let mut places = |method: &str, [line, character]: [u64; 2]| -> Vec<Value> {
        let params = json!({
            "textDocument": document(),
            "position": { "line": line, "character": character },
            "context": { "includeDeclaration": false },
        });
        let found = editor.ask(&format!("textDocument/{method}"), &params);
        found.as_array().unwrap().iter().map(|location| location["range"].clone()).collect()
    };
    // The crab counts twice.
    let heads = [range([8, 0], [8, 7]), range([8, 37], [8, 44])];
    assert_eq!(places("definition", [8, 58]), heads);
    assert_eq!(places("references", [8, 1]), [range([8, 57], [8, 64])]);
    assert_eq!(places("definition", [8, 13]), [range([2, 9], [2, 13])]);
    assert_eq!(places("definition", [6, 16]), [range([3, 11], [3, 19])]);
    assert_eq!(places("definition", [6, 28]), [range([4, 16], [4, 22])]);
    assert_eq!(places("definition", [0, 0]), Vec::<Value>::new());
    editor.end();
}

#[test]
fn a_document_has_an_outline_folds_and_a_layout() {
    let mut editor = Editor::start();
    editor.open(POLICY);
    let symbols = editor.ask("textDocument/documentSymbol", &json!({ "textDocument": document() }));
    let names: Vec<&str> =
        symbols.as_array().unwrap().iter().map(|found| found["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["actor User", "resource Repo", "is_open/1", "is_open/1"]);
    assert_eq!(symbols[1]["children"][0]["name"], "reader");
    let folds = editor.ask("textDocument/foldingRange", &json!({ "textDocument": document() }));
    assert_eq!(folds, json!([{ "startLine": 2, "endLine": 7 }]));

    let params = json!({ "textDocument": document(), "options": { "tabSize": 4, "insertSpaces": true } });
    let edits = editor.ask("textDocument/formatting", &params);
    assert_eq!(edits[0]["range"], range([0, 0], [9, 0]));
    let text = edits[0]["newText"].as_str().unwrap();
    assert!(text.starts_with("# é🦀\nactor User {}\n\nresource Repo {\n"), "{text}");
    editor.open(text);
    assert_eq!(editor.ask("textDocument/formatting", &params), json!([]));
    // A text that cannot be read stays as it is.
    editor.open("actor User {");
    assert_eq!(editor.ask("textDocument/formatting", &params), Value::Null);
    editor.end();
}

#[test]
fn a_session_that_is_cut_off_is_a_failure() {
    let mut editor = Editor::start();
    editor.input = None;
    assert_eq!(editor.process.wait().unwrap().code(), Some(1));
}

#[test]
fn an_unknown_message_does_not_end_the_session() {
    let mut editor = Editor::start();
    editor.notify("textDocument/didOpen", &json!({ "textDocument": 1 }));
    let told = editor.read();
    assert_eq!((&told["method"], &told["params"]["type"]), (&json!("window/logMessage"), &json!(1)));
    let response = editor.request("textDocument/implementation", &json!({}));
    assert_eq!(response["error"]["code"], -32601);
    let response = editor.request("textDocument/formatting", &json!({ "textDocument": [] }));
    assert_eq!(response["error"]["code"], -32602);
    let params = json!({ "textDocument": { "uri": "file:///closed.polar" } });
    assert_eq!(editor.ask("textDocument/documentSymbol", &params), Value::Null);
    editor.end();
}
