//! Draws diagnostics as plain text.
//!
//! In: a policy's text and findings about it. Out: text without colours, the same for the same input.
//! The only file that knows the renderer.
//!
//! The renderer is given the lines between the first and the last label, not the whole policy: it
//! indexes what it is given, once for each finding.

use super::{Diagnostic, Label, Severity};
use crate::source::{SourceMap, Span};
use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet, normalize_untrusted_str,
};
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
    let group = if diagnostic.is_about_everything() {
        Group::with_title(title).element(Origin::path(source.name()))
    } else {
        Group::with_title(title).element(labelled(source, diagnostic))
    };
    let mut report = vec![group.elements(notes).elements(help)];
    if let Some(fix) = &diagnostic.fix {
        let window = Window::around(source, [fix.span]);
        let snippet =
            window.snippet(source).patch(Patch::new(window.range(fix.span), fix.replacement.as_str()));
        report.push(Level::HELP.secondary_title(normalize_untrusted_str(&fix.help)).element(snippet));
    }
    let drawn = Renderer::plain().render(&report);
    drawn.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Draws several findings with an empty line between them.
pub fn render_all(source: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|found| render(source, found)).collect::<Vec<_>>().join("\n\n")
}

fn labelled<'a>(source: &'a SourceMap, diagnostic: &'a Diagnostic) -> Snippet<'a, Annotation<'a>> {
    let secondary = diagnostic.secondary.iter();
    let window =
        Window::around(source, secondary.clone().map(|label| label.span).chain([diagnostic.primary.span]));
    let annotation = |kind: AnnotationKind, label: &'a Label| {
        let text = Some(label.text.as_str()).filter(|text| !text.is_empty());
        kind.span(window.range(label.span)).label(text.map(normalize_untrusted_str))
    };
    window
        .snippet(source)
        .annotation(annotation(AnnotationKind::Primary, &diagnostic.primary))
        .annotations(secondary.map(|label| annotation(AnnotationKind::Context, label)))
}

impl Diagnostic {
    /// Whether it has no place, because it is about the policy as a whole.
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
        let start = text.get(..bytes.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let end =
            text.get(bytes.end..).and_then(|after| after.find('\n')).map_or(text.len(), |at| bytes.end + at);
        let first_line = source.locate(Span::new(start, start)).line;
        Self { bytes: start..end.max(start), first_line }
    }

    fn snippet<'a, T: Clone>(&self, source: &'a SourceMap) -> Snippet<'a, T> {
        let lines = source.text().get(self.bytes.clone()).unwrap_or("");
        Snippet::source(lines).line_start(self.first_line).path(source.name())
    }

    /// A span as offsets into the window.
    fn range(&self, span: Span) -> Range<usize> {
        let inside = |at: usize| at.clamp(self.bytes.start, self.bytes.end) - self.bytes.start;
        inside(span.range().start)..inside(span.range().end)
    }
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
        insta::assert_snapshot!(render(&source, &found), @r#""#);
    }

    #[test]
    fn a_span_past_the_end_is_drawn_at_the_end() {
        let source = SourceMap::new("p", "a\n");
        let found = Diagnostic::new(Code::UnexpectedToken, "odd", Span::new(99, 100), "here");
        insta::assert_snapshot!(render(&source, &found), @"");
    }
}
