//! An application: a folder with its tables, policies, bindings and questions.

use crate::question::Question;
use clap::ValueEnum;
use portcullis_testkit::repository;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the applications are, from the root of the repository.
const FOLDER: &str = "benches/applications";

/// Makes the database, in this order.
pub(crate) const SCRIPTS: &[&str] = &["schema.sql", "data.sql", "indexes.sql"];

/// How much of the bindings the service gets, and what the database knows of its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Variant {
    /// The document as it is, on tables that were never analysed
    Fresh,
    /// The document as it is: `sql_types` and `tables`
    Full,
    /// Without `tables`
    Types,
    /// Without both
    None,
    /// The document as it is, on a copy of the tables in SQLite
    Sqlite,
}

impl Variant {
    /// What tables and JSON call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Full => "full",
            Self::Types => "types",
            Self::None => "none",
            Self::Sqlite => "sqlite",
        }
    }

    /// The sections that are taken out of the bindings.
    fn without(self) -> &'static [&'static str] {
        match self {
            Self::Fresh | Self::Full | Self::Sqlite => &[],
            Self::Types => &["tables:"],
            Self::None => &["sql_types:", "tables:"],
        }
    }
}

/// An application.
#[derive(Debug)]
pub(crate) struct Application {
    /// The name of its folder, and of its database.
    pub(crate) name: String,
    bindings: String,
    /// Each policy with its questions.
    pub(crate) policies: Vec<(String, Vec<Question>)>,
}

impl Application {
    /// Every application in the order of their names.
    pub(crate) fn all() -> Vec<Self> {
        let folders = entries(&repository().join(FOLDER)).into_iter().filter(|path| path.is_dir());
        folders.map(|folder| Self::read(&folder)).collect()
    }

    /// Reads a folder. A file of questions with a policy of its own beside it, `NAME.sql` and `NAME.polar`,
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
    pub(crate) fn file(&self, name: &str) -> String {
        format!("{FOLDER}/{}/{name}", self.name)
    }

    /// The bindings of a variant.
    pub(crate) fn bindings(&self, variant: Variant) -> String {
        if variant == Variant::Sqlite {
            // A UUID is a text there.
            return format!("dialect: sqlite\n{}", self.bindings.replace(": uuid\n", ": text\n"));
        }
        let mut kept = String::new();
        let mut is_kept = true;
        for line in self.bindings.lines() {
            if line.starts_with(|c: char| c.is_ascii_alphabetic()) {
                is_kept = !variant.without().contains(&line);
            }
            if is_kept {
                kept.extend([line, "\n"]);
            }
        }
        kept
    }
}

/// What is in a folder, in the order of names.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}
