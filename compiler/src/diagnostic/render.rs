//! Draws diagnostics as plain text.
//!
//! In: a policy's text and its findings. Out: text without colours, the same for the same input. No other
//! file uses the rendering library.
//!
//! The library indexes its whole input for each finding, so it is given only the lines from the first label
//! to the last.

use super::code::Severity;
use super::finding::{Diagnostic, Label};
use crate::limits;
use crate::source::{LINE_ENDS, SourceMap, Span};
use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet, normalize_untrusted_str,
};
use std::borrow::Cow;
use std::ops::Range;

/// Draws one finding; the text does not end in a line break.
pub fn render(source: &SourceMap, diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(diagnostic.title.as_str()).id(diagnostic.code.as_str());
    let notes = diagnostic.notes.iter().map(|note| Level::NOTE.message(normalize_untrusted_str(note)));
    let help = diagnostic.help.iter().map(|help| Level::HELP.message(normalize_untrusted_str(help)));
    let group = place(source, diagnostic, Group::with_title(title));
    let mut report = vec![group.elements(notes).elements(help)];
    if let Some(fix) = &diagnostic.fix {
        let title = Level::HELP.secondary_title(normalize_untrusted_str(&fix.help));
        let window = Window::around(source, [fix.span]);
        report.push(match window.snippet(source) {
            Some(snippet) => {
                title.element(snippet.patch(Patch::new(window.range(fix.span), fix.replacement.as_str())))
            }
            None => Group::with_title(title),
        });
    }
    let drawn = Renderer::plain().render(&report);
    drawn.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Draws several findings, separated by empty lines.
pub fn render_all(source: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|found| render(source, found)).collect::<Vec<_>>().join("\n\n")
}

/// Adds a finding's labels under the policy's text, or without it if the text is too long to draw.
fn place<'a>(source: &'a SourceMap, diagnostic: &'a Diagnostic, group: Group<'a>) -> Group<'a> {
    if diagnostic.is_about_everything() {
        return group.element(Origin::path(source.name()));
    }
    let secondary = diagnostic.secondary.iter();
    let spans = secondary.clone().map(|label| label.span).chain([diagnostic.primary.span]);
    let window = Window::around(source, spans);
    let Some(snippet) = window.snippet(source) else {
        let at = source.locate(diagnostic.primary.span);
        let labels =
            std::iter::once(&diagnostic.primary).chain(secondary).filter(|label| !label.text.is_empty());
        let places = labels.map(|label| {
            let at = source.locate(label.span);
            let text = format!("line {}, column {}: {}", at.line, at.column, label.text);
            Level::NOTE.message(normalize_untrusted_str(&text))
        });
        let origin = Origin::path(source.name()).line(at.line).char_column(at.column);
        return group.element(origin).elements(places.collect::<Vec<_>>());
    };
    let annotation = |kind: AnnotationKind, label: &'a Label| {
        let text = Some(label.text.as_str()).filter(|text| !text.is_empty());
        kind.span(window.range(label.span)).label(text.map(normalize_untrusted_str))
    };
    let snippet: Snippet<'a, Annotation<'a>> = snippet;
    group.element(
        snippet
            .annotation(annotation(AnnotationKind::Primary, &diagnostic.primary))
            .annotations(secondary.map(|label| annotation(AnnotationKind::Context, label))),
    )
}

impl Diagnostic {
    /// Whether it concerns the policy as a whole and so has no position.
    fn is_about_everything(&self) -> bool {
        self.primary.span == Span::default() && self.primary.text.is_empty() && self.secondary.is_empty()
    }
}

/// Whole lines of a policy.
struct Window {
    bytes: Range<usize>,
    first_line: usize,
}

impl Window {
    /// The lines that hold these spans.
    fn around(source: &SourceMap, spans: impl IntoIterator<Item = Span>) -> Self {
        let text = source.text();
        let mut bytes = text.len()..0;
        for span in spans {
            bytes.start = bytes.start.min(span.range().start);
            bytes.end = bytes.end.max(span.range().end).min(text.len());
        }
        let start = text.get(..bytes.start).and_then(|before| before.rfind(LINE_ENDS)).map_or(0, |at| at + 1);
        let after = text.get(bytes.end..).and_then(|after| after.find(LINE_ENDS));
        let end = after.map_or(text.len(), |at| bytes.end + at);
        let first_line = source.locate(Span::new(start, start)).line;
        Self { bytes: start..end.max(start), first_line }
    }

    /// The lines for the renderer; `None` if they are too long to draw.
    fn snippet<'a, T: Clone>(&self, source: &'a SourceMap) -> Option<Snippet<'a, T>> {
        let lines = source.text().get(self.bytes.clone())?;
        let short = lines.len() <= limits::DRAWN_BYTES;
        short.then(|| Snippet::source(line_feeds(lines)).line_start(self.first_line).path(source.name()))
    }

    /// A span as offsets into the window.
    fn range(&self, span: Span) -> Range<usize> {
        let inside = |at: usize| at.clamp(self.bytes.start, self.bytes.end) - self.bytes.start;
        inside(span.range().start)..inside(span.range().end)
    }
}

/// Replaces each lone carriage return by a line feed, the only line end that the renderer knows.
fn line_feeds(lines: &str) -> Cow<'_, str> {
    if !lines.contains('\r') {
        return lines.into();
    }
    let mut text = lines.replace('\r', "\n");
    // A pair is one line end already, and byte offsets must not change.
    for (at, _) in lines.match_indices("\r\n") {
        text.replace_range(at..=at, "\r");
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;

    #[test]
    fn labels_notes_and_a_fix_stand_under_the_text() {
        let source = SourceMap::new(
            "policy.polar",
            "# Ordner für Müller\nresource Folder {\n  relations = { owner: User };\n  \"reader\" if \"ownr\";\n}\n",
        );
        let at = |text: &str| {
            let start = source.text().find(text).unwrap();
            Span::new(start, start + text.len())
        };
        let found = Diagnostic::new(
            Code::UndeclaredTerm,
            "`Folder` does not declare `ownr`",
            at("\"ownr\""),
            "nothing of this name",
        )
        .with_label(at("relations = { owner: User }"), "`Folder` declares `owner`")
        .with_note("names are looked up in the block")
        .with_fix("a relation with a similar name exists", at("\"ownr\""), "\"owner\"");
        insta::assert_snapshot!(render(&source, &found), @r#"
        error[P0201]: `Folder` does not declare `ownr`
         --> policy.polar:4:15
          |
        3 |   relations = { owner: User };
          |   --------------------------- `Folder` declares `owner`
        4 |   "reader" if "ownr";
          |               ^^^^^^ nothing of this name
          |
          = note: names are looked up in the block
        help: a relation with a similar name exists
          |
        4 |   "reader" if "owner";
          |                   +
        "#);
    }

    #[test]
    fn every_kind_of_line_end_is_drawn_as_one() {
        let source = SourceMap::new("p", "a\rb\r\nc\rd\re");
        let found = Diagnostic::new(Code::UnexpectedToken, "odd", Span::new(5, 6), "here")
            .with_label(Span::new(2, 3), "and there");
        insta::assert_snapshot!(render(&source, &found), @"
        error[P0110]: odd
         --> p:3:1
          |
        2 | b
          | - and there
        3 | c
          | ^ here
        ");
    }

    #[test]
    fn a_span_past_the_end_is_drawn_at_the_end() {
        let source = SourceMap::new("p", "a\n");
        let found = Diagnostic::new(Code::UnexpectedToken, "odd", Span::new(99, 100), "here");
        insta::assert_snapshot!(render(&source, &found), @"
        error[P0110]: odd
         --> p:2:1
          |
        2 |
          | ^ here
        ");
    }

    #[test]
    fn places_in_a_very_long_line_are_named_and_not_drawn() {
        let source = SourceMap::new("p", "é".repeat(20_000));
        let found = Diagnostic::new(Code::UnexpectedToken, "odd", Span::new(200, 202), "here")
            .with_label(Span::new(30_000, 30_002), "and there")
            .with_fix("leave it out", Span::new(200, 202), "");
        insta::assert_snapshot!(render(&source, &found), @"
        error[P0110]: odd
        --> p:1:101
         = note: line 1, column 101: here
         = note: line 1, column 15001: and there
        help: leave it out
        ");
    }
}
