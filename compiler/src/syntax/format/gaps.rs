//! Puts comments and empty lines between the lines of the printed text.

use crate::source::LINE_ENDS;
use crate::syntax::print::SourceLayout;
use crate::syntax::token::{Kind, Tokens};

/// A line of the printed text, the comments and empty lines above it, and the comment at its end.
struct Line<'t> {
    text: &'t str,
    first: usize,
    last: usize,
    /// Comments; an empty text is an empty line.
    above: Vec<&'t str>,
    trailing: Option<&'t str>,
}

/// Where comments and empty lines go.
struct Lines<'t> {
    lines: Vec<Line<'t>>,
    /// What goes below the last line.
    below: Vec<&'t str>,
}

/// The printed text with what was between the tokens of the source. `places` says which token of the printed
/// text each of them is.
pub(super) fn restore(
    layout: &SourceLayout<'_>,
    text: &str,
    printed: &Tokens,
    places: &[Option<usize>],
) -> String {
    let mut lines = Lines::of(text, printed);
    let mut before = None;
    for (at, after) in nearest_after(places).into_iter().enumerate() {
        lines.put(&pieces_before(layout.text, &layout.tokens, at), before, after, printed);
        before = places.get(at).copied().flatten().or(before);
    }
    lines.text(printed)
}

/// For each token of the source, and for the end, the first printed token from there on.
fn nearest_after(places: &[Option<usize>]) -> Vec<Option<usize>> {
    let mut next = None;
    let from_the_end = places.iter().rev().map(|place| {
        next = place.or(next);
        next
    });
    let mut nearest: Vec<Option<usize>> = std::iter::once(None).chain(from_the_end).collect();
    nearest.reverse();
    nearest
}

/// The text before a token, line by line: the first piece is on the line of the token before it.
pub(super) fn pieces_before<'t>(text: &'t str, tokens: &Tokens, at: usize) -> Vec<&'t str> {
    let start = tokens.end_before(at).end as usize * usize::from(at > 0);
    let end = tokens.spans.get(at).map_or(text.len(), |span| span.start as usize);
    let mut rest = text.get(start..end).unwrap_or_default().trim_start_matches('\u{feff}');
    let mut pieces = Vec::new();
    while let Some((piece, after)) = rest.split_once(LINE_ENDS) {
        pieces.push(piece);
        let is_crlf = rest.get(piece.len()..).is_some_and(|end| end.starts_with("\r\n"));
        rest = if is_crlf { after.strip_prefix('\n').unwrap_or(after) } else { after };
    }
    pieces.push(rest);
    pieces
}

/// The comment of a piece.
pub(super) fn comment(piece: &str) -> Option<&str> {
    Some(piece.trim()).filter(|text| text.starts_with('#'))
}

impl<'t> Lines<'t> {
    fn of(text: &'t str, printed: &Tokens) -> Self {
        let mut lines: Vec<Line<'t>> = Vec::new();
        let mut above = Vec::new();
        let (mut first, mut end) = (0, 0);
        for line in text.split_inclusive('\n') {
            end += line.len();
            let next = printed.spans.partition_point(|token| (token.start as usize) < end);
            if next == first {
                above.push("");
                continue;
            }
            let above = std::mem::take(&mut above);
            lines.push(Line { text: line.trim_end(), first, last: next - 1, above, trailing: None });
            first = next;
        }
        Self { lines, below: Vec::new() }
    }

    /// Puts the comments and empty lines between two printed tokens; `None` is the start or the end of the
    /// text.
    fn put(&mut self, pieces: &[&'t str], before: Option<usize>, after: Option<usize>, printed: &Tokens) {
        let line_of = |token| self.lines.partition_point(|line| line.last < token);
        let kind = |token: usize| printed.kind(token);
        let ends_line = |token| self.lines.get(line_of(token)).is_some_and(|line| line.last == token);
        let begins_line = |token| self.lines.get(line_of(token)).is_some_and(|line| line.first == token);
        let between_statements = before
            .is_none_or(|token| kind(token).is_some_and(Kind::ends_statement) && ends_line(token))
            && after.is_none_or(begins_line);
        let mut may_be_empty =
            between_statements && before.is_some_and(|token| kind(token) != Some(Kind::OpenBrace));
        // A comment before an `and` that ends a line is about the condition on the next line.
        let goes_on = |token| matches!(kind(token), Some(Kind::And | Kind::Or | Kind::Comma));
        let at = after.map(|token| line_of(token) + usize::from(goes_on(token) && ends_line(token)));
        let trailing = before.map(line_of);
        let last = pieces.len() - 1;
        for (nth, piece) in pieces.iter().enumerate() {
            match (comment(piece), trailing) {
                (Some(text), Some(line)) if nth == 0 => self.put_trailing(line, text),
                (Some(text), _) => {
                    if at == trailing {
                        self.move_above(at);
                    }
                    self.above(at).push(text);
                    may_be_empty = between_statements;
                }
                (None, _) if may_be_empty && nth > 0 && nth < last => self.above(at).push(""),
                (None, _) => {}
            }
        }
    }

    /// What goes above a line, or below all.
    fn above(&mut self, line: Option<usize>) -> &mut Vec<&'t str> {
        match line.and_then(|line| self.lines.get_mut(line)) {
            Some(line) => &mut line.above,
            None => &mut self.below,
        }
    }

    /// Puts a comment at the end of a line and moves the one that is there above it. If comments are already
    /// above the next line, it follows them.
    fn put_trailing(&mut self, line: usize, text: &'t str) {
        if let Some(next) = self.lines.get_mut(line + 1)
            && next.above.iter().any(|text| !text.is_empty())
        {
            next.above.push(text);
            return;
        }
        self.move_above(Some(line));
        if let Some(line) = self.lines.get_mut(line) {
            line.trailing = Some(text);
        }
    }

    /// Moves the comment at the end of a line above the line.
    fn move_above(&mut self, line: Option<usize>) {
        if let Some(line) = line.and_then(|line| self.lines.get_mut(line)) {
            line.above.extend(line.trailing.take());
        }
    }

    fn text(self, printed: &Tokens) -> String {
        let mut text = String::new();
        // At most one empty line at a time, and none at either end of the text.
        let mut is_empty = true;
        let mut push = |line: String| {
            if !(line.is_empty() && is_empty) {
                text.push_str(&line);
                text.push('\n');
            }
            is_empty = line.is_empty();
        };
        for Line { text, first, mut above, trailing, .. } in self.lines {
            let closes = printed.kind(first).is_some_and(Kind::is_closer);
            if closes {
                drop_empty(&mut above);
            }
            let depth = text.len() - text.trim_start().len() + if closes { 2 } else { 0 };
            for line in above {
                push(if line.is_empty() { String::new() } else { format!("{:depth$}{line}", "") });
            }
            push(trailing.map_or(text.to_owned(), |trailing| format!("{text} {trailing}")));
        }
        let mut below = self.below;
        drop_empty(&mut below);
        below.into_iter().map(str::to_owned).for_each(push);
        text
    }
}

/// Drops the empty lines at the end.
fn drop_empty(lines: &mut Vec<&str>) {
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
}
