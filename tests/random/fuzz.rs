//! The inputs that fuzzing has found worth keeping, run once each.
//!
//! `scripts/fuzz` looks for new ones; this only sees that what was right stays right. Each input of `corpus/` is
//! given to the function of its folder's name, the same that the fuzzer calls.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is the failure of a test")]

use portcullis_testkit::fuzz as targets;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long one input may take, without optimisation and on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_mins(1);

/// The files of a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn here(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz").join(folder)
}

/// Runs every input of a target and names those that fail.
#[track_caller]
fn survives(target: &str, run: fn(&[u8])) {
    let inputs = files(&here("corpus").join(target));
    assert!(!inputs.is_empty(), "{target} has no inputs");
    let failed = inputs.into_iter().filter_map(|input| {
        let (data, started) = (fs::read(&input).unwrap(), Instant::now());
        let survived = catch_unwind(|| run(&data)).is_ok();
        let reason = if !survived {
            "panics"
        } else if started.elapsed() > PATIENCE {
            "takes long"
        } else {
            return None;
        };
        Some(format!("{} {reason}", input.display()))
    });
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
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

/// What the fuzzer runs and what the tests run is the same list, and it stays small.
#[test]
fn every_target_has_inputs_and_few() {
    const INPUTS: usize = 110;
    const BYTES: u64 = 200_000;
    let name = |path: &PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let targets: Vec<String> = files(&here("fuzz_targets")).iter().map(name).collect();
    assert_eq!(targets, ["bindings", "bodies", "policy", "printers", "upload"]);
    assert_eq!(files(&here("corpus")).iter().map(name).collect::<Vec<_>>(), targets);
    for target in targets {
        let inputs = files(&here("corpus").join(&target));
        let bytes: u64 = inputs.iter().map(|input| fs::metadata(input).unwrap().len()).sum();
        assert!(inputs.len() <= INPUTS && bytes <= BYTES, "{target}: {} inputs, {bytes} bytes", inputs.len());
    }
}
