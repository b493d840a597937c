//! Policy text to syntax tree, and back.
//!
//! In: a [`SourceMap`]. Out: an [`ast::Policy`] with everything that could be read, and a diagnostic for
//! everything that could not. Nothing fails: a statement with a mistake is mended where it is clear what
//! was meant, left out where it is not, and reading goes on behind it, so that one run shows all
//! mistakes. No text makes it panic, overflow the stack or take long.
//!
//! ```text
//! text ─ lexer ─▶ tokens ─ grammar ─▶ tree        print: tree ─▶ canonical text
//!          └──────────┬───────┴─▶ error ─▶ diagnostics, sorted and capped
//! ```
//!
//! The lexer bounds nesting, so whatever recurses on the tree is bounded too. This is the only module
//! that knows the parser library.
//!
//! Not here: what a name means. `role`, `on` and `iff` are still what the author wrote.

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

/// Reads a policy: the tree of what could be read, and what could not, sorted by position.
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
