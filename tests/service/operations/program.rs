//! Commands of the program in a folder, and requests to a service over its data folder `d`.

use portcullis_testkit::program::{self, Service};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::Path;

/// Facts of one to three arguments, some of which are strings.
pub(crate) const POLICY: &str = r#"
actor User {}
resource Repo { roles = ["reader"]; permissions = ["read"]; "read" if "reader"; }
declare note(User, String);
declare age(User, Integer);
"#;

/// The environment that there is without any setup.
pub(crate) const ENVIRONMENT: &str = "0123456789";

/// Runs it: exit code, standard output, standard error.
pub(crate) fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let (code, out, err) = program::run(folder, args);
    (code.unwrap(), out, err)
}

/// Runs it, and what it prints when all is well.
pub(crate) fn good(folder: &Path, args: &[&str]) -> String {
    let (code, out, err) = run(folder, args);
    assert_eq!((code, err.as_str()), (0, ""), "{args:?} {out}");
    out
}

/// Runs it, and what it says when something is wrong.
pub(crate) fn bad(folder: &Path, args: &[&str]) -> String {
    let (code, out, err) = run(folder, args);
    assert_eq!((code, out.as_str()), (1, ""), "{args:?} {err}");
    assert!(err.starts_with("error: "), "{err}");
    err.trim_start_matches("error: ").trim_end().to_owned()
}

/// Makes [`POLICY`] the active one.
pub(crate) fn set_policy(service: &Service, key: &str) {
    let (status, answer) = service.caller.post(key, "policy", &json!({ "src": POLICY }));
    assert_eq!(status, 200, "{answer}");
}

/// Stores notes with these texts.
pub(crate) fn store_notes(service: &Service, key: &str, user: &str, texts: &[&str]) {
    let notes: Vec<Json> = texts.iter().map(|text| note(user, text)).collect();
    let (status, answer) = service.caller.post(key, "batch", &json!([{ "inserts": notes }]));
    assert_eq!(status, 200, "{answer}");
}

/// Every stored fact.
pub(crate) fn stored_facts(service: &Service, key: &str) -> Json {
    let (status, answer) = service.caller.get(key, "facts");
    assert_eq!(status, 200, "{answer}");
    answer
}

/// A note as a fact of a request.
pub(crate) fn note(user: &str, text: &str) -> Json {
    json!({ "predicate": "note", "args": [{ "type": "User", "id": user }, { "type": "String", "id": text }] })
}

/// A fresh key of an environment, made by the program.
pub(crate) fn key(folder: &Path, environment: &str) -> String {
    good(folder, &["keys", "create", "--name", "test", "--data", "d", "--environment", environment])
        .trim()
        .to_owned()
}

/// Puts a key into a file, for `--key-file`.
pub(crate) fn key_file(folder: &Path, name: &str, key: &str) {
    fs::write(folder.join(name), format!("{key}\n")).unwrap();
}
