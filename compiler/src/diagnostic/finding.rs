//! One finding about a policy.

use super::code::{Code, Severity};
use crate::source::Span;

/// A place in the source with a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The bytes under the carets.
    pub span: Span,
    /// Why this place is shown; may be empty for a primary label.
    pub text: String,
}

/// A replacement for one span that would fix the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What the fix does, as a sentence without a full stop.
    pub help: String,
    /// The bytes to replace; empty for an insertion.
    pub span: Span,
    /// The text to put there.
    pub replacement: String,
}

/// One finding about a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code, which also gives the severity.
    pub code: Code,
    /// What is wrong, lower case, no full stop.
    pub title: String,
    /// Where it is wrong.
    pub primary: Label,
    /// Other places that explain it.
    pub secondary: Vec<Label>,
    /// Facts that help to understand it.
    pub notes: Vec<String>,
    /// What to do, if no single replacement expresses it.
    pub help: Option<String>,
    /// A concrete replacement.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// A diagnostic with its primary label; the methods below add the rest.
    pub fn new(code: Code, title: impl Into<String>, span: Span, label: impl Into<String>) -> Self {
        Self {
            code,
            title: title.into(),
            primary: Label { span, text: label.into() },
            secondary: Vec::new(),
            notes: Vec::new(),
            help: None,
            fix: None,
        }
    }

    /// Adds a secondary label.
    #[must_use]
    pub fn with_label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Suggests to replace `span` by `replacement`.
    #[must_use]
    pub fn with_fix(mut self, help: impl Into<String>, span: Span, replacement: impl Into<String>) -> Self {
        self.fix = Some(Fix { help: help.into(), span, replacement: replacement.into() });
        self
    }

    /// The severity of the code.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}
