//! What the printer keeps of the layout of a policy's source.

use crate::source::{LINE_ENDS, Span};
use crate::syntax::token::{Kind, Tokens};

/// The layout of a source; the default one is that of no source.
#[derive(Debug, Default)]
pub(in crate::syntax) struct SourceLayout<'t> {
    /// The source.
    pub(in crate::syntax) text: &'t str,
    /// Its tokens.
    pub(in crate::syntax) tokens: Tokens,
}

impl SourceLayout<'_> {
    /// Whether there is a source.
    pub(super) fn is_known(&self) -> bool {
        !self.tokens.kinds.is_empty()
    }

    /// Whether within a span what follows the first token of a kind begins on a new line or has a comment.
    pub(super) fn is_broken_after(&self, opener: Kind, span: Span) -> bool {
        self.gaps_after(opener, span).next().is_some_and(|gap| gap.contains(LINE_ENDS))
            || self.has_comment_after(opener, span)
    }

    /// Whether within a span another line begins later than right after the first token of a kind.
    pub(super) fn is_broken_further(&self, opener: Kind, span: Span) -> bool {
        self.gaps_after(opener, span).skip(1).any(|gap| gap.contains(LINE_ENDS))
    }

    /// Whether within a span empty braces after the first token of a kind hold a comment.
    pub(super) fn has_comment_in_empty(&self, word: Kind, span: Span) -> bool {
        let Some(word) = self.first(word, span) else { return false };
        let is_empty = [word + 1, word + 2].map(|at| self.tokens.kind(at));
        is_empty == [Some(Kind::OpenBrace), Some(Kind::CloseBrace)] && self.gap(word + 1).contains('#')
    }

    /// Whether within a span a comment follows the first token of a kind.
    pub(super) fn has_comment_after(&self, opener: Kind, span: Span) -> bool {
        self.gaps_after(opener, span).any(|gap| gap.contains('#'))
    }

    /// The gaps between the tokens of a span, from the first token of a kind on.
    fn gaps_after(&self, opener: Kind, span: Span) -> impl Iterator<Item = &str> {
        let from = self.first(opener, span).unwrap_or(self.tokens.spans.len());
        let inside =
            (from..self.tokens.spans.len()).take_while(move |&at| self.tokens.span_at(at).end < span.end);
        inside.map(|at| self.gap(at))
    }

    /// The first token of a kind within a span.
    fn first(&self, kind: Kind, span: Span) -> Option<usize> {
        let from = self.tokens.spans.partition_point(|token| token.start < span.start);
        let inside =
            (from..self.tokens.spans.len()).take_while(|&at| self.tokens.span_at(at).end <= span.end);
        inside.into_iter().find(|&at| self.tokens.kind(at) == Some(kind))
    }

    /// The text between a token and the next one: white space and comments.
    fn gap(&self, at: usize) -> &str {
        let [before, after] = [at, at + 1].map(|at| self.tokens.span_at(at));
        self.text.get(before.end as usize..after.start as usize).unwrap_or_default()
    }
}
