//! What every production reads: the tokens with their text, and names and strings in them.

use crate::source::Span;
use crate::spelling::unescape;
use crate::syntax::ast::{Name, Spanned};
use crate::syntax::error::{Failure, Input, TokenGroup};
use crate::syntax::token::{Kind, Tokens};
use chumsky::prelude::*;

/// A parser of this grammar.
pub(super) trait Parse<'a, O>: Parser<'a, Input<'a>, O, extra::Err<Failure>> + Clone + 'a {}

impl<'a, O, P: Parser<'a, Input<'a>, O, extra::Err<Failure>> + Clone + 'a> Parse<'a, O> for P {}

/// The text and its tokens, to turn token positions into names and spans.
#[derive(Clone, Copy)]
pub(super) struct TokenText<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: &'a Tokens,
    pub(super) reading: Reading,
}

/// What happens at a statement that does not parse.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Parsing stops.
    Straight,
    /// Parsing recovers: line breaks and columns hint at where the next statement begins.
    Mending {
        /// Whether every `{` has its `}`, so that none need be guessed.
        braces_match: bool,
    },
}

impl<'a> TokenText<'a> {
    pub(super) fn span(self, range: SimpleSpan) -> Span {
        self.tokens.span(range)
    }

    pub(super) fn snippet(self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// The source text of a range of tokens.
    pub(super) fn name(self, range: SimpleSpan) -> Name {
        let span = self.span(range);
        Spanned { value: self.snippet(span).to_owned(), span }
    }

    /// The string literal at a range, unescaped.
    pub(super) fn string(self, range: SimpleSpan) -> Name {
        let span = self.span(range);
        Spanned { value: unescape(self.snippet(span)), span }
    }
}

/// A name, contextual keywords included.
pub(super) fn name(source: TokenText<'_>) -> impl Parse<'_, Name> {
    any()
        .filter(|kind: &Kind| kind.is_name())
        .map_with(move |_, e| source.name(e.span()))
        .labelled(TokenGroup::Name)
        .boxed()
}

/// A string literal.
pub(super) fn string(source: TokenText<'_>) -> impl Parse<'_, Name> {
    just(Kind::String).map_with(move |_, e| source.string(e.span())).boxed()
}
