//! Shorthand rules of a block: `"read" if "member" and not "banned" on "parent";`

use super::condition::joined;
use super::recover::end_of_statement;
use super::source::{Parse, TokenText, name, string};
use super::term::call;
use crate::syntax::ast::{Name, Short, ShortCondition, Shorthand, Spanned};
use crate::syntax::error::{Failure, TokenGroup, mistake};
use crate::syntax::token::Kind;
use chumsky::prelude::*;

/// A whole shorthand rule.
pub(super) fn shorthand(source: TokenText<'_>) -> impl Parse<'_, Shorthand> {
    let bare = bare_string(source).then_ignore(just(Kind::If).rewind());
    let bare = bare.map(|name| Spanned { value: Short::Name(name.value), span: name.span });
    let head = short(source).or(bare).then_ignore(just(Kind::If));
    head.then(condition(source))
        .then_ignore(end_of_statement(source, "the rule"))
        .map_with(move |(head, body), e| Shorthand { head, body, span: source.span(e.span()) })
        .boxed()
}

/// `"name"`, `role` or `permission`.
fn short(source: TokenText<'_>) -> impl Parse<'_, Spanned<Short>> {
    let named = string(source).map(|name| Spanned { value: Short::Name(name.value), span: name.span });
    let role = just(Kind::Role).to(Short::Role);
    let permission = just(Kind::Permission).to(Short::Permission);
    let keyword = role.or(permission);
    let keyword = keyword.map_with(move |value, e| Spanned { value, span: source.span(e.span()) });
    named.or(keyword).labelled(TokenGroup::Short).boxed()
}

/// A name in place of a string, reported and read as the string.
fn bare_string(source: TokenText<'_>) -> impl Parse<'_, Name> {
    let name = name(source).map_with(|name, e| {
        let range: SimpleSpan = e.span();
        e.emit(Failure::mistake(range.start, mistake::bare_string(&name.value, name.span)));
        name
    });
    name.labelled(TokenGroup::Mistake).boxed()
}

fn condition(source: TokenText<'_>) -> impl Parse<'_, ShortCondition> {
    recursive(|condition| {
        let paren = condition
            .delimited_by(just(Kind::OpenParen), just(Kind::CloseParen))
            .map_with(move |inner, e| ShortCondition::Paren(Box::new(inner), source.span(e.span())));
        let global = just(Kind::Global)
            .ignore_then(short(source))
            .map_with(move |name, e| ShortCondition::Global { name, span: source.span(e.span()) });
        let called = call(source).map(ShortCondition::Call);
        let atom = choice((paren, called, global, held(source))).labelled(TokenGroup::Condition);
        let negated = just(Kind::Not)
            .repeated()
            .foldr_with(atom, move |_, inner, e| ShortCondition::Not(Box::new(inner), source.span(e.span())))
            .labelled(TokenGroup::Condition);
        let and = joined(source, negated, Kind::And, ShortCondition::And);
        joined(source, and, Kind::Or, ShortCondition::Or)
    })
    .boxed()
}

/// `"b"`, `"b" on "parent"`, `role on "org"`.
fn held(source: TokenText<'_>) -> impl Parse<'_, ShortCondition> {
    let bare = bare_string(source).map(|name| Spanned { value: Short::Name(name.value), span: name.span });
    let relation = string(source).or(bare_string(source));
    let on = just(Kind::On).ignore_then(on_no_relation(source).or(relation.map(Some))).boxed();
    let further = on.clone().map_with(move |_, e| {
        let range: SimpleSpan = e.span();
        e.emit(Failure::mistake(range.start, mistake::second_hop(source.span(range))));
    });
    let on = on.then_ignore(further.repeated());
    let held = short(source).or(bare).then(on.or_not()).map_with(move |(name, on), e| {
        ShortCondition::Short { name, on: on.flatten(), span: source.span(e.span()) }
    });
    held.boxed()
}

/// `resource` or `actor` in place of a relation's name, reported; `on resource` is redundant and dropped.
fn on_no_relation(source: TokenText<'_>) -> impl Parse<'_, Option<Name>> {
    let keyword = just(Kind::Resource).or(just(Kind::Actor)).map_with(move |keyword, e| {
        let range: SimpleSpan = e.span();
        let word = source.span(range);
        let on = range.start.saturating_sub(1);
        let before = source.tokens.end_before(on).to(source.tokens.span_at(on));
        // The fix removes the blanks before `on`, but keeps a comment.
        let blank = source.snippet(before).trim_start_matches([' ', '\t']) == Kind::On.text();
        let clause = if blank { before } else { source.tokens.span_at(on) };
        e.emit(Failure::mistake(range.start, mistake::on_no_relation(keyword, word, clause.to(word))));
        None
    });
    keyword.labelled(TokenGroup::Mistake)
}
