//! Every data-bindings document of the repository in the layouts that YAML permits: the same bindings.

use super::none;
use super::repository::{Found, Wanted, texts};
use portcullis_compiler::bindings::{Bindings, BindingsError, format, parse};
use std::path::Path;
use std::sync::LazyLock;

const WANTED: Wanted =
    Wanted { files: &[".yaml", ".yml"], blocks: &["bindings", "yaml"], target: "bindings" };

/// The documents that bind something, with their bindings.
static DOCUMENTS: LazyLock<Vec<(Found, Bindings)>> = LazyLock::new(|| {
    let parsed = texts(&WANTED).into_iter().filter_map(|found| {
        let bindings = parse(&found.text).ok()?;
        Some((found, bindings))
    });
    parsed.filter(|(_, bindings)| !bindings.facts.is_empty()).collect()
});

/// Lays out every document, and compares.
fn in_layout(layout: impl Fn(&str) -> String, compared: impl Fn(Bindings) -> Bindings) {
    let mut complaints = Vec::new();
    for (found, expected) in DOCUMENTS.iter() {
        let text = layout(&found.text.replace("\r\n", "\n"));
        let bindings: Result<Bindings, Vec<BindingsError>> = parse(&text).map(&compared);
        if bindings.as_ref() != Ok(&compared(expected.clone())) {
            complaints.push(format!("{}\n{text:?}\nexpected {expected:?}\nfound {bindings:?}", found.place));
        }
    }
    none(&complaints);
}

/// Bindings without their lines, for layouts that add some.
fn without_lines(mut bindings: Bindings) -> Bindings {
    bindings.facts.iter_mut().for_each(|bound| bound.line = 0);
    bindings.sync_keys.iter_mut().for_each(|key| key.line = 0);
    bindings
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[test]
fn there_are_documents_of_every_kind() {
    assert!(DOCUMENTS.len() >= 40, "{} documents bind something", DOCUMENTS.len());
    let parts = [
        "fixtures/conformance/local",
        "compiler/LOCAL.md",
        "compiler/src/bindings",
        "docs",
        "tests/clients",
        "tests/fuzz/corpus",
        "tests/service/http",
    ];
    let has_any = |part: &&str| DOCUMENTS.iter().any(|(found, _)| found.place.starts_with(*part));
    let missing: Vec<&str> = parts.into_iter().filter(|part| !has_any(part)).collect();
    assert!(missing.is_empty(), "no document of {missing:?}");
}

#[test]
fn with_other_line_ends() {
    in_layout(|text| text.replace('\n', "\r\n"), |bindings| bindings);
    in_layout(|text| text.replace('\n', "\r"), |bindings| bindings);
}

#[test]
fn indented_deeper() {
    for factor in [2, 3] {
        let deeper = |line: &str| " ".repeat(indentation(line) * (factor - 1)) + line;
        in_layout(|text| text.lines().map(deeper).collect::<Vec<_>>().join("\n"), |bindings| bindings);
    }
}

#[test]
fn indented_by_one_blank() {
    let halved = |text: &str| {
        if text.lines().any(|line| indentation(line) % 2 == 1) {
            return text.to_owned();
        }
        let lines = text.lines().map(|line| line.split_at(indentation(line) / 2).1);
        lines.collect::<Vec<_>>().join("\n")
    };
    in_layout(halved, |bindings| bindings);
}

#[test]
fn with_blanks_at_the_ends_of_lines() {
    in_layout(|text| text.replace('\n', "  \n"), |bindings| bindings);
}

#[test]
fn with_a_comment_between_all_lines() {
    // Inside a text of several lines it would be a part of the text, or end it.
    let is_entry = |line: &str| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || line.ends_with(':') || line.contains(": ")
    };
    let n_plain = DOCUMENTS.iter().filter(|(found, _)| found.text.lines().all(is_entry)).count();
    assert!(n_plain >= 30, "{n_plain} documents have no text of several lines");
    let commented = |text: &str| {
        if !text.lines().all(is_entry) {
            return text.to_owned();
        }
        text.replace('\n', "\n  # facts: { 'why\n")
    };
    in_layout(commented, without_lines);
}

#[test]
fn with_comments_and_empty_lines_between_the_sections() {
    let spread = |text: &str| {
        let opens = |line: &str| line.ends_with(':') && indentation(line) < 4;
        let line = |line: &str| match (opens(line), indentation(line)) {
            (true, 0) => format!("\n# facts: {{\n{line} # why: not\n"),
            (true, _) => format!("{line}   # and: why"),
            (false, _) => line.to_owned(),
        };
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    };
    in_layout(spread, without_lines);
}

/// Formats every document in a layout. Formatting must keep the meaning and the comments, and formatting
/// again must change nothing. Returns the formatted texts.
fn formatted(layout: impl Fn(&str) -> String) -> Vec<String> {
    let comments = |text: &str| {
        let comments = text.lines().filter_map(|line| line.split_once('#'));
        comments.map(|(_, comment)| comment.trim_end().to_owned()).collect::<Vec<String>>()
    };
    let mut complaints = Vec::new();
    let mut texts = Vec::new();
    for (found, expected) in DOCUMENTS.iter() {
        let text = layout(&found.text.replace("\r\n", "\n"));
        let formatted = format(&text).unwrap();
        let again = format(&formatted).unwrap();
        let bindings = parse(&formatted).map(without_lines);
        let is_same = bindings.as_ref() == Ok(&without_lines(expected.clone()));
        if !is_same || again != formatted || comments(&formatted) != comments(&text) {
            complaints.push(format!("{}\n{text}\nbecame\n{formatted}\nand then\n{again}", found.place));
        }
        texts.push(formatted);
    }
    none(&complaints);
    texts
}

#[test]
fn formatted_from_every_layout() {
    let plain = formatted(str::to_owned);
    let deeper = |line: &str| " ".repeat(indentation(line)) + line;
    let deeper = formatted(|text| text.lines().map(deeper).collect::<Vec<_>>().join("\n"));
    let n_same = plain.iter().zip(&deeper).filter(|(plain, deeper)| plain == deeper).count();
    // Braces and lists over several lines keep their layout.
    assert!(n_same * 10 >= plain.len() * 9, "{n_same} of {} have one layout", plain.len());
    // A text that cannot be moved keeps its line ends.
    let with_newlines = |text: String| text.replace("\r\n", "\n");
    let others: Vec<String> =
        formatted(|text| text.replace('\n', "\r\n")).into_iter().map(with_newlines).collect();
    let other = plain.iter().zip(&others).find(|(plain, other)| plain != other);
    assert_eq!(other, None, "line ends make a difference");
    formatted(|text| text.replace('\n', "  \n"));
    formatted(|text| text.replace('\n', "\n\n\n"));
}

/// Documents that people read in the repository are formatted.
#[test]
fn formatted_where_people_look() {
    let is_shown = |place: &str| {
        let is_file = Path::new(place).extension().is_some_and(|ending| ending == "yaml");
        is_file && !place.starts_with("tests/fuzz")
    };
    let shown: Vec<_> = DOCUMENTS.iter().filter(|(found, _)| is_shown(&found.place)).collect();
    assert!(shown.len() >= 5, "{} files", shown.len());
    let complaints: Vec<String> = shown
        .into_iter()
        .filter(|(found, _)| format(&found.text).as_ref() != Ok(&found.text))
        .map(|(found, _)| format!("{}: run `portcullis fmt {}`", found.place, found.place))
        .collect();
    none(&complaints);
}
