//! Commands that read and change what a running service stores: `facts`, `policy` and `stats`.

#![expect(clippy::unwrap_used, reason = "a test that cannot start its program has failed")]

use portcullis_testkit::program::portcullis;
use portcullis_testkit::server::{POLICY, Server};
use serde_json::Value as Json;
use std::fs;
use tempfile::TempDir;

struct Remote {
    folder: TempDir,
    _server: Server,
    url: String,
}

impl Remote {
    fn start() -> Self {
        Self::of(Server::start())
    }

    fn of(server: Server) -> Self {
        let url = format!("http://{}", server.address);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("policy.polar"), POLICY).unwrap();
        Self { folder, _server: server, url }
    }

    /// Exit code, standard output, standard error.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = portcullis(self.folder.path()).args(args).args(["--url", &self.url]).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    /// What a command prints that succeeds.
    fn done(&self, args: &[&str]) -> String {
        let (code, out, err) = self.run(args);
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        out
    }
}

#[test]
fn facts_are_added_read_and_removed_by_patterns() {
    let remote = Remote::start();
    let added = remote.done(&[
        "facts",
        "add",
        r#"has_role(User:ada, "reader", Repo:"a b")"#,
        r#"has_role(User:bob, "writer", Repo:"a b")"#,
        "age(User:ada, 7)",
    ]);
    assert_eq!(added, format!("3 facts stored in {}/api, environment 0123456789\n", remote.url));
    let all = "age(User:ada, 7)\nhas_role(User:ada, \"reader\", Repo:\"a b\")\nhas_role(User:bob, \"writer\", Repo:\"a b\")\n";
    assert_eq!(remote.done(&["facts", "get"]), all);
    for (pattern, found) in [
        (r#"has_role(_, _, Repo:"a b")"#, 2),
        ("has_role(User:ada, _, _)", 1),
        (r#"has_role(_, "writer", _)"#, 1),
        ("has_role(Org:_, _, _)", 0),
        // Facts with more arguments do not match.
        ("has_role(User:_)", 0),
        ("age(_, 7)", 1),
    ] {
        let lines = remote.done(&["facts", "get", pattern, "--format", "json"]);
        let facts: Vec<Json> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(facts.len(), found, "{pattern}");
    }
    remote.done(&["facts", "remove", "has_role(User:ada, _, _)", "age(_, Integer:_)"]);
    assert_eq!(remote.done(&["facts", "get"]).lines().count(), 1);
    let (code, out, err) = remote.run(&["facts", "get", "has_rloe(User:ada, _, _)"]);
    let warning = "warning: the policy does not name the fact `has_rloe`; did you mean `has_role`?\n";
    assert_eq!((code, out.as_str(), err.as_str()), (1, "", warning));
    let (code, _, err) = remote.run(&["facts", "remove", "has_rloe(User:ada, _, _)"]);
    assert_eq!((code, err.as_str()), (0, warning));
}

/// What is shown can be pasted into the next command, with any id.
#[test]
fn a_fact_that_is_shown_can_be_removed() {
    let remote = Remote::start();
    for id in [r"a\u{1b}[31m", r"\u{202e}x", r#"a \"b\" \\"#, "*", "_"] {
        remote.done(&["facts", "add", &format!(r#"has_role(User:"{id}", "reader", Repo:r)"#)]);
        let shown = remote.done(&["facts", "get"]);
        assert!(!shown.contains('\u{1b}') && shown.lines().count() == 1, "{shown}");
        remote.done(&["facts", "remove", shown.trim_end()]);
        assert_eq!(remote.done(&["facts", "get"]), "", "{shown}");
    }
}

#[test]
fn a_fact_that_is_refused_changes_nothing() {
    let remote = Remote::start();
    for (args, expected, reason) in [
        (&["facts", "add", "age(User:ada, 7)", "p(User:ada)"] as &[&str], 1, "p(User) is not used in policy"),
        (
            &["facts", "add", "age(User:ada, _)"],
            2,
            "cannot store `age(User:ada, _)`: a fact must have values",
        ),
        (&["facts", "remove", "age(User:?u, User:?u)"], 2, "two arguments are equal"),
        (&["facts", "get", "age(User:a, 7) and p(User:a)"], 2, "more than one fact"),
    ] {
        let (code, out, err) = remote.run(args);
        assert!(code == expected && out.is_empty() && err.contains(reason), "{args:?}: {err}");
    }
    assert_eq!(remote.done(&["facts", "get"]), "");
}

#[test]
fn a_policy_is_compared_replaced_and_read() {
    let remote = Remote::start();
    let changed = POLICY.replace("\"invite\" if \"member\";", "");
    fs::write(remote.folder.path().join("new.polar"), &changed).unwrap();
    let (code, out, err) = remote.run(&["policy", "diff", "new.polar"]);
    assert!(code == 1 && err.is_empty() && out.contains("\n-  \"invite\" if \"member\";\n"), "{out}{err}");
    assert_eq!(remote.done(&["policy", "push", "new.polar"]), "The policy was updated.\n");
    let (code, out, err) = remote.run(&["policy", "diff", "new.polar"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", "`new.polar` is the active policy\n"));
    assert_eq!(remote.done(&["policy", "get"]), changed);
    assert_eq!(remote.done(&["policy", "get", "--version-id", "1"]), POLICY);
    let (code, _, err) = remote.run(&["policy", "get", "--version-id", "9"]);
    assert!(code == 1 && err.contains("404"), "{err}");
    fs::write(remote.folder.path().join("wrong.polar"), "resource {").unwrap();
    let (code, _, err) = remote.run(&["policy", "push", "wrong.polar"]);
    assert!(code == 1 && err.contains("P0"), "{err}");
    assert_eq!(remote.done(&["policy", "get"]), changed);
}

/// A file name with a line break must not look like lines of the comparison.
#[test]
fn a_file_name_is_one_line_of_the_comparison() {
    let remote = Remote::start();
    let name = "a\n-allow(_, _, _);\u{1b}[31m\tb.polar";
    fs::write(remote.folder.path().join(name), POLICY).unwrap();
    assert_eq!(remote.run(&["policy", "push", name]).0, 0);
    let shown = "a\u{fffd}-allow(_, _, _);\u{fffd}[31m\u{fffd}b.polar";
    let (code, _, err) = remote.run(&["policy", "diff", name]);
    assert_eq!((code, err), (0, format!("`{shown}` is the active policy\n")));
    fs::write(remote.folder.path().join(name), format!("{POLICY}\n# the end\n")).unwrap();
    let (code, out, err) = remote.run(&["policy", "diff", name]);
    let names = format!("--- active: {shown}\n+++ {shown}\n@@");
    assert!(code == 1 && err.is_empty() && out.starts_with(&names), "{out:?}{err}");
}

#[test]
fn before_the_first_policy_there_is_nothing_to_compare() {
    let remote = Remote::of(Server::empty());
    fs::write(remote.folder.path().join("empty.polar"), "").unwrap();
    let (code, out, _) = remote.run(&["policy", "diff", "policy.polar"]);
    assert!(code == 1 && out.starts_with("--- there is no policy yet"), "{out}");
    assert_eq!(remote.run(&["policy", "diff", "empty.polar"]).0, 1);
    let (code, _, err) = remote.run(&["policy", "get"]);
    assert!(code == 1 && err.starts_with("error: there is no policy yet"), "{err}");
    let (code, out, err) = remote.run(&["authorize", "User:ada", "read", "Repo:a"]);
    assert!(
        code == 1 && out == "denied\n" && err.starts_with("warning: there is no policy yet"),
        "{out}{err}"
    );
    assert_eq!(remote.done(&["stats"]), "no policy yet\nfacts: 0\n");
}

#[test]
fn a_reader_that_is_gone_is_no_failure() {
    let remote = Remote::start();
    let program = portcullis_testkit::program::path();
    for command in
        ["stats", "policy get", "facts get", "list User:ada visit Org", "authorize User:ada read Repo:a"]
    {
        let script = format!("set -o pipefail; {} {command} --url {} | true", program.display(), remote.url);
        let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{command}: {output:?}");
    }
    // Nor does it turn a failure into a success.
    let failing = POLICY.to_owned() + "test \"t\" { assert allow(User{\"a\"}, \"read\", Repo{\"r\"}); }";
    fs::write(remote.folder.path().join("failing.polar"), failing).unwrap();
    let denied = format!("authorize User:ada read Repo:a --exit-code --url {}", remote.url);
    for command in ["test failing.polar", "policy diff failing.polar --url URL", &denied] {
        let command = command.replace("URL", &remote.url);
        let script = format!("set -o pipefail; {} {command} | true", program.display());
        let folder = remote.folder.path();
        let output = std::process::Command::new("bash").current_dir(folder).args(["-c", &script]).output();
        assert_eq!(output.unwrap().status.code(), Some(1), "{command}");
    }
}

#[test]
fn the_numbers_are_a_table_or_the_document_of_the_endpoint() {
    let remote = Remote::start();
    remote.done(&["facts", "add", "age(User:ada, 7)", "is_trusting(User:ada)", "is_trusting(User:bob)"]);
    let table = "policy version 1 is active\nfacts: 3\n  age          1\n  is_trusting  2\n";
    assert_eq!(remote.done(&["stats"]), table);
    let document: Json = serde_json::from_str(&remote.done(&["stats", "--format", "json"])).unwrap();
    assert_eq!((&document["facts"]["total"], &document["num_roles"]), (&3.into(), &0.into()));
}

#[test]
fn without_a_key_only_a_service_on_this_machine_is_asked() {
    let remote = Remote::start();
    let folder = remote.folder.path();
    let stats = |key: Option<&str>, url: &str| {
        let mut command = portcullis(folder);
        if let Some(key) = key {
            command.env("PORTCULLIS_API_KEY", key);
        }
        let output = command.args(["stats", "--url", url]).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(stats(None, &remote.url), (0, String::new()));
    let (code, err) = stats(Some("e_0123456789_1_wrong"), &remote.url);
    assert!(code == 1 && err.contains("401") && !err.contains("PORTCULLIS_API_KEY"), "{err}");
    let (code, err) = stats(None, "http://192.0.2.1");
    assert_eq!(
        (code, err.as_str()),
        (1, "error: no key: run `portcullis login`, set PORTCULLIS_API_KEY, or give --key-file\n")
    );
}
