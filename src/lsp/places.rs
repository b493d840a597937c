//! Finds the definitions of a name and the references to it.

use super::document::OpenDocument;
use super::names::{Named, Names, OccurrenceKind};
use super::position;
use gen_lsp_types::{Position, Range};

/// The definitions of the name at a position. A predicate is defined by the heads of its rules.
pub(super) fn definitions(document: &OpenDocument, at: Position) -> Vec<Range> {
    same(document, at, |kind| kind == OccurrenceKind::Definition)
}

/// The references to the name at a position, with its definitions or without them.
pub(super) fn references(document: &OpenDocument, at: Position, with_definitions: bool) -> Vec<Range> {
    same(document, at, |kind| with_definitions || kind == OccurrenceKind::Reference)
}

fn same(document: &OpenDocument, at: Position, wanted: impl Fn(OccurrenceKind) -> bool) -> Vec<Range> {
    let byte = position::byte(&document.source, at);
    let names = Names::of(&document.policy);
    let meant: Vec<Named<'_>> = names.at(byte).map(|name| name.named).collect();
    let same = names.found.iter().filter(|name| meant.contains(&name.named) && wanted(name.kind));
    let mut spans: Vec<_> = same.map(|name| name.span).collect();
    spans.dedup();
    spans.into_iter().map(|span| position::range(&document.source, span)).collect()
}
