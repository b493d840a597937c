//! Backups of a running service, and restoring them next to it or in its place.

use super::program::{ENVIRONMENT, bad, good, key, note, set_policy, store_notes, stored_facts};
use portcullis_testkit::program::Service;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The batch with this number: two notes, one in place of the former batch's.
fn batch(n: usize) -> serde_json::Value {
    let (id, former) = (format!("{n:05}"), format!("{:05}", n.wrapping_sub(1)));
    json!([
        { "inserts": [note(&id, "first"), note(&id, "second")] },
        { "deletes": [note("last", &former)] },
        { "inserts": [note("last", &id)] },
    ])
}

#[test]
fn a_backup_under_load_holds_whole_batches_up_to_one_and_serves() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder, &[]);
    let key = key(folder, ENVIRONMENT);
    set_policy(&service, &key);
    let (acknowledged, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (before, after) = std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                assert_eq!(service.caller.post(&key, "batch", &batch(n)).0, 200);
                acknowledged.store(n + 1, Ordering::SeqCst);
                if stop.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        while acknowledged.load(Ordering::SeqCst) < 30 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let before = acknowledged.load(Ordering::SeqCst);
        let told = good(folder, &["backup", "b.db", "--data", "d"]);
        let after = acknowledged.load(Ordering::SeqCst);
        stop.store(true, Ordering::SeqCst);
        assert!(
            told.starts_with("b.db: `0123456789`, ") && told.ends_with("1 policy version, 1 key\n"),
            "{told}"
        );
        (before, after)
    });

    // In another data folder it is served with its keys and its policy.
    good(folder, &["restore", "b.db", "--data", "e"]);
    fs::create_dir(folder.join("elsewhere")).unwrap();
    fs::rename(folder.join("e"), folder.join("elsewhere/d")).unwrap();
    let other = Service::start(&folder.join("elsewhere"), &[]);
    let facts = stored_facts(&other, &key);
    let facts = facts.as_array().unwrap();
    let n = (facts.len() - 1) / 2;
    assert!((before..=after + 1).contains(&n), "{before} to {after} were acknowledged, {n} are there");
    let ids = (0..n).flat_map(|n| [note(&format!("{n:05}"), "first"), note(&format!("{n:05}"), "second")]);
    let expected: Vec<_> = ids.chain([note("last", &format!("{:05}", n - 1))]).collect();
    assert_eq!(facts, &expected);
    assert_eq!(other.caller.post(&key, "batch", &batch(n)).0, 200);
}

#[test]
fn a_restored_environment_answers_at_once_and_a_served_one_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder, &[]);
    let (key, key_of_b) = (key(folder, ENVIRONMENT), key(folder, "b"));
    for key in [&key, &key_of_b] {
        set_policy(&service, key);
    }
    store_notes(&service, &key, "ada", &["one"]);
    store_notes(&service, &key_of_b, "bob", &["two"]);
    let told = good(folder, &["backup", "all/", "--data", "d"]);
    assert_eq!(told.lines().count(), 2, "{told}");
    let mode = |path: &str| fs::metadata(folder.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode("all"), mode("all/b.db")], [0o700, 0o600], "for their owner alone");
    let exists = bad(folder, &["backup", "all", "--data", "d"]);
    assert!(exists.contains("0123456789.db` already exists: ") && exists.contains("--overwrite"), "{exists}");
    good(folder, &["backup", "all", "--data", "d", "--overwrite"]);
    store_notes(&service, &key, "ada", &["later"]);

    for overwrite in [&[][..], &["--overwrite"]] {
        let served = bad(folder, &[&["restore", "all/0123456789.db", "--data", "d"], overwrite].concat());
        assert!(served.contains("is being served") && served.contains("stop the service"), "{served}");
    }
    good(folder, &["restore", "all/0123456789.db", "--data", "d", "--environment", "look"]);
    let look = good(folder, &["keys", "create", "--name", "n", "--data", "d", "--environment", "look"]);
    assert_eq!(stored_facts(&service, look.trim()), json!([note("ada", "one")]));
    assert_eq!(stored_facts(&service, &key).as_array().unwrap().len(), 2);

    service.stop();
    let there = bad(folder, &["restore", "all", "--data", "d"]);
    assert!(there.contains("--overwrite"), "{there}");
    good(folder, &["restore", "all", "--data", "d", "--overwrite"]);
    let service = Service::start(folder, &[]);
    assert_eq!(stored_facts(&service, &key), json!([note("ada", "one")]));
    assert_eq!(stored_facts(&service, &key_of_b), json!([note("bob", "two")]));
}

#[test]
fn an_incomplete_backup_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder, &[]);
    good(folder, &["backup", "b.db", "--data", "d"]);
    service.stop();
    let whole = fs::read(folder.join("b.db")).unwrap();
    fs::write(folder.join("cut.db"), &whole[..whole.len() / 2]).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 3] ^= 0x10;
    fs::write(folder.join("changed.db"), changed).unwrap();
    let refused = |file: &str| bad(folder, &["restore", file, "--data", "e"]);
    assert!(
        refused("cut.db").starts_with("`cut.db` is not a complete backup: it does not end like a backup")
    );
    assert!(refused("changed.db").contains("its content does not match its SHA-256; copy it again"));
    assert!(refused("missing.db").starts_with("cannot read `missing.db`: "));
    assert!(!folder.join("e").exists());
    assert!(bad(folder, &["restore", "d", "--data", "e"]).contains("there is no backup in"));
    assert!(bad(folder, &["backup", "x.db", "--data", "nowhere"]).contains("there is no store in"));
}
