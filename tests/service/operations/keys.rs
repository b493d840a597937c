//! Keys of a running service: what the program does, the next request sees.

use super::program::{ENVIRONMENT, bad, good, key, run, set_policy, store_notes, stored_facts};
use portcullis::admin::{self, AdminCommand, AdminReply};
use portcullis_testkit::program::Service;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_key_works_at_once_and_a_revoked_one_never_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder, &[]);
    let first = key(folder, ENVIRONMENT);
    assert_eq!(service.caller.get(&first, "policy").0, 200);
    let reading = good(folder, &["keys", "create", "--name", "read", "--read-only", "--data", "d"]);
    let reading = reading.trim();
    assert_eq!(service.caller.get(reading, "policy").0, 200);
    assert_eq!(service.caller.post(reading, "policy", &json!({ "src": "" })).0, 403);

    let id = |key: &str| key.split('_').nth(2).unwrap().to_owned();
    let listed = good(folder, &["keys", "list", "--data", "d"]);
    let today = today();
    let dates = format!("created {today}  last used {today}");
    assert!(listed.contains(&format!("{}  read-write  {dates}  test\n", id(&first))), "{listed}");
    assert!(listed.contains(&format!("{}  read-only   {dates}  read\n", id(reading))), "{listed}");
    for _ in 0..3 {
        let short_lived = key(folder, ENVIRONMENT);
        assert_eq!(service.caller.get(&short_lived, "policy").0, 200);
        assert_eq!(good(folder, &["keys", "revoke", &id(&short_lived), "--data", "d"]), "");
        assert_eq!(service.caller.get(&short_lived, "policy").0, 401);
    }
    assert_eq!(service.caller.get(&first, "policy").0, 200);
    let unknown = bad(folder, &["keys", "revoke", "0000", "--data", "d"]);
    assert_eq!(unknown, "the environment `0123456789` has no key `0000`: see `portcullis keys list`");

    service.stop();
    assert!(!folder.join("d/.admin/socket").exists());
    let stopped = good(folder, &["keys", "list", "--data", "d"]);
    assert_eq!(stopped.matches("revoked").count(), 3, "{stopped}");
    assert_eq!(stopped.matches(&dates).count(), 5, "what a service knew outlives it: {stopped}");
    assert_eq!(bad(folder, &["keys", "revoke", "0000", "--data", "d"]), unknown);
    let service = Service::start(folder, &[]);
    assert_eq!(service.caller.get(&first, "policy").0, 200);
}

/// The day in UTC, which had better not end while a test runs.
fn today() -> String {
    let date = std::process::Command::new("date").args(["-u", "+%F"]).output().unwrap();
    String::from_utf8(date.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_key_needs_no_name_and_a_name_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    good(folder, &["keys", "create", "--data", "d"]);
    for name in ["", " ", "two\nlines", "\u{1b}[2J"] {
        assert_eq!(run(folder, &["keys", "create", "--data", "d", "--name", name]).0, 2, "{name:?}");
    }
    let listed = good(folder, &["keys", "list", "--data", "d"]);
    let line = format!("  read-write  created {}  last used never       unnamed\n", today());
    assert!(listed.ends_with(&line) && listed.lines().count() == 1, "{listed}");
    // A refused name leaves no environment behind, whether the command or the service refuses it.
    let hidden = "a\u{202e}b";
    let fresh = ["keys", "create", "--data", "d", "--environment", "fresh", "--name", hidden];
    assert_eq!(run(folder, &fresh).0, 2);
    let service = Service::start(folder, &[]);
    let (environment, name) = ("fresh".to_owned(), hidden.to_owned());
    let command = AdminCommand::CreateKey { environment, name, read_only: true };
    let reply = admin::send(&folder.join("d"), &command).unwrap().unwrap();
    assert!(matches!(reply, AdminReply::Refused { .. }), "{reply:?}");
    assert!(!folder.join("d/fresh").exists());
    service.stop();
    let long = "n".repeat(201);
    assert_eq!(run(folder, &["keys", "create", "--data", "d", "--name", &long]).0, 2);
    good(folder, &["keys", "create", "--data", "d", "--name", &"n".repeat(200)]);
}

#[test]
fn an_environment_that_a_key_makes_answers_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder, &[]);
    let key_of_new = key(folder, "new");
    set_policy(&service, &key_of_new);
    store_notes(&service, &key_of_new, "ada", &["here"]);
    assert_eq!(stored_facts(&service, &key_of_new).as_array().unwrap().len(), 1);
    let key_of_default = key(folder, ENVIRONMENT);
    assert_eq!(stored_facts(&service, &key_of_default), json!([]));
    let checked = json!({ "actor_type": "User", "actor_id": "a", "action": "read",
        "resource_type": "Repo", "resource_id": "r" });
    assert_eq!(service.caller.post(&key_of_new, "authorize", &checked), (200, json!({ "allowed": false })));

    for arguments in [["list", "--environment", "none"], ["list", "--environment", "../x"]] {
        assert_eq!(run(folder, &[&["keys"], &arguments[..], &["--data", "d"]].concat()).0, 1);
    }
    assert!(!folder.join("d/none").exists(), "looking makes no environment");
    service.stop();
    let missing = bad(folder, &["keys", "list", "--environment", "none", "--data", "d"]);
    assert!(missing.contains("there is no store in"), "{missing}");
    assert!(!folder.join("d/none").exists());
    let service = Service::start(folder, &[]);
    assert_eq!(stored_facts(&service, &key_of_new).as_array().unwrap().len(), 1);
}

#[test]
fn keys_that_are_created_at_once_make_one_environment() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder, &[]);
    let keys = std::thread::scope(|scope| {
        let made: Vec<_> = (0..8).map(|_| scope.spawn(|| key(folder, "crowd"))).collect();
        made.into_iter().map(|key| key.join().unwrap()).collect::<Vec<_>>()
    });
    for key in &keys {
        assert_eq!(service.caller.get(key, "policy").0, 200);
    }
    assert_eq!(good(folder, &["keys", "list", "--environment", "crowd", "--data", "d"]).lines().count(), 8);
}

#[test]
fn the_socket_is_for_its_owner_and_survives_a_kill_and_a_long_path() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a-rather-long-name".repeat(6)).join("and-another-one".repeat(4));
    fs::create_dir_all(&deep).unwrap();
    let service = Service::start(&deep, &[]);
    let mode = |path: &str| fs::metadata(deep.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("d/.admin"), mode("d/.admin/socket")), (0o700, 0o600));
    let long = deep.join("d").display().to_string();
    let made = good(&deep, &["keys", "create", "--name", "k", "--data", &long]);
    assert_eq!(service.caller.get(made.trim(), "policy").0, 200);

    drop(service);
    assert!(deep.join("d/.admin/socket").exists(), "a killed service leaves it behind");
    let stopped = good(&deep, &["keys", "create", "--name", "k", "--data", "d"]);
    let service = Service::start(&deep, &[]);
    assert_eq!(service.caller.get(stopped.trim(), "policy").0, 200);
    assert_eq!(service.caller.get(&key(&deep, ENVIRONMENT), "policy").0, 200);
}

#[test]
fn an_unknown_command_is_refused() {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    let folder = tempfile::tempdir().unwrap();
    let _service = Service::start(folder.path(), &[]);
    let ask = |text: &[u8]| {
        let mut stream = UnixStream::connect(folder.path().join("d/.admin/socket")).unwrap();
        stream.write_all(text).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    };
    for wrong in [&b"\n"[..], b"{}\n", b"{\"command\":\"format_disk\"}\n", b"no end", b"\xff\n", b""] {
        let answer = ask(wrong);
        assert!(answer.is_empty() || answer.contains("refused"), "{answer}");
    }
    let listed = ask(b"{\"command\":\"list_keys\",\"environment\":\"0123456789\"}\n");
    assert_eq!(listed, "{\"reply\":\"keys\",\"keys\":[]}\n");
}
