//! `portcullis review`: from files and from a real service, and what a service may do meanwhile.

#![expect(clippy::unwrap_used, reason = "a test that cannot start its program has failed")]

mod files;
mod service;

use portcullis_testkit::program::portcullis;
use std::path::Path;

/// Exit code, standard output, standard error.
fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output = portcullis(folder).arg("review").args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}
