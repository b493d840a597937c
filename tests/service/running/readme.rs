//! The first steps of README.md: its commands run, and the answers are those that it shows.

use portcullis_testkit::program::Service;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The readme after a comment.
fn after(comment: &str) -> String {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once(&format!("<!-- {comment} -->\n")).unwrap();
    rest.to_owned()
}

/// The first block with this fence.
fn block<'t>(text: &'t str, fence: &str) -> &'t str {
    let (_, rest) = text.split_once(&format!("```{fence}\n")).unwrap();
    rest.split_once("```\n").unwrap().0
}

/// What commands of the readme print, as a reader would run them, but with the program under test and its
/// address.
fn run(commands: &str, base: &str) -> String {
    let program = portcullis_testkit::program::path();
    let program = program.to_str().unwrap();
    let commands = commands
        .replace("../../target/release/portcullis", program)
        .replace("target/release/portcullis", program)
        .replace("http://127.0.0.1:8081", base);
    let output = Command::new("bash")
        .args(["-euc", &commands])
        .current_dir(root())
        .env("PORTCULLIS_LISTEN", base.trim_start_matches("http://"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{commands}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_first_policy_and_its_bindings_are_files_and_the_command_prints_the_statement() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for (fence, file) in [("polar", "policy.polar"), ("yaml", "bindings.yaml")] {
        let file = fs::read_to_string(root().join("docs/example").join(file)).unwrap();
        assert_eq!(block(&readme, fence), file);
    }
    let printed = run(block(&after("first statement"), "sh"), "http://127.0.0.1:0");
    assert_eq!(printed, block(&readme, "sql"));
}

#[test]
fn the_first_check_answers_as_shown() {
    let readme = after("first check");
    let service =
        Service::develop(&["--policy", root().join("fixtures/example/policy.polar").to_str().unwrap()]);
    let answers = run(block(&readme, "sh"), &service.caller.url);
    assert_eq!(answers.replace(&service.caller.url, "http://127.0.0.1:8081"), block(&readme, "text"));
    let proof = run(block(&after("first explanation"), "sh"), &service.caller.url);
    assert!(proof.contains("has_role(User:alice, \"maintainer\", Organization:acme)"), "{proof}");
}

#[test]
fn the_first_local_check_prints_a_statement_and_a_condition() {
    let readme = after("first local check");
    let printed = run(block(&readme, "sh"), "http://127.0.0.1:0");
    let (statement, condition) = printed.split_once(" AS allowed;\n").unwrap();
    assert!(statement.starts_with("WITH RECURSIVE"), "{statement}");
    assert!(condition.starts_with('(') && condition.contains("issues."), "{condition}");
}
