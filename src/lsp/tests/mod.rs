//! What the server answers about a document, without its messages.

mod completing;
mod hovering;
mod naming;
mod renaming;

use super::document::OpenDocument;
use super::position;
use gen_lsp_types::Position;
use portcullis_compiler::source::Span;

/// A document and the position of `^` in its text, which is left out.
#[track_caller]
fn at(text: &str) -> (OpenDocument, Position) {
    let byte = text.find('^').expect("the text has a position");
    let document = OpenDocument::of("p", text.replacen('^', "", 1));
    let position = position::range(&document.source, Span::new(byte, byte)).start;
    (document, position)
}
