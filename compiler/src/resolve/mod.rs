//! stub
use crate::{diagnostic::Diagnostic, ir::Program, source::SourceMap, syntax::ast::Policy};
/// stub
pub fn resolve(_: &SourceMap, _: &Policy) -> (Option<Program>, Vec<Diagnostic>) {
    (None, vec![])
}
