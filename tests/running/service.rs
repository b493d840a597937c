//! The program, started as a service, with its log in a file.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};

use crate::executable::portcullis;

/// The key that `--dev` accepts.
pub(crate) const DEVELOPMENT_KEY: &str = "e_0123456789_12345_osotesttoken01xiIn";

const POLICY: &str = r#"
actor User {}
resource Repo { roles = ["reader"]; permissions = ["read"]; "read" if "reader"; }
"#;

/// A running service in development mode; it ends with its test.
pub(crate) struct Service {
    child: Child,
    /// Where it answers, without a path.
    pub(crate) base: String,
    folder: tempfile::TempDir,
    _stdout: BufReader<ChildStdout>,
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

    fn start_by(mut command: Command, folder: tempfile::TempDir, args: &[&str]) -> Self {
        let log = File::create(folder.path().join("log")).unwrap();
        command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data", "d"]).args(args);
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut welcome = String::new();
        // The last line, so that everything is up.
        while !welcome.contains("  curl") {
            let length = stdout.read_line(&mut welcome).unwrap();
            assert!(length > 0, "{welcome}{}", fs::read_to_string(folder.path().join("log")).unwrap());
        }
        let base = welcome.split_whitespace().find_map(|word| word.strip_suffix("/api,")).unwrap().to_owned();
        Self { child, base, folder, _stdout: stdout }
    }

    /// Starts it with a policy.
    pub(crate) fn with_policy(args: &[&str]) -> Self {
        let service = Self::start(args);
        assert_eq!(service.post("/api/policy", DEVELOPMENT_KEY, &json!({ "src": POLICY }), &[]), 200);
        service
    }

    /// The status of the answer.
    pub(crate) fn post(&self, path: &str, key: &str, body: &Json, headers: &[(&str, &str)]) -> u16 {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let mut request = agent.post(format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.header("Authorization", format!("Bearer {key}")).send_json(body).unwrap().status().as_u16()
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
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
        let sent = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.ended()
    }

    /// Waits until it has stopped.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Whether it is still running.
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
