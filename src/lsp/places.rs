//! Finds the definitions of a name and the references to it.

use super::document::Document;
use super::position;
use gen_lsp_types::{Position, Range};
use portcullis_compiler::syntax::names::names;

/// The definitions of the name at a position. A predicate is defined by the heads of its rules.
pub(super) fn definitions(document: &Document, at: Position) -> Vec<Range> {
    same(document, at, |defines| defines)
}

/// The references to the name at a position, with its definitions or without them.
pub(super) fn references(document: &Document, at: Position, with_definitions: bool) -> Vec<Range> {
    same(document, at, |defines| with_definitions || !defines)
}

fn same(document: &Document, at: Position, wanted: impl Fn(bool) -> bool) -> Vec<Range> {
    let byte = position::byte(&document.source, at);
    let names = names(&document.policy);
    // The cursor may be right after the name.
    let asked = names.iter().find(|name| (name.span.start as usize..=name.span.end as usize).contains(&byte));
    let Some(asked) = asked else { return Vec::new() };
    let same = names.iter().filter(|name| name.named == asked.named && wanted(name.defines));
    same.map(|name| position::range(&document.source, name.span)).collect()
}
