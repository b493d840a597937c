//! An open document.

use super::position::Lines;
use portcullis_compiler::diagnostic::Diagnostic;
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::syntax::ast::Policy;
use portcullis_compiler::{check, syntax};

/// A policy as it stands in the editor, with what the compiler makes of it.
#[derive(Debug)]
pub(super) struct Document {
    /// The text.
    pub(super) source: SourceMap,
    /// Its lines.
    pub(super) lines: Lines,
    /// What could be read.
    pub(super) policy: Policy,
    /// Errors and lints, sorted by position.
    pub(super) findings: Vec<Diagnostic>,
}

impl Document {
    pub(super) fn of(name: &str, text: String) -> Self {
        let lines = Lines::of(&text);
        let source = SourceMap::new(name, text);
        let policy = syntax::parse(&source).0;
        let findings = check(&source).diagnostics;
        Self { source, lines, policy, findings }
    }
}
