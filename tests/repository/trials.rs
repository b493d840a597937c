//! The tests themselves: each of them runs, none includes the code of another folder, and each snapshot is
//! compared with something. Every test prints all its offenders at once.

use super::sources::{files, none, root};
use std::collections::BTreeSet;
use std::fs;

/// In a binary that lists its trials itself, a function with this attribute compiles and never runs.
#[test]
fn what_never_runs_is_not_called_a_test() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let tests = manifest.split("\n[[test]]\n").skip(1);
    let own = tests.filter(|section| section.split("\n[").next().unwrap().contains("harness = false"));
    let own: Vec<String> =
        own.map(|section| format!("tests/{}", section.split('"').nth(1).unwrap())).collect();
    assert_eq!(own, ["tests/language", "tests/clients", "tests/studio"]);
    let mut offenders = Vec::new();
    for file in own.iter().flat_map(|folder| files(folder, &[".rs"])) {
        let found = file.code().into_iter().filter(|(_, line)| line.contains("test]"));
        offenders.extend(found.map(|(number, _)| format!("{}:{number}: never runs", file.path)));
    }
    none(&offenders, "language, clients and studio list their trials themselves");
}

/// `scripts/test` names each binary, to run several side by side, and runs each of its groups.
#[test]
fn every_binary_is_run() {
    let script = fs::read_to_string(root().join("scripts/test")).unwrap();
    let (groups, rest) = script.split_once("\nside_by_side ").unwrap();
    let (run_side_by_side, alone) = rest.split_once('\n').unwrap();
    let run_side_by_side: Vec<&str> = run_side_by_side.split(' ').collect();
    let of_groups = groups.split("\n}\n").filter_map(|function| {
        let (name, steps) = function.trim_start().split_once("() {\n")?;
        run_side_by_side.contains(&name).then_some(steps)
    });
    let run: Vec<&str> = of_groups
        .chain([alone])
        .flat_map(|steps| steps.lines())
        .filter_map(|line| line.trim().strip_prefix("step cargo test --quiet --test "))
        // How many threads run it does not matter.
        .map(|named| named.split(" -- --test-threads=").next().unwrap())
        .collect();
    let mains = files("tests", &["main.rs"]).into_iter().map(|file| file.path);
    let binaries =
        mains.filter_map(|path| Some(path.strip_prefix("tests/")?.strip_suffix("/main.rs")?.to_owned()));
    let left_out = binaries.filter(|binary| !run.contains(&binary.as_str()));
    let offenders: Vec<String> = left_out.map(|binary| format!("tests/{binary}: is not run")).collect();
    none(&offenders, "scripts/test runs each binary of tests whole");
}

/// What several binaries need is in the crate `tests/support`, and is compiled once.
#[test]
fn no_test_includes_another_folder() {
    let mut offenders = Vec::new();
    for file in files("tests", &[".rs"]) {
        let found = file.code().into_iter().filter(|(_, line)| line.starts_with("#[path"));
        offenders.extend(found.map(|(number, _)| format!("{}:{number}: includes a file", file.path)));
    }
    none(&offenders, "tests share code by the crate in tests/support");
}

/// A snapshot that no page asks for is never compared, and one that is missing was never looked at.
#[test]
fn every_snapshot_is_asked_for_and_there() {
    let mut asked = BTreeSet::new();
    for page in files("fixtures/conformance", &[".md"]) {
        let name = page.path.trim_start_matches("fixtures/conformance/").trim_end_matches(".md");
        let requests = page.text.lines().filter_map(|line| line.strip_prefix("sql: "));
        for (number, request) in (1..).zip(requests) {
            let (_, dialects) = request.rsplit_once(" for ").unwrap();
            asked.extend(dialects.split(',').map(|dialect| {
                format!("snapshots/sql/{}__{number}__{}.snap", name.replace('/', "__"), dialect.trim())
            }));
        }
    }
    for file in files("tests/local", &[".rs"]) {
        for start in ["shape(\"", "shape: \""] {
            let shapes = file.text.split(start).skip(1).filter_map(|rest| rest.split('"').next());
            asked.extend(shapes.map(|name| format!("snapshots/local/{name}.snap")));
        }
        // The plan of each pattern is kept, too.
        let patterns = file.text.split("shape: \"").skip(1).filter_map(|rest| rest.split('"').next());
        asked.extend(patterns.map(|name| format!("snapshots/plans/{name}.snap")));
    }
    let questions = fs::read_to_string(root().join("tests/support/expert/questions.rs")).unwrap();
    let (_, questions) = questions.split_once("vec![").unwrap();
    let lines = questions.lines().take_while(|line| line.trim() != "]");
    asked.extend(lines.filter_map(|line| line.split('"').nth(1)).map(|name| {
        let words = name.split(' ').map(|word| word.replace(|c: char| !c.is_alphanumeric(), ""));
        format!("snapshots/plans/{}.snap", words.collect::<Vec<_>>().join("-"))
    }));
    for kept in ["lsp", "generate"] {
        for file in files(&format!("tests/service/commands/{kept}"), &[".rs"]) {
            let asked_for = file.text.split("assert_snapshot!(\"").skip(1);
            let names = asked_for.filter_map(|rest| rest.split('"').next());
            asked.extend(names.map(|name| format!("snapshots/{kept}/{name}.snap")));
        }
    }
    for file in files("compiler/src/tests", &[".rs"]) {
        let names = file.text.split("compared(\"").skip(1).filter_map(|rest| rest.split('"').next());
        asked.extend(names.map(|name| format!("snapshots/store/{name}.snap")));
    }
    let there: BTreeSet<String> = files("snapshots", &[""]).into_iter().map(|file| file.path).collect();
    let orphans = there.difference(&asked).map(|path| format!("{path}: no page or test asks for it"));
    let missing = asked.difference(&there).map(|path| format!("{path}: is missing"));
    none(&orphans.chain(missing).collect::<Vec<_>>(), "snapshots and `sql:` lines belong together");
}
