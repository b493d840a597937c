//! The condition of a rule: `or` < `and` < `not` < comparisons and calls.

use super::source::{Parse, TokenText, name};
use super::term::{call, term};
use crate::syntax::ast::{Comparison, Condition, Name, Spanned, Term};
use crate::syntax::error::{Failure, TokenGroup, mistake};
use crate::syntax::token::Kind;
use chumsky::prelude::*;

/// Any condition.
pub(super) fn condition(source: TokenText<'_>) -> impl Parse<'_, Condition> {
    recursive(|condition| {
        let paren = condition
            .delimited_by(just(Kind::OpenParen), just(Kind::CloseParen))
            .map_with(move |inner, e| Condition::Paren(Box::new(inner), source.span(e.span())));
        let atom =
            choice((paren, call(source).map(Condition::Call), test(source))).labelled(TokenGroup::Condition);
        let negated = just(Kind::Not)
            .repeated()
            .foldr_with(atom, move |_, inner, e| Condition::Not(Box::new(inner), source.span(e.span())))
            .labelled(TokenGroup::Condition);
        let and = joined(source, negated, Kind::And, Condition::And);
        joined(source, and, Kind::Or, Condition::Or)
    })
    .boxed()
}

/// One operand, or several joined by a keyword.
pub(super) fn joined<'a, E: 'a>(
    source: TokenText<'a>,
    side: impl Parse<'a, E>,
    word: Kind,
    join: fn(Vec<E>, crate::source::Span) -> E,
) -> impl Parse<'a, E> {
    let more = just(word).ignore_then(side.clone()).repeated().collect::<Vec<_>>();
    let all = side.then(more).map_with(move |(first, more), e| {
        if more.is_empty() {
            return first;
        }
        let sides = std::iter::once(first).chain(more).collect();
        join(sides, source.span(e.span()))
    });
    all.boxed()
}

/// What follows the first term of a test.
#[derive(Clone)]
enum Rest {
    Compare(Comparison, Spanned<Term>),
    In(Vec<Spanned<Term>>),
    Matches { ty: Name, exact: bool },
}

/// `a < b`, `x in […]`, `x matches T`, `true`.
fn test(source: TokenText<'_>) -> impl Parse<'_, Condition> {
    let operator = choice((
        just(Kind::Equal).to(Comparison::Equal),
        just(Kind::NotEqual).to(Comparison::NotEqual),
        just(Kind::Less).to(Comparison::Less),
        just(Kind::LessOrEqual).to(Comparison::LessOrEqual),
        just(Kind::Greater).to(Comparison::Greater),
        just(Kind::GreaterOrEqual).to(Comparison::GreaterOrEqual),
    ));
    let compare = operator.then(term(source)).map(|(op, right)| Rest::Compare(op, right));
    let list = term(source)
        .separated_by(just(Kind::Comma))
        .allow_trailing()
        .collect()
        .delimited_by(just(Kind::OpenBracket), just(Kind::CloseBracket));
    let is_in = just(Kind::In).ignore_then(list).map(Rest::In);
    let exact = just(Kind::Matches).to(false).or(just(Kind::MatchesExactly).to(true));
    let matches = exact.then(name(source)).map(|(exact, ty)| Rest::Matches { ty, exact });
    let rest = choice((compare, is_in, matches)).labelled(TokenGroup::Operator);
    let test = term(source).then(rest.or_not()).map_with(move |(left, rest), e| {
        let range: SimpleSpan = e.span();
        let span = source.span(range);
        let written = source.snippet(left.span);
        match (left.value, rest) {
            (value, Some(Rest::Compare(op, right))) => {
                Condition::Compare { op, left: Spanned { value, span: left.span }, right, span }
            }
            (value, Some(Rest::In(list))) => {
                Condition::In { term: Spanned { value, span: left.span }, list, span }
            }
            (Term::Variable(variable), Some(Rest::Matches { ty, exact })) => {
                let variable = Spanned { value: variable, span: left.span };
                Condition::Matches { variable, ty, exact, span }
            }
            (_, Some(Rest::Matches { .. })) => {
                e.emit(Failure::mistake(range.start, mistake::matched_literal(written, left.span)));
                Condition::Boolean(true, span)
            }
            (Term::Boolean(value), None) => Condition::Boolean(value, span),
            (_, None) => {
                e.emit(Failure::mistake(range.start, mistake::lone_term(written, span)));
                Condition::Boolean(true, span)
            }
        }
    });
    test.boxed()
}
