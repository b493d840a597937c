//! Longhand rules and `declare`.

use super::condition::condition;
use super::recover::end_of_statement;
use super::source::{Parse, TokenText, name};
use super::term::{param, parenthesised};
use crate::syntax::ast::{Declare, Rule};
use crate::syntax::token::Kind;
use chumsky::prelude::*;

/// `head(…) if body;`
pub(super) fn rule(source: TokenText<'_>) -> impl Parse<'_, Rule> {
    let body = just(Kind::If).ignore_then(condition(source)).or_not();
    name(source)
        .then(parenthesised(source, param(source)))
        .then(body)
        .then_ignore(end_of_statement(source, "the rule"))
        .map_with(move |((name, params), body), e| Rule { name, params, body, span: source.span(e.span()) })
        .boxed()
}

/// `declare name(Type, …);`
pub(super) fn declare(source: TokenText<'_>) -> impl Parse<'_, Declare> {
    just(Kind::Declare)
        .ignore_then(name(source))
        .then(parenthesised(source, name(source)))
        .then_ignore(end_of_statement(source, "the declaration"))
        .map_with(move |(name, types), e| Declare { name, types, span: source.span(e.span()) })
        .boxed()
}
