//! Positions in policy text: byte spans, and their line and column.
//!
//! Spans are byte offsets everywhere in this crate. [`SourceMap::locate`] is the only conversion to lines and
//! columns.

use std::ops::Range;

/// Characters that end a line; a carriage return followed by a line feed counts as one line end.
pub const LINE_ENDS: [char; 2] = ['\n', '\r'];

/// A half-open range of bytes in the policy's source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` up to, not including, `end`.
    pub fn new(start: usize, end: usize) -> Self {
        let clamp = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Self { start: clamp(start), end: clamp(end) }
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The span as a byte range for slicing.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// A 1-based line and column; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// 1-based line.
    pub line: usize,
    /// 1-based column, in characters.
    pub column: usize,
}

/// One policy text with its name, and the starts of its lines.
#[derive(Clone, Debug)]
pub struct SourceMap {
    name: String,
    text: String,
    line_starts: Vec<usize>,
}

impl SourceMap {
    /// Takes a policy's file name and text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let ends = text.match_indices(LINE_ENDS).map(|(at, _)| at + 1);
        let ends = ends.filter(|&end| text.get(end - 1..=end) != Some("\r\n"));
        let line_starts = std::iter::once(0).chain(ends).collect();
        Self { name: name.into(), text, line_starts }
    }

    /// The policy's file name, as it appears in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole policy text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text under a span; empty if the span lies outside this source.
    pub fn snippet(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// The first byte of a line, counted from 1.
    pub fn line_start(&self, line: usize) -> Option<usize> {
        self.line_starts.get(line.checked_sub(1)?).copied()
    }

    /// The line and column at which a span starts.
    pub fn locate(&self, span: Span) -> Position {
        let offset = (span.start as usize).min(self.text.len());
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let start = self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count()) + 1;
        Position { line, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_after_non_ascii_text() {
        let source = SourceMap::new("p", "# é é\nfoo;");
        assert_eq!(source.locate(Span::new(8, 11)), Position { line: 2, column: 1 });
        assert_eq!(source.locate(Span::new(5, 6)), Position { line: 1, column: 5 });
        assert_eq!(source.snippet(Span::new(8, 11)), "foo");
    }

    #[test]
    fn every_kind_of_line_end_begins_a_line() {
        let source = SourceMap::new("p", "a\r\nb\rc\n\nd");
        let lines: Vec<usize> = [0, 3, 5, 8].map(|at| source.locate(Span::new(at, at)).line).into();
        assert_eq!(lines, [1, 2, 3, 5]);
        assert_eq!(
            [0, 1, 2, 5, 6].map(|line| source.line_start(line)),
            [None, Some(0), Some(3), Some(8), None]
        );
        assert_eq!(source.locate(Span::new(5, 6)).column, 1);
    }

    #[test]
    fn a_span_past_the_end_is_located_at_the_end() {
        let source = SourceMap::new("p", "a\nb");
        assert_eq!(source.locate(Span::new(99, 100)), Position { line: 2, column: 2 });
        assert_eq!(source.snippet(Span::new(99, 100)), "");
    }
}
