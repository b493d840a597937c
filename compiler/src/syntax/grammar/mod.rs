//! Tokens to syntax tree: the grammar of a policy.
//!
//! In: tokens. Out: the tree, and a [`Failure`] for each statement that does not fit. Each rule of the
//! grammar is a function that returns a parser; they stand in files by what they read. Statements are
//! the unit of recovery ([`recover`]): a failing one is skipped up to where the next can begin.
//!
//! No alternative is tried twice at one place after having read far: two tokens decide between any two
//! alternatives, so the time is linear in the text.

mod block;
mod condition;
mod recover;
mod rule;
mod shorthand;
mod term;
mod testing;

use super::ast::{Item, Name, Policy, Spanned};
use super::error::{Failure, Input, Label};
use super::lexer::unescape;
use super::token::{Kind, Tokens};
use crate::source::Span;
use chumsky::prelude::*;

/// A parser of this grammar.
trait Parse<'a, O>: Parser<'a, Input<'a>, O, extra::Err<Failure>> + Clone + 'a {}

impl<'a, O, P: Parser<'a, Input<'a>, O, extra::Err<Failure>> + Clone + 'a> Parse<'a, O> for P {}

/// The text and its tokens, for turning token positions into names and spans.
#[derive(Clone, Copy)]
struct Source<'a> {
    text: &'a str,
    tokens: &'a Tokens,
}

impl<'a> Source<'a> {
    fn span(self, range: SimpleSpan) -> Span {
        self.tokens.span(range)
    }

    fn snippet(self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// The tokens of a range as written.
    fn name(self, range: SimpleSpan) -> Name {
        let span = self.span(range);
        Spanned { value: self.snippet(span).to_owned(), span }
    }

    /// The string literal at a range, unescaped.
    fn string(self, range: SimpleSpan) -> Name {
        let span = self.span(range);
        Spanned { value: unescape(self.snippet(span)), span }
    }
}

/// Reads all tokens.
pub(super) fn parse(text: &str, tokens: &Tokens) -> (Policy, Vec<Failure>) {
    let (policy, failures) =
        policy(Source { text, tokens }).parse(tokens.kinds.as_slice()).into_output_errors();
    (policy.unwrap_or_default(), failures)
}

fn policy(source: Source<'_>) -> impl Parse<'_, Policy> {
    let item = choice((
        block::block(source).map(Item::Block),
        rule::declare(source).map(Item::Declare),
        testing::fixture(source).map(Item::Fixture),
        testing::test(source).map(Item::Test),
        rule::rule(source).map(Item::Rule),
    ));
    item.map(Some)
        .or(just(Kind::Semicolon).to(None))
        .labelled(Label::Item)
        .recover_with(via_parser(recover::skip_item(source).to(None)))
        .repeated()
        .collect::<Vec<_>>()
        .map(|items| Policy { items: items.into_iter().flatten().collect() })
}

/// A name, contextual keywords included.
fn name(source: Source<'_>) -> impl Parse<'_, Name> {
    any()
        .filter(|kind: &Kind| kind.is_name())
        .map_with(move |_, e| source.name(e.span()))
        .labelled(Label::Name)
}

/// A string literal.
fn string(source: Source<'_>) -> impl Parse<'_, Name> {
    just(Kind::String).map_with(move |_, e| source.string(e.span()))
}
