//! Every policy of the repository in every layout: the same tree, the same program, the same findings, and a
//! text that can be formatted.

use super::none;
use super::pieces::{Pieces, may_touch};
use super::repository::{Found, Wanted, texts};
use portcullis_compiler::check;
use portcullis_compiler::ir::print::program;
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::syntax::{format, parse, print};
use std::path::Path;
use std::sync::LazyLock;

/// Where policies are.
pub(crate) const WANTED: Wanted =
    Wanted { files: &[".polar"], blocks: &["policy", "polar"], target: "policy" };

/// The longest policy that is tried.
const LONGEST: usize = 100_000;

/// What a policy means, as text.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    /// It is accepted: its tree, its rules, and its lints.
    Accepted { tree: String, program: String, lints: Vec<String> },
    /// It is refused. How many mistakes are found may depend on its lines.
    Refused,
}

fn meaning(text: &str) -> Meaning {
    let source = SourceMap::new("policy.polar", text);
    let checked = check(&source);
    match checked.program {
        Some(found) => Meaning::Accepted {
            tree: print(&parse(&source).0),
            program: program(&found),
            lints: checked
                .diagnostics
                .iter()
                .map(|found| format!("{} {}", found.code, found.title))
                .collect(),
        },
        None => Meaning::Refused,
    }
}

/// The policies with what they mean: of the strings of a program those that are accepted and are not empty.
static POLICIES: LazyLock<Vec<(Found, Meaning)>> = LazyLock::new(|| {
    let found = texts(&WANTED).into_iter().filter(|found| found.text.len() <= LONGEST);
    let found = found.map(|found| {
        let meaning = meaning(&found.text);
        (found, meaning)
    });
    let says_something =
        |meaning: &Meaning| matches!(meaning, Meaning::Accepted { tree, .. } if !tree.is_empty());
    found.filter(|(found, meaning)| found.is_certain || says_something(meaning)).collect()
});

/// Checks that formatting a policy keeps its meaning, and that formatting it again changes nothing. The
/// formatter itself checks that no comment is lost.
fn formats(text: &str, expected: &Meaning) -> Result<(), String> {
    let formatted = |text: &str| {
        let formatted = format(&SourceMap::new("policy.polar", text));
        formatted.map_err(|error| format!("{error:?}"))
    };
    let once = formatted(text)?;
    let found = meaning(&once);
    if found != *expected {
        return Err(format!("{once}\nmeans {found:?}"));
    }
    let twice = formatted(&once)?;
    if twice == once { Ok(()) } else { Err(format!("{once}\nand again:\n{twice}")) }
}

/// Lays out every policy that is made of tokens, and compares.
fn in_layout(layout: impl Fn(&Pieces<'_>) -> String) {
    let mut complaints = Vec::new();
    for (found, expected) in POLICIES.iter() {
        let Some(pieces) = Pieces::of(&found.text) else {
            // What is not a token anywhere is refused; a text that only the splitter cannot read is not
            // tested.
            if *expected != Meaning::Refused {
                complaints.push(format!("{}: the splitter cannot read\n{}", found.place, found.text));
            }
            continue;
        };
        let text = layout(&pieces);
        let found_meaning = meaning(&text);
        if found_meaning != *expected {
            complaints
                .push(format!("{}\n{text}\nexpected {expected:?}\nfound {found_meaning:?}", found.place));
        }
        if *expected != Meaning::Refused
            && let Err(wrong) = formats(&text, expected)
        {
            complaints.push(format!("{}\n{text}\nformatted: {wrong}", found.place));
        }
    }
    none(&complaints);
}

#[test]
fn there_are_policies_of_every_kind() {
    let accepted = POLICIES.iter().filter(|(_, meaning)| *meaning != Meaning::Refused).count();
    assert!(accepted > 350, "{accepted} policies are accepted");
    let parts = [
        "fixtures/conformance",
        "fixtures/diagnostics",
        "fixtures/example",
        "compiler/ARCHITECTURE.md",
        "compiler/LOCAL.md",
        "compiler/src",
        "tests/clients/policy.polar",
        "tests/service/http",
        "tests/fuzz/corpus",
        "benches",
        "docs",
        "src",
    ];
    let has_any = |part: &&str| POLICIES.iter().any(|(found, _)| found.place.starts_with(*part));
    let missing: Vec<&str> = parts.into_iter().filter(|part| !has_any(part)).collect();
    assert!(missing.is_empty(), "no policy of {missing:?}");
}

fn is_policy(place: &str) -> bool {
    Path::new(place).extension().is_some_and(|extension| extension == "polar")
}

#[test]
fn policy_files_are_formatted() {
    let mut complaints = Vec::new();
    for (found, _) in POLICIES.iter().filter(|(found, _)| is_policy(&found.place)) {
        let formatted = format(&SourceMap::new(found.place.as_str(), found.text.as_str()));
        if formatted.ok().as_ref() != Some(&found.text) {
            complaints.push(format!("{}: run `portcullis fmt {}`", found.place, found.place));
        }
    }
    none(&complaints);
}

#[test]
fn as_they_are() {
    in_layout(|pieces| pieces.spaced(|gap, _, _| gap.to_owned()));
}

#[test]
fn on_one_line() {
    in_layout(|pieces| pieces.spaced(|gap, _, _| if gap.is_empty() { "" } else { " " }.to_owned()));
}

#[test]
fn without_any_space() {
    in_layout(|pieces| {
        pieces.spaced(|_, left, right| match (left, right) {
            (Some(left), Some(right)) if !may_touch(left, right) => " ".to_owned(),
            _ => String::new(),
        })
    });
}

#[test]
fn with_other_line_ends() {
    for end in ["\r\n", "\r", "\n\n\r"] {
        in_layout(|pieces| pieces.spaced(|gap, _, _| gap.replace("\r\n", "\n").replace('\n', end)));
    }
}

#[test]
fn without_indentation() {
    in_layout(|pieces| {
        pieces.spaced(|gap, left, right| {
            let is_first = left.is_none();
            let lines = gap.split('\n').enumerate();
            let lines: Vec<&str> =
                lines.map(|(n, line)| if n > 0 || is_first { line.trim_start() } else { line }).collect();
            let text = lines.join("\n");
            // Two tokens of one line stay apart.
            if text.is_empty() && !gap.is_empty() && left.is_some() && right.is_some() {
                " ".into()
            } else {
                text
            }
        })
    });
}

#[test]
fn with_tabs_and_other_blanks() {
    for blank in ["\t", "\u{a0}", "\u{2003}\u{b}"] {
        in_layout(|pieces| pieces.spaced(|gap, _, _| gap.replace(' ', blank)));
    }
}

#[test]
fn with_every_token_in_the_first_column() {
    for end in ["\n", "\r\n", "\r"] {
        in_layout(|pieces| pieces.spaced(|_, _, _| end.to_owned()));
    }
}

#[test]
fn with_comments_between_any_two_tokens() {
    for end in ["\n", "\r\n", "\r", "\n    "] {
        in_layout(|pieces| pieces.spaced(|_, _, _| format!("# }} ) ; \" 'and' # actor User {{{end}")));
    }
}

#[test]
fn with_comments_on_lines_of_their_own() {
    for around in ["\n# one\n", "\n\n  # one\n\n\n# two\n\n", " # one\n# two\r\n\r\n"] {
        in_layout(|pieces| pieces.spaced(|_, _, _| around.to_owned()));
    }
}
