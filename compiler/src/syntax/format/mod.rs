//! Formats a policy: its indentation, spacing and line breaks. Comments are kept.
//!
//! In: a [`SourceMap`]. Out: the formatted text.
//!
//! ```text
//! text ─ parse ─▶ tree ─ print ─▶ lines without comments ─ align ─▶ which token is which ─ gaps ─▶ text
//! ```
//!
//! The printer lays the tree out. What is between two tokens of the source, comments and empty lines, goes
//! between the same two tokens of the printed text. A comment at the end of a line stays at the end of one;
//! any other has a line of its own. The author decides where empty lines are, at most one at a time, and
//! which lists and conditions are broken: those whose first element is on a new line.
//!
//! The result is parsed: unless it has the same tree and the same comments, formatting fails.

mod align;
mod gaps;

use super::lexer;
use super::print::{SourceLayout, print, print_as_laid_out};
use super::read::parse;
use super::token::Tokens;
use crate::diagnostic::{Diagnostic, Severity};
use crate::limits;
use crate::source::SourceMap;

/// Why a policy cannot be formatted.
#[derive(Debug)]
pub enum FormatError {
    /// Its text has mistakes.
    Unreadable(Vec<Diagnostic>),
    /// The result would have this many bytes, more than a policy may have.
    TooLong(usize),
    /// A fault of the formatter: the result would not be the same policy.
    Bug,
}

/// The formatted text of a policy. Its lines end in `\n`, and formatting it again changes nothing.
///
/// # Errors
/// [`FormatError::Unreadable`] if the text does not parse; it need not be a valid policy otherwise.
/// [`FormatError::TooLong`] if it would grow beyond [`limits::SOURCE_BYTES`].
pub fn format(source: &SourceMap) -> Result<String, FormatError> {
    let (policy, findings) = parse(source);
    if findings.iter().any(|found| found.severity() == Severity::Error) {
        return Err(FormatError::Unreadable(findings));
    }
    let tokens = lexer::lex(source.text()).0;
    let layout = SourceLayout { text: source.text(), tokens };
    let lines = print_as_laid_out(&policy, &layout);
    let printed = lexer::lex(&lines).0;
    let places = align::align(&layout.tokens, &printed).ok_or(FormatError::Bug)?;
    let text = gaps::restore(&layout, &lines, &printed, &places);
    if text.len() > limits::SOURCE_BYTES {
        return Err(FormatError::TooLong(text.len()));
    }

    let (again, findings) = parse(&SourceMap::new(source.name(), &*text));
    let is_same = findings.is_empty()
        && print(&again) == print(&policy)
        && comments(&text, &lexer::lex(&text).0) == comments(source.text(), &layout.tokens);
    if is_same { Ok(text) } else { Err(FormatError::Bug) }
}

/// The comments of a text, sorted.
fn comments<'t>(text: &'t str, tokens: &Tokens) -> Vec<&'t str> {
    let gaps = (0..=tokens.spans.len()).flat_map(|at| gaps::pieces_before(text, tokens, at));
    let mut comments: Vec<&str> = gaps.filter_map(gaps::comment).collect();
    comments.sort_unstable();
    comments
}
