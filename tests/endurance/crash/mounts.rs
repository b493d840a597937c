//! Disks that only one test sees: a test runs again as a process with mounts of its own, which end with it.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Set in a process that has mounts of its own.
const INSIDE: &str = "PORTCULLIS_CRASH_MOUNTS";

/// Commands that give a process its own mounts, for root and for anybody else.
const WAYS: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];

/// Runs a test of this binary with mounts of its own: `inside` is its body. Where mounting is not allowed,
/// `instead` runs.
pub(crate) fn with_own_mounts(test: &str, inside: impl FnOnce(), instead: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    let may = |way: &&&[&str]| {
        let tried =
            Command::new("unshare").args(**way).args(["mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
        tried.unwrap_or_else(|error| panic!("unshare: {error}, run scripts/setup")).status.success()
    };
    let Some(way) = WAYS.iter().find(may) else {
        println!("{test}: no mount is allowed here, so a limit of the process replaces the disk");
        return instead();
    };
    let again = Command::new("unshare")
        .args(*way)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said =
        [again.stdout, again.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(again.status.success() && said.contains("1 passed"), "{said}");
}

/// A disk of this many kibibytes at a folder, which is made.
pub(crate) fn mount(folder: &Path, kibibytes: u64) {
    fs::create_dir(folder).unwrap();
    call("mount", &["-t", "tmpfs", "-o", &format!("size={kibibytes}k,mode=700"), "tmpfs"], folder);
}

/// Makes a disk one that is only read; nothing may be open on it for writing.
pub(crate) fn make_read_only(folder: &Path) {
    call("mount", &["-o", "remount,ro"], folder);
}

fn call(program: &str, args: &[&str], folder: &Path) {
    let done = Command::new(program).args(args).arg(folder).output().unwrap();
    assert!(done.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Fills the disk of a file to the last byte.
pub(crate) fn fill(file: &Path) {
    let mut file = File::options().create(true).append(true).open(file).unwrap();
    for size in [1 << 16, 1 << 12, 1] {
        let block = vec![b'x'; size];
        while file.write(&block).is_ok_and(|n| n == block.len()) {}
    }
}
