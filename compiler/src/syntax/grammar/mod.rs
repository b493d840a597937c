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
mod source;
mod term;
mod testing;

use super::ast::{Item, Policy};
use super::error::{Failure, TokenGroup};
use super::token::{Kind, Tokens};
use chumsky::prelude::*;
use source::{Parse, Reading, TokenText};

/// Parses all tokens. Layout has no meaning in the language, so only a second pass uses it, after the first
/// has failed.
pub(super) fn parse(text: &str, tokens: &Tokens) -> (Policy, Vec<Failure>) {
    let read = |reading| {
        let source = TokenText { text, tokens, reading };
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

fn policy(source: TokenText<'_>) -> impl Parse<'_, Policy> {
    let item = choice((
        block::block(source).map(Item::Block),
        rule::declare(source).map(Item::Declare),
        testing::fixture(source).map(Item::Fixture),
        testing::test(source).map(Item::Test),
        rule::rule(source).map(Item::Rule),
    ));
    item.map(Some)
        .or(just(Kind::Semicolon).to(None))
        .labelled(TokenGroup::Item)
        .recover_with(via_parser(recover::skip_item(source).to(None)))
        .repeated()
        .collect::<Vec<_>>()
        .map(|items| Policy { items: items.into_iter().flatten().collect() })
}
