//! Environments are listed and deleted, with and without a running service.

use super::program::{ENVIRONMENT, bad, good, key, run, set_policy, store_notes};
use portcullis_testkit::program::Service;
use portcullis_testkit::wire::{bearer, read_answer};
use serde_json::{Value as Json, json};
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn environments_are_listed_and_one_is_deleted_without_a_service() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert_eq!(good(folder, &["environments", "list", "--data", "d"]), "");
    key(folder, ENVIRONMENT);
    key(folder, "staging");
    key(folder, "staging");
    let listed = good(folder, &["environments", "list", "--data", "d"]);
    let default = "`0123456789`, 0 facts, 0 policy versions, 1 key\n";
    let staging = "`staging`, 0 facts, 0 policy versions, 2 keys\n";
    assert_eq!(listed, [default, staging].concat());
    let json = good(folder, &["environments", "list", "--data", "d", "--format", "json"]);
    let json: Json = serde_json::from_str(&json).unwrap();
    assert_eq!(json[1], json!({ "name": "staging", "facts": 0, "policy_versions": 0, "keys": 2 }));

    let (code, out, err) = run(folder, &["environments", "delete", "staging", "--data", "d"]);
    let kept = format!("{staging}nothing was deleted: --yes deletes all of this\n");
    assert_eq!((code, out, err.as_str()), (1, kept, ""));
    let deleted = good(folder, &["environments", "delete", "staging", "--yes", "--data", "d"]);
    assert_eq!(deleted, "`staging` was deleted\n");
    assert_eq!(good(folder, &["environments", "list", "--data", "d"]), default);
    let left: Vec<_> =
        std::fs::read_dir(folder.join("d")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [ENVIRONMENT]);

    let again = ["environments", "delete", "staging", "--yes", "--data", "d"];
    assert!(bad(folder, &again).starts_with("there is no store in "));
    let (_, out, _) = run(folder, &[&again[..], &["--format", "json"]].concat());
    let json: Json = serde_json::from_str(&out).unwrap();
    assert_eq!(json["code"], "unknown_environment");
    for given in [&["--yes"][..], &[]] {
        let args = [&["environments", "delete", ENVIRONMENT, "--data", "d"], given].concat();
        let default = bad(folder, &args);
        assert!(default.starts_with("every service has the environment `0123456789`"), "{default}");
    }
    let outside = bad(folder, &["environments", "delete", "../d", "--yes", "--data", "d"]);
    assert!(outside.starts_with("an environment cannot have this name"), "{outside}");
}

#[test]
fn an_environment_that_cannot_be_read_does_not_hide_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    key(folder, ENVIRONMENT);
    for name in ["broken", "no-store"] {
        std::fs::create_dir(folder.join("d").join(name)).unwrap();
    }
    std::fs::write(folder.join("d/broken/lock"), "").unwrap();
    let (code, out, err) = run(folder, &["environments", "list", "--data", "d"]);
    assert!(
        code == 1 && out.starts_with("`0123456789`") && err.starts_with("error: `broken`: "),
        "{out}{err}"
    );
    assert!(!err.contains("no-store"), "a folder without files of a store is no environment: {err}");
    let (_, out, _) = run(folder, &["environments", "list", "--data", "d", "--format", "json"]);
    let json: Json = serde_json::from_str(&out).unwrap();
    assert_eq!((&json[0]["keys"], &json[1]["error"]["code"]), (&json!(1), &json!("unknown_environment")));
    good(folder, &["environments", "delete", "broken", "--yes", "--data", "d"]);
}

#[test]
fn a_folder_with_other_files_is_not_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    key(folder, ENVIRONMENT);
    let add = |name: &str| {
        std::fs::create_dir(folder.join("d").join(name)).unwrap();
        std::fs::write(folder.join("d").join(name).join("notes.md"), "mine").unwrap();
    };
    let refused = |name: &str| bad(folder, &["environments", "delete", name, "--yes", "--data", "d"]);
    let is_untouched = |name: &str| {
        let mut left = std::fs::read_dir(folder.join("d").join(name)).unwrap();
        left.all(|entry| entry.unwrap().file_name() == "notes.md")
    };
    add("docs");
    let reason = "`d/docs/notes.md` is not a Portcullis store: ";
    assert!(refused("docs").starts_with(reason) && is_untouched("docs"), "{}", refused("docs"));

    // A running service does not take it for an environment, and says so.
    key(folder, "mixed");
    std::fs::write(folder.join("d/mixed/notes.md"), "mine").unwrap();
    let service = Service::start(folder, &[]);
    service.program.logs("a folder in the data folder is not served: it has no files of a store");
    assert!(refused("docs").starts_with(reason) && is_untouched("docs"), "{}", refused("docs"));
    let stopped = "the environment `mixed` is not served any more, but was not deleted: ";
    let said = refused("mixed");
    assert!(said.starts_with(stopped) && said.contains("`d/mixed/notes.md` is not a"), "{said}");
    add("later");
    let said = refused("later");
    assert!(
        said.starts_with("`d/later/notes.md` is not a Portcullis store: ") && is_untouched("later"),
        "{said}"
    );
    assert!(folder.join("d/docs/notes.md").exists());
}

#[test]
fn a_deletion_that_was_killed_is_completed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    key(folder, "staging");
    std::fs::rename(folder.join("d/staging"), folder.join("d/.deleted-staging")).unwrap();
    let delete = ["environments", "delete", "staging", "--yes", "--data", "d"];
    assert_eq!(good(folder, &delete), "`staging` was deleted\n");
    assert!(!folder.join("d/.deleted-staging").exists());
    assert!(bad(folder, &delete).starts_with("there is no store in "));
}

#[test]
fn a_key_is_revoked_while_another_environment_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder, &[]);
    let (kept, doomed) = (key(folder, ENVIRONMENT), key(folder, "doomed"));
    // A request in progress: its body has not arrived.
    let mut request = TcpStream::connect(service.caller.address()).unwrap();
    let head = format!("Host: localhost\r\n{}\r\nContent-Type: application/json", bearer(&doomed));
    write!(request, "POST /api/batch HTTP/1.1\r\n{head}\r\nContent-Length: 2\r\n\r\n").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    std::thread::scope(|scope| {
        let delete = ["environments", "delete", "doomed", "--yes", "--data", "d"];
        let deletion = scope.spawn(move || good(folder, &delete));
        while service.caller.get(&doomed, "policy").0 != 401 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let id = kept.split('_').nth(2).unwrap();
        good(folder, &["keys", "revoke", id, "--data", "d"]);
        assert_eq!(service.caller.get(&kept, "policy").0, 401);
        assert!(!deletion.is_finished(), "the deletion waits for the request");
        write!(request, "[]").unwrap();
        assert_eq!(read_answer(&mut request).status, 200);
        assert_eq!(deletion.join().unwrap(), "`doomed` was deleted\n");
    });
}

#[test]
fn a_running_service_deletes_an_environment_that_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder, &[]);
    let (kept, doomed) = (key(folder, ENVIRONMENT), key(folder, "doomed"));
    set_policy(&service, &doomed);
    store_notes(&service, &doomed, "ada", &["here"]);
    let delete = ["environments", "delete", "doomed", "--yes", "--data", "d"];
    std::thread::scope(|scope| {
        let askers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        match service.caller.get(&doomed, "facts?predicate=note").0 {
                            200 | 503 => {}
                            status => return status,
                        }
                    }
                })
            })
            .collect();
        assert_eq!(good(folder, &delete), "`doomed` was deleted\n");
        for asker in askers {
            assert_eq!(asker.join().unwrap(), 401);
        }
    });
    assert!(!folder.join("d/doomed").exists());
    assert_eq!(service.caller.get(&kept, "policy").0, 200);
    assert_eq!(bad(folder, &delete), "there is no environment `doomed`: check its name");
    let default = bad(folder, &["environments", "delete", ENVIRONMENT, "--yes", "--data", "d"]);
    assert!(default.starts_with("every service has the environment `0123456789`"), "{default}");

    let new = key(folder, "doomed");
    assert_eq!(service.caller.get(&doomed, "policy").0, 401);
    assert_eq!(service.caller.get(&new, "policy"), (200, json!({ "policy": null })));
    service.stop();
    let service = Service::start(folder, &[]);
    assert_eq!(service.caller.get(&new, "policy").0, 200);
}
