//! An open document.

use portcullis_compiler::diagnostic::Diagnostic;
use portcullis_compiler::ir::Program;
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::syntax::ast::Policy;
use portcullis_compiler::{Checked, check_tree, syntax};

/// The current text of a policy in the editor, and what is known of it.
#[derive(Debug)]
pub(super) struct Document {
    /// The text.
    pub(super) source: SourceMap,
    /// Its tree, without the statements that do not parse.
    pub(super) policy: Policy,
    /// Its rules, if it has no error.
    pub(super) program: Option<Program>,
    /// Errors and lints, sorted by position.
    pub(super) findings: Vec<Diagnostic>,
}

impl Document {
    pub(super) fn of(name: &str, text: String) -> Self {
        let source = SourceMap::new(name, text);
        let (policy, findings) = syntax::parse(&source);
        let Checked { program, diagnostics } = check_tree(&source, &policy, findings);
        Self { source, policy, program, findings: diagnostics }
    }
}
