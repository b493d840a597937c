//! The program in a folder of its own, and a service over its data folder `d`.

pub(crate) use portcullis_testkit::program::portcullis;

use portcullis_testkit::program;
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

/// A running service over the data folder `d`, which ends with its test.
pub(crate) struct Service {
    inner: program::Service,
    /// `http://ADDRESS`, or `https://ADDRESS`
    pub(crate) url: String,
}

impl Service {
    pub(crate) fn start(folder: &Path) -> Self {
        Self::with(folder, &[])
    }

    /// Starts it with more arguments.
    pub(crate) fn with(folder: &Path, args: &[&str]) -> Self {
        let inner = program::Service::start(folder, args);
        Self { url: inner.caller.url.clone(), inner }
    }

    /// Stops it as a supervisor would, and waits until it has ended.
    pub(crate) fn stop(self) {
        self.inner.stop();
    }

    /// Posts a body: the status and the answer.
    pub(crate) fn post(&self, key: &str, path: &str, body: &Json) -> (u16, Json) {
        self.inner.caller.post(key, path, body)
    }

    /// Posts a body under a request id.
    pub(crate) fn send(&self, key: &str, path: &str, body: &Json, id: &str) -> (u16, Json) {
        let body = body.to_string();
        let request = format!("POST /api/{path}");
        let sent = self.inner.caller.send(key, &request, &[("X-Request-ID", id)], Some(body.as_bytes()));
        let (status, text) = sent.unwrap();
        (status, serde_json::from_str(&text).unwrap())
    }

    /// Asks for something: the status and the answer.
    pub(crate) fn get(&self, key: &str, path: &str) -> (u16, Json) {
        self.inner.caller.get(key, path)
    }

    /// Makes [`POLICY`] the active one.
    pub(crate) fn set_policy(&self, key: &str) {
        let (status, answer) = self.post(key, "policy", &json!({ "src": POLICY }));
        assert_eq!(status, 200, "{answer}");
    }

    /// Stores notes with these texts.
    pub(crate) fn note(&self, key: &str, user: &str, texts: &[&str]) {
        let notes: Vec<Json> = texts.iter().map(|text| note(user, text)).collect();
        let (status, answer) = self.post(key, "batch", &json!([{ "inserts": notes }]));
        assert_eq!(status, 200, "{answer}");
    }

    /// Every stored fact.
    pub(crate) fn facts(&self, key: &str) -> Json {
        let (status, answer) = self.get(key, "facts");
        assert_eq!(status, 200, "{answer}");
        answer
    }
}

/// A note as it stands on the wire.
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
