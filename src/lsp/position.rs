//! Places in a text as an editor counts them: lines, and UTF-16 units in a line, both from 0.

use gen_lsp_types::{Position, Range};
use portcullis_compiler::source::Span;

/// A text with the starts of its lines.
#[derive(Debug)]
pub(super) struct Lines {
    text: String,
    starts: Vec<usize>,
}

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        let ends = text.match_indices(['\n', '\r']).map(|(at, _)| at + 1);
        let ends = ends.filter(|&end| text.get(end - 1..=end) != Some("\r\n"));
        Self { text: text.to_owned(), starts: std::iter::once(0).chain(ends).collect() }
    }

    /// The place of a byte; past the end, the end.
    pub(super) fn position(&self, byte: usize) -> Position {
        let byte = byte.min(self.text.len());
        let line = self.starts.partition_point(|&start| start <= byte).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or_default();
        let before = self.text.get(start..byte).unwrap_or_default();
        Position { line: number(line), character: number(before.encode_utf16().count()) }
    }

    /// The byte at a place; past the end of a line, the line's end.
    pub(super) fn byte(&self, position: Position) -> usize {
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        let Some(&start) = self.starts.get(line) else { return self.text.len() };
        let rest = self.text.get(start..).unwrap_or_default();
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let mut left = usize::try_from(position.character).unwrap_or(usize::MAX);
        for (at, c) in rest.char_indices().take_while(|(at, _)| *at < end) {
            if left < c.len_utf16() {
                return start + at;
            }
            left -= c.len_utf16();
        }
        start + end
    }

    pub(super) fn range(&self, span: Span) -> Range {
        let Span { start, end } = span;
        Range { start: self.position(start as usize), end: self.position(end as usize) }
    }

    /// The range of the whole text.
    pub(super) fn whole(&self) -> Range {
        Range { start: self.position(0), end: self.position(self.text.len()) }
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each character that begins somewhere is found where it stands.
    #[test]
    fn bytes_and_places_are_each_others() {
        let text = "a é🦀b\n\r\nx\ry\n";
        let lines = Lines::of(text);
        for (byte, c) in text.char_indices().chain([(text.len(), ' ')]) {
            // Between the two halves of a line end there is no place.
            if c != '\n' || byte == 0 || text.get(byte - 1..byte) != Some("\r") {
                assert_eq!(lines.byte(lines.position(byte)), byte, "{byte}");
            }
        }
        assert_eq!(lines.position(text.find('b').unwrap()), Position { line: 0, character: 5 });
        assert_eq!(lines.position(text.find('y').unwrap()), Position { line: 3, character: 0 });
        assert_eq!(lines.byte(Position { line: 0, character: 99 }), text.find('\n').unwrap());
        assert_eq!(lines.byte(Position { line: 99, character: 0 }), text.len());
    }
}
