//! The applications of `benches/applications`: each is a folder with its tables, policies, bindings and
//! questions.
//!
//! `cargo bench --bench applications` measures them; `tests/local/applications.rs` counts the bytes of their
//! texts.

pub mod question;

use crate::repository;
use question::Question;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the applications are, from the root of the repository.
const FOLDER: &str = "benches/applications";

/// Makes the database, in this order.
pub const SCRIPTS: &[&str] = &["schema.sql", "data.sql", "indexes.sql"];

/// An application.
#[derive(Debug)]
pub struct Application {
    /// The name of its folder, and of its database.
    pub name: String,
    bindings: String,
    /// Each policy with its questions.
    pub policies: Vec<(String, Vec<Question>)>,
}

impl Application {
    /// Every application in the order of their names.
    pub fn all() -> Vec<Self> {
        let folders = entries(&repository().join(FOLDER)).into_iter().filter(|path| path.is_dir());
        folders.map(|folder| Self::read(&folder)).collect()
    }

    /// Reads a folder. A file of questions with a policy of its own next to it, `NAME.sql` and `NAME.polar`,
    /// is asked under that; all others under `policy.polar`.
    fn read(folder: &Path) -> Self {
        let text = |file: &Path| fs::read_to_string(file).unwrap();
        let mut policies: Vec<(PathBuf, Vec<Question>)> = Vec::new();
        for file in entries(&folder.join("questions")) {
            let is_included = file.file_stem().unwrap() == "statements";
            if is_included || file.extension().is_none_or(|ending| ending != "sql") {
                continue;
            }
            let own = file.with_extension("polar");
            let policy = if own.exists() { own } else { folder.join("policy.polar") };
            let questions = Question::read(&file);
            match policies.iter_mut().find(|(path, _)| *path == policy) {
                Some((_, others)) => others.extend(questions),
                None => policies.push((policy, questions)),
            }
        }
        Self {
            name: folder.file_name().unwrap().to_str().unwrap().to_owned(),
            bindings: text(&folder.join("bindings.yaml")),
            policies: policies.into_iter().map(|(path, questions)| (text(&path), questions)).collect(),
        }
    }

    /// A file of its folder, from the root of the repository.
    pub fn file(&self, name: &str) -> String {
        format!("{FOLDER}/{}/{name}", self.name)
    }

    /// The bindings without these sections, which are named as `tables:`.
    pub fn bindings_without(&self, sections: &[&str]) -> String {
        let mut kept = String::new();
        let mut is_kept = true;
        for line in self.bindings.lines() {
            if line.starts_with(|c: char| c.is_ascii_alphabetic()) {
                is_kept = !sections.contains(&line);
            }
            if is_kept {
                kept.extend([line, "\n"]);
            }
        }
        kept
    }

    /// The bindings for a copy of the tables in SQLite.
    pub fn bindings_of_sqlite(&self) -> String {
        // A UUID is a text there.
        format!("dialect: sqlite\n{}", self.bindings.replace(": uuid\n", ": text\n"))
    }
}

/// What is in a folder, in the order of names.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}
