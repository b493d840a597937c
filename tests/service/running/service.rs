//! A service in development mode, as the tests of this folder start and ask it.

use portcullis_testkit::program::{Service, portcullis};
use serde_json::{Value as Json, json};
use std::process::Command;

const POLICY: &str = r#"
actor User {}
resource Repo { roles = ["reader"]; permissions = ["read"]; "read" if "reader"; "read" if is_public(resource); }
"#;

/// A service that is started after these commands of a shell.
pub(crate) fn start_within(before: &str, args: &[&str]) -> Service {
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
    Service::develop_as(command, folder, "d", args).unwrap_or_else(|error| panic!("{error}"))
}

/// A service with a policy.
pub(crate) fn with_policy(args: &[&str]) -> Service {
    let service = Service::develop(args);
    assert_eq!(service.post("/api/policy", &json!({ "src": POLICY }), &[]), 200);
    service
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
