//! Tests and test fixtures.

use super::condition::condition;
use super::recover::{braces, end_of_statement};
use super::source::{Parse, TokenText, name, string};
use super::term::{call, param, parenthesised};
use crate::source::Span;
use crate::syntax::ast::{Assertion, Call, Fixture, Setup, Test};
use crate::syntax::error::{Failure, TokenGroup, mistake};
use crate::syntax::token::Kind;
use chumsky::prelude::*;

/// `test fixture name { facts }`
pub(super) fn fixture(source: TokenText<'_>) -> impl Parse<'_, Fixture> {
    just(Kind::Test)
        .then(just(Kind::Fixture))
        .ignore_then(name(source))
        .then(braces(source, fact(source).map(Some), &[]))
        .map_with(move |(name, facts), e| Fixture { name, facts, span: source.span(e.span()) })
        .boxed()
}

fn fact(source: TokenText<'_>) -> impl Parse<'_, Call> {
    call(source).then_ignore(end_of_statement(source, "the fact")).labelled(TokenGroup::Fact).boxed()
}

/// A part of a test.
#[derive(Clone)]
enum TestPart {
    Setup(Vec<Setup>, Span),
    Assertion(Assertion),
}

/// `test "name" { setup {…} assert … }`
pub(super) fn test(source: TokenText<'_>) -> impl Parse<'_, Test> {
    let setup = just(Kind::Setup).map_with(move |_, e| source.span(e.span())).then(setup(source));
    let setup = setup.map(|(keyword, lines)| TestPart::Setup(lines, keyword));
    let part = setup.or(assertion(source).map(TestPart::Assertion)).labelled(TokenGroup::TestLine);
    let test = just(Kind::Test).ignore_then(string(source)).then(braces(source, part.map(Some), &[]));
    let test = test.map_with(move |(name, parts), e| {
        let range: SimpleSpan = e.span();
        let mut test = Test { name, setup: Vec::new(), assertions: Vec::new(), span: source.span(range) };
        let mut first = None;
        for part in parts {
            match part {
                TestPart::Setup(lines, keyword) => {
                    if let Some(first) = first {
                        e.emit(Failure::mistake(range.start, mistake::setup_not_first(keyword, first)));
                    }
                    first = first.or(Some(keyword));
                    test.setup.extend(lines);
                }
                TestPart::Assertion(assertion) => {
                    first = first.or(Some(assertion.span));
                    test.assertions.push(assertion);
                }
            }
        }
        if test.assertions.is_empty() && !source.asserts(range) {
            let name = source.snippet(test.name.span);
            e.emit(Failure::mistake(range.start, mistake::empty_test(name, test.name.span)));
        }
        test
    });
    test.boxed()
}

fn setup(source: TokenText<'_>) -> impl Parse<'_, Vec<Setup>> {
    let fixture = just(Kind::Fixture)
        .ignore_then(name(source))
        .then_ignore(end_of_statement(source, "the `fixture` line"))
        .map(Setup::Fixture);
    let line = fixture.or(fact(source).map(Setup::Fact)).map(Some);
    braces(source, line, &[Kind::Assert, Kind::AssertNot])
}

/// `assert p(…) iff …;`
fn assertion(source: TokenText<'_>) -> impl Parse<'_, Assertion> {
    let spaced =
        just(Kind::Assert).then(just(Kind::Not).labelled(TokenGroup::Mistake)).map_with(move |_, e| {
            let range: SimpleSpan = e.span();
            e.emit(Failure::mistake(range.start, mistake::assert_space_not(source.span(range))));
            false
        });
    let positive = choice((spaced, just(Kind::Assert).to(true), just(Kind::AssertNot).to(false)));
    let wrong_if = just(Kind::If).map_with(move |_, e| {
        let range: SimpleSpan = e.span();
        e.emit(Failure::mistake(range.start, mistake::assertion_if(source.span(range))));
        Kind::Iff
    });
    let iff =
        just(Kind::Iff).or(wrong_if.labelled(TokenGroup::Mistake)).ignore_then(condition(source)).or_not();
    let assertion = positive
        .then(name(source))
        .then(parenthesised(source, param(source)))
        .then(iff)
        .then_ignore(end_of_statement(source, "the assertion"))
        .map_with(move |(((positive, name), params), iff), e| Assertion {
            positive,
            name,
            params,
            iff,
            span: source.span(e.span()),
        });
    assertion.boxed()
}

impl TokenText<'_> {
    /// Whether these tokens contain an assertion, even one that does not parse.
    fn asserts(self, range: SimpleSpan) -> bool {
        let tokens = self.tokens.kinds.get(range.start..range.end).unwrap_or(&[]);
        tokens.iter().any(|kind| matches!(kind, Kind::Assert | Kind::AssertNot))
    }
}
