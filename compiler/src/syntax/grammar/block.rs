//! Blocks and their declarations.

use super::recover::{braces, end_of_statement, skip_value};
use super::rule::rule;
use super::shorthand::shorthand;
use super::{Parse, Source, name, string};
use crate::diagnostic::suggest;
use crate::source::Span;
use crate::syntax::ast::{Block, BlockKind, Member, Name, Names, Relations};
use crate::syntax::error::{Failure, Label, mistake};
use crate::syntax::token::Kind;
use chumsky::prelude::*;

/// `actor X {…}`, `resource X extends Y {…}` or `global {…}`.
pub(super) fn block(source: Source<'_>) -> impl Parse<'_, Block> {
    let kind = just(Kind::Actor).to(BlockKind::Actor).or(just(Kind::Resource).to(BlockKind::Resource));
    let supertypes = name(source).separated_by(just(Kind::Comma)).at_least(1).allow_trailing().collect();
    let extends = just(Kind::Extends).ignore_then(supertypes).or_not().map(Option::unwrap_or_default);
    let named = kind.then(name(source)).then(extends).map(|((kind, name), extends)| (kind, name, extends));
    let global =
        just(Kind::Global).map_with(move |_, e| (BlockKind::Global, source.name(e.span()), Vec::new()));
    named.or(global).then(braces(source, member(source))).map_with(
        move |((kind, name, extends), members), e| Block {
            kind,
            name,
            extends,
            members,
            span: source.span(e.span()),
        },
    )
}

/// One line of a block; `None` for one that is reported and left out.
fn member(source: Source<'_>) -> impl Parse<'_, Option<Member>> {
    let declaration = choice((
        declared(source, just(Kind::Roles).to("roles")),
        declared(source, just(Kind::Permissions).to("permissions")),
        declared(source, just(Kind::Relations).to("relations")),
    ));
    let misnamed = declared(source, misnamed(source));
    let misplaced = rule(source).map_with(|rule, e| {
        let range: SimpleSpan = e.span();
        e.emit(Failure::mistake(range.start, mistake::rule_in_block(&rule.name.value, rule.name.span)));
        None
    });
    choice((declaration, shorthand(source).map(Member::Shorthand).map(Some), misnamed, misplaced))
        .labelled(Label::Member)
        .boxed()
}

/// A word before `=` that declares nothing: the declaration that was probably meant.
fn misnamed(source: Source<'_>) -> impl Parse<'_, &'static str> {
    name(source).then_ignore(just(Kind::Equal).rewind()).map_with(|word, e| {
        let range: SimpleSpan = e.span();
        let near = suggest::near(&word.value, ["roles", "permissions", "relations"]);
        e.emit(Failure::mistake(range.start, mistake::unknown_declaration(&word.value, near, word.span)));
        near.unwrap_or("")
    })
}

/// What was written behind `=`.
#[derive(Clone)]
enum Value {
    List(Vec<Name>),
    Dictionary(Vec<(Name, Name)>),
    /// Something else, with the strings in it.
    Other(Vec<Name>),
}

/// `keyword = value;` with a value that fits the keyword, or is reported.
fn declared<'a>(source: Source<'a>, keyword: impl Parse<'a, &'static str>) -> impl Parse<'a, Option<Member>> {
    let value = choice((
        list(source).map(Value::List),
        dictionary(source).map(Value::Dictionary),
        other(source).map(Value::Other),
    ));
    let value = value.map_with(move |value, e| {
        let range: SimpleSpan = e.span();
        (value, range)
    });
    let statement = keyword.then_ignore(just(Kind::Equal)).then(value);
    statement.then_ignore(end_of_statement(source, "the declaration")).map_with(
        move |(keyword, (value, range)), e| {
            let (member, fits) = typed(keyword, value, source.span(e.span()));
            if !fits {
                let span = source.span(range);
                let wrong = match keyword {
                    "relations" => mistake::not_a_dictionary(span),
                    _ => mistake::not_a_list(keyword, span),
                };
                e.emit(Failure::mistake(range.start, wrong));
            }
            member
        },
    )
}

/// The declaration with as much of its value as can be used, and whether that is all.
fn typed(keyword: &str, value: Value, span: Span) -> (Option<Member>, bool) {
    let names = |value| match value {
        Value::List(names) => (Names { names, span }, true),
        Value::Dictionary(pairs) => {
            (Names { names: pairs.into_iter().map(|(name, _)| name).collect(), span }, false)
        }
        Value::Other(names) => (Names { names, span }, false),
    };
    match keyword {
        "roles" => {
            let (names, fits) = names(value);
            (Some(Member::Roles(names)), fits)
        }
        "permissions" => {
            let (names, fits) = names(value);
            (Some(Member::Permissions(names)), fits)
        }
        "relations" => {
            let (relations, fits) = match value {
                Value::Dictionary(relations) => (relations, true),
                Value::List(_) | Value::Other(_) => (Vec::new(), false),
            };
            (Some(Member::Relations(Relations { relations, span })), fits)
        }
        _ => (None, true),
    }
}

/// `["a", "b"]`
fn list(source: Source<'_>) -> impl Parse<'_, Vec<Name>> {
    let wrong = any()
        .filter(|kind: &Kind| kind.is_name() || matches!(kind, Kind::Integer | Kind::True | Kind::False));
    let wrong = wrong.map_with(move |_, e| {
        let range: SimpleSpan = e.span();
        let element = source.name(range);
        let keyword = source.declaring(range.start);
        e.emit(Failure::mistake(range.start, mistake::not_a_string(keyword, &element.value, element.span)));
        element
    });
    string(source)
        .or(wrong)
        .separated_by(just(Kind::Comma))
        .allow_trailing()
        .collect()
        .delimited_by(just(Kind::OpenBracket), just(Kind::CloseBracket))
}

/// `{ name: Type, … }`
fn dictionary(source: Source<'_>) -> impl Parse<'_, Vec<(Name, Name)>> {
    let equal = just(Kind::Equal).map_with(move |_, e| {
        let range: SimpleSpan = e.span();
        e.emit(Failure::mistake(range.start, mistake::equal_in_relations(source.span(range))));
        Kind::Colon
    });
    let colon = just(Kind::Colon).or(equal);
    let pair = unquoted(source, "name").then_ignore(colon).then(unquoted(source, "type"));
    pair.separated_by(just(Kind::Comma))
        .allow_trailing()
        .collect()
        .delimited_by(just(Kind::OpenBrace), just(Kind::CloseBrace))
}

/// A name; one in quotes is reported.
fn unquoted<'a>(source: Source<'a>, what: &'static str) -> impl Parse<'a, Name> {
    let quoted = string(source).map_with(move |name, e| {
        let range: SimpleSpan = e.span();
        let literal = source.snippet(name.span);
        e.emit(Failure::mistake(
            range.start,
            mistake::quoted_relation(what, literal, &name.value, name.span),
        ));
        name
    });
    name(source).or(quoted)
}

/// A value that is neither a list nor a dictionary: the strings in it.
fn other(source: Source<'_>) -> impl Parse<'_, Vec<Name>> {
    let opens = one_of([Kind::OpenBracket, Kind::OpenBrace]);
    opens.not().ignore_then(skip_value(source)).map_with(move |(), e| {
        let range: SimpleSpan = e.span();
        let strings = (range.start..range.end).filter(|&at| source.tokens.kind(at) == Some(Kind::String));
        strings.map(|at| source.string((at..at + 1).into())).collect()
    })
}

impl<'a> Source<'a> {
    /// The word before the `=` of the declaration that holds a token.
    fn declaring(self, at: usize) -> &'a str {
        let equal = (0..at).rev().find(|&at| self.tokens.kind(at) == Some(Kind::Equal));
        let word = equal.and_then(|equal| equal.checked_sub(1));
        word.map_or("", |word| self.snippet(self.tokens.span_at(word)))
    }
}
