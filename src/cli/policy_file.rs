//! Reads a policy file and checks it.

use super::error::CliError;
use portcullis_compiler::diagnostic::{Diagnostic, Severity, render};
use portcullis_compiler::ir::Program;
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::{Checked, check};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

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
    /// Reads and checks a file; `-` is the standard input.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        let source = SourceMap::new(path.display().to_string(), text(path)?);
        let Checked { program, diagnostics } = check(&source);
        Ok(Self { source, program, diagnostics })
    }

    /// Reads and checks files, and all policies below folders.
    pub(super) fn all(paths: &[PathBuf]) -> Result<Vec<Self>, CliError> {
        files(paths)?.iter().map(|path| Self::read(path)).collect()
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

/// These files, and the policies below these folders, each folder's in the order of their names.
pub(super) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(below(path)?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// The policies below a folder; at least one.
fn below(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |error| CliError::unreadable(&folder, error);
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            // A link to a folder could lead around in a circle, and a pipe could wait for ever.
            if entry.file_type().map_err(failed)?.is_dir() {
                folders.push(path);
            } else if path.is_file() && path.extension().is_some_and(|ending| ending == "polar") {
                found.push(path);
            }
        }
    }
    if found.is_empty() {
        return Err(CliError::NoPolicyFile(folder.into()));
    }
    found.sort();
    Ok(found)
}

/// A file's text; `-` is the standard input.
pub(super) fn text(path: &Path) -> Result<String, CliError> {
    if path.as_os_str() == "-" { read_from(std::io::stdin().lock(), path) } else { read(path) }
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
