//! Positions as the protocol counts them: lines, and UTF-16 units within a line, both from 0.

use gen_lsp_types::{Position, Range};
use portcullis_compiler::source::{LINE_ENDS, SourceMap, Span};

/// The position of a byte; past the end, that of the end.
fn position(source: &SourceMap, byte: usize) -> Position {
    let byte = byte.min(source.text().len());
    let line = source.locate(Span::new(byte, byte)).line;
    let start = source.line_start(line).unwrap_or_default();
    let before = source.snippet(Span::new(start, byte));
    Position { line: number(line - 1), character: number(before.encode_utf16().count()) }
}

/// The byte at a position; past the end of a line, the end of the line.
pub(super) fn byte(source: &SourceMap, position: Position) -> usize {
    let end_of_text = source.text().len();
    let line = usize::try_from(position.line).unwrap_or(usize::MAX).saturating_add(1);
    let Some(start) = source.line_start(line) else { return end_of_text };
    let line = source.snippet(Span::new(start, end_of_text)).split(LINE_ENDS).next().unwrap_or_default();
    let mut left = usize::try_from(position.character).unwrap_or(usize::MAX);
    for (at, c) in line.char_indices() {
        if left < c.len_utf16() {
            return start + at;
        }
        left -= c.len_utf16();
    }
    start + line.len()
}

/// The range of a span.
pub(super) fn range(source: &SourceMap, span: Span) -> Range {
    let Span { start, end } = span;
    Range { start: position(source, start as usize), end: position(source, end as usize) }
}

/// The range of the whole text.
pub(super) fn whole(source: &SourceMap) -> Range {
    range(source, Span::new(0, source.text().len()))
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_is_found_at_its_position() {
        let text = "a é🦀b\n\r\nx\ry\n";
        let source = SourceMap::new("p", text);
        let position = |byte| position(&source, byte);
        let byte = |line, character| byte(&source, Position { line, character });
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            // There is no position between the two characters of a line end.
            if c != '\n' || at == 0 || text.get(at - 1..at) != Some("\r") {
                let Position { line, character } = position(at);
                assert_eq!(byte(line, character), at);
            }
        }
        assert_eq!(position(text.find('b').unwrap()), Position { line: 0, character: 5 });
        assert_eq!(position(text.find('y').unwrap()), Position { line: 3, character: 0 });
        assert_eq!(byte(0, 99), text.find('\n').unwrap());
        assert_eq!(byte(99, 0), text.len());
    }
}
