//! What a service refuses to start with, and what it warns of, as strangers could get in.

use portcullis_testkit::program::{Program, key, portcullis, run};
use std::fs;
use std::fs::{File, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a start that is refused says.
fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

/// The standard output of a service that is stopped after `n_lines` lines, and its log.
fn started(folder: &Path, command: &mut Command, n_lines: usize) -> (Vec<String>, String) {
    let log = File::create(folder.join("log")).unwrap();
    let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first: Vec<String> = lines.by_ref().take(n_lines).collect();
    let stopped = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(stopped.success() && child.wait().unwrap().success());
    (first.into_iter().chain(lines).collect(), fs::read_to_string(folder.join("log")).unwrap())
}

#[test]
fn the_development_key_is_for_this_machine_alone() {
    let folder = tempfile::tempdir().unwrap();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let mut command = portcullis(folder.path());
        let said = refused(command.args(["serve", "--dev", "--listen", address, "--data", "d"]));
        assert!(said.contains("`dev` accepts a key that everyone knows") && said.contains(address), "{said}");
    }
    assert!(!folder.path().join("d").exists(), "nothing was made");
}

#[test]
fn a_key_that_can_be_guessed_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    for (key, reason) in [
        ("e_0123456789_1_replace-me", "the placeholder of the sample"),
        ("e_0123456789_1_correct-horse", "too easy to guess"),
        ("e_0123456789_12345_osotesttoken01xiIn", "everyone knows"),
    ] {
        let mut command = portcullis(folder.path());
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("PORTCULLIS_API_KEY", key);
        let said = refused(&mut command);
        assert!(said.contains(reason) && said.contains("openssl rand -hex 32"), "{said}");
        assert!(!said.contains(key), "a secret is not shown: {said}");
    }
}

/// Commands read their key from the same variable. Given to the service, it would open more than before.
#[test]
fn a_key_that_was_created_for_commands_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let create = ["keys", "create", "--data", "d"];
    let reading = run(folder, &[&create[..], &["--read-only"]].concat()).1.trim().to_owned();
    let [writing, revoked] = [(); 2].map(|()| key(folder, "0123456789"));
    let id = |key: &str| key.split('_').nth(2).unwrap().to_owned();
    assert_eq!(run(folder, &["keys", "revoke", &id(&revoked), "--data", "d"]).0, Some(0));
    let listed = |key: &str| format!("is the key `{}` of `portcullis keys list`", id(key));
    for (key, reason) in [
        (&reading, listed(&reading)),
        (&writing, listed(&writing)),
        (&revoked, listed(&revoked)),
        (&key(folder, "staging"), "names another environment than `0123456789`".to_owned()),
    ] {
        let mut command = portcullis(folder);
        command.env("PORTCULLIS_API_KEY", key);
        let said = Program::spawn_as(command, folder, "d", &[]).answering().err().unwrap();
        assert!(said.contains(&reason) && said.contains("start the service without it"), "{said}");
        assert!(said.contains("openssl rand -hex 32") && !said.contains(key.as_str()), "{said}");
        fs::remove_file(folder.join("log")).unwrap();
    }
    // Another secret under the same id is another key.
    let own = format!("e_0123456789_{}_0f1e2d3c4b5a69788796a5b4c3d2e1f0", id(&reading));
    let mut command = portcullis(folder);
    command.env("PORTCULLIS_API_KEY", &own);
    let service = Program::spawn_as(command, folder, "d", &[]).answering().ok().unwrap();
    let status = |key: &str| service.caller.send(key, "GET /api/stats", &[], None).unwrap().0;
    assert_eq!([&own, &reading, &writing, &revoked].map(|key| status(key)), [200, 200, 200, 401]);
    service.stop();
}

#[test]
fn a_service_without_a_key_says_how_to_make_one() {
    let folder = tempfile::tempdir().unwrap();
    let serve = || {
        let mut command = portcullis(folder.path());
        command.args(["serve", "--listen", "127.0.0.1:0", "--data", "d"]);
        command
    };
    let (lines, _) = started(folder.path(), &mut serve(), 3);
    assert!(lines[1].starts_with("there is no key yet"), "{lines:?}");
    assert_eq!(lines[2], "  portcullis keys create --data d");
    let made = portcullis(folder.path()).args(["keys", "create", "--data", "d"]).output().unwrap();
    assert!(made.status.success());
    let (lines, _) = started(folder.path(), &mut serve(), 1);
    assert_eq!(lines.len(), 1, "{lines:?}");
}

#[test]
fn secrets_that_everybody_can_read_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let settings = folder.join("p.toml");
    fs::write(&settings, format!("api_key = \"e_0123456789_1_{}\"\n", "0f1e2d3c4b5a69788796a5b4c3d2e1f0"))
        .unwrap();
    let serve = |mode: u32| {
        fs::set_permissions(&settings, Permissions::from_mode(mode)).unwrap();
        let mut command = portcullis(folder);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data", "d", "--config", "p.toml"]);
        started(folder, &mut command, 1).1
    };
    assert!(!serve(0o600).contains("every user of this machine"));
    let log = serve(0o644);
    assert!(
        log.contains("the key with full access is in a file that every user of this machine can read"),
        "{log}"
    );
    assert!(log.contains("p.toml") && !log.contains("0f1e2d3c4b5a6978"), "{log}");
    let store = folder.join("d/0123456789");
    fs::set_permissions(&store, Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(store.join("store.db"), Permissions::from_mode(0o644)).unwrap();
    let log = serve(0o600);
    assert!(
        log.contains("the facts and the secret of an environment are in a file") && log.contains("store.db"),
        "{log}"
    );
}
