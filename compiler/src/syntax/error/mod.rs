//! Parse failures, and the diagnostics made from them.
//!
//! The grammar tries alternatives constantly, and each that does not match creates a [`Failure`]. So a
//! failure is cheap: a token index and a bit set of what was expected there. Only failures that are reported
//! become a [`Diagnostic`], in [`report`]. Mistakes that the grammar itself recognises ([`mistake`]) carry a
//! finished diagnostic.

pub(super) mod mistake;
mod expected;
mod unexpected;

use super::token::{Kind, Tokens};
use crate::diagnostic::Diagnostic;
use crate::limits;
use chumsky::DefaultExpected;
use chumsky::error::{Error, LabelError};
use chumsky::span::SimpleSpan;
use chumsky::util::MaybeRef;
pub(super) use expected::{Expected, TokenGroup};
use unexpected::STATEMENT;

/// The grammar's input: the kinds of the tokens.
pub(super) type Input<'a> = &'a [Kind];

/// Why an alternative does not match.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The token is not one of those expected.
    Unexpected {
        /// The token's index; the number of tokens for the end of the text.
        at: usize,
        /// What would have been accepted.
        expected: Expected,
    },
    /// A known mistake.
    Mistake {
        /// The index of the offending token.
        at: usize,
        /// The finished diagnostic.
        diagnostic: Box<Diagnostic>,
    },
}

impl Failure {
    /// The token is not one of those expected.
    pub(super) fn unexpected(at: usize, expected: impl IntoIterator<Item = Kind>) -> Self {
        Self::Unexpected { at, expected: expected.into_iter().collect() }
    }

    /// A known mistake at a token.
    pub(super) fn mistake(at: usize, diagnostic: Diagnostic) -> Self {
        Self::Mistake { at, diagnostic: Box::new(diagnostic) }
    }

    fn at(&self) -> usize {
        match self {
            Self::Unexpected { at, .. } | Self::Mistake { at, .. } => *at,
        }
    }
}

impl<'a> Error<'a, Input<'a>> for Failure {
    /// Keeps the failure that got further, and at the same token the known mistake.
    fn merge(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unexpected { at, expected }, Self::Unexpected { at: other, expected: more })
                if at == other =>
            {
                Self::Unexpected { at, expected: expected.union(more) }
            }
            (one @ Self::Unexpected { .. }, two @ Self::Mistake { .. }) if one.at() == two.at() => two,
            (one, two) => {
                if two.at() > one.at() {
                    two
                } else {
                    one
                }
            }
        }
    }
}

impl<'a> LabelError<'a, Input<'a>, DefaultExpected<'a, Kind>> for Failure {
    fn expected_found<E: IntoIterator<Item = DefaultExpected<'a, Kind>>>(
        expected: E,
        _found: Option<MaybeRef<'a, Kind>>,
        span: SimpleSpan,
    ) -> Self {
        let kinds = expected.into_iter().filter_map(|expected| match expected {
            DefaultExpected::Token(kind) => Some(*kind),
            _ => None,
        });
        Self::Unexpected { at: span.start, expected: kinds.collect() }
    }
}

impl<'a> LabelError<'a, Input<'a>, TokenGroup> for Failure {
    fn expected_found<E: IntoIterator<Item = TokenGroup>>(
        expected: E,
        _found: Option<MaybeRef<'a, Kind>>,
        span: SimpleSpan,
    ) -> Self {
        Self::Unexpected { at: span.start, expected: expected.into_iter().collect() }
    }

    fn label_with(&mut self, label: TokenGroup) {
        if let Self::Unexpected { expected, .. } = self {
            *expected = std::iter::once(label).collect();
        }
    }
}

/// Turns failures into diagnostics, up to one more than are shown.
///
/// The lexer has already reported tokens that it could not read or had to guess. Failures that these cause
/// are left out.
pub(super) fn report(text: &str, tokens: &Tokens, mut failures: Vec<Failure>) -> Vec<Diagnostic> {
    failures.sort_by_key(Failure::at);
    let unknown = failures.into_iter().filter(|failure| !is_known_already(tokens, failure.at()));
    // One extra, so that the output can say that there are more.
    let diagnostics = unknown.take(limits::DIAGNOSTICS + 1).map(|failure| match failure {
        Failure::Mistake { diagnostic, .. } => *diagnostic,
        Failure::Unexpected { at, expected } => unexpected::diagnostic(text, tokens, at, expected),
    });
    diagnostics.collect()
}

/// Whether the lexer already reported the cause of a failure at this token: an unreadable token earlier in
/// the statement, or a reserved word next to it.
fn is_known_already(tokens: &Tokens, at: usize) -> bool {
    let before = tokens.kinds.iter().take(at).rev().take(STATEMENT).take_while(|kind| !kind.ends_statement());
    let neighbours = tokens.kinds.iter().take(at + 2).skip(at.saturating_sub(1));
    before.chain(neighbours.clone()).any(|kind| *kind == Kind::Invalid)
        || neighbours.into_iter().any(|kind| *kind == Kind::Refused)
}
