//! The lines of a document, each with the indentation that it gets.

use std::ops::Range;

/// The lines of a document.
#[derive(Debug)]
pub(super) struct MovedLines<'a> {
    text: &'a str,
    lines: Vec<MovedLine>,
    /// Runs of spaces after colons, each of which becomes one space.
    tightened: Vec<Range<usize>>,
}

/// A line.
#[derive(Clone, Debug)]
struct MovedLine {
    /// Its bytes without the line end.
    span: Range<usize>,
    kind: LineKind,
}

/// How a line is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    /// An empty line, a comment, or a document marker.
    Loose,
    /// A line that begins with a key, with its new indentation.
    Entry(usize),
    /// A line inside a value, with the number of columns to move it by. Its trailing spaces stay.
    Inside(isize),
}

impl<'a> MovedLines<'a> {
    /// The lines of a text.
    pub(super) fn of(text: &'a str) -> Self {
        let mut lines = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let content = line.trim_end_matches(['\n', '\r']).len();
            lines.push(MovedLine { span: start..start + content, kind: LineKind::Loose });
            start += line.len();
        }
        Self { text, lines, tightened: Vec::new() }
    }

    /// Gives a line this indentation if a key at this byte begins it.
    pub(super) fn begin_entry(&mut self, byte: usize, indent: usize) {
        let text = self.text;
        if let Some(line) = self.lines.iter_mut().find(|line| line.span.contains(&byte)) {
            let before = text.get(line.span.start..byte).unwrap_or_default();
            if before.chars().all(|c| c == ' ') {
                line.kind = LineKind::Entry(indent);
            }
        }
    }

    /// Moves the lines of the value at these bytes together, so that the least indented one gets this
    /// indentation. The first line is moved only if the value begins it.
    pub(super) fn keep_together(&mut self, value: Range<usize>, indent: usize) {
        let text = self.text;
        // The parser may say that a text of several lines ends where the next value begins.
        let end = value.start + text.get(value.clone()).unwrap_or_default().trim_end().len();
        let blank = |range: Range<usize>| text.get(range).unwrap_or_default().trim().is_empty();
        let inside = self.lines.iter_mut().filter(|line| {
            let begins_before = line.span.start <= value.start;
            let is_first = begins_before && value.start <= line.span.end;
            let begins_line = is_first && blank(line.span.start..value.start);
            (begins_line || line.span.start > value.start) && line.span.start < end
        });
        let mut inside: Vec<&mut MovedLine> = inside.collect();
        let depth = |line: &MovedLine| {
            let line = text.get(line.span.clone()).unwrap_or_default();
            (!line.trim().is_empty()).then(|| line.len() - line.trim_start_matches(' ').len())
        };
        let Some(least) = inside.iter().filter_map(|line| depth(line)).min() else { return };
        // Documents are short enough for an `isize`.
        let by = isize::try_from(indent).unwrap_or(0) - isize::try_from(least).unwrap_or(0);
        inside.iter_mut().for_each(|line| line.kind = LineKind::Inside(by));
    }

    /// Leaves one space between a key and a value on the same line.
    pub(super) fn tighten(&mut self, key_end: usize, value: usize) {
        let between = self.text.get(key_end..value).unwrap_or_default();
        let spaces =
            between.strip_prefix(':').filter(|rest| rest.len() > 1 && rest.chars().all(|c| c == ' '));
        if let Some(spaces) = spaces {
            self.tightened.push(value - spaces.len()..value);
        }
    }

    /// The formatted text.
    pub(super) fn formatted(&self) -> String {
        let mut formatted = String::new();
        let mut is_after_blank = true;
        for (at, line) in self.lines.iter().enumerate() {
            let content = self.tightened(&line.span);
            let written = match line.kind {
                LineKind::Inside(by) => moved(&content, by),
                LineKind::Entry(indent) => at_indent(&content, indent),
                LineKind::Loose if content.trim().is_empty() => String::new(),
                LineKind::Loose if content.trim_start().starts_with('#') => {
                    at_indent(&content, self.comment_indent(at))
                }
                LineKind::Loose => content.trim_end().to_owned(),
            };
            let is_blank = written.is_empty() && line.kind == LineKind::Loose;
            if !(is_blank && is_after_blank) {
                formatted.push_str(&written);
                formatted.push('\n');
            }
            is_after_blank = is_blank;
        }
        if is_after_blank && formatted.ends_with("\n\n") || formatted == "\n" {
            formatted.pop();
        }
        formatted
    }

    /// A line with one space after its colon.
    fn tightened(&self, span: &Range<usize>) -> String {
        let content = self.text.get(span.clone()).unwrap_or_default();
        match self.tightened.iter().find(|spaces| span.start <= spaces.start && spaces.end <= span.end) {
            Some(spaces) => {
                let (start, end) = (spaces.start - span.start, spaces.end - span.start);
                let part = |range: Option<&str>| range.unwrap_or_default().to_owned();
                format!("{} {}", part(content.get(..start)), part(content.get(end..)))
            }
            None => content.to_owned(),
        }
    }

    /// The indentation of a comment: that of the next entry. A comment that is indented deeper than the next
    /// entry, as at the end of a section, belongs to the entry before it.
    fn comment_indent(&self, at: usize) -> usize {
        let depth = |line: &MovedLine| {
            let content = self.text.get(line.span.clone()).unwrap_or_default();
            content.len() - content.trim_start_matches(' ').len()
        };
        let entry = |line: &MovedLine| match line.kind {
            LineKind::Entry(indent) => Some((depth(line), indent)),
            LineKind::Loose | LineKind::Inside(_) => None,
        };
        let own = self.lines.get(at).map_or(0, depth);
        let next = self.lines.iter().skip(at + 1).find_map(entry);
        let before = || self.lines.iter().take(at).rev().filter_map(entry).find(|(depth, _)| *depth <= own);
        match next {
            Some((depth, indent)) if own <= depth => indent,
            Some((_, indent)) => before().map_or(indent, |(_, before)| before.max(indent)),
            None => before().map_or(0, |(_, before)| before),
        }
    }
}

fn at_indent(content: &str, indent: usize) -> String {
    format!("{}{}", " ".repeat(indent), content.trim())
}

/// A line, moved by some columns.
fn moved(content: &str, by: isize) -> String {
    if content.trim().is_empty() {
        // A blank line may have fewer spaces than that.
        return content.get(by.min(0).unsigned_abs().min(content.len())..).unwrap_or_default().to_owned();
    }
    match usize::try_from(by) {
        Ok(more) => format!("{}{content}", " ".repeat(more)),
        Err(_) => content.get(by.unsigned_abs()..).unwrap_or_default().to_owned(),
    }
}
