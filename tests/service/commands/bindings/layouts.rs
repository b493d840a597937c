//! How `bindings check --fix` writes what it changes. A document keeps its layout, its comments and the ends
//! of its lines, and the result is also JSON.

use super::fix::{fixed, is_settled};
use super::{check, sqlite};
use serde_json::Value as Json;
use std::fs;

#[test]
fn documents_in_every_layout_are_corrected() {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(folder.path(), "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT NOT NULL UNIQUE)");
    let head = "dialect: sqlite\nfacts:\n  p(T:_, A::U:_):\n    query: SELECT id, u FROM t\n";
    for (before, after) in [
        ("", "sql_types:\n  T: integer\n  'A::U': text\ntables:\n  T: t.id\n  'A::U': t.u\n"),
        (
            "tables: {}\nsql_types: {T: integer}  # types\n",
            "tables: {T: t.id, 'A::U': t.u}\nsql_types: {T: integer, 'A::U': text}  # types\n",
        ),
        (
            "tables:  # none yet\nsql_types: ~\n",
            "tables:  # none yet\n  T: t.id\n  'A::U': t.u\nsql_types:\n  T: integer\n  'A::U': text\n",
        ),
        (
            "sql_types:\n    # ids\n    T: text  # wrong\ntables:\n  \"T\": \"t.id\"\n  A::U: 't.u'",
            "sql_types:\n    # ids\n    T: integer  # wrong\n    'A::U': text\ntables:\n  \"T\": \"t.id\"\n  A::U: 't.u'",
        ),
        // A comment below the last entry belongs to it; one that is not indented is the end.
        (
            "    # of p\n\n# the end\n",
            "    # of p\n\nsql_types:\n  T: integer\n  'A::U': text\n\ntables:\n  T: t.id\n  'A::U': t.u\n\n# the end\n",
        ),
    ] {
        let (text, _) = fixed(folder.path(), &format!("{head}{before}"), &database);
        assert_eq!(text, format!("{head}{after}"));
        is_settled(folder.path(), &text, &database);
        let (text, _) = fixed(folder.path(), &format!("{head}{before}").replace('\n', "\r\n"), &database);
        assert_eq!(text, format!("{head}{after}").replace('\n', "\r\n"));
    }
    let json = r#"{"dialect": "sqlite", "facts": {"p(T:_)": {"query": "SELECT id FROM t"}}}"#;
    let (text, _) = fixed(folder.path(), json, &database);
    let added = r#", "sql_types": {"T": "integer"}, "tables": {"T": "t.id"}}"#;
    assert_eq!(text, format!("{}{added}", json.strip_suffix('}').unwrap()));
    assert!(serde_json::from_str::<Json>(&text).is_ok());
    // The end of the document cannot be followed by a section.
    let ended = format!("{head}...\n");
    let (code, out, err) = check(folder.path(), &ended, &database, &["--fix", "--write"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.starts_with("error: `bindings.yaml` cannot be corrected without"), "{err}");
    assert!(
        err.contains("\n  sql_types: T: integer: every bound column of T is compared as `integer`\n"),
        "{err}"
    );
    assert_eq!(fs::read_to_string(folder.path().join("bindings.yaml")).unwrap(), ended);
}

#[test]
fn the_result_is_also_json() {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(folder.path(), "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL)");
    let bindings = "dialect: sqlite\nfacts:\n  p(T:_):\n    query: SELECT id FROM t\n";
    let fix = |bindings: &str, args: &[&str]| {
        let (code, out, _) =
            check(folder.path(), bindings, &database, &[&["--fix", "--json"], args].concat());
        let report: Json = serde_json::from_str(&out).unwrap();
        (code, report["fix"].clone())
    };
    let (code, shown) = fix(bindings, &[]);
    assert_eq!((code, &shown["written"]), (0, &Json::Bool(false)));
    assert_eq!(shown["changes"][1]["change"], "tables: T: t.id");
    assert!(shown["diff"].as_str().unwrap().contains("\n+  T: t.id\n"), "{shown}");
    let (_, written) = fix(bindings, &["--write"]);
    assert_eq!(written["written"], true);
    let text = fs::read_to_string(folder.path().join("bindings.yaml")).unwrap();
    let (_, nothing) = fix(&text, &["--write"]);
    assert_eq!(nothing, serde_json::json!({ "changes": [], "diff": null, "written": false }));
    let (code, _, err) = check(folder.path(), bindings, &database, &["--write"]);
    assert!(code == 2 && err.contains("--fix"), "{err}");
}
