//! Questions on the command line, about files, a data folder and a service.

#![expect(clippy::unwrap_used, reason = "a test that cannot start its program has failed")]

use portcullis_testkit::program::{Program, portcullis};
use portcullis_testkit::server::{POLICY, Server};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const FACTS: &[&[&str]] = &[
    &["has_role", "User:ada", "String:member", "Org:o"],
    &["has_relation", "Repo:a", "String:org", "Org:o"],
    &["has_role", "User:ada", "String:writer", "Repo:b c"],
    &["is_trusting", "User:ada"],
];

const WRITTEN: &str = "has_role(User:ada, \"member\", Org:o)\nhas_relation(Repo:a, \"org\", Org:o)\n\
    has_role(User:ada, \"writer\", Repo:\"b c\")\nis_trusting(User:ada)\n";

/// Exit code, standard output, standard error.
type Ended = (i32, String, String);

fn run(folder: &Path, args: &[&str]) -> Ended {
    let output = portcullis(folder).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.polar"), POLICY).unwrap();
    fs::write(folder.path().join("facts.txt"), WRITTEN).unwrap();
    folder
}

/// The same for files and for a service, which must agree.
struct Both {
    folder: TempDir,
    _server: Server,
    url: String,
}

impl Both {
    fn start() -> Self {
        let server = Server::start();
        server.add(FACTS);
        let url = format!("http://{}", server.address);
        Self { folder: folder(), _server: server, url }
    }

    fn run(&self, args: &[&str]) -> Ended {
        let of_files =
            run(self.folder.path(), &[args, &["--policy", "policy.polar", "--facts", "facts.txt"]].concat());
        let of_service = run(self.folder.path(), &[args, &["--url", &self.url]].concat());
        assert_eq!(of_files, of_service, "{args:?}");
        of_files
    }

    /// What a question that has an answer prints, as text and as JSON.
    fn answer(&self, args: &[&str]) -> (String, Json) {
        let (code, text, err) = self.run(args);
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        let (code, document, err) = self.run(&[args, &["--format", "json"]].concat());
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        (text, serde_json::from_str(&document).unwrap())
    }
}

#[test]
fn each_question_prints_text_and_the_document_of_its_endpoint() {
    let both = Both::start();
    for (args, text, document) in [
        (&["authorize", "User:ada", "read", "Repo:a"] as &[&str], "allowed\n", json!({ "allowed": true })),
        (&["authorize", r#"allow(User:ada, "read", Repo:a)"#], "allowed\n", json!({ "allowed": true })),
        (&["authorize", "User:bob", "write", "Repo:a"], "denied\n", json!({ "allowed": false })),
        (&["actions", "User:ada", r#"Repo:"b c""#], "read\nwrite\n", json!({ "results": ["read", "write"] })),
        (&["actions", "User:bob", "Repo:a"], "", json!({ "results": [] })),
        (&["list", "User:ada", "read", "Repo"], "Repo:a\nRepo:\"b c\"\n", json!({ "results": ["a", "b c"] })),
        (&["list", "User:bob", "visit", "Org"], "every Org\n", json!({ "results": ["*"] })),
        (
            &["list-subjects", "read", "Repo:a"],
            "User:ada\n",
            json!({ "results": [{ "type": "User", "id": "ada" }] }),
        ),
        (
            &["list-subjects", "visit", "Org:o", "--type", "User"],
            "every User\n",
            json!({ "results": [{ "type": "User", "id": "*" }] }),
        ),
        (
            &["query", "has_role(User:ada, String:?role, Repo:?)"],
            "role      repo\n\"reader\"  Repo:a\n\"reader\"  Repo:\"b c\"\n\"writer\"  Repo:\"b c\"\n",
            json!({ "results": [
                { "role": "reader", "repo": "a" }, { "role": "reader", "repo": "b c" },
                { "role": "writer", "repo": "b c" },
            ] }),
        ),
        (
            &["query", r#"has_role(User:?, "writer", Repo:_) and trusts(User:ada, Org:?org)"#],
            "user      org\nUser:ada  every Org\n",
            json!({ "results": [{ "user": "ada", "org": null }] }),
        ),
        (&["query", "is_trusting(User:ada)"], "yes\n", json!({ "results": [{}] })),
        (&["query", "is_trusting(User:bob)"], "no\n", json!({ "results": [] })),
    ] {
        assert_eq!(both.answer(args), (text.to_owned(), document), "{args:?}");
    }
}

#[test]
fn a_no_can_be_an_exit_code() {
    let both = Both::start();
    assert_eq!(both.run(&["authorize", "User:ada", "read", "Repo:a", "--exit-code"]).0, 0);
    let (code, out, err) = both.run(&["authorize", "User:bob", "read", "Repo:a", "--exit-code"]);
    assert_eq!((code, out.as_str(), err.as_str()), (1, "denied\n", ""));
}

#[test]
fn a_name_that_the_policy_does_not_have_is_a_warning_and_no_success() {
    let both = Both::start();
    for (args, warning) in [
        (&["authorize", "User:ada", "raed", "Repo:a"] as &[&str], "the action `raed`; did you mean `read`?"),
        (&["list", "Usr:ada", "read", "Repo"], "the type `Usr`; did you mean `User`?"),
        (&["list-subjects", "read", "Rpeo:a"], "the type `Rpeo`; did you mean `Repo`?"),
        (&["actions", "User:ada", "Zebra:a"], "the type `Zebra`\n"),
        (&["query", "is_trusting(Usr:?)"], "the type `Usr`; did you mean `User`?"),
        (&["query", r#"has_role(User:ada, "raeder", Repo:_)"#], "the role `raeder`; did you mean `reader`?"),
    ] {
        let (code, out, err) = both.run(args);
        assert!(
            code == 1 && err.starts_with("warning: the policy does not name ") && err.contains(warning),
            "{err}"
        );
        assert!(["", "denied\n", "no\n"].contains(&out.as_str()), "{out}");
    }
    let (code, out, err) = both.run(&["query", "is_trustin(User:?)", "--format", "json"]);
    assert!(code == 1 && out.contains("no predicate `is_trustin`"), "{out}");
    let warning =
        "warning: the policy does not name the predicate `is_trustin`; did you mean `is_trusting`?\n";
    assert_eq!(err, warning);
}

#[test]
fn wrong_arguments_exit_with_2() {
    let folder = folder();
    for args in [
        &["authorize"] as &[&str],
        &["authorize", "User:ada"],
        &["authorize", "User:ada", "read"],
        &["authorize", "User:ada", "read", "Repo"],
        &["authorize", r#"allow(User:ada, "read", Repo:?)"#],
        &["authorize", "User:ada", "read", "Repo:a", "--facts", "facts.txt"],
        &["authorize", "User:ada", "read", "Repo:a", "--policy", "policy.polar", "--url", "http://x"],
        &["list", "User:ada", "read"],
        &["actions", "User:?", "Repo:a"],
        &["query", "p("],
        &["query", "is_trusting(?)"],
        &["query", "is_trusting(User:ada)", "--url", "ftp://x"],
    ] {
        assert_eq!(run(folder.path(), args).0, 2, "{args:?}");
    }
}

#[test]
fn a_data_folder_is_asked_while_its_service_runs() {
    let folder = folder();
    let service =
        Program::spawn(folder.path(), "d", &["--dev", "--policy", "policy.polar"]).answering().unwrap();
    let url = service.caller.url.clone();
    let (code, out, err) =
        run(folder.path(), &["facts", "add", "has_role(User:ada, \"writer\", Repo:a)", "--url", &url]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let (code, out, err) = run(folder.path(), &["list", "User:ada", "write", "Repo", "--data", "d"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "Repo:a\n", ""));
}
