//! The commands that an editor shows above tests and rules.

use super::commands::{RUN_TEST, SHOW_SQL};
use super::document::OpenDocument;
use super::position;
use gen_lsp_types::{CodeLens, Command, Uri};
use portcullis_compiler::source::Span;
use portcullis_compiler::syntax::ast::{Block, Item, Member};
use serde_json::{Value, json};

/// "run test" above each test, "SQL" above each rule.
pub(super) fn lenses(uri: &Uri, document: &OpenDocument) -> Vec<CodeLens> {
    let lens = |span: Span, title: &str, command: &str, what: Value| {
        let mut range = position::range(&document.source, span);
        // A lens is for one line.
        range.end = range.start;
        let arguments = vec![json!(uri), what];
        let command = Command::new(title.to_owned(), None, command.to_owned(), Some(arguments));
        CodeLens::new(range, Some(command), None)
    };
    let sql = |span: Span| {
        let line = document.source.locate(span).line;
        lens(span, "SQL", SHOW_SQL, json!(line))
    };
    let of_item = |item: &Item| match item {
        Item::Test(test) => vec![lens(test.span, "run test", RUN_TEST, json!(test.name.value))],
        Item::Rule(rule) => vec![sql(rule.span)],
        Item::Block(block) => shorthand(block).map(sql).collect(),
        Item::Declare(_) | Item::Fixture(_) => Vec::new(),
    };
    document.policy.items.iter().flat_map(of_item).collect()
}

/// The rules of a block.
fn shorthand(block: &Block) -> impl Iterator<Item = Span> {
    block.members.iter().filter_map(|member| match member {
        Member::Shorthand(shorthand) => Some(shorthand.span),
        Member::Roles(_) | Member::Permissions(_) | Member::Relations(_) => None,
    })
}
