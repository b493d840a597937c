//! The list of completions.

use crate::lsp::names::blocks::{Blocks, DeclaredKind};
use crate::lsp::words::Current;
use gen_lsp_types::{CompletionItem, CompletionItemKind, Range, TextEdit};
use portcullis_compiler::spelling::quoted;
use std::collections::BTreeSet;

/// What was found, each name once.
pub(super) struct Items {
    pub(super) found: Vec<CompletionItem>,
    names: BTreeSet<String>,
    /// What has been typed, which a name replaces.
    range: Range,
    /// What is being written there; names in a string literal are escaped.
    current: Current,
}

impl Items {
    /// An empty list. The names replace a range, which may be inside a string literal.
    pub(super) fn new(range: Range, current: Current) -> Self {
        Self { found: Vec::new(), names: BTreeSet::new(), range, current }
    }

    pub(super) fn add(&mut self, name: &str, kind: CompletionItemKind) {
        if name.is_empty() || !self.names.insert(name.to_owned()) {
            return;
        }
        let literal = quoted(name);
        let inner = literal.get(1..literal.len() - 1).unwrap_or_default();
        let written = match self.current {
            Current::Text => inner,
            Current::Name => name,
        };
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

    /// What a block declares or inherits, of the wanted kinds.
    pub(super) fn declared(
        &mut self,
        blocks: &Blocks<'_>,
        block: usize,
        wanted: impl Fn(DeclaredKind<'_>) -> bool,
    ) {
        for declared in blocks.declared(block).into_iter().filter(|declared| wanted(declared.kind)) {
            let kind = match declared.kind {
                DeclaredKind::Role => CompletionItemKind::EnumMember,
                DeclaredKind::Permission => CompletionItemKind::Method,
                DeclaredKind::Relation(_) => CompletionItemKind::Property,
            };
            self.add(&declared.name.value, kind);
        }
    }
}
