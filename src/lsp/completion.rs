//! Completions: declared names inside a string literal; elsewhere types, predicates and keywords.
//!
//! An unfinished line rarely parses. So the text before the cursor decides what to offer, and the names come
//! from the statements that do parse.

use super::document::Document;
use super::position;
use gen_lsp_types::{CompletionItem, CompletionItemKind as Kind, Position, Range, TextEdit};
use portcullis_compiler::builtin::{ACTOR, ALLOW, HAS_PERMISSION, HAS_RELATION, HAS_ROLE, RESOURCE};
use portcullis_compiler::primitive::{BOOLEAN, INTEGER, STRING};
use portcullis_compiler::source::{LINE_ENDS, Span};
use portcullis_compiler::spelling::{continues_name, quoted};
use portcullis_compiler::syntax::ast::{Block, BlockKind, Item, Member};
use portcullis_compiler::syntax::names::{Named, names};
use std::collections::BTreeSet;

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

/// What the cursor is in or after.
enum Place {
    /// After `on "`.
    Relation,
    /// After `global "`.
    Global,
    /// In any other string literal.
    Text,
    /// After `name:`, `matches` or `extends`.
    Type,
    /// Anywhere else.
    Word,
}

/// What may be inserted at a position, without repetitions; the likely first.
pub(super) fn items(document: &Document, at: Position) -> Vec<CompletionItem> {
    let text = document.source.text();
    let byte = position::byte(&document.source, at);
    let before = text.get(..byte).unwrap_or_default();
    let line = before.rsplit(LINE_ENDS).next().unwrap_or_default();
    let Some((place, typed)) = place(line) else { return Vec::new() };
    let range = position::range(&document.source, Span::new(byte - typed, byte));
    let is_text = matches!(place, Place::Relation | Place::Global | Place::Text);
    let mut items = Items { found: Vec::new(), names: BTreeSet::new(), range, is_text };
    // An unclosed item extends to the end of the text.
    let is_around = |span: Span| {
        let is_closed = text.get(..span.end as usize).is_some_and(|text| text.ends_with(['}', ';']));
        (span.start as usize) < byte && (!is_closed || byte < span.end as usize)
    };
    let item = document.policy.items.iter().rev().find(|item| is_around(item.span()));
    let block = item.and_then(block);
    match (place, block) {
        (Place::Relation, Some(block)) => items.declared(block, |kind| kind == Kind::Property),
        (Place::Global, _) => {
            let global = blocks(document).filter(|block| block.kind == BlockKind::Global);
            global.for_each(|block| items.declared(block, |_| true));
        }
        (Place::Text, Some(block)) => {
            items.declared(block, |_| true);
            // A name before `on` is declared by the related block.
            blocks(document).for_each(|block| items.declared(block, |kind| kind != Kind::Property));
        }
        (Place::Relation | Place::Text, None) => {
            blocks(document).for_each(|block| items.declared(block, |_| true));
        }
        (Place::Type, _) => items.types(document),
        (Place::Word, _) => {
            let keywords = match item {
                Some(Item::Block(_)) => IN_BLOCK,
                Some(Item::Test(_) | Item::Fixture(_)) => IN_TEST,
                Some(Item::Rule(_) | Item::Declare(_)) | None => AT_TOP,
            };
            keywords.iter().for_each(|keyword| items.add(keyword, Kind::Keyword));
            items.predicates(document);
            items.types(document);
        }
    }
    items.found
}

/// The place at the end of a line, and how many bytes of a name have been typed; `None` in a comment.
fn place(line: &str) -> Option<(Place, usize)> {
    let mut quote = None;
    let mut chars = line.char_indices();
    while let Some((at, c)) = chars.next() {
        match (c, quote) {
            ('"', None) => quote = Some(at),
            ('"', Some(_)) => quote = None,
            ('\\', Some(_)) => drop(chars.next()),
            ('#', None) => return None,
            _ => {}
        }
    }
    let left = match quote {
        Some(at) => line.get(..at)?,
        None => without_path(line),
    };
    let typed = line.len() - left.len() - usize::from(quote.is_some());
    let left = left.trim_end();
    let word = left.rsplit(|c: char| !continues_name(c)).next().unwrap_or_default();
    let place = match (quote, word) {
        (Some(_), "on") => Place::Relation,
        (Some(_), "global") => Place::Global,
        (Some(_), _) => Place::Text,
        (None, "matches" | "extends") => Place::Type,
        (None, _) if left.ends_with(':') => Place::Type,
        (None, _) => Place::Word,
    };
    Some((place, typed))
}

/// A line without the name at its end, which may have `::` in it.
fn without_path(line: &str) -> &str {
    let mut left = line.trim_end_matches(continues_name);
    while let Some(shorter) = left.strip_suffix("::") {
        left = shorter.trim_end_matches(continues_name);
    }
    left
}

fn block(item: &Item) -> Option<&Block> {
    match item {
        Item::Block(block) => Some(block),
        Item::Rule(_) | Item::Declare(_) | Item::Fixture(_) | Item::Test(_) => None,
    }
}

fn blocks(document: &Document) -> impl Iterator<Item = &Block> {
    document.policy.items.iter().filter_map(block)
}

/// What was found, each name once.
struct Items {
    found: Vec<CompletionItem>,
    names: BTreeSet<String>,
    /// What has been typed, which a name replaces.
    range: Range,
    /// Whether the names go inside a string literal.
    is_text: bool,
}

impl Items {
    fn add(&mut self, name: &str, kind: Kind) {
        if name.is_empty() || !self.names.insert(name.to_owned()) {
            return;
        }
        let literal = quoted(name);
        let inner = literal.get(1..literal.len() - 1).unwrap_or_default();
        let written = if self.is_text { inner } else { name };
        self.found.push(CompletionItem {
            label: name.to_owned(),
            kind: Some(kind),
            // Without this, editors sort by label.
            sort_text: Some(format!("{:04}", self.found.len())),
            filter_text: Some(written.to_owned()),
            text_edit: Some(TextEdit::new(self.range, written.to_owned()).into()),
            ..CompletionItem::default()
        });
    }

    /// The roles, permissions and relations of a block, of the wanted kinds.
    fn declared(&mut self, block: &Block, wanted: impl Fn(Kind) -> bool) {
        for member in &block.members {
            let (names, kind): (Vec<&str>, Kind) = match member {
                Member::Roles(list) => {
                    (list.names.iter().map(|name| name.value.as_str()).collect(), Kind::EnumMember)
                }
                Member::Permissions(list) => {
                    (list.names.iter().map(|name| name.value.as_str()).collect(), Kind::Method)
                }
                Member::Relations(list) => {
                    (list.relations.iter().map(|(name, _)| name.value.as_str()).collect(), Kind::Property)
                }
                Member::Shorthand(_) => continue,
            };
            if wanted(kind) {
                names.into_iter().for_each(|name| self.add(name, kind));
            }
        }
    }

    fn types(&mut self, document: &Document) {
        blocks(document)
            .filter(|block| block.kind != BlockKind::Global)
            .for_each(|block| self.add(&block.name.value, Kind::Class));
        for name in [STRING, INTEGER, BOOLEAN, ACTOR, RESOURCE] {
            self.add(name, Kind::Class);
        }
    }

    fn predicates(&mut self, document: &Document) {
        for name in names(&document.policy) {
            if let Named::Predicate(name, _) = name.named {
                self.add(name, Kind::Function);
            }
        }
        for name in [ALLOW, HAS_PERMISSION, HAS_ROLE, HAS_RELATION] {
            self.add(name, Kind::Function);
        }
    }
}
