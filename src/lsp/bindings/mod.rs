//! An open data-bindings document: its mistakes, its layout, and what may be written at a position.

mod completion;
mod place;

pub(super) use completion::items;

use super::position;
use gen_lsp_types as lsp;
use portcullis_compiler::bindings::{BindingsError, format, parse};
use portcullis_compiler::source::{SourceMap, Span};

/// The tables of the database that the data bindings are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// The tables and views.
    pub tables: Vec<SchemaTable>,
}

/// A table or a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaTable {
    /// Its name as a query writes it, with its schema and in quotes where those are needed.
    pub name: String,
    /// The names of its columns as a query writes them.
    pub columns: Vec<String>,
}

/// A place where the database contradicts a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFinding {
    /// The line, from 1.
    pub line: usize,
    /// How bad it is.
    pub severity: LiveSeverity,
    /// Its code.
    pub code: String,
    /// What is wrong.
    pub message: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveSeverity {
    /// The SQL fails or answers wrongly.
    Error,
    /// The SQL is slow, or correct only as long as nothing changes.
    Warning,
    /// Worth knowing.
    Note,
}

/// The current text of a document in the editor.
#[derive(Debug)]
pub(super) struct BindingsDocument {
    pub(super) source: SourceMap,
    /// The version that the editor counts.
    pub(super) version: i32,
    /// Its mistakes.
    errors: Vec<BindingsError>,
}

impl BindingsDocument {
    /// Whether a document with this address is YAML.
    pub(super) fn is_at(uri: &str) -> bool {
        let has_ending = |ending: &str| uri.to_ascii_lowercase().ends_with(ending);
        has_ending(".yaml") || has_ending(".yml")
    }

    pub(super) fn of(name: &str, version: i32, text: String) -> Self {
        let source = SourceMap::new(name, text);
        // An editor may also open YAML that is not data bindings: it is ignored.
        let errors = if binds_facts(source.text()) { parse(source.text()).err() } else { None };
        Self { source, version, errors: errors.unwrap_or_default() }
    }

    /// A diagnostic for each mistake, over its line.
    pub(super) fn diagnostics(&self) -> Vec<lsp::Diagnostic> {
        let diagnostic = |error: &BindingsError| lsp::Diagnostic {
            range: self.line(error.line.unwrap_or(1)),
            severity: Some(lsp::DiagnosticSeverity::Error),
            source: Some("portcullis".to_owned()),
            message: error.message.clone().into(),
            ..Default::default()
        };
        self.errors.iter().map(diagnostic).collect()
    }

    /// A diagnostic for each finding of the database, over its line.
    pub(super) fn live(&self, found: Vec<LiveFinding>) -> Vec<lsp::Diagnostic> {
        let diagnostic = |found: LiveFinding| lsp::Diagnostic {
            range: self.line(found.line),
            severity: Some(match found.severity {
                LiveSeverity::Error => lsp::DiagnosticSeverity::Error,
                LiveSeverity::Warning => lsp::DiagnosticSeverity::Warning,
                LiveSeverity::Note => lsp::DiagnosticSeverity::Information,
            }),
            code: Some(found.code.into()),
            source: Some("portcullis".to_owned()),
            message: found.message.into(),
            ..Default::default()
        };
        found.into_iter().map(diagnostic).collect()
    }

    /// The edit that formats it; `None` if it is not YAML, or binds no facts.
    pub(super) fn formatted(&self) -> Option<Vec<lsp::TextEdit>> {
        if !binds_facts(self.source.text()) {
            return None;
        }
        let text = format(self.source.text()).ok()?;
        if text == self.source.text() {
            return Some(Vec::new());
        }
        Some(vec![lsp::TextEdit::new(position::whole(&self.source), text)])
    }

    /// The range of a line, from 1, without the spaces around it.
    fn line(&self, line: usize) -> lsp::Range {
        let text = self.source.text();
        let start = self.source.line_start(line).unwrap_or(text.len());
        let content = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
        let indent = content.len() - content.trim_start().len();
        position::range(&self.source, Span::new(start + indent, start + content.trim_end().len().max(indent)))
    }
}

/// Whether a text looks like data bindings: it has the key `facts`.
fn binds_facts(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("facts:") || line.starts_with("\"facts\":"))
        || text.trim_start().starts_with('{') && text.contains("\"facts\"")
}
