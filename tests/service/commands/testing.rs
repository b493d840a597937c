//! `portcullis test` and `validate` on files, folders and the standard input; completions and the manual.

#![expect(clippy::unwrap_used, reason = "a test that cannot start its program has failed")]

use portcullis_testkit::program::portcullis;
use serde_json::{Value as Json, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const POLICY: &str = r#"actor User {}
resource Repo { roles = ["reader"]; permissions = ["read"]; "read" if "reader"; }
test "readers <read>" {
  setup { has_role(User{"a"}, "reader", Repo{"r"}); }
  assert allow(User{"a"}, "read", Repo{"r"});
}
test "others do not" {
  assert_not allow(User{"b"}, "read", Repo{"r"});
}
"#;

/// A folder with a policy, one below it whose test fails, and one that does not validate.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("p/inner")).unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::write(folder.path().join("p/good.polar"), POLICY).unwrap();
    fs::write(folder.path().join("p/inner/failing.polar"), POLICY.replace("assert_not", "assert")).unwrap();
    fs::write(folder.path().join("p/notes.txt"), "no policy").unwrap();
    fs::write(folder.path().join("invalid.polar"), "resource {").unwrap();
    folder
}

fn ended(mut command: Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = portcullis(folder);
    command.args(args);
    ended(command)
}

#[test]
fn a_folder_is_tested_policy_by_policy() {
    let folder = folder();
    let (code, out, err) = run(folder.path(), &["test", "p"]);
    let expected = "p/good.polar
  ok      readers <read>  1/1
  ok      others do not   1/1
2 tests, 0 failed
p/inner/failing.polar
  ok      readers <read>  1/1
  FAILED  others do not   0/1
2 tests, 1 failed
";
    assert_eq!((code, out.as_str()), (1, expected));
    assert_eq!(
        err,
        "test `others do not`, line 8: `assert allow(User{\"b\"}, \"read\", Repo{\"r\"})` has no answer\n"
    );
    let (code, out, _) = run(folder.path(), &["validate", "p"]);
    assert_eq!((code, out.as_str()), (0, "p/good.polar: valid\np/inner/failing.polar: valid\n"));
    let (code, _, err) = run(folder.path(), &["test", "empty"]);
    assert!(code == 1 && err.contains("`empty` has no file with a name that ends with `.polar`"), "{err}");
}

/// A broken file and a folder without policies do not stop the others, in any form of the output.
#[test]
fn what_cannot_be_read_is_an_error_of_its_own() {
    let folder = folder();
    fs::write(folder.path().join("p/broken.polar"), b"actor \xff {}").unwrap();
    let args = ["p", "empty", "missing.polar"];
    let run = |words: &[&str]| run(folder.path(), &[words, &args].concat());
    let (code, out, err) = run(&["test", "--junit", "results.xml"]);
    let broken = |end: &str| {
        ["p/broken.polar", "empty", "missing.polar"].map(|file| format!("{file}: 1 error{end}\n"))
    };
    let [first, second, third] = broken(", no test was run");
    assert!(code == 1 && out.starts_with(&first) && out.ends_with(&(second + &third)), "{out}");
    assert!(out.contains("p/good.polar\n  ok") && out.contains("2 tests, 1 failed"), "{out}");
    for reason in [
        "error: cannot read `p/broken.polar`: ",
        "error: `empty` has no file with a name that ends with `.polar`\n",
        "error: cannot read `missing.polar`: ",
    ] {
        assert!(err.contains(reason), "{err}");
    }
    let written = fs::read_to_string(folder.path().join("results.xml")).unwrap();
    let (_, missing) = written.split_once("<testsuite name=\"missing.polar\"").unwrap();
    assert!(
        missing.contains(r#" tests="1" failures="1">"#) && missing.contains("cannot read `missing"),
        "{missing}"
    );
    assert_eq!(written.matches("<testsuite ").count(), 5, "{written}");

    let codes = |words: &[&str], code: fn(&Json) -> &Json| -> Vec<Json> {
        let (exit_code, out, err) = run(words);
        assert_eq!((exit_code, err.as_str()), (1, ""));
        let files: Vec<Json> = serde_json::from_str(&out).unwrap();
        files.iter().map(|file| json!([file["file"], code(file)])).collect()
    };
    let of_test = codes(&["test", "--format", "json"], |file| &file["code"]);
    let file_error = |file: &str| json!([file, "file_error"]);
    let expected = [
        file_error("p/broken.polar"),
        json!(["p/good.polar", null]),
        json!(["p/inner/failing.polar", "policy_tests_failed"]),
        json!(["empty", "no_policy_file"]),
        file_error("missing.polar"),
    ];
    assert_eq!(of_test, expected);

    let (code, out, err) = run(&["validate"]);
    let [first, second, third] = broken("");
    let valid = "p/good.polar: valid\np/inner/failing.polar: valid\n";
    assert_eq!((code, out), (1, first + valid + &second + &third));
    assert!(err.contains("cannot read `p/broken.polar`: "), "{err}");
    let of_validate = codes(&["validate", "--format", "json"], |file| &file["diagnostics"][0]["code"]);
    let valid = |file: &str| json!([file, null]);
    let expected = [
        file_error("p/broken.polar"),
        valid("p/good.polar"),
        valid("p/inner/failing.polar"),
        json!(["empty", "no_policy_file"]),
        file_error("missing.polar"),
    ];
    assert_eq!(of_validate, expected);
}

#[test]
fn the_standard_input_is_a_policy() {
    let folder = folder();
    for (command, expected) in [("test", "2 tests, 0 failed\n"), ("validate", "-: valid\n")] {
        let mut child = portcullis(folder.path())
            .args([command, "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(POLICY.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().ends_with(expected));
    }
}

#[test]
fn only_the_wanted_tests_run() {
    let folder = folder();
    let (code, out, err) = run(folder.path(), &["test", "p", "--filter", "readers"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("readers <read>") && !out.contains("others"), "{out}");
    let (code, out, err) = run(folder.path(), &["test", "p", "--filter", "owners"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(err, "error: no test has a name that contains `owners`\n");
}

#[test]
fn a_build_server_reads_the_results() {
    let folder = folder();
    let (code, _, _) = run(folder.path(), &["test", "p", "invalid.polar", "--junit", "results.xml"]);
    assert_eq!(code, 1);
    let written = fs::read_to_string(folder.path().join("results.xml")).unwrap();
    let (tests, invalid) = written.split_once("  <testsuite name=\"invalid.polar\"").unwrap();
    let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="p/good.polar" tests="2" failures="0">
    <testcase classname="p/good.polar" name="readers &lt;read&gt;"/>
    <testcase classname="p/good.polar" name="others do not"/>
  </testsuite>
  <testsuite name="p/inner/failing.polar" tests="2" failures="1">
    <testcase classname="p/inner/failing.polar" name="readers &lt;read&gt;"/>
    <testcase classname="p/inner/failing.polar" name="others do not">
      <failure message="line 8: `assert allow(User{&quot;b&quot;}, &quot;read&quot;, Repo{&quot;r&quot;})` has no answer">line 8: `assert allow(User{&quot;b&quot;}, &quot;read&quot;, Repo{&quot;r&quot;})` has no answer</failure>
    </testcase>
  </testsuite>
"#;
    assert_eq!(tests, expected);
    assert!(
        invalid.contains(r#" tests="1" failures="1">"#) && invalid.contains("the policy validates"),
        "{invalid}"
    );
}

#[test]
fn a_watched_policy_is_tested_again_when_it_changes() {
    let folder = folder();
    let mut child = portcullis(folder.path())
        .args(["test", "p/good.polar", "--watch"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut until = |text: &str| lines.by_ref().find(|line| line.as_ref().is_ok_and(|line| line == text));
    assert!(until("2 tests, 0 failed").is_some());
    fs::write(folder.path().join("p/good.polar"), POLICY.replace("assert_not", "assert")).unwrap();
    assert!(until("2 tests, 1 failed").is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    let (code, _, err) = run(folder.path(), &["test", "-", "--watch"]);
    assert!(code == 1 && err.contains("the standard input cannot be watched"), "{err}");
}

#[test]
fn shells_complete_commands_and_the_manual_has_a_page_for_each() {
    let folder = folder();
    for (shell, text) in [
        ("bash", "complete -F _portcullis"),
        ("zsh", "#compdef portcullis"),
        ("fish", "complete -c portcullis"),
    ] {
        let (code, out, err) = run(folder.path(), &["completions", shell]);
        assert!(
            code == 0 && err.is_empty() && out.contains(text) && out.contains("list-subjects"),
            "{shell}"
        );
    }
    let mut bash = Command::new("bash");
    let script = format!(
        "source <({} completions bash) && complete -p portcullis",
        portcullis_testkit::program::path().display()
    );
    bash.args(["-c", &script]);
    let (code, out, err) = ended(bash);
    assert!(code == 0 && out.contains("_portcullis"), "{out}{err}");
    let (code, out, _) = run(folder.path(), &["man", "pages/man1"]);
    assert_eq!((code, out.as_str()), (0, "the pages are in pages/man1\n"));
    let page = fs::read_to_string(folder.path().join("pages/man1/portcullis-facts-get.1")).unwrap();
    assert!(page.starts_with(".ie") || page.contains(".TH"), "{page}");
    // Examples keep their lines.
    let (_, examples) = page.split_once(".nf\nExamples:\n").unwrap();
    let (examples, _) = examples.split_once("\n.fi").unwrap();
    assert!(examples.lines().count() > 1, "{examples}");
    assert!(examples.lines().all(|line| line.starts_with("  portcullis facts get")), "{examples}");
}
