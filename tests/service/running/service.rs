//! A service in development mode, over a folder of its own that is gone with it.

use portcullis_testkit::program::{self, Program, portcullis};
use serde_json::{Value as Json, json};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// The key that `--dev` accepts.
pub(crate) const DEVELOPMENT_KEY: &str = "e_0123456789_12345_osotesttoken01xiIn";

const POLICY: &str = r#"
actor User {}
resource Repo { roles = ["reader"]; permissions = ["read"]; "read" if "reader"; "read" if is_public(resource); }
"#;

/// A running service in development mode; it ends with its test.
pub(crate) struct Service {
    inner: program::Service,
    /// Where it answers, without a path.
    pub(crate) base: String,
    _folder: tempfile::TempDir,
}

impl Service {
    /// Starts it on a free port.
    pub(crate) fn start(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let command = portcullis(folder.path());
        Self::start_by(command, folder, args)
    }

    /// The same after these commands of a shell.
    pub(crate) fn start_within(before: &str, args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = portcullis(folder.path());
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{before}; exec \"$@\""), "sh"]).arg(program.get_program());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(folder.path());
        Self::start_by(command, folder, args)
    }

    fn start_by(command: Command, folder: tempfile::TempDir, args: &[&str]) -> Self {
        let args: Vec<&str> = ["--dev"].iter().chain(args).copied().collect();
        let inner = Program::spawn_as(command, folder.path(), "d", &args).answering();
        let inner = inner.unwrap_or_else(|error| panic!("{error}"));
        Self { base: inner.caller.url.clone(), inner, _folder: folder }
    }

    /// Starts it with a policy.
    pub(crate) fn with_policy(args: &[&str]) -> Self {
        let service = Self::start(args);
        assert_eq!(service.post("/api/policy", DEVELOPMENT_KEY, &json!({ "src": POLICY }), &[]), 200);
        service
    }

    /// The status of the answer.
    pub(crate) fn post(&self, path: &str, key: &str, body: &Json, headers: &[(&str, &str)]) -> u16 {
        let body = body.to_string();
        let sent = self.inner.caller.send(key, &format!("POST {path}"), headers, Some(body.as_bytes()));
        sent.unwrap().0
    }

    /// The body of the answer.
    pub(crate) fn get(&self, path: &str, key: &str) -> String {
        self.inner.caller.send(key, &format!("GET {path}"), &[], None).unwrap().1
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.inner.program.id()
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.inner.program.logged()
    }

    /// Waits until the log has this.
    pub(crate) fn logs(&self, text: &str) {
        let began = Instant::now();
        while !self.log().contains(text) {
            assert!(began.elapsed() < Duration::from_secs(20), "no {text} in {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        self.inner.program.signal(name);
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.ended()
    }

    /// Waits until it has stopped.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.inner.program.ended()
    }

    /// Whether it is still running.
    pub(crate) fn runs(&mut self) -> bool {
        self.inner.program.runs()
    }
}

/// An authorize request.
pub(crate) fn question(user: &str, repo: &str) -> Json {
    json!({
        "actor_type": "User", "actor_id": user, "action": "read", "resource_type": "Repo", "resource_id": repo,
    })
}

/// A role of a user.
pub(crate) fn role(user: &str, role: &str, repo: &str) -> Json {
    let value = |ty: &str, id: &str| json!({ "type": ty, "id": id });
    json!({ "predicate": "has_role", "args": [value("User", user), value("String", role), value("Repo", repo)] })
}
