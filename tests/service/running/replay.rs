//! Decisions of the past, explained: `portcullis why --request`.

use super::decision_log::is_written;
use super::service::{question, role, with_policy};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::program::{self, Service};
use serde_json::{Value as Json, json};
use std::path::Path;

#[test]
fn a_logged_request_is_explained_under_the_policy_of_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.log");
    let log = path.to_str().unwrap();
    let service = with_policy(&["--decision-log", log]);
    let post = |path: &str, body: &Json, headers: &[(&str, &str)]| {
        assert_eq!(service.post(path, body, headers), 200, "{path}");
    };
    post("/api/facts", &role("ada", "reader", "docs"), &[]);
    post("/api/authorize", &question("ada", "docs"), &[("X-Request-ID", "asked-7")]);
    let why = |args: &[&str]| {
        let given = ["why", "--request", "asked-7", "--decision-log", log, "--url", &service.caller.url];
        let mut command = program::portcullis(folder.path());
        let run = command.args(given).args(args).env("PORTCULLIS_API_KEY", DEVELOPMENT_KEY).output().unwrap();
        (run.status.code(), String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap())
    };
    is_written(&path);
    let (code, out, err) = why(&[]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.starts_with("allowed at 20"), "{out}");
    for part in [
        ", by policy 1\nNothing has been written since.\n\n",
        "yes: allow(User:ada, \"read\", Repo:docs)",
        "has_role(User:ada, \"reader\", Repo:docs)",
    ] {
        assert!(out.contains(part), "no {part} in {out}");
    }

    // The current policy grants nothing to readers, and the fact is gone.
    let stricter =
        json!({ "src": "actor User {} resource Repo { roles = [\"reader\"]; permissions = [\"read\"]; }" });
    post("/api/policy", &stricter, &[]);
    let (_, out, _) = why(&[]);
    assert!(out.contains("Facts or the policy have changed since"), "{out}");
    assert!(out.contains("yes: allow("), "the policy that decided still allows it: {out}");
    let (_, out, _) = why(&["--format", "json"]);
    let explained: Json = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&explained[0]["changed_since"], &explained[0]["explanation"]["policy_version"]),
        (&json!(true), &json!(1))
    );
    post("/api/bulk_delete", &json!([role("ada", "reader", "docs")]), &[]);
    let (_, out, _) = why(&[]);
    assert!(
        out.contains("With the current facts the answer is different.") && out.contains("no: allow("),
        "{out}"
    );

    let mut command = program::portcullis(folder.path());
    let given = ["why", "--request", "other", "--decision-log", log, "--url", &service.caller.url];
    let run = command.args(given).env("PORTCULLIS_API_KEY", DEVELOPMENT_KEY).output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert!(said.contains("contains no decision for request `other`"), "{said}");
}

#[test]
fn a_decision_of_another_environment_is_not_explained() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("decisions.log");
    let (key_of_a, key_of_b) = (program::key(folder.path(), "a"), program::key(folder.path(), "b"));
    let service = Service::start(folder.path(), &["--decision-log", log.to_str().unwrap()]);
    let id = [("X-Request-ID", "asked-in-a")];
    let body = question("ada", "docs").to_string();
    let sent = service.caller.send(&key_of_a, "POST /api/authorize", &id, Some(body.as_bytes()));
    assert_eq!(sent.unwrap().0, 200);
    is_written(&log);
    let why = |key: &str| {
        let mut command = program::portcullis(folder.path());
        let given = ["why", "--request", "asked-in-a", "--decision-log", "decisions.log", "--format", "json"];
        let run =
            command.args(given).args(["--url", &service.caller.url]).env("PORTCULLIS_API_KEY", key).output();
        let run = run.unwrap();
        (run.status.code(), String::from_utf8([run.stdout, run.stderr].concat()).unwrap())
    };
    let (code, said) = why(&key_of_b);
    assert_eq!(code, Some(1));
    assert!(said.contains("was decided in environment `a`, and the key is for `b`"), "{said}");
    let (code, said) = why(&key_of_a);
    assert_eq!(code, Some(0), "{said}");
    let explained: Json = serde_json::from_str(&said).unwrap();
    let decision = &explained[0]["decision"];
    assert_eq!(decision["environment"], "a");
    assert!(decision["key"].is_string() && decision["took_us"].is_u64(), "{decision}");
    service.stop();
}

#[test]
fn a_decision_before_the_first_policy_is_not_explained_by_a_later_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.log");
    let service = Service::develop(&["--decision-log", path.to_str().unwrap()]);
    let id = [("X-Request-ID", "early")];
    assert_eq!(service.post("/api/authorize", &question("ada", "docs"), &id), 200);
    is_written(&path);
    let policy = json!({ "src": r#"
        actor User {}
        resource Repo { permissions = ["read"]; }
        has_permission(_: User, "read", _: Repo);
    "# });
    assert_eq!(service.post("/api/policy", &policy, &[]), 200);
    let why = |args: &[&str]| {
        let given =
            ["why", "--request", "early", "--decision-log", "decisions.log", "--url", &service.caller.url];
        let mut command = program::portcullis(folder.path());
        let run = command.args(given).args(args).env("PORTCULLIS_API_KEY", DEVELOPMENT_KEY).output().unwrap();
        String::from_utf8([run.stdout, run.stderr].concat()).unwrap()
    };
    let said = why(&[]);
    assert!(said.starts_with("denied at 20") && said.contains(": there was no policy, so"), "{said}");
    assert!(!said.contains("current facts"), "{said}");
    let explained: Json = serde_json::from_str(&why(&["--format", "json"])).unwrap();
    assert_eq!((&explained[0]["explanation"], &explained[0]["changed_since"]), (&json!(null), &json!(null)));
}

/// Exit code and output of an explanation of a request, of the log in this folder.
fn replayed(folder: &Path, request: &str, args: &[&str]) -> (i32, String) {
    let mut command = program::portcullis(folder);
    let given = ["why", "--request", request, "--decision-log", "decisions.log"];
    let run = command.args(given).args(args).env("PORTCULLIS_API_KEY", DEVELOPMENT_KEY).output().unwrap();
    (run.status.code().unwrap(), String::from_utf8([run.stdout, run.stderr].concat()).unwrap())
}

/// Policies in which a role, and then only a second fact, lets someone read.
fn policies() -> [Json; 2] {
    ["has_role(user, \"reader\", repo)", "is_vetted(user)"].map(|condition| {
        json!({ "src": format!(
            "actor User {{}} resource Repo {{ roles = [\"reader\"]; permissions = [\"read\"]; }}
             has_permission(user: User, \"read\", repo: Repo) if {condition};"
        ) })
    })
}

#[test]
fn a_data_folder_explains_what_its_service_explains() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("decisions.log");
    let service = Service::start(folder.path(), &["--dev", "--decision-log", log.to_str().unwrap()]);
    let post = |path: &str, body: &Json, headers: &[(&str, &str)]| {
        assert_eq!(service.post(path, body, headers), 200, "{path}");
    };
    let [by_role, by_vetting] = policies();
    post("/api/policy", &by_role, &[]);
    post("/api/facts", &role("ada", "reader", "docs"), &[]);
    post("/api/authorize", &question("ada", "docs"), &[("X-Request-ID", "before")]);
    is_written(&log);
    let both = |request: &str| {
        let (code, of_folder) = replayed(folder.path(), request, &["--data", "d", "--json"]);
        assert_eq!(code, 0, "{of_folder}");
        let (code, of_service) = replayed(folder.path(), request, &["--url", &service.caller.url, "--json"]);
        assert_eq!(code, 0, "{of_service}");
        let [of_folder, of_service] =
            [of_folder, of_service].map(|text| serde_json::from_str::<Json>(&text).unwrap());
        assert_eq!(of_folder, of_service);
        of_folder
    };
    let explained = both("before");
    assert_eq!(explained[0]["changed_since"], false);
    assert_eq!(explained[0]["explanation"]["allowed"], true);

    // The active policy does not use the role; the one that decided does.
    post("/api/policy", &by_vetting, &[]);
    let explained = both("before");
    assert_eq!(explained[0]["changed_since"], true);
    let explanation = &explained[0]["explanation"];
    assert_eq!((&explanation["allowed"], &explanation["policy_version"]), (&json!(true), &json!(1)));
    post("/api/bulk_delete", &json!([role("ada", "reader", "docs")]), &[]);
    assert_eq!(both("before")[0]["explanation"]["allowed"], false);

    // Also while no service has the folder open.
    service.stop();
    let (code, said) = replayed(folder.path(), "before", &["--data", "d"]);
    assert_eq!(code, 0, "{said}");
    for part in [
        "allowed at 20",
        ", by policy 1\nFacts or the policy have changed since",
        "With the current facts the answer is different.\n\nno: allow(User:ada, \"read\", Repo:docs)",
    ] {
        assert!(said.contains(part), "no {part} in {said}");
    }
}

#[test]
fn a_data_folder_explains_its_own_decisions_only() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("decisions.log");
    let key_of_a = program::key(folder.path(), "a");
    program::key(folder.path(), "b");
    let service = Service::start(folder.path(), &["--decision-log", log.to_str().unwrap()]);
    let [by_role, _] = policies();
    assert_eq!(service.caller.post(&key_of_a, "policy", &by_role).0, 200);
    let id = [("X-Request-ID", "asked-in-a")];
    let body = question("ada", "docs").to_string();
    let sent = service.caller.send(&key_of_a, "POST /api/authorize", &id, Some(body.as_bytes()));
    assert_eq!(sent.unwrap().0, 200);
    service.stop();
    let of = |environment: &str| {
        replayed(folder.path(), "asked-in-a", &["--data", "d", "--environment", environment])
    };
    let (code, said) = of("b");
    assert_eq!(code, 1);
    assert!(said.contains("was decided in environment `a`, not in `b`: give --environment a"), "{said}");
    let (code, said) = of("a");
    assert!(code == 0 && said.starts_with("denied at 20"), "{said}");

    // The folder of another service has no such version.
    let line = std::fs::read_to_string(&log).unwrap().replace("\"policy\":1", "\"policy\":7");
    std::fs::write(&log, line).unwrap();
    let (code, said) = of("a");
    assert!(code == 1 && said.contains("has no version 7 of the policy"), "{said}");
    let args = ["policy.polar", "--request", "asked-in-a", "--decision-log", "decisions.log"];
    let run = program::portcullis(folder.path()).arg("why").args(args).output().unwrap();
    assert_eq!(run.status.code(), Some(2), "a file has no versions");
}

/// Versions start again in an environment that is made again, and a digest tells its policies apart.
#[test]
fn another_policy_of_the_same_version_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.log");
    let service = with_policy(&["--decision-log", path.to_str().unwrap()]);
    let id = [("X-Request-ID", "asked-8")];
    assert_eq!(service.post("/api/authorize", &question("ada", "docs"), &id), 200);
    is_written(&path);
    let digest = |text: &str| {
        let line: Json = serde_json::from_str(text).unwrap();
        line["policy_digest"].as_str().unwrap().to_owned()
    };
    let text = std::fs::read_to_string(&path).unwrap();
    let then = digest(&text);
    assert!(then.len() == 8 && then.chars().all(|digit| digit.is_ascii_hexdigit()), "{then}");
    let why = |args: &[&str]| {
        let given =
            ["why", "--request", "asked-8", "--decision-log", "decisions.log", "--url", &service.caller.url];
        let mut command = program::portcullis(folder.path());
        let run = command.args(given).args(args).env("PORTCULLIS_API_KEY", DEVELOPMENT_KEY).output().unwrap();
        String::from_utf8([run.stdout, run.stderr].concat()).unwrap()
    };
    let said = why(&[]);
    assert!(said.contains("Nothing has been written since."), "{said}");
    // The log of an environment with other facts, and as many writes.
    let allowed = "\"allowed\":false";
    assert!(text.contains(allowed), "{text}");
    std::fs::write(&path, text.replace(allowed, "\"allowed\":true")).unwrap();
    let said = why(&[]);
    assert!(
        said.contains("the answer is another one: a rule asks for the time, or the environment"),
        "{said}"
    );
    assert!(!said.contains("Nothing has been written since."), "{said}");
    // The log of an environment whose first policy was another one.
    std::fs::write(&path, text.replace(&then, "00000000")).unwrap();
    let said = why(&[]);
    assert!(
        said.contains("Policy 1 is another one now: the environment was made again or restored."),
        "{said}"
    );
    assert!(!said.contains("Nothing has been written since."), "{said}");
    let explained: Json = serde_json::from_str(&why(&["--format", "json"])).unwrap();
    assert_eq!(explained[0]["changed_since"], true);
    assert_eq!(explained[0]["explanation"]["policy_digest"], then.as_str());
    service.stop();
}
