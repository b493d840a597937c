//! Reads a text: lexer, grammar, and the diagnostics of both.

use super::{ast, error, grammar, lexer};
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
