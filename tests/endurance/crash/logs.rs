//! The program is killed under load, and its log, or another of its files, is lost before the next start:
//! what was acknowledged is there, or the start is refused; it never silently continues.

use super::kills::{Watch, rounds_asked, within, write};
use super::writers::{Kind, Writer, held, policy};
use portcullis_testkit::program::{Caller, Program, Service, key, run};
use rand::RngExt;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

/// Rounds of `cargo test`: each way once, and the cut at three places.
const ROUNDS: usize = 10;

/// The environment that loses something, and one that gets the log of another.
const HERE: &str = "0123456789";
const THERE: &str = "b";

/// What happens to the files of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// The log is removed.
    Removed,
    /// The log ends earlier.
    Cut,
    /// The log of another store is in its place.
    Foreign,
    /// The log as it was some time before.
    Older,
    /// All files as they were some time before, but for the mark.
    AllOlder,
    /// The file alone is there, as if it had been copied without its log.
    Alone,
    /// Nothing.
    Kept,
}

const WAYS: [Way; 10] = [
    Way::Removed,
    Way::Cut,
    Way::Foreign,
    Way::Cut,
    Way::Older,
    Way::Removed,
    Way::Alone,
    Way::Cut,
    Way::AllOlder,
    Way::Kept,
];

fn file(folder: &Path, environment: &str, name: &str) -> PathBuf {
    folder.join("d").join(environment).join(name)
}

fn copy_all(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Does to the files of a killed environment what the way says; `older` holds them as they were before.
fn lose(way: Way, folder: &Path, older: &Path) {
    let here = |name| file(folder, HERE, name);
    let log = here("store.db-wal");
    match way {
        Way::Kept => return,
        Way::Removed => fs::remove_file(&log).unwrap(),
        Way::Cut => {
            let length = log.metadata().unwrap().len();
            let at = rand::rng().random_range(0..length.max(1));
            File::options().write(true).open(&log).unwrap().set_len(at).unwrap();
        }
        Way::Foreign => drop(fs::copy(file(folder, THERE, "store.db-wal"), &log).unwrap()),
        Way::Older => drop(fs::copy(older.join("store.db-wal"), &log).unwrap()),
        Way::AllOlder => {
            for name in ["store.db", "store.db-wal"] {
                fs::copy(older.join(name), here(name)).unwrap();
            }
        }
        Way::Alone => {
            for name in ["store.db-wal", "store.db-mark", "lock"] {
                fs::remove_file(here(name)).unwrap();
            }
        }
    }
    let _ = fs::remove_file(here("store.db-shm"));
}

fn writer(name: &str, key: &str) -> Writer {
    Writer { kind: Kind::Batches, name: name.into(), key: key.into(), done: 0 }
}

/// Lets both writers write to a service, keeps the files of [`HERE`] from the middle of it in `older`, and
/// kills the service.
fn write_until_killed(service: &mut Service, writers: &mut [Writer], folder: &Path, older: &Path) {
    let (watch, url) = (Watch::default(), service.caller.url.clone());
    std::thread::scope(|scope| {
        for writer in writers {
            let (watch, url) = (&watch, &url);
            scope.spawn(move || write(writer, &Caller::new(url), watch));
        }
        let wait = |writes| {
            let began = Instant::now();
            while watch.acknowledged.load(SeqCst) < writes && began.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        wait(20);
        copy_all(&folder.join("d").join(HERE), older);
        let so_far = watch.acknowledged.load(SeqCst);
        wait(so_far + 20);
        std::thread::sleep(within(100));
        watch.ending.store(true, SeqCst);
        service.program.kill();
    });
}

/// Starts a service whose files lost something: whether it serves, with all that was acknowledged to the
/// writer, and otherwise says that they are damaged.
fn is_served(folder: &Path, writer: &Writer, way: Way) -> bool {
    match Program::spawn(folder, "d", &[]).answering() {
        Ok(mut service) => {
            // What is gone had not been acknowledged.
            writer.clone().settle(&held(&service.caller, &writer.key));
            service.program.kill();
            true
        }
        Err(said) => {
            let said = said.lines().rfind(|line| line.starts_with("error: ")).unwrap().to_owned();
            assert!(said.contains("d/0123456789` is damaged: "), "{way:?}: {said}");
            assert!(said.contains("portcullis restore --overwrite"), "{way:?}: {said}");
            assert_ne!(way, Way::Kept, "{said}");
            false
        }
    }
}

#[test]
fn a_log_that_is_lost_is_never_lost_in_silence() {
    let rounds = rounds_asked().map_or(ROUNDS, |kills| kills.div_ceil(4));
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut writers = [("ada", HERE), ("bob", THERE)].map(|(actor, name)| writer(actor, &key(folder, name)));
    let (kept, older) = (folder.join("kept"), folder.join("older"));
    let mut outcomes: BTreeMap<Way, [usize; 2]> = BTreeMap::new();
    for n in 0..rounds {
        let mut service = Service::start(folder, &[]);
        for writer in &mut writers {
            if n == 0 {
                assert_eq!(service.caller.post(&writer.key, "policy", &json!({ "src": policy(0) })).0, 200);
            } else {
                writer.settle(&held(&service.caller, &writer.key));
            }
        }
        write_until_killed(&mut service, &mut writers, folder, &older);
        copy_all(&folder.join("d").join(HERE), &kept);
        let way = WAYS[n % WAYS.len()];
        lose(way, folder, &older);
        let is_served = is_served(folder, &writers[0], way);
        outcomes.entry(way).or_default()[usize::from(is_served)] += 1;
        copy_all(&kept, &folder.join("d").join(HERE));
    }
    let service = Service::start(folder, &[]);
    for writer in &mut writers {
        writer.settle(&held(&service.caller, &writer.key));
    }
    service.stop();
    println!("a lost log, [refused, nothing acknowledged lost]: {outcomes:?}");
    for (way, [refused, served]) in outcomes {
        let expected = match way {
            // Where it is cut, nothing may be missing that was acknowledged.
            Way::Cut => refused > 0,
            Way::Kept => refused == 0,
            Way::Removed | Way::Foreign | Way::Older | Way::AllOlder | Way::Alone => served == 0,
        };
        assert!(expected, "{way:?}: {refused} refused, {served} served");
    }
}

/// `accept-loss` reports what is missing before `--yes`.
#[test]
fn what_is_left_is_served_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut writer = writer("ada", &key(folder, HERE));
    let mut service = Service::start(folder, &[]);
    assert_eq!(service.caller.post(&writer.key, "policy", &json!({ "src": policy(0) })).0, 200);
    for _ in 0..12 {
        assert_eq!(writer.try_step(&service.caller).unwrap().0, 200);
    }
    let log = file(folder, HERE, "store.db-wal");
    // Once nothing is written any more, the log goes into the file.
    let began = Instant::now();
    while log.metadata().unwrap().len() > 0 && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let before = writer.clone();
    for _ in 0..30 {
        assert_eq!(writer.try_step(&service.caller).unwrap().0, 200);
    }
    let accept = |more: &[&str]| run(folder, &[&["accept-loss", "--data", "d"], more].concat());
    let (code, _, err) = accept(&[]);
    assert!(code == Some(1) && err.contains("another process has the store"), "{err}");
    service.program.kill();
    assert_eq!(accept(&[]).0, Some(0), "nothing is missing");

    let (aside, foreign) = (folder.join("aside"), key(folder, THERE));
    fs::rename(&log, &aside).unwrap();
    let said = Program::spawn(folder, "d", &[]).answering().err().unwrap();
    assert!(said.contains("30 acknowledged writes are not in it"), "{said}");
    let backup = run(folder, &["backup", "b.db", "--data", "d"]);
    assert!(backup.0 == Some(1) && backup.2.contains("30 acknowledged writes"), "{}", backup.2);

    // With its log back it is whole.
    fs::rename(&aside, &log).unwrap();
    let mut service = Service::start(folder, &[]);
    held(&service.caller, &writer.key).is_all_of(&[&writer]);
    assert_eq!(service.caller.get(&foreign, "facts").0, 200);
    for _ in 0..3 {
        assert_eq!(writer.try_step(&service.caller).unwrap().0, 200);
    }
    service.program.kill();
    fs::write(&log, fs::read(&log).unwrap().split_at(70_000).0).unwrap();
    let (code, out, err) = accept(&[]);
    assert_eq!(code, Some(1), "{err}");
    assert!(out.contains("missing: ") && out.contains("nothing was changed: --yes"), "{out}");
    assert!(Program::spawn(folder, "d", &[]).answering().is_err(), "it was only told");
    let (code, out, err) = accept(&["--yes"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("it can be served again, without what is missing"), "{out}");
    let service = Service::start(folder, &[]);
    let mut left = before;
    let found = held(&service.caller, &writer.key);
    while left.done < writer.done && !left.is_in(&found) {
        left.done += 1;
    }
    assert!(left.is_in(&found), "a whole number of batches is left");
    assert_eq!(left.try_step(&service.caller).unwrap().0, 200, "and it goes on from there");
    service.stop();
    Service::start(folder, &[]).stop();
}

/// While it serves, a file that goes is noticed within a second, and no write is acknowledged that the next
/// start would not find.
#[test]
fn files_that_go_while_it_serves_are_noticed() {
    for (name, replaced) in [
        ("store.db", false),
        ("store.db-wal", false),
        ("store.db-shm", false),
        ("store.db-mark", false),
        ("lock", false),
        ("store.db", true),
        ("store.db-wal", true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut writer = writer("ada", &key(folder, HERE));
        let service = Service::start(folder, &[]);
        assert_eq!(service.caller.post(&writer.key, "policy", &json!({ "src": policy(0) })).0, 200);
        for _ in 0..5 {
            assert_eq!(writer.try_step(&service.caller).unwrap().0, 200);
        }
        assert_eq!(service.caller.get("", "healthcheck").0, 200);
        let path = file(folder, HERE, name);
        if replaced {
            let other = folder.join("other");
            fs::copy(&path, &other).unwrap();
            fs::rename(&other, &path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        let (status, answer) = writer.try_step(&service.caller).unwrap();
        assert_eq!(status, 503, "{name}: {answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains("files of the store were removed or replaced"), "{name}: {message}");
        held(&service.caller, &writer.key).is_all_of(&[&writer]);
        let (status, answer) = service.caller.get("", "healthcheck");
        assert_eq!((status, answer["message"].as_str()), (503, Some(message)), "{name}");
        let log = service.stop();
        let state = if replaced { "replaced" } else { "removed" };
        assert!(log.contains(&format!("{name}` was {state} while the store is open")), "{log}");

        // The file itself is whole after an end in order, unless that file was removed.
        match Program::spawn(folder, "d", &[]).answering() {
            Ok(service) => {
                held(&service.caller, &writer.key).is_all_of(&[&writer]);
                service.stop();
            }
            Err(said) => assert!(name == "store.db" && said.contains("is damaged"), "{name}: {said}"),
        }
    }
}

/// The file of an earlier state, copied over the one that is open, and a log that is emptied in its place:
/// neither is written to, and neither passes for the store at the next start.
#[test]
fn files_that_are_overwritten_while_it_serves_are_noticed() {
    for name in ["store.db", "store.db-wal"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut writer = writer("ada", &key(folder, HERE));
        let service = Service::start(folder, &[]);
        assert_eq!(service.caller.post(&writer.key, "policy", &json!({ "src": policy(0) })).0, 200);
        let (path, early) = (file(folder, HERE, name), folder.join("early"));
        for _ in 0..5 {
            assert_eq!(writer.try_step(&service.caller).unwrap().0, 200);
        }
        if name == "store.db" {
            fs::copy(&path, &early).unwrap();
            // The file is written when the log is copied into it, after a second without writes.
            std::thread::sleep(Duration::from_millis(2_500));
            assert_eq!(writer.try_step(&service.caller).unwrap().0, 200);
            fs::copy(&early, &path).unwrap();
        } else {
            // The log is empty anyway after a second without writes, which a busy machine may take here.
            while fs::metadata(&path).unwrap().len() == 0 {
                assert_eq!(writer.try_step(&service.caller).unwrap().0, 200);
            }
            fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
        }
        let (status, answer) = writer.try_step(&service.caller).unwrap();
        assert_eq!(status, 503, "{name}: {answer}");
        assert_eq!(service.caller.get("", "healthcheck").0, 503, "{name}");
        let log = service.stop();
        assert!(log.contains("by another program while the store is open"), "{log}");
        if let Ok(service) = Program::spawn(folder, "d", &[]).answering() {
            held(&service.caller, &writer.key).is_all_of(&[&writer]);
            service.stop();
        }
    }
}

/// It is noticed even if there are no writes.
#[test]
fn a_file_that_goes_while_nobody_writes_is_noticed_within_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    key(folder, HERE);
    let service = Service::start(folder, &[]);
    std::thread::sleep(Duration::from_millis(1_500));
    fs::remove_file(file(folder, HERE, "store.db-wal")).unwrap();
    let began = Instant::now();
    while service.caller.get("", "healthcheck").0 == 200 {
        assert!(began.elapsed() < Duration::from_secs(3), "a second, and the time of a busy machine");
        std::thread::sleep(Duration::from_millis(10));
    }
    println!("noticed after {:?}", began.elapsed());
    service.stop();
}
