//! Where what a name stands for is defined, and where it is named.

use super::document::Document;
use gen_lsp_types::{Position, Range};
use portcullis_compiler::syntax::names::names;

/// The definitions of what is named at a place: for a predicate, the heads of its rules.
pub(super) fn definitions(document: &Document, at: Position) -> Vec<Range> {
    same(document, at, |defines| defines)
}

/// All places that name what is named at a place, with its definitions or without.
pub(super) fn references(document: &Document, at: Position, with_definitions: bool) -> Vec<Range> {
    same(document, at, |defines| with_definitions || !defines)
}

fn same(document: &Document, at: Position, wanted: impl Fn(bool) -> bool) -> Vec<Range> {
    let byte = document.lines.byte(at);
    let names = names(&document.policy);
    // The cursor may stand right behind the name.
    let asked = names.iter().find(|name| (name.span.start as usize..=name.span.end as usize).contains(&byte));
    let Some(asked) = asked else { return Vec::new() };
    let same = names.iter().filter(|name| name.named == asked.named && wanted(name.defines));
    same.map(|name| document.lines.range(name.span)).collect()
}
