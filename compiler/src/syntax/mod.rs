//! Policy text to syntax tree.
pub mod ast;

/// stub
pub fn parse(_: &crate::source::SourceMap) -> (ast::Policy, Vec<crate::diagnostic::Diagnostic>) {
    Default::default()
}
