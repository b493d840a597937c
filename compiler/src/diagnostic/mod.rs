//! What is wrong with a policy, where, and what to write instead.
//!
//! Every stage that reads an author's text returns `(value, Vec<Diagnostic>)`. A diagnostic is data:
//! a [`Code`], a title that makes sense alone, labels with spans, notes and at most one concrete fix.
//! [`render`](render::render) draws it; HTTP sends it as fields.

mod code;
pub mod render;
mod settle;
pub mod suggest;

pub use code::Code;
pub use settle::settle;

use crate::source::Span;

/// Whether a diagnostic refuses the policy or only advises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The policy is refused.
    Error,
    /// A lint: shown on request, never refuses.
    Warning,
}

/// A place in the source with a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The bytes under the carets.
    pub span: Span,
    /// Why this place is shown; may be empty for a primary label.
    pub text: String,
}

/// A replacement of one span that would mend the policy.
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
    /// Stable code; decides the severity.
    pub code: Code,
    /// What is wrong, lower case, no full stop.
    pub title: String,
    /// Where it is wrong.
    pub primary: Label,
    /// Other places that explain it.
    pub secondary: Vec<Label>,
    /// Facts that help to understand it.
    pub notes: Vec<String>,
    /// What to do, where no single replacement says it.
    pub help: Option<String>,
    /// One thing to write instead.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// A diagnostic with its primary label; add the rest with the methods below.
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

    /// Adds a secondary place.
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

    /// Offers a replacement of `span` by `replacement`.
    #[must_use]
    pub fn with_fix(mut self, help: impl Into<String>, span: Span, replacement: impl Into<String>) -> Self {
        self.fix = Some(Fix { help: help.into(), span, replacement: replacement.into() });
        self
    }

    /// Error or warning, as the code says.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}
