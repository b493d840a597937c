//! Every text of the repository that may be a policy or a data-bindings document.

use portcullis_testkit::fuzz::corpus;
use std::fs;
use std::path::{Path, PathBuf};

/// A text, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) place: String,
    pub(crate) text: String,
    /// It is certainly one: a file or a block of its own, not just a string of a program.
    pub(crate) is_certain: bool,
}

/// What a file of a kind holds.
#[derive(Clone, Copy)]
enum Holds {
    /// One text.
    Whole,
    /// Fenced blocks.
    Markdown,
    /// Strings of a program.
    Strings,
}

/// What is looked for.
pub(crate) struct Wanted {
    /// The ends of files that hold one text.
    pub(crate) files: &'static [&'static str],
    /// The words behind ```` ``` ````.
    pub(crate) blocks: &'static [&'static str],
    /// The target of the fuzzer whose inputs are such texts.
    pub(crate) target: &'static str,
}

/// Every text of this kind, each once.
pub(crate) fn texts(wanted: &Wanted) -> Vec<Found> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: Vec<Found> = Vec::new();
    for path in files(root) {
        let place = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let name = path.file_name().unwrap().to_str().unwrap();
        let holds = if wanted.files.iter().any(|end| name.ends_with(end)) {
            Holds::Whole
        } else if [".md"].iter().any(|end| name.ends_with(end)) {
            Holds::Markdown
        } else if [".rs", ".js", ".py"].iter().any(|end| name.ends_with(end)) {
            Holds::Strings
        } else {
            continue;
        };
        let text = fs::read_to_string(&path).unwrap();
        let texts = match holds {
            Holds::Whole => vec![text],
            Holds::Markdown => blocks(&text, wanted.blocks),
            Holds::Strings => strings(&text),
        };
        let is_certain = !matches!(holds, Holds::Strings);
        found.extend(texts.into_iter().map(|text| Found { place: place.clone(), text, is_certain }));
    }
    for (name, data) in corpus::inputs(wanted.target) {
        // The fuzzer keeps bytes that are not a text, too.
        let Ok(text) = String::from_utf8(data) else { continue };
        found.push(Found { place: format!("tests/fuzz/corpus/{name}"), text, is_certain: true });
    }
    found.sort_by(|a, b| (&a.text, !a.is_certain, &a.place).cmp(&(&b.text, !b.is_certain, &b.place)));
    found.dedup_by(|a, b| a.text == b.text);
    found
}

/// Every file that a person wrote.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with('.') || ["target", "node_modules", "snapshots"].contains(&name) {
            continue;
        }
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// The blocks of a page; one that adds to the first stands behind it.
fn blocks(page: &str, words: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").chain([""]).collect();
        let block = block.join("\n");
        match info.split_once(' ').unwrap_or((info, "")) {
            (word, "+") if words.contains(&word) => {
                let whole = found.first().map(|first| first.clone() + &block);
                found.extend(whole);
            }
            (word, _) if words.contains(&word) => found.push(block),
            _ => {}
        }
    }
    found
}

/// The strings of a program in Rust, JavaScript or Python, more than one line long or not.
fn strings(program: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (open, close) in [("r#\"", "\"#"), ("r\"", "\""), ("`", "`"), ("\"\"\"", "\"\"\"")] {
        found.extend(
            program.split(open).skip(1).filter_map(|rest| Some(rest.split_once(close)?.0.to_owned())),
        );
    }
    let mut rest = program;
    while let Some((_, behind)) = rest.split_once('"') {
        let mut text = String::new();
        let mut chars = behind.chars();
        while let Some(c) = chars.next().filter(|c| *c != '"') {
            match c {
                '\\' => match chars.next() {
                    Some('n') => text.push('\n'),
                    // The line goes on at the next word.
                    Some('\n') => chars = chars.as_str().trim_start().chars(),
                    Some(escaped) => text.push(escaped),
                    None => {}
                },
                c => text.push(c),
            }
        }
        found.push(text);
        rest = chars.as_str();
    }
    found
}
