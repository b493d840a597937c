//! The inputs that fuzzing has found worth keeping, run once each.
//!
//! `scripts/fuzz` looks for new ones; this only sees that what was right stays right. Each input is
//! given to the function of its file's name, the same that the fuzzer calls.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is the failure of a test")]

use portcullis_testkit::fuzz::{self as targets, corpus};
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long one input may take, without optimisation and on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_mins(1);

fn here() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz"))
}

/// Runs every input of a target and names those that fail.
#[track_caller]
fn survives(target: &str, run: fn(&[u8])) {
    let inputs = corpus::inputs(target);
    assert!(!inputs.is_empty(), "{target} has no inputs");
    let failed = inputs.into_iter().filter_map(|(name, data)| {
        let started = Instant::now();
        let survived = catch_unwind(|| run(&data)).is_ok();
        let reason = if !survived {
            "panics"
        } else if started.elapsed() > PATIENCE {
            "takes long"
        } else {
            return None;
        };
        Some(format!("{name} {reason}"))
    });
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{target}:\n{}", failed.join("\n"));
}

#[test]
fn bindings() {
    survives("bindings", targets::bindings::run);
}

#[test]
fn bodies() {
    survives("bodies", targets::bodies::run);
}

#[test]
fn policy() {
    survives("policy", targets::policy::run);
}

#[test]
fn printers() {
    survives("printers", targets::printers::run);
}

#[test]
fn upload() {
    survives("upload", targets::upload::run);
}

/// The names of the files of a folder, without their endings.
fn names(folder: &str) -> Vec<String> {
    let folder = here().join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut names: Vec<String> =
        paths.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// What the fuzzer runs and what the tests run is the same list, and it stays small.
#[test]
fn every_target_has_inputs_and_few() {
    const INPUTS: usize = 110;
    const BYTES: usize = 200_000;
    let targets = names("fuzz_targets");
    assert_eq!(targets, ["bindings", "bodies", "policy", "printers", "upload"]);
    assert_eq!(names("corpus"), targets);
    for target in targets {
        let inputs = corpus::inputs(&target);
        let bytes: usize = inputs.iter().map(|(_, data)| data.len()).sum();
        assert!(inputs.len() <= INPUTS && bytes <= BYTES, "{target}: {} inputs, {bytes} bytes", inputs.len());
    }
}
