//! The form of source files: how imports are written, and how a file begins. What is not done is not promised
//! in any of them. Every test prints all its offenders at once.

use super::sources::{everything, files, names, none, product};

/// rustfmt sorts a block of imports, but only unstable options of it would split paths and join blocks.
#[test]
fn imports_are_one_block_of_one_path_a_line() {
    let private = |line: &str| line.starts_with("use ");
    let mut offenders = Vec::new();
    for file in everything() {
        let lines: Vec<&str> = file.text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let above =
                |n: usize| at.checked_sub(n).and_then(|at| lines.get(at)).copied().unwrap_or_default();
            let is_start = |line: &&&str| private(line) || line.starts_with("pub");
            let last = if above(2) == "};" { lines.iter().take(at).rev().find(is_start) } else { None };
            let last = last.copied().unwrap_or(above(2));
            let splits = private(line) && above(1).is_empty() && private(last);
            let import = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(super) ");
            let tree: String = lines.iter().skip(at).map(|line| format!("{line} ")).take(20).collect();
            let tree = tree.split(';').next().unwrap_or_default();
            let nests = import.starts_with("use ")
                && tree.split_once('{').is_some_and(|(_, branches)| branches.contains("::"));
            if splits || nests {
                offenders.push(format!("{}:{}", file.path, at + 1));
            }
        }
    }
    none(&offenders, "an import names one module, as in `use std::fmt;` or `use std::sync::{Arc, Weak};`");
}

#[test]
fn a_file_opens_with_what_it_is() {
    let mut offenders = Vec::new();
    for file in product() {
        // A crate's front page may be a file of its own.
        if !file.text.starts_with("//! ") && !file.text.starts_with("#![doc = ") {
            offenders.push(format!("{}:1: has no module documentation", file.path));
        }
    }
    none(&offenders, "the first line of a file states its purpose");
}

/// What is not done is not promised in the source, and no test is switched off.
#[test]
fn nothing_is_put_off() {
    // Written in two halves, so that this file may be searched as well.
    let marks = [("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("#[ign", "ore"), ("unimpl", "emented!")];
    let marks = marks.map(|(start, end)| format!("{start}{end}"));
    let text = ["fixtures", "docs", "scripts"].iter().flat_map(|folder| files(folder, &[""]));
    let notes = files("compiler", &[".md"]);
    let mut offenders = Vec::new();
    for file in everything().into_iter().chain(text).chain(notes) {
        for (number, line) in (1..).zip(file.text.lines()) {
            let found = marks.iter().filter(|mark| names(line, mark));
            offenders.extend(found.map(|mark| format!("{}:{number}: {mark}", file.path)));
        }
    }
    none(&offenders, "nothing is put off");
}
