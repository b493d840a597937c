//! Reads policy text into a syntax tree, and prints trees.
//!
//! In: a [`SourceMap`]. Out: an [`ast::Policy`] with everything that could be read, and diagnostics for the
//! rest. Parsing never fails. A statement with a mistake is repaired if its meaning is clear and dropped
//! otherwise, and parsing continues after it, so that one run reports all mistakes. No text can cause a
//! panic, a stack overflow or excessive work.
//!
//! ```text
//! text ─ lexer ─▶ tokens ─ grammar ─▶ tree        print: tree ─▶ canonical text
//!          └──────────┬───────┴─▶ error ─▶ diagnostics, sorted and capped
//! ```
//!
//! The lexer bounds nesting, which also bounds every recursion on the tree. No other module uses the parser
//! library.
//!
//! Names are not resolved here: `role`, `on` and `iff` are still as written.

pub mod ast;
mod error;
mod grammar;
mod lexer;
mod print;
mod token;

pub use print::print;

use crate::diagnostic::{Code, Diagnostic, settle};
use crate::limits;
use crate::source::{SourceMap, Span};

/// Reads a policy into a tree. Diagnostics for what could not be read are sorted by position.
pub fn parse(source: &SourceMap) -> (ast::Policy, Vec<Diagnostic>) {
    let text = source.text();
    if text.len() > limits::SOURCE_BYTES {
        return (ast::Policy::default(), vec![too_large(text.len())]);
    }
    let (tokens, mut diagnostics) = lexer::lex(text);
    let (policy, failures) = grammar::parse(text, &tokens);
    diagnostics.extend(error::report(text, &tokens, failures));
    (policy, settle(diagnostics))
}

fn too_large(bytes: usize) -> Diagnostic {
    let title = format!("the policy has {bytes} bytes, more than the limit of {}", limits::SOURCE_BYTES);
    Diagnostic::new(Code::SourceTooLarge, title, Span::default(), "")
        .with_help("store what changes often as facts, and keep only rules in the policy")
}

#[cfg(test)]
mod tests;
