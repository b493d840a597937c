//! The pages of conformance fixtures: every heading is a trial of its own.

use super::fixture::{self, Case};
use super::repository;
use libtest_mimic::{Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a fixture comes from.
pub struct Page {
    /// `topic/case`
    pub name: String,
    /// Relative to the repository.
    pub file: PathBuf,
}

/// A trial, its name begun by `suite`, for each heading that `is_tried`; a page that cannot be read is a
/// trial that fails.
pub fn trials(
    suite: &str,
    is_tried: impl Fn(&Case) -> bool,
    run: impl Fn(&Page, &Case) -> Result<(), Failed> + Send + Sync + 'static,
) -> Vec<Trial> {
    let root = repository();
    let run = Arc::new(run);
    let mut trials = Vec::new();
    for path in files(&root.join("fixtures/conformance")) {
        let file = path.strip_prefix(root).unwrap().to_owned();
        let name = file.strip_prefix("fixtures/conformance").unwrap().with_extension("");
        let page = Arc::new(Page { name: name.to_str().unwrap().to_owned(), file });
        match fixture::parse(&fs::read_to_string(&path).unwrap()) {
            Ok(cases) => trials.extend(cases.into_iter().filter(&is_tried).map(|case| {
                let (page, run) = (Arc::clone(&page), Arc::clone(&run));
                Trial::test(format!("{suite}::{}::{}", page.name, case.name), move || run(&page, &case))
            })),
            Err(error) => {
                trials.push(Trial::test(format!("{suite}::{}::page", page.name), move || {
                    Err(Failed::from(error))
                }));
            }
        }
    }
    trials
}

/// Every page below a folder, in a fixed order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}
