//! Tokens to syntax tree: the grammar of a policy.
//!
//! In: tokens. Out: the tree, and a [`Failure`] for each statement that does not fit. Each rule of the
//! grammar is a function that returns a parser; they stand in files by what they read. Statements are
//! the unit of recovery ([`recover`]): a failing one is skipped up to where the next can begin. A text without mistakes
//! is read straight, without a guess.
//!
//! No alternative is tried twice at one place after having read far: two tokens decide between any two
//! alternatives, so the time is linear in the text.
//!
//! Rules end in `boxed()`. The library inlines every combinator into the one around it, so a rule that is not
//! boxed is compiled again wherever it is used, under the name of a type that spells out the whole grammar below
//! it.

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
    reading: Reading,
}

/// What a reading does about a statement that does not fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// It ends there.
    Straight,
    /// It goes on, guessing from line breaks and columns where the next statement begins.
    Mending {
        /// Whether every `{` of the text has its `}`, so that none has to be guessed.
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

/// Reads all tokens. White space means nothing in the language, so the layout is looked at only in a second
/// reading, after a straight one has failed.
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
