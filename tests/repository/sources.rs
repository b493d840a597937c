//! The source files of the repository, as the tests about them read them.

#![expect(clippy::unwrap_used, reason = "a repository that cannot be read fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

/// A source file: its path from the root, and its text.
pub(super) struct Source {
    /// From the root of the repository.
    pub(super) path: String,
    /// All of it.
    pub(super) text: String,
}

impl Source {
    /// The lines that count, numbered from 1: no comments, and nothing of the unit tests.
    pub(super) fn code(&self) -> Vec<(usize, &str)> {
        let lines: Vec<&str> = self.text.lines().collect();
        let is_tests = |at: usize| {
            lines.get(at) == Some(&"#[cfg(test)]")
                && lines.get(at + 1).is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'))
        };
        let end = (0..lines.len()).find(|&at| is_tests(at)).unwrap_or(lines.len());
        let numbered = (1..).zip(lines.into_iter().take(end));
        numbered
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
            .map(|(number, line)| (number, line.split(" // ").next().unwrap_or(line)))
            .collect()
    }
}

/// Where the repository is.
pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a folder with one of these endings, in a fixed order; none if there is no folder.
pub(super) fn files(folder: &str, endings: &[&str]) -> Vec<Source> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() { walk(&path, found) } else { found.push(path) }
        }
    }
    let mut paths = Vec::new();
    walk(&root().join(folder), &mut paths);
    paths.sort();
    let wanted = |path: &PathBuf| endings.iter().any(|ending| path.to_str().unwrap().ends_with(ending));
    let read = |path: PathBuf| Source {
        path: path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned(),
        text: fs::read_to_string(&path).unwrap(),
    };
    paths.into_iter().filter(wanted).map(read).collect()
}

/// The source of both crates without their test modules.
pub(super) fn product() -> Vec<Source> {
    let all = files("compiler/src", &[".rs"]).into_iter().chain(files("src", &[".rs"]));
    all.filter(|file| !file.path.contains("/tests/")).collect()
}

/// The source of everything, tests and benchmarks included.
pub(super) fn everything() -> Vec<Source> {
    ["compiler", "src", "tests", "benches"].iter().flat_map(|folder| files(folder, &[".rs"])).collect()
}

/// The identifier at the start of a text.
pub(super) fn word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Whether a line names something as a whole word.
pub(super) fn names(line: &str, what: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let open_end = what.ends_with(is_part);
    line.match_indices(what).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + what.len()..).and_then(|text| text.chars().next());
        !(before.is_some_and(is_part) || open_end && after.is_some_and(is_part))
    })
}

/// Fails with all offenders, one a line.
#[track_caller]
pub(super) fn none(offenders: &[String], rule: &str) {
    assert!(offenders.is_empty(), "{rule}\n  {}\n", offenders.join("\n  "));
}
