//! `portcullis generate`: where the policy comes from, what is written, and what `--check` prints.

use portcullis_testkit::program::{portcullis, run};
use portcullis_testkit::server::{POLICY, Server};
use std::fs;
use std::path::Path;

#[test]
fn a_file_is_written_once_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| run(folder.path(), args);
    fs::write(folder.path().join("policy.polar"), POLICY).unwrap();
    for (language, file) in [("typescript", "policy.ts"), ("python", "policy.py")] {
        let generate = ["generate", language, "policy.polar", "--out", file];
        let check = [&generate[..], &["--check"]].concat();
        let read = || fs::read_to_string(folder.path().join(file)).unwrap();

        let (code, _, err) = run(&check);
        assert!(code == Some(1) && err.contains(&format!("cannot read `{file}`")), "{err}");
        assert_eq!(run(&generate), (Some(0), String::new(), String::new()));
        assert_eq!(run(&check), (Some(0), String::new(), String::new()));
        let (_, printed, _) = run(&generate[..3]);
        assert_eq!(printed, read());

        // The policy's text may change as long as its names do not.
        fs::write(folder.path().join("policy.polar"), format!("# new\n{POLICY}")).unwrap();
        assert_eq!(run(&check).0, Some(0));
        let more = format!("{POLICY}\nactor Robot {{}}\n");
        fs::write(folder.path().join("policy.polar"), more).unwrap();
        let (code, out, err) = run(&check);
        assert!(code == Some(1) && out.contains("\n+") && out.contains("Robot"), "{out}");
        assert_eq!(err, format!("`{file}` is not up to date: run the command without `--check`\n"));
        assert_eq!(printed, read());
        assert_eq!(run(&generate).0, Some(0));
        assert!(read().contains("Robot"));
        fs::write(folder.path().join("policy.polar"), POLICY).unwrap();
    }
    fs::write(folder.path().join("broken.polar"), "resource {").unwrap();
    let (code, out, err) = run(&["generate", "python", "broken.polar"]);
    assert!(code == Some(1) && out.is_empty() && err.contains("broken.polar:1:"), "{err}");
    let (code, _, err) = run(&["generate", "python", "policy.polar", "--out", "-"]);
    assert!(code == Some(1) && err.contains("leave it out to write to the standard output"), "{err}");
    let (code, _, err) = run(&["generate", "python", "policy.polar", "--out", "policy.polar"]);
    assert!(code == Some(1) && err.contains("is not a generated file"), "{err}");
    assert_eq!(run(&["generate", "cobol", "policy.polar"]).0, Some(2));
    assert_eq!(run(&["generate", "python", "policy.polar", "--check"]).0, Some(2));
}

/// A service gives the same types as the file. A folder without a store is refused.
#[test]
fn the_policy_is_that_of_a_service_or_a_folder() {
    let server = Server::start();
    let url = format!("http://{}", server.address);
    let folder = tempfile::tempdir().unwrap();
    let generated = |args: &[&str]| {
        let output = portcullis(folder.path()).args(["generate", "typescript"]).args(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    fs::write(folder.path().join("policy.polar"), POLICY).unwrap();
    let (_, of_file, _) = generated(&["policy.polar"]);
    let (code, of_service, err) = generated(&["--url", &url]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(of_service, of_file);

    let empty = Server::empty();
    let (code, _, err) = generated(&["--url", &format!("http://{}", empty.address)]);
    assert!(code == Some(1) && err.contains("there is no policy yet"), "{err}");
    let (code, _, err) = generated(&["--data", "none"]);
    assert!(code == Some(1) && !err.is_empty(), "{err}");
    assert_eq!(generated(&["policy.polar", "--url", &url]).0, Some(2));
}

/// What is written for the policy of the clients' tests, as a whole.
#[test]
fn the_types_of_a_policy() {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(format!("{root}/snapshots/generate"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let generated = |language: &str| {
        let policy = format!("{root}/tests/clients/policy.polar");
        let (code, out, err) = run(Path::new(root), &["generate", language, &policy]);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        out
    };
    settings.bind(|| insta::assert_snapshot!("typescript", generated("typescript")));
    settings.bind(|| insta::assert_snapshot!("python", generated("python")));
}
