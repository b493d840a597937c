//! A folder or a file that cannot be written: the start names it, and a service that runs goes on
//! with what it has open.

use super::mounts::{make_read_only, mount, with_own_mounts};
use super::writers::{Kind, Writer, held, policy};
use portcullis_testkit::program::portcullis;
use portcullis_testkit::program::{Caller, Program, Service, key, run};
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

/// A user that is not root and owns nothing else.
const NOBODY: u32 = 65_534;

/// Starts a service that must not start; what it says.
fn refused(started: Program) -> String {
    match started.answering() {
        Ok(_) => panic!("it started"),
        Err(said) => said.split_once("error: ").unwrap_or_else(|| panic!("{said}")).1.trim().to_owned(),
    }
}

fn stored(caller: &Caller, key: &str) -> Writer {
    let mut writer = Writer { kind: Kind::Batches, name: "ada".into(), key: key.into(), done: 0 };
    assert_eq!(caller.post(key, "policy", &json!({ "src": policy(0) })).0, 200);
    for _ in 0..3 {
        assert_eq!(writer.try_step(caller).unwrap().0, 200);
    }
    writer
}

#[test]
fn a_disk_that_is_only_read_is_named_at_the_start() {
    let name = "crash::readonly::a_disk_that_is_only_read_is_named_at_the_start";
    with_own_mounts(name, on_a_read_only_disk, what_the_user_may_not_write_is_named);
}

fn on_a_read_only_disk() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    mount(&folder.join("d"), 6 * 1024);
    let key = key(folder, "0123456789");
    let mut service = Service::start(folder, &[]);
    stored(&service.caller, &key);
    // What a kill leaves, and what a stop leaves.
    service.program.kill();
    make_read_only(&folder.join("d"));
    let said = refused(Program::spawn(folder, "d", &[]));
    let expected =
        "the store failed: the store cannot use its files: `d/0123456789/lock`: Read-only file system";
    assert!(said.starts_with(expected), "{said}");
    let (code, _, err) = run(folder, &["keys", "create", "--data", "d"]);
    assert!(code == Some(1) && err.contains("`d/0123456789/lock`: Read-only file system"), "{err}");
}

/// The program as a user whose access can be refused: that of root never is.
fn as_nobody(folder: &Path) -> Command {
    let mut command = portcullis(folder);
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        let program = command.get_program().to_owned();
        command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program).current_dir(folder);
    }
    command
}

fn give_away(path: &Path) {
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_the_user_may_not_write_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    give_away(folder);
    let spawn = || Program::spawn_as(as_nobody(folder), folder, "d", &[]);
    let service = spawn().answering().unwrap();
    let key = key(folder, "0123456789");
    let mut writer = stored(&service.caller, &key);

    // The folder of a running service: what is open goes on, and what would be new is refused by name.
    set_mode(&folder.join("d"), 0o500);
    for _ in 0..3 {
        assert_eq!(writer.try_step(&service.caller).unwrap().0, 200);
    }
    let (code, _, err) = run(folder, &["keys", "create", "--data", "d", "--environment", "new"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("`d/new`: Permission denied"), "{err}");
    held(&service.caller, &key).is_all_of(&[&writer]);
    service.stop();

    let environment = folder.join("d/0123456789");
    for (path, mode, whole, named) in [
        (environment.join("store.db"), 0o400, 0o600, "`d/0123456789/store.db`: Permission denied"),
        (environment.join("lock"), 0o400, 0o600, "`d/0123456789/lock`: Permission denied"),
        (environment.clone(), 0o500, 0o700, "`d/0123456789`"),
        (environment.clone(), 0o000, 0o700, "`d/0123456789/lock`: Permission denied"),
    ] {
        set_mode(&path, mode);
        let said = refused(spawn());
        assert!(said.contains(named), "{path:?} {mode:o}: {said}");
        set_mode(&path, whole);
    }
    let service = spawn().answering().unwrap();
    held(&service.caller, &key).is_all_of(&[&writer]);
    service.stop();
}
