//! The grammar of a policy: parses tokens into a syntax tree.
//!
//! In: tokens. Out: the tree, and a [`Failure`] for each statement that does not parse. Each production is a
//! function that returns a parser. The unit of recovery ([`recover`]) is the statement: a failing one is
//! skipped up to where the next can begin. Text without mistakes is parsed without recovery.
//!
//! Two tokens are enough to choose between any two alternatives, so parsing takes linear time.
//!
//! Rules end in `boxed()`. The library inlines every combinator into the one around it, so a rule that is not
//! boxed is compiled again wherever it is used, under the name of a type that spells out the whole grammar
//! below it.

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

/// The text and its tokens, to turn token positions into names and spans.
#[derive(Clone, Copy)]
struct Source<'a> {
    text: &'a str,
    tokens: &'a Tokens,
    reading: Reading,
}

/// What happens at a statement that does not parse.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Parsing stops.
    Straight,
    /// Parsing recovers: line breaks and columns hint at where the next statement begins.
    Mending {
        /// Whether every `{` has its `}`, so that none need be guessed.
        braces_match: bool,
    },
}

impl<'a> Source<'a> {
    fn span(self, range: SimpleSpan) -> Span {
        self.tokens.span(range)
    }

    fn snippet(self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// The source text of a range of tokens.
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

/// Parses all tokens. Layout has no meaning in the language, so only a second pass uses it, after the first
/// has failed.
pub(super) fn parse(text: &str, tokens: &Tokens) -> (Policy, Vec<Failure>) {
    let read = |reading| {
        let source = Source { text, tokens, reading };
        let (tree, failures) = policy(source).parse(tokens.kinds.as_slice()).into_output_errors();
        (tree.unwrap_or_default(), failures)
    };
    let (tree, failures) = read(Reading::Straight);
    if failures.is_empty() {
        return (tree, failures);
    }
    read(Reading::Mending { braces_match: braces_match(&tokens.kinds) })
}

/// Whether every `{` has its `}`.
fn braces_match(kinds: &[Kind]) -> bool {
    let mut open = 0_usize;
    for kind in kinds {
        if *kind == Kind::OpenBrace {
            open += 1;
        } else if *kind == Kind::CloseBrace {
            match open.checked_sub(1) {
                Some(left) => open = left,
                None => return false,
            }
        }
    }
    open == 0
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
        .boxed()
}

/// A string literal.
fn string(source: Source<'_>) -> impl Parse<'_, Name> {
    just(Kind::String).map_with(move |_, e| source.string(e.span())).boxed()
}
