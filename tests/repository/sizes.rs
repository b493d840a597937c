//! How large files, folders and functions may become before they are split.
//!
//! Every test prints all its offenders at once.

use super::sources::{everything, none, product};
use std::collections::BTreeMap;

/// Lines of a file, be it of the product, the tests or the benchmarks; and of the program's main file.
const FILE: usize = 400;
const MAIN: usize = 60;

/// Lines of all files directly in one folder of the compiler.
const FOLDER: usize = 3_000;

/// Lines of a function, from its name to its closing brace, and how many functions may have more, those of
/// tests included.
const FUNCTION: usize = 60;
const LONG_FUNCTIONS: usize = 5;

#[test]
fn files_are_short() {
    let mut offenders = Vec::new();
    for file in everything() {
        let n_lines = file.text.lines().count();
        let most = if file.path == "src/main.rs" { MAIN } else { FILE };
        if n_lines > most {
            offenders.push(format!("{}: {n_lines} lines", file.path));
        }
    }
    none(&offenders, "a file has at most 400 lines, src/main.rs 60");
}

#[test]
fn folders_of_the_compiler_are_small() {
    let mut of_folder: BTreeMap<String, usize> = BTreeMap::new();
    for file in product().iter().filter(|file| file.path.starts_with("compiler/src/")) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        *of_folder.entry(folder.to_owned()).or_default() += file.text.lines().count();
    }
    assert!(of_folder.len() > 20, "the folders are found: {of_folder:?}");
    let large = of_folder.iter().filter(|(_, n_lines)| **n_lines > FOLDER);
    let offenders: Vec<String> =
        large.map(|(folder, n_lines)| format!("{folder}: {n_lines} lines")).collect();
    none(&offenders, "the files directly in a folder of the compiler have at most 3,000 lines");
}

#[test]
fn functions_are_short() {
    let mut n_functions = 0;
    let mut offenders = Vec::new();
    for file in everything() {
        let lengths = function_lengths(&file.text);
        n_functions += lengths.len();
        let long = lengths.into_iter().filter(|(_, n_lines)| *n_lines > FUNCTION);
        offenders.extend(long.map(|(line, n_lines)| format!("{}:{line}: {n_lines} lines", file.path)));
    }
    assert!(n_functions > 5_000, "only {n_functions} functions were found");
    if offenders.len() > LONG_FUNCTIONS {
        none(&offenders, "at most five functions, of tests too, have more than 60 lines");
    }
}

/// The line of each function in a formatted file, and how many lines it has.
fn function_lengths(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut lengths = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| begins_function(line)) {
        let below = || lines.iter().skip(at);
        // One without a body ends with its signature.
        if below().find(|line| line.ends_with(['{', '}', ';'])).is_none_or(|line| line.ends_with(';')) {
            continue;
        }
        // rustfmt puts the brace that closes a body under the function's first word.
        let indent = line.len() - line.trim_start().len();
        let closes = |line: &&str| line.len() == indent + 1 && line.ends_with('}');
        let n_lines =
            if line.ends_with('}') { 1 } else { below().take_while(|line| !closes(line)).count() + 1 };
        lengths.push((at + 1, n_lines));
    }
    lengths
}

/// Whether a function begins on a line, of any visibility.
fn begins_function(line: &str) -> bool {
    let Some((before, _)) = line.split_once("fn ") else { return false };
    before
        .split_whitespace()
        .all(|word| word.starts_with("pub") || word.ends_with(')') || word == "async" || word == "const")
}
