//! The outline of a document, and the ranges that an editor can fold.

use super::document::OpenDocument;
use super::position;
use gen_lsp_types::{DocumentSymbol, FoldingRange, SymbolKind};
use portcullis_compiler::source::Span;
use portcullis_compiler::spelling::quoted;
use portcullis_compiler::syntax::ast::{Block, BlockKind, Item, Member, Name};

/// The symbols: blocks with what they declare, rules, fixtures and tests.
pub(super) fn symbols(document: &OpenDocument) -> Vec<DocumentSymbol> {
    let symbol = |name: String, kind, span, name_span, children| {
        symbol(document, name, kind, [span, name_span], children)
    };
    let of_item = |item: &Item| match item {
        Item::Block(block) => {
            let head = match block.kind {
                BlockKind::Actor => format!("actor {}", block.name.value),
                BlockKind::Resource => format!("resource {}", block.name.value),
                BlockKind::Global => "global".to_owned(),
            };
            symbol(head, SymbolKind::Class, block.span, block.name.span, members(document, block))
        }
        Item::Rule(rule) => {
            let name = format!("{}/{}", rule.name.value, rule.params.len());
            symbol(name, SymbolKind::Function, rule.span, rule.name.span, Vec::new())
        }
        Item::Declare(declare) => {
            let name = format!("declare {}/{}", declare.name.value, declare.types.len());
            symbol(name, SymbolKind::Interface, declare.span, declare.name.span, Vec::new())
        }
        Item::Fixture(fixture) => {
            let name = format!("fixture {}", fixture.name.value);
            symbol(name, SymbolKind::Object, fixture.span, fixture.name.span, Vec::new())
        }
        Item::Test(test) => {
            let name = format!("test {}", quoted(&test.name.value));
            symbol(name, SymbolKind::Event, test.span, test.name.span, Vec::new())
        }
    };
    document.policy.items.iter().map(of_item).collect()
}

/// What a block declares.
fn members(document: &OpenDocument, block: &Block) -> Vec<DocumentSymbol> {
    let named = |name: &Name, kind| symbol(document, name.value.clone(), kind, [name.span; 2], Vec::new());
    let of_member = |member: &Member| -> Vec<DocumentSymbol> {
        match member {
            Member::Roles(list) => {
                list.names.iter().map(|name| named(name, SymbolKind::EnumMember)).collect()
            }
            Member::Permissions(list) => {
                list.names.iter().map(|name| named(name, SymbolKind::Method)).collect()
            }
            Member::Relations(list) => {
                list.relations.iter().map(|(name, _)| named(name, SymbolKind::Property)).collect()
            }
            Member::Shorthand(_) => Vec::new(),
        }
    };
    block.members.iter().flat_map(of_member).collect()
}

fn symbol(
    document: &OpenDocument,
    name: String,
    kind: SymbolKind,
    [span, name_span]: [Span; 2],
    children: Vec<DocumentSymbol>,
) -> DocumentSymbol {
    let [range, selection] = [span, name_span].map(|span| position::range(&document.source, span));
    // The protocol forbids empty names.
    let name = if name.is_empty() { quoted("") } else { name };
    DocumentSymbol::new(name, None, kind, None, None, range, selection, Some(children))
}

/// Blocks, rules and tests of several lines.
pub(super) fn folds(document: &OpenDocument) -> Vec<FoldingRange> {
    let spans = document.policy.items.iter().map(Item::span);
    let lines = spans
        .map(|span| position::range(&document.source, span))
        .map(|range| (range.start.line, range.end.line));
    let long = lines.filter(|(first, last)| first < last);
    long.map(|(first, last)| FoldingRange::new(first, None, last, None, None, None)).collect()
}
