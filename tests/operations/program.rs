//! The program in a folder of its own, and a service over its data folder `d`.

pub(crate) use crate::executable::portcullis;
use serde_json::{Value as Json, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

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
    let output = portcullis(folder).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
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
    child: Child,
    /// `http://ADDRESS`, or `https://ADDRESS`
    pub(crate) url: String,
    agent: ureq::Agent,
}

impl Service {
    pub(crate) fn start(folder: &Path) -> Self {
        Self::with(folder, &[])
    }

    /// Starts it with more arguments.
    pub(crate) fn with(folder: &Path, args: &[&str]) -> Self {
        let mut command = portcullis(folder);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data", "d"]).args(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut welcome = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut welcome).unwrap();
        let base = welcome.split_whitespace().find_map(|word| word.strip_suffix("/api,")).unwrap().to_owned();
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        Self { child, url: base, agent }
    }

    /// Stops it as a supervisor would, and waits until it has ended.
    pub(crate) fn stop(mut self) {
        let told = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(told.success() && self.child.wait().unwrap().success());
    }

    /// Posts a body: the status and the answer.
    pub(crate) fn post(&self, key: &str, path: &str, body: &Json) -> (u16, Json) {
        self.send(key, path, body, "test")
    }

    /// Posts a body under a request id.
    pub(crate) fn send(&self, key: &str, path: &str, body: &Json, id: &str) -> (u16, Json) {
        let request = self.agent.post(format!("{}/api/{path}", self.url)).header("X-Request-ID", id);
        let mut answer = request.header("Authorization", format!("Bearer {key}")).send_json(body).unwrap();
        (answer.status().as_u16(), answer.body_mut().read_json().unwrap())
    }

    /// Asks for something: the status and the answer.
    pub(crate) fn get(&self, key: &str, path: &str) -> (u16, Json) {
        let request = self.agent.get(format!("{}/api/{path}", self.url));
        let mut answer = request.header("Authorization", format!("Bearer {key}")).call().unwrap();
        (answer.status().as_u16(), answer.body_mut().read_json().unwrap())
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

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
