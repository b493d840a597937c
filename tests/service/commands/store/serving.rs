//! Processes that serve one store in a database: keys from the command line, and a node that is killed.

use super::{database, text};
use portcullis::http::DEFAULT_ENVIRONMENT;
use portcullis_testkit::program::{self, Caller, Program, Service, portcullis};
use portcullis_testkit::server::POLICY;
use portcullis_testkit::wire::{fact_json, question};
use serde_json::{Value as Json, json};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// How many facts a batch has that may be cut off.
const BATCH: usize = 2_000;

/// A node over a store.
fn node(folder: &Path, url: &str, args: &[&str]) -> Service {
    Service::start(folder, &[&["--store", url], args].concat())
}

/// Runs `portcullis keys` on a store.
fn keys(folder: &Path, url: &str, args: &[&str]) -> String {
    let out = portcullis(folder).env("PORTCULLIS_STORE", url).arg("keys").args(args).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

fn allowed(node: &Service, key: &str, user: &str, repo: &str) -> Option<bool> {
    let (status, answer) = node.caller.post(key, "authorize", &question(user, "read", repo));
    (status == 200).then(|| answer["allowed"].as_bool().unwrap())
}

#[test]
fn an_empty_database_becomes_a_store_and_keys_hold_on_every_node() {
    let url = database("served");
    let folder = tempfile::tempdir().unwrap();
    let one = node(folder.path(), &url, &[]);
    // Its replicas are the primary itself, which is never behind.
    let replicas = ["--store-replica", &*url, "--store-replica", &*url, "--max-staleness", "5"];
    let two = node(folder.path(), &url, &replicas);
    assert!(!folder.path().join("d").exists(), "a node leaves no data folder");
    let key = keys(folder.path(), &url, &["create", "--name", "billing"]);
    assert_eq!(one.caller.post(&key, "policy", &json!({ "src": POLICY })).0, 200);
    let batch = json!([{ "inserts": [fact_json(&["is_public", "Repo:a"])] }]);
    assert_eq!(two.caller.post(&key, "batch", &batch).0, 200);
    assert_eq!(allowed(&one, &key, "ada", "a"), Some(true));
    let listed = keys(folder.path(), &url, &["list"]);
    assert!(listed.contains("billing") && listed.lines().count() == 1, "{listed}");
    let id = listed.split_whitespace().next().unwrap();
    keys(folder.path(), &url, &["revoke", id]);
    assert_eq!((allowed(&one, &key, "ada", "a"), allowed(&two, &key, "ada", "a")), (None, None));
    // A key of an environment that does not exist yet makes it.
    let staging = keys(folder.path(), &url, &["create", "--environment", "staging"]);
    assert_eq!(two.caller.post(&staging, "policy", &json!({ "src": POLICY })).0, 200);
    assert_eq!(allowed(&one, &staging, "ada", "a"), Some(false));
    // Environments are listed and deleted wherever the address is known.
    let environments = |args: &[&str]| {
        let mut command = portcullis(folder.path());
        let out = command.env("PORTCULLIS_STORE", &url).arg("environments").args(args).output().unwrap();
        let [text, error] = [out.stdout, out.stderr].map(|text| String::from_utf8(text).unwrap());
        (out.status.code().unwrap(), text, error)
    };
    let (_, listed, _) = environments(&["list"]);
    let default = format!("`{DEFAULT_ENVIRONMENT}`, 1 fact, 1 policy version, 1 key\n");
    assert_eq!(listed, format!("{default}`staging`, 0 facts, 1 policy version, 1 key\n"));
    let (code, preview, _) = environments(&["delete", "staging"]);
    assert!(code == 1 && preview.contains("nothing was deleted"), "{code} {preview}");
    assert_eq!(allowed(&one, &staging, "ada", "a"), Some(false));
    let deleted = environments(&["delete", "staging", "--yes"]);
    assert_eq!(deleted, (0, "`staging` was deleted\n".to_owned(), String::new()));
    assert_eq!((allowed(&one, &staging, "ada", "a"), allowed(&two, &staging, "ada", "a")), (None, None));
    assert_eq!(environments(&["list"]).1, default);
    for (name, wanted) in [("staging", "no environment `staging`"), (DEFAULT_ENVIRONMENT, "is not deleted")] {
        let (code, _, error) = environments(&["delete", name, "--yes"]);
        assert!(code != 0 && error.contains(wanted), "{code} {error}");
    }
    // What works on data folders says so.
    let out = portcullis(folder.path()).env("PORTCULLIS_STORE", &url).args(["backup", "b"]).output();
    let refused = out.unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && message.contains("works on a data folder"), "{message}");
    one.stop();
    two.stop();
}

#[test]
fn a_node_that_is_killed_in_a_batch_leaves_all_of_it_or_nothing() {
    let url = database("killed");
    let folder = tempfile::tempdir().unwrap();
    let key = {
        let first = node(folder.path(), &url, &[]);
        let key = keys(folder.path(), &url, &["create"]);
        assert_eq!(first.caller.post(&key, "policy", &json!({ "src": POLICY })).0, 200);
        key
    };
    let survivor = node(folder.path(), &url, &[]);
    let mut stored = 0;
    for round in 0..6 {
        let fact = |n: usize| fact_json(&["is_public", &format!("Repo:{round}-{n}")]);
        let batch = json!([{ "inserts": (0..BATCH).map(fact).collect::<Json>() }]);
        let mut victim = node(folder.path(), &url, &[]);
        let caller = Caller::new(&victim.caller.url);
        let (sent_key, sent) = (key.clone(), batch.clone());
        let sending = thread::spawn(move || caller.try_post(&sent_key, "batch", &sent));
        thread::sleep(Duration::from_millis(15 * round));
        victim.program.kill();
        let is_acknowledged = matches!(sending.join().unwrap(), Ok((200, _)));
        // The server may still be committing what it has received.
        thread::sleep(Duration::from_millis(200));
        let (_, stats) = survivor.caller.get(&key, "stats");
        let found = usize::try_from(stats["num_facts"].as_u64().unwrap()).unwrap() - stored;
        assert!(found == BATCH || found == 0 && !is_acknowledged, "{found} of {BATCH}, {is_acknowledged}");
        stored += found;
        let last = format!("{round}-{}", BATCH - 1);
        assert_eq!(allowed(&survivor, &key, "ada", &last), Some(found == BATCH));
    }
}

#[test]
fn a_service_refuses_a_store_that_it_cannot_use() {
    let folder = tempfile::tempdir().unwrap();
    let url = database("newer");
    let (status, _, _) = super::store(&["migrate", &url]);
    assert_eq!(status, 0);
    super::sql(&url, "UPDATE portcullis.meta SET format = 99, min_reader = 99");
    let refused = |url: &str| {
        let out =
            portcullis(folder.path()).args(["serve", "--listen", "127.0.0.1:0", "--store", url]).output();
        String::from_utf8(out.unwrap().stderr).unwrap()
    };
    let message = refused(&url);
    assert!(message.contains("the store has format 99, and this release knows formats up to"), "{message}");
    let message = refused("mysql://db/portcullis");
    assert!(message.contains("store") && message.contains("postgres://portcullis@db.internal"), "{message}");
    let message = refused("postgres://ada:s3cret@127.0.0.1:1/portcullis");
    assert!(message.contains("check the address, the network") && !message.contains("s3cret"), "{message}");
    assert_eq!(text(&url, "SELECT format::text FROM portcullis.meta"), "99");
}

#[test]
fn facts_move_from_the_embedded_store_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let (code, out, err) = program::run(folder.path(), args);
        assert_eq!(code, Some(0), "{args:?}: {out}{err}");
    };
    std::fs::write(folder.path().join("policy.polar"), POLICY).unwrap();
    let facts: Vec<Json> = (0..3_000)
        .map(|n| fact_json(&["has_role", &format!("User:u{n}"), "String:reader", &format!("Repo:{}", n % 7)]))
        .chain([
            fact_json(&["age", "User:u1", "Integer:-9223372036854775808"]),
            fact_json(&["is_public", "Repo:'x"]),
        ])
        .collect();
    let embedded = Service::start(folder.path(), &["--dev", "--policy", "policy.polar"]);
    assert_eq!(embedded.post("/api/batch", &json!([{ "inserts": facts }]), &[]), 200);
    run(&["facts", "export", "facts.jsonl", "--data", "d"]);
    let shared = node(folder.path(), &database("moved"), &["--dev"]);
    let url = shared.caller.url.clone();
    run(&["policy", "push", "policy.polar", "--url", &url]);
    run(&["facts", "import", "facts.jsonl", "--url", &url]);
    run(&["facts", "export", "moved.jsonl", "--url", &url]);
    let lines = |name: &str| {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(lines("facts.jsonl").len(), 3_002);
    assert!(lines("facts.jsonl") == lines("moved.jsonl"));
    // And back, into another folder.
    embedded.stop();
    let args = ["--dev", "--policy", "policy.polar"];
    let back =
        Program::spawn(folder.path(), "e", &args).answering().unwrap_or_else(|error| panic!("{error}"));
    run(&["facts", "import", "moved.jsonl", "--url", &back.caller.url]);
    run(&["facts", "export", "back.jsonl", "--data", "e"]);
    assert!(lines("facts.jsonl") == lines("back.jsonl"));
}

#[test]
fn the_address_may_be_in_the_settings_file() {
    let folder = tempfile::tempdir().unwrap();
    let url = database("in_file").replace("postgres@", "postgres:s3cret@");
    let settings = folder.path().join("portcullis.toml");
    std::fs::write(&settings, format!("store = \"{url}\"\n")).unwrap();
    for (path, mode) in [(folder.path(), 0o755), (&*settings, 0o644)] {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let node = Service::start(folder.path(), &["--dev", "--config", "portcullis.toml"]);
    assert_eq!(node.post("/api/policy", &json!({ "src": POLICY }), &[]), 200);
    let log = node.stop();
    assert!(
        log.contains("the address of the store, perhaps with a password, is in a file that every"),
        "{log}"
    );
    assert!(!log.contains("s3cret"), "{log}");
    let (_, shown, _) = program::run(folder.path(), &["config", "show", "--config", "portcullis.toml"]);
    assert!(shown.contains("(set)") && !shown.contains("s3cret"), "{shown}");
}
