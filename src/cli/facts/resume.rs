//! Records the progress of an import in a small file next to its input.
//!
//! It is written after each acknowledged chunk, and removed at the end. It contains the position after the
//! last chunk, the SHA-256 of everything before it, and the target: an import is resumed only if the start of
//! the input is unchanged and the target is the same. If the last acknowledgement was not recorded, its chunk
//! is sent again, which changes nothing, because facts are a set.

use super::input::InputPosition;
use super::{CliError, FactFormat};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Why an interrupted import cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ResumeError {
    /// The interrupted import had a different target.
    #[error("the interrupted import went to {before}, not to {now}: {}", again(.record))]
    Target {
        /// The target of the interrupted import.
        before: String,
        /// The target of this one.
        now: String,
        /// The record of the import.
        record: PathBuf,
    },
    /// The interrupted import read a different format.
    #[error("the interrupted import read {before}, not {now}: {}", again(.record))]
    Format {
        /// The format of the interrupted import.
        before: String,
        /// The format of this one.
        now: &'static str,
        /// The record of the import.
        record: PathBuf,
    },
    /// The file is not a record of an import.
    #[error("`{}` is not a record of an import: {error}; start again without --resume", .record.display())]
    Record {
        /// The file.
        record: PathBuf,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// The input is not the same as before.
    #[error(
        "`{}` was changed after its import was interrupted: import it again without --resume",
        .0.display()
    )]
    Changed(PathBuf),
}

/// What to do instead.
fn again(record: &Path) -> String {
    format!("to start again, leave out --resume, see `{}`", record.display())
}

/// The progress of an import.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ResumeState {
    /// The target.
    pub(super) target: String,
    /// The format of the input.
    pub(super) format: String,
    /// How many bytes are done.
    pub(super) bytes: u64,
    /// How many lines are done.
    pub(super) lines: u64,
    /// How many facts are done.
    pub(super) facts: u64,
    /// The SHA-256 of those bytes.
    pub(super) sha256: String,
}

impl ResumeState {
    /// The start of the next fact.
    pub(super) fn place(&self) -> InputPosition {
        InputPosition { bytes: self.bytes, lines: self.lines }
    }

    /// Refuses to resume an import that was started differently.
    pub(super) fn check(&self, target: &str, format: FactFormat, file: &Path) -> Result<(), CliError> {
        let record = path(file);
        if self.target != target {
            let (before, now) = (self.target.clone(), target.to_owned());
            return Err(ResumeError::Target { before, now, record }.into());
        }
        if self.format != name(format) {
            return Err(ResumeError::Format { before: self.format.clone(), now: name(format), record }.into());
        }
        Ok(())
    }
}

/// The name of a format in the file.
pub(super) fn name(format: FactFormat) -> &'static str {
    match format {
        FactFormat::Jsonl => "jsonl",
        FactFormat::Csv => "csv",
    }
}

/// The file next to an input.
fn path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".import");
    name.into()
}

/// The record of an interrupted import, if there is one.
pub(super) fn read(file: &Path) -> Result<Option<ResumeState>, CliError> {
    let path = path(file);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CliError::unreadable(&path, error)),
    };
    let state = serde_json::from_str(&text);
    state.map(Some).map_err(|error| ResumeError::Record { record: path, error }.into())
}

/// Writes the record; the previous one stays until this one is complete.
pub(super) fn write(file: &Path, state: &ResumeState) -> Result<(), CliError> {
    let path = path(file);
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = serde_json::to_string(state).map_err(std::io::Error::from);
    let written =
        written.and_then(|text| fs::write(&part, text + "\n")).and_then(|()| fs::rename(&part, &path));
    written.map_err(|error| CliError::unwritable(&path, error))
}

/// Removes the record of a completed import.
pub(super) fn remove(file: &Path) -> Result<(), CliError> {
    let path = path(file);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(CliError::unwritable(&path, error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
