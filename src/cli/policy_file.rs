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

/// A file or a folder that was named, and cannot be read or has no policy.
#[derive(Debug)]
pub(super) struct UnreadFile {
    /// Its path.
    pub(super) path: PathBuf,
    /// Why it cannot be read.
    pub(super) error: CliError,
}

impl UnreadFile {
    fn of(path: &Path) -> impl FnOnce(CliError) -> Self {
        |error| Self { path: path.into(), error }
    }
}

impl PolicyFile {
    /// Reads and checks a file; `-` is the standard input.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        Ok(Self::of(SourceMap::new(path.display().to_string(), text(path)?)))
    }

    /// Checks the text of a policy.
    pub(super) fn of(source: SourceMap) -> Self {
        let Checked { program, diagnostics } = check(&source);
        Self { source, program, diagnostics }
    }

    /// Reads and checks files, and all policies below folders. One that cannot be read does not stop the
    /// others.
    pub(super) fn all(paths: &[PathBuf]) -> Vec<Result<Self, UnreadFile>> {
        let read = |path: PathBuf| Self::read(&path).map_err(UnreadFile::of(&path));
        files(paths).into_iter().map(|found| found.and_then(read)).collect()
    }

    /// The findings of one severity, rendered.
    pub(super) fn rendered(&self, severity: Severity) -> Vec<String> {
        let of_severity = self.diagnostics.iter().filter(|diagnostic| diagnostic.severity() == severity);
        of_severity.map(|diagnostic| render::render(&self.source, diagnostic)).collect()
    }

    /// The program of a file that must validate.
    pub(super) fn program(path: &Path) -> Result<Program, CliError> {
        Self::read(path)?.into_program()
    }

    /// The program, which must validate.
    pub(super) fn into_program(mut self) -> Result<Program, CliError> {
        let program = self.program.take();
        program.ok_or_else(|| CliError::Policy(self.rendered(Severity::Error).join("\n\n")))
    }
}

/// These files, and the policies below these folders, each folder's in the order of their names.
pub(super) fn files(paths: &[PathBuf]) -> Vec<Result<PathBuf, UnreadFile>> {
    paths.iter().flat_map(|path| if path.is_dir() { below(path) } else { vec![Ok(path.clone())] }).collect()
}

/// The policies below a folder, and the folders that cannot be read; at least one of either.
fn below(folder: &Path) -> Vec<Result<PathBuf, UnreadFile>> {
    let (mut policies, mut unread) = (Vec::new(), Vec::new());
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        match entries(&folder) {
            Ok(mut entries) => {
                folders.append(&mut entries.folders);
                policies.append(&mut entries.policies);
            }
            Err(error) => unread.push(UnreadFile::of(&folder)(CliError::unreadable(&folder, error))),
        }
    }
    if policies.is_empty() && unread.is_empty() {
        unread.push(UnreadFile::of(folder)(CliError::NoPolicyFile(folder.into())));
    }
    policies.sort();
    policies.into_iter().map(Ok).chain(unread.into_iter().map(Err)).collect()
}

/// What is directly in a folder.
#[derive(Default)]
struct Entries {
    folders: Vec<PathBuf>,
    policies: Vec<PathBuf>,
}

fn entries(folder: &Path) -> std::io::Result<Entries> {
    let mut entries = Entries::default();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        // A link to a folder could lead around in a circle, and a pipe could wait for ever.
        if entry.file_type()?.is_dir() {
            entries.folders.push(path);
        } else if path.is_file() && path.extension().is_some_and(|ending| ending == "polar") {
            entries.policies.push(path);
        }
    }
    Ok(entries)
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
