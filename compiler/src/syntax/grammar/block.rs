//! Blocks and their declarations.

use super::recover::{Parsing, braces, end_of_statement, position, skip_value};
use super::rule::rule;
use super::shorthand::shorthand;
use super::source::{Parse, TokenText, name, string};
use crate::diagnostic::suggest;
use crate::source::Span;
use crate::syntax::ast::{Block, BlockKind, Member, Name, NameList, Relations};
use crate::syntax::error::{Failure, TokenGroup, mistake};
use crate::syntax::token::Kind;
use chumsky::prelude::*;

/// `actor X {…}`, `resource X extends Y {…}` or `global {…}`.
pub(super) fn block(source: TokenText<'_>) -> impl Parse<'_, Block> {
    let kind = choice((
        just(Kind::Actor).to(BlockKind::Actor),
        just(Kind::Resource).to(BlockKind::Resource),
        misspelt_kind(source).labelled(TokenGroup::Mistake),
    ));
    let quoted = string(source).map_with(move |name, e| {
        let range: SimpleSpan = e.span();
        e.emit(Failure::mistake(range.start, mistake::quoted_name(source.snippet(name.span), name.span)));
        name
    });
    let block_name = name(source).or(quoted.labelled(TokenGroup::Mistake));
    let supertypes = name(source).separated_by(just(Kind::Comma)).at_least(1).allow_trailing().collect();
    let extends = just(Kind::Extends).ignore_then(supertypes).or_not().map(Option::unwrap_or_default);
    let named = kind.then(block_name).then(extends).map(|((kind, name), extends)| (kind, name, extends));
    let global =
        just(Kind::Global).map_with(move |_, e| (BlockKind::Global, source.name(e.span()), Vec::new()));
    let block = named.or(global).then(braces(source, member(source), &[]));
    let block = block.map_with(move |((kind, name, extends), members), e| Block {
        kind,
        name,
        extends,
        members,
        span: source.span(e.span()),
    });
    block.boxed()
}

/// A misspelling such as `resourse`, where it clearly begins a block.
fn misspelt_kind<'a>(source: TokenText<'a>) -> impl Parse<'a, BlockKind> {
    custom(move |input: &mut Parsing<'a, '_>| {
        let at = position(input);
        let kind = |offset: usize| source.tokens.kind(at + offset);
        let begins = kind(0) == Some(Kind::Identifier)
            && kind(1).is_some_and(Kind::is_name)
            && matches!(kind(2), Some(Kind::OpenBrace | Kind::Extends));
        let span = source.tokens.span_at(at);
        let word = source.snippet(span);
        match suggest::near(word, ["actor", "resource"]).filter(|_| begins) {
            None => Err(Failure::unexpected(at, [])),
            Some(near) => {
                input.emit(Failure::mistake(at, mistake::misspelt_keyword(word, near, span)));
                input.skip();
                Ok(if near == "actor" { BlockKind::Actor } else { BlockKind::Resource })
            }
        }
    })
}

/// One line of a block; `None` if it is reported and dropped.
fn member(source: TokenText<'_>) -> impl Parse<'_, Option<Member>> {
    let declaration = choice((
        declared(source, just(Kind::Roles).to("roles"), [TokenGroup::List, TokenGroup::Mistake]),
        declared(source, just(Kind::Permissions).to("permissions"), [TokenGroup::List, TokenGroup::Mistake]),
        declared(
            source,
            just(Kind::Relations).to("relations"),
            [TokenGroup::Mistake, TokenGroup::Dictionary],
        ),
    ));
    let misnamed = declared(source, misnamed(source), [TokenGroup::List, TokenGroup::Dictionary]);
    let misplaced = rule(source).map_with(|rule, e| {
        let range: SimpleSpan = e.span();
        e.emit(Failure::mistake(range.start, mistake::rule_in_block(&rule.name.value, rule.name.span)));
        None
    });
    let mistaken = misnamed.or(misplaced).labelled(TokenGroup::Mistake);
    choice((declaration, shorthand(source).map(Member::Shorthand).map(Some), mistaken))
        .labelled(TokenGroup::Member)
        .boxed()
}

/// An unknown word before `=`; returns the declaration that was probably meant.
fn misnamed(source: TokenText<'_>) -> impl Parse<'_, &'static str> {
    let declares = one_of([Kind::Roles, Kind::Permissions, Kind::Relations]);
    let word = declares.not().ignore_then(name(source));
    word.then_ignore(just(Kind::Equal).rewind()).map_with(|word, e| {
        let range: SimpleSpan = e.span();
        let near = suggest::near(&word.value, ["roles", "permissions", "relations"]);
        e.emit(Failure::mistake(range.start, mistake::unknown_declaration(&word.value, near, word.span)));
        near.unwrap_or("")
    })
}

/// The value after `=`.
#[derive(Clone)]
enum DeclaredValue {
    List(Vec<Name>),
    Dictionary(Vec<(Name, Name)>),
    /// Something else, and the strings in it.
    Other(Vec<Name>),
    /// A list or dictionary with a mistake already reported, and what it still declares.
    Broken(Vec<Name>, Vec<(Name, Name)>),
}

/// `keyword = value;`. A value of the wrong kind is reported. The labels name a list and a dictionary in
/// messages about a missing value.
fn declared<'a>(
    source: TokenText<'a>,
    keyword: impl Parse<'a, &'static str>,
    [as_list, as_dictionary]: [TokenGroup; 2],
) -> impl Parse<'a, Option<Member>> {
    let value = choice((
        list(source).map(DeclaredValue::List).labelled(as_list),
        dictionary(source).map(DeclaredValue::Dictionary).labelled(as_dictionary),
        other(source).map(DeclaredValue::Other).labelled(TokenGroup::Mistake),
    ));
    let value = value.recover_with(via_parser(broken(source)));
    let value = value.map_with(move |value, e| {
        let range: SimpleSpan = e.span();
        (value, range)
    });
    let statement = keyword.then_ignore(just(Kind::Equal)).then(value);
    let member = statement.then_ignore(end_of_statement(source, "the declaration")).map_with(
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
    );
    member.boxed()
}

/// The declaration with the usable part of its value, and whether the value has the right kind.
fn typed(keyword: &str, value: DeclaredValue, span: Span) -> (Option<Member>, bool) {
    let names = |value| match value {
        DeclaredValue::List(names) | DeclaredValue::Broken(names, _) => (NameList { names, span }, true),
        DeclaredValue::Dictionary(pairs) => {
            (NameList { names: pairs.into_iter().map(|(name, _)| name).collect(), span }, false)
        }
        DeclaredValue::Other(names) => (NameList { names, span }, false),
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
                DeclaredValue::Dictionary(relations) | DeclaredValue::Broken(_, relations) => {
                    (relations, true)
                }
                DeclaredValue::List(_) | DeclaredValue::Other(_) => (Vec::new(), false),
            };
            (Some(Member::Relations(Relations { relations, span })), fits)
        }
        _ => (None, true),
    }
}

/// `["a", "b"]`
fn list(source: TokenText<'_>) -> impl Parse<'_, Vec<Name>> {
    let wrong = any()
        .filter(|kind: &Kind| kind.is_name() || matches!(kind, Kind::Integer | Kind::True | Kind::False));
    let wrong = wrong.map_with(move |_, e| {
        let range: SimpleSpan = e.span();
        let element = source.name(range);
        e.emit(Failure::mistake(range.start, mistake::not_a_string(&element.value, element.span)));
        element
    });
    string(source)
        .or(wrong.labelled(TokenGroup::Mistake))
        .separated_by(just(Kind::Comma))
        .allow_trailing()
        .collect()
        .delimited_by(just(Kind::OpenBracket), just(Kind::CloseBracket))
        .boxed()
}

/// `{ name: Type, … }`
fn dictionary(source: TokenText<'_>) -> impl Parse<'_, Vec<(Name, Name)>> {
    let equal = just(Kind::Equal).map_with(move |_, e| {
        let range: SimpleSpan = e.span();
        e.emit(Failure::mistake(range.start, mistake::equal_in_relations(source.span(range))));
        Kind::Colon
    });
    let colon = just(Kind::Colon).or(equal.labelled(TokenGroup::Mistake));
    let pair = unquoted(source, "name").then_ignore(colon).then(unquoted(source, "type"));
    pair.separated_by(just(Kind::Comma))
        .allow_trailing()
        .collect()
        .delimited_by(just(Kind::OpenBrace), just(Kind::CloseBrace))
        .boxed()
}

/// A name; quotes are reported.
fn unquoted<'a>(source: TokenText<'a>, what: &'static str) -> impl Parse<'a, Name> {
    let quoted = string(source).map_with(move |name, e| {
        let range: SimpleSpan = e.span();
        let literal = source.snippet(name.span);
        e.emit(Failure::mistake(
            range.start,
            mistake::quoted_relation(what, literal, &name.value, name.span),
        ));
        name
    });
    name(source).or(quoted.labelled(TokenGroup::Mistake)).boxed()
}

/// The strings in a value that is neither a list nor a dictionary.
fn other(source: TokenText<'_>) -> impl Parse<'_, Vec<Name>> {
    let opens = one_of([Kind::OpenBracket, Kind::OpenBrace]);
    opens.not().ignore_then(skip_value(source)).map_with(move |(), e| source.strings(e.span()))
}

/// All strings, and everything that looks like a relation, in a value that does not parse.
fn broken(source: TokenText<'_>) -> impl Parse<'_, DeclaredValue> {
    skip_value(source).map_with(move |(), e| {
        let range: SimpleSpan = e.span();
        DeclaredValue::Broken(source.strings(range), source.pairs(range))
    })
}

impl TokenText<'_> {
    /// The string literals among these tokens.
    fn strings(self, range: SimpleSpan) -> Vec<Name> {
        let strings = (range.start..range.end).filter(|&at| self.tokens.kind(at) == Some(Kind::String));
        strings.map(|at| self.string((at..at + 1).into())).collect()
    }

    /// Each `name: Type` among these tokens.
    fn pairs(self, range: SimpleSpan) -> Vec<(Name, Name)> {
        let is_name = |at: usize| self.tokens.kind(at).is_some_and(Kind::is_name);
        let name = |at: usize| self.name((at..at + 1).into());
        (range.start..range.end.saturating_sub(2))
            .filter(|&at| is_name(at) && self.tokens.kind(at + 1) == Some(Kind::Colon) && is_name(at + 2))
            .map(|at| (name(at), name(at + 2)))
            .collect()
    }
}
