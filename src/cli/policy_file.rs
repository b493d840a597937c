//! Reads a policy file and checks it.

use super::error::CliError;
use portcullis_compiler::diagnostic::{Diagnostic, Severity, render};
use portcullis_compiler::ir::Program;
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::{Checked, check};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// More than any policy may have: the compiler refuses such a text before memory runs out.
const MAX_BYTES: u64 = 64 << 20;

/// A policy file with its diagnostics.
#[derive(Debug)]
pub(super) struct PolicyFile {
    /// The text, with the file's name.
    pub(super) source: SourceMap,
    /// The program; `None` if it does not validate.
    pub(super) program: Option<Program>,
    /// All errors and lints.
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl PolicyFile {
    /// Reads and checks a file.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        let source = SourceMap::new(path.display().to_string(), read(path)?);
        let Checked { program, diagnostics } = check(&source);
        Ok(Self { source, program, diagnostics })
    }

    /// The findings of one severity, rendered.
    pub(super) fn rendered(&self, severity: Severity) -> Vec<String> {
        let of_severity = self.diagnostics.iter().filter(|diagnostic| diagnostic.severity() == severity);
        of_severity.map(|diagnostic| render::render(&self.source, diagnostic)).collect()
    }

    /// The program of a file that must validate.
    pub(super) fn program(path: &Path) -> Result<Program, CliError> {
        let mut file = Self::read(path)?;
        let program = file.program.take();
        program.ok_or_else(|| CliError::Policy(file.rendered(Severity::Error).join("\n\n")))
    }
}

/// A file's text.
pub(super) fn read(path: &Path) -> Result<String, CliError> {
    let file = File::open(path).map_err(|error| CliError::unreadable(path, error))?;
    read_from(file, path)
}

/// The text of a file that is open.
pub(super) fn read_from(file: impl Read, path: &Path) -> Result<String, CliError> {
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| CliError::unreadable(path, error))?;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > MAX_BYTES) {
        return Err(CliError::TooLong { path: path.into(), limit: MAX_BYTES });
    }
    Ok(text)
}
