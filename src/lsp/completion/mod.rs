//! Completions: declared names inside a string literal; elsewhere variables, types, predicates and keywords.
//!
//! An unfinished line rarely parses. So the words around the position decide what to offer, and the names
//! come from the statements that do parse.
//!
//! ```text
//! words around the position ─ place ─▶ CompletionPlace ─┬─ items ─▶ completions
//! tree ─ names ─▶ blocks, predicates ─────────┘
//! ```

mod items;
mod place;

use super::document::OpenDocument;
use super::names::blocks::{Blocks, DeclaredKind};
use super::names::longhand::NamedKind;
use super::names::{Named, Names, OccurrenceKind};
use super::words::{Around, Spot, spot};
use super::{names, position};
use gen_lsp_types::{CompletionItem, CompletionItemKind, Position};
use items::Items;
use place::{CompletionPlace, Holder, place};
use portcullis_compiler::builtin::{ACTOR, ALLOW, HAS_PERMISSION, HAS_RELATION, HAS_ROLE, RESOURCE};
use portcullis_compiler::primitive::{BOOLEAN, INTEGER, STRING};
use portcullis_compiler::source::Span;
use portcullis_compiler::syntax::ast::{BlockKind, Item};

const AT_TOP: &[&str] = &[
    "actor", "resource", "global", "extends", "declare", "test", "fixture", "if", "and", "or", "not", "in",
    "matches",
];
const IN_BLOCK: &[&str] = &[
    "roles",
    "permissions",
    "relations",
    "if",
    "and",
    "or",
    "not",
    "on",
    "global",
    "role",
    "permission",
    "resource",
    "actor",
    "matches",
    "in",
];
const IN_TEST: &[&str] = &["setup", "assert", "assert_not", "iff", "fixture", "or", "and", "not"];

/// What may be inserted at a position, without repetitions; the likely first.
pub(super) fn items(document: &OpenDocument, at: Position) -> Vec<CompletionItem> {
    let byte = position::byte(&document.source, at);
    let Some(spot) = spot(document.source.text(), byte) else { return Vec::new() };
    let range = position::range(&document.source, Span::new(byte - spot.typed, byte));
    let names = Names::of(&document.policy);
    let mut items = Items::new(range, spot.current);
    match place(&spot) {
        CompletionPlace::Relation { block, held } => {
            relations(&names.blocks, block, held.as_deref(), &mut items);
        }
        CompletionPlace::Held { block, relation } => {
            let block = names.blocks.named(block);
            let related = block.and_then(|block| names.blocks.related(block, &relation));
            let related = related.and_then(|ty| names.blocks.named(ty));
            related.into_iter().for_each(|related| items.declared(&names.blocks, related, |_| true));
        }
        CompletionPlace::Own { block } => {
            let block = names.blocks.named(block);
            block.into_iter().for_each(|block| items.declared(&names.blocks, block, |_| true));
            // A name before `on` is declared by the related block.
            for related in block.into_iter().flat_map(|block| related_blocks(&names.blocks, block)) {
                items.declared(&names.blocks, related, |kind| !matches!(kind, DeclaredKind::Relation(_)));
            }
        }
        CompletionPlace::Global => {
            let global = names.blocks.global();
            global.into_iter().for_each(|global| items.declared(&names.blocks, global, |_| true));
        }
        CompletionPlace::Named { wanted, of } => named(&names.blocks, wanted, of, &mut items),
        CompletionPlace::Text => {
            let all = 0..names.blocks.list.len();
            all.for_each(|block| items.declared(&names.blocks, block, |_| true));
        }
        CompletionPlace::Free => {}
        CompletionPlace::Fixture => fixtures(&names, &mut items),
        CompletionPlace::Type => types(&names.blocks, &mut items),
        CompletionPlace::Extended { kind, by } => {
            let blocks =
                names.blocks.list.iter().filter(|block| block.kind == kind && block.name.value != by);
            blocks.for_each(|block| items.add(&block.name.value, CompletionItemKind::Class));
        }
        CompletionPlace::Word => words(document, &spot, &names, &mut items),
    }
    items.found
}

/// The relations of a block; first those that lead to a block with the name that is held.
fn relations(blocks: &Blocks<'_>, block: &str, held: Option<&str>, items: &mut Items) {
    let Some(block) = blocks.named(block) else { return };
    let leads_to_it = |kind: DeclaredKind<'_>| match kind {
        DeclaredKind::Relation(ty) => {
            let related = blocks.named(ty);
            related.zip(held).is_some_and(|(related, held)| blocks.find(related, held).is_some())
        }
        DeclaredKind::Role | DeclaredKind::Permission => false,
    };
    items.declared(blocks, block, leads_to_it);
    items.declared(blocks, block, |kind| matches!(kind, DeclaredKind::Relation(_)));
}

/// The blocks that the relations of a block lead to.
fn related_blocks(blocks: &Blocks<'_>, block: usize) -> Vec<usize> {
    let related = blocks.declared(block).into_iter().filter_map(|declared| match declared.kind {
        DeclaredKind::Relation(ty) => blocks.named(ty),
        DeclaredKind::Role | DeclaredKind::Permission => None,
    });
    related.collect()
}

/// The names of one kind, for values of a type if it is known.
fn named(blocks: &Blocks<'_>, wanted: NamedKind, of: Holder<'_>, items: &mut Items) {
    let holder = match of {
        Holder::Nobody => blocks.global(),
        Holder::Type(ty) => blocks.named(ty),
        Holder::Unknown => None,
    };
    let holders = holder.map_or(0..blocks.list.len(), |block| block..block + 1);
    holders.for_each(|block| items.declared(blocks, block, |kind| wanted.is(kind)));
}

fn types(blocks: &Blocks<'_>, items: &mut Items) {
    let blocks = blocks.list.iter().filter(|block| block.kind != BlockKind::Global);
    blocks.for_each(|block| items.add(&block.name.value, CompletionItemKind::Class));
    for name in [STRING, INTEGER, BOOLEAN, ACTOR, RESOURCE] {
        items.add(name, CompletionItemKind::Class);
    }
}

fn fixtures(names: &names::Names<'_>, items: &mut Items) {
    for name in names.found.iter().filter(|name| name.kind == OccurrenceKind::Definition) {
        if let Named::Fixture(name) = name.named {
            items.add(name, CompletionItemKind::Variable);
        }
    }
}

/// Variables of the statement, keywords, predicates and types.
fn words(document: &OpenDocument, spot: &Spot<'_>, names: &Names<'_>, items: &mut Items) {
    for variable in place::variables(spot) {
        items.add(variable, CompletionItemKind::Variable);
    }
    let keywords = match spot.around {
        Around::Top => AT_TOP,
        Around::Block(_) => IN_BLOCK,
        Around::Test => IN_TEST,
        Around::Facts => &["fixture"],
    };
    keywords.iter().for_each(|keyword| items.add(keyword, CompletionItemKind::Keyword));
    for item in &document.policy.items {
        match item {
            Item::Rule(rule) => items.add(&rule.name.value, CompletionItemKind::Function),
            Item::Declare(declare) => items.add(&declare.name.value, CompletionItemKind::Function),
            Item::Block(_) | Item::Fixture(_) | Item::Test(_) => {}
        }
    }
    for name in &names.found {
        if let Named::Predicate(name, _) = name.named {
            items.add(name, CompletionItemKind::Function);
        }
    }
    for name in [ALLOW, HAS_PERMISSION, HAS_ROLE, HAS_RELATION] {
        items.add(name, CompletionItemKind::Function);
    }
    types(&names.blocks, items);
}
