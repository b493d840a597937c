//! The index of the conformance pages lists every page under its topic, and the page of the language links to
//! every topic.
//!
//! `UPDATE_FIXTURES=1 cargo test --test repository -- topics::` writes the index.

#![expect(clippy::unwrap_used, reason = "a page that cannot be read fails the test")]

use super::sources::none;
use portcullis_testkit::markdown::anchor;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of `fixtures/conformance` with their topics, in the order of the language's page.
const TOPICS: &[(&str, &str)] = &[
    ("realistic", "Whole policies"),
    ("types", "Types"),
    ("shorthand", "Shorthand rules"),
    ("nesting", "Nested resources"),
    ("globals", "Global roles"),
    ("extends", "Inheritance"),
    ("recursion", "Recursion"),
    ("comparisons", "Comparisons"),
    ("negation", "Negation"),
    ("wildcards", "Rules that hold for everything"),
    ("allow", "The entry point"),
    ("facts", "Facts"),
    ("look-alikes", "Ids that look alike"),
    ("tests-in-policy", "Tests"),
    ("local", "Local checks"),
    ("language", "The text"),
    ("hostile", "Ids and names that look like SQL"),
];

const HEAD: &str = "# The language, case by case\n
Each page has a policy, facts, and questions with their answers. The tests put every question to the oracle, the engine
and the HTTP interface, and run the SQL on SQLite and PostgreSQL (`tests/language`).
[The policy language](../language.md) explains the topics.\n";

fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The names in a folder, in order.
fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(place(folder)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn index() -> String {
    let mut index = String::from(HEAD);
    for (topic, title) in TOPICS {
        write!(index, "\n## {title}\n\n").unwrap();
        let folder = format!("fixtures/conformance/{topic}");
        for name in names(&folder) {
            let page = fs::read_to_string(place(&folder).join(&name)).unwrap();
            let heading = page.lines().next().unwrap().trim_start_matches("# ");
            writeln!(index, "- [{heading}](../../{folder}/{name})").unwrap();
        }
    }
    index
}

#[test]
fn the_index_lists_every_page_by_topic() {
    let mut folders: Vec<&str> = TOPICS.iter().map(|(folder, _)| *folder).collect();
    folders.sort_unstable();
    assert_eq!(folders, names("fixtures/conformance"), "every folder is a topic");
    let path = place("docs/reference/conformance.md");
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        fs::write(&path, index()).unwrap();
    }
    let shown = fs::read_to_string(&path).unwrap_or_default();
    assert!(shown == index(), "run UPDATE_FIXTURES=1 cargo test --test repository -- topics::");
}

#[test]
fn the_page_of_the_language_links_to_every_topic() {
    let page = fs::read_to_string(place("docs/language.md")).unwrap();
    let links = TOPICS.iter().map(|(_, title)| format!("](reference/conformance.md#{})", anchor(title)));
    let missing: Vec<String> = links.filter(|link| !page.contains(link)).collect();
    none(&missing, "docs/language.md names each topic's cases");
}
