//! The errors and lints of a document as the protocol's diagnostics, and their fixes as quick fixes.

use super::document::OpenDocument;
use super::position;
use gen_lsp_types as lsp;
use portcullis_compiler::diagnostic::{Code, Diagnostic, Fix, Severity};
use std::collections::HashMap;

/// Where a document and the pages of codes are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses<'a> {
    /// The document.
    pub(super) uri: &'a lsp::Uri,
    /// The folder with the pages, if it is known.
    pub(super) pages: Option<&'a str>,
}

/// All findings of a document.
pub(super) fn diagnostics(addresses: Addresses<'_>, document: &OpenDocument) -> Vec<lsp::Diagnostic> {
    document.findings.iter().map(|found| diagnostic(addresses, document, found)).collect()
}

/// The fixes of the findings that touch a range.
pub(super) fn fixes(
    addresses: Addresses<'_>,
    document: &OpenDocument,
    range: &lsp::Range,
) -> Vec<lsp::CodeAction> {
    let fixes = document.findings.iter().filter_map(|found| Some((found, found.fix.as_ref()?)));
    let touching = fixes.filter(|(found, _)| {
        let place = position::range(&document.source, found.primary.span);
        key(place.start) <= key(range.end) && key(range.start) <= key(place.end)
    });
    let action = |(found, fix): (&Diagnostic, &Fix)| {
        let edit = lsp::TextEdit::new(position::range(&document.source, fix.span), fix.replacement.clone());
        let edit = lsp::WorkspaceEdit {
            changes: Some(HashMap::from([(addresses.uri.clone(), vec![edit])])),
            ..Default::default()
        };
        lsp::CodeAction {
            title: title(document, fix),
            kind: Some(lsp::CodeActionKind::QuickFix),
            diagnostics: Some(vec![diagnostic(addresses, document, found)]),
            is_preferred: Some(true),
            edit: Some(edit),
            ..Default::default()
        }
    };
    touching.map(action).collect()
}

fn key(position: lsp::Position) -> (u32, u32) {
    (position.line, position.character)
}

/// What the editor's menu calls a fix.
fn title(document: &OpenDocument, fix: &Fix) -> String {
    match (document.source.snippet(fix.span), fix.replacement.trim()) {
        ("", new) => format!("Insert `{new}`"),
        (old, "") => format!("Remove `{old}`"),
        (old, new) => format!("Replace `{old}` with `{new}`"),
    }
}

/// The page of a code, which says what it means and shows a wrong and a corrected policy.
fn page(pages: &str, code: Code) -> lsp::Uri {
    lsp::Uri(format!("{}/{}-{}.md", pages.trim_end_matches('/'), code.as_str(), code.slug()))
}

fn diagnostic(addresses: Addresses<'_>, document: &OpenDocument, found: &Diagnostic) -> lsp::Diagnostic {
    let Addresses { uri, pages } = addresses;
    let labels = found.secondary.iter().map(|label| {
        let location = lsp::Location::new(uri.clone(), position::range(&document.source, label.span));
        lsp::DiagnosticRelatedInformation { location, message: label.text.clone() }
    });
    let label = Some(&found.primary.text).filter(|text| !text.is_empty()).cloned();
    let notes = found.notes.iter().map(|note| format!("note: {note}"));
    let fix = found.fix.as_ref().map(|fix| fix.help.clone());
    let help = found.help.iter().cloned().chain(fix).map(|help| format!("help: {help}"));
    let lines: Vec<String> =
        std::iter::once(found.title.clone()).chain(label).chain(notes).chain(help).collect();
    lsp::Diagnostic {
        range: position::range(&document.source, found.primary.span),
        severity: Some(match found.severity() {
            Severity::Error => lsp::DiagnosticSeverity::Error,
            Severity::Warning => lsp::DiagnosticSeverity::Warning,
        }),
        code: Some(found.code.as_str().to_owned().into()),
        code_description: pages.map(|pages| lsp::CodeDescription::new(page(pages, found.code))),
        source: Some("portcullis".to_owned()),
        message: lines.join("\n").into(),
        related_information: Some(labels.collect()),
        ..Default::default()
    }
}
