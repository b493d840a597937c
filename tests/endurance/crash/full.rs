//! A disk without space: writes are refused with a reason, nothing that was acknowledged is lost, questions
//! are answered, and once there is space again, service resumes.

use super::mounts::{fill, mount, with_own_mounts};
use super::writers::{Kind, Writer, held, policy};
use portcullis_testkit::program::portcullis;
use portcullis_testkit::program::{Caller, Program, Service, key, run};
use serde_json::{Value as Json, json};
use std::fs;
use std::process::Command;

/// What a client is told while nothing can be stored.
const REFUSED: &str = "nothing can be stored at the moment, because the disk is full: free space on it; questions are still answered";

/// The same if the disk failed.
const STOPPED: &str = "nothing can be stored until the service is started again, because its disk failed, its file is damaged, or it has a bug: see its log, check the disk, and start it again; questions are still answered";

fn writer(key: &str) -> Writer {
    Writer { kind: Kind::Batches, name: "ada".into(), key: key.into(), done: 0 }
}

/// Writes until there is no space; some writes still find room. Returns the refusal.
fn write_until_refused(caller: &Caller, writer: &mut Writer) -> (u16, Json) {
    for _ in 0..20_000 {
        let (status, answer) = writer.try_step(caller).unwrap();
        if status != 200 {
            return (status, answer);
        }
    }
    panic!("the disk is not full");
}

/// What was acknowledged is stored, and nothing of what was refused.
fn holds(caller: &Caller, writer: &Writer) {
    let held = held(caller, &writer.key);
    let mut found = writer.clone();
    found.settle(&held);
    assert_eq!(found.done, writer.done, "a refused batch is not stored");
    held.is_all_of(&[writer]);
    let asked = json!({ "fact": { "predicate": "mark", "args": [null, null] } });
    let (status, answer) = caller.post(&writer.key, "query", &asked);
    assert!(status == 200 && answer["results"].as_array().unwrap().len() == 1, "{answer}");
}

#[test]
fn a_full_disk_loses_nothing_and_says_so() {
    with_own_mounts(
        "crash::full::a_full_disk_loses_nothing_and_says_so",
        on_a_small_disk,
        at_the_limit_of_a_file,
    );
}

fn on_a_small_disk() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let disk = folder.join("d");
    mount(&disk, 6 * 1024);
    let key = key(folder, "0123456789");
    let mut service = Service::start(folder, &[]);
    assert_eq!(service.caller.post(&key, "policy", &json!({ "src": policy(0) })).0, 200);
    let mut writer = writer(&key);
    for _ in 0..20 {
        assert_eq!(writer.try_step(&service.caller).unwrap().0, 200);
    }
    let filler = disk.join("filler");
    for life in ["the first", "after a kill", "after a stop"] {
        fill(&filler);
        let (status, answer) = write_until_refused(&service.caller, &mut writer);
        assert_eq!((status, &answer["message"]), (503, &json!(REFUSED)), "{life}");
        holds(&service.caller, &writer);
        let (status, answer) = service.caller.post(&key, "policy", &json!({ "src": policy(1) }));
        assert_eq!((status, &answer["message"]), (503, &json!(REFUSED)), "{life}");
        let (code, out, err) = run(folder, &["keys", "create", "--data", "d", "--environment", "new"]);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{life}");
        assert!(err.contains("`d/new`: there is no space left on the disk"), "{life}: {err}");
        holds(&service.caller, &writer);

        // Over a disk that is still full it starts and answers.
        if life == "the first" {
            service.program.kill();
        } else {
            service.stop();
        }
        service = Service::start(folder, &[]);
        holds(&service.caller, &writer);
        fs::remove_file(&filler).unwrap();
        for _ in 0..20 {
            assert_eq!(writer.try_step(&service.caller).unwrap().0, 200, "with space again");
        }
        holds(&service.caller, &writer);
    }
    assert!(service.stop().contains("disk is full"), "the log says why");
}

/// A quota on the size of a file fails in the middle of a commit, other than a full disk: no write is taken
/// until the store has been opened again.
#[test]
fn at_the_limit_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let key = key(folder, "0123456789");
    // In blocks of 512 bytes; the signal that usually ends such a process is ignored.
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 1000; exec \"$@\"", "sh"]).current_dir(folder);
    limited.arg(portcullis(folder).get_program());
    let mut service = Program::spawn_as(limited, folder, "d", &[]).answering().unwrap();
    assert_eq!(service.caller.post(&key, "policy", &json!({ "src": policy(0) })).0, 200);
    let mut writer = writer(&key);
    let (status, answer) = write_until_refused(&service.caller, &mut writer);
    assert_eq!(status, 500, "{answer}");
    assert!(answer["message"].as_str().unwrap().starts_with("internal error; the service's log"), "{answer}");
    for _ in 0..3 {
        let (status, answer) = writer.try_step(&service.caller).unwrap();
        assert_eq!((status, &answer["message"]), (503, &json!(STOPPED)));
    }
    holds(&service.caller, &writer);
    let log = service.program.logged();
    assert!(log.contains("the store accepts no more writes until it is opened again"), "{log}");
    service.program.kill();

    let service = Service::start(folder, &[]);
    holds(&service.caller, &writer);
    assert_eq!(writer.try_step(&service.caller).unwrap().0, 200);
    holds(&service.caller, &writer);
    service.stop();
}
