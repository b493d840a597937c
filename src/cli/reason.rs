//! Why a command could not use a file: as text for people, and as JSON for programs.

use super::error::CliError;
use super::validate::diagnostic;
use portcullis_compiler::diagnostic::{Diagnostic, Severity, render};
use portcullis_compiler::source::SourceMap;
use serde_json::{Value, json};
use std::borrow::Cow;

/// One reason.
pub(super) struct Reason {
    /// What kind of error it is.
    pub(super) code: Cow<'static, str>,
    /// As text.
    pub(super) text: String,
    /// With its `code` and `message`.
    pub(super) json: Value,
}

impl Reason {
    /// The errors among the findings in a policy.
    pub(super) fn errors(source: &SourceMap, findings: &[Diagnostic]) -> Vec<Self> {
        let errors = findings.iter().filter(|found| found.severity() == Severity::Error);
        let reason = |found: &Diagnostic| Self {
            code: found.code.as_str().into(),
            text: render::render(source, found),
            json: diagnostic(source, found),
        };
        errors.map(reason).collect()
    }

    /// All reasons as text.
    pub(super) fn texts(reasons: &[Self]) -> String {
        reasons.iter().map(|reason| reason.text.as_str()).collect::<Vec<_>>().join("\n\n")
    }
}

impl From<CliError> for Reason {
    fn from(error: CliError) -> Self {
        // Each mistake in data bindings begins with its own `error`.
        let message = error.to_string();
        let message = message.strip_prefix("error: ").unwrap_or(&message);
        let code = error.code();
        Self { text: format!("error: {message}"), json: json!({ "message": message, "code": code }), code }
    }
}
