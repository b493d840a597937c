//! How far an import has come, in a small file beside its input.
//!
//! It is written after each chunk that the environment has acknowledged, and removed at the end. It names the place
//! after the last of those chunks, the SHA-256 of all that is before it, and where the facts went: an import continues
//! only if the input begins as it did and goes to the same environment. If the last acknowledgement was not written
//! down, its chunk is sent once more, which changes nothing, because facts are a set.

use super::input::InputPosition;
use super::{CliError, FactFormat};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// How far an import has come.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ResumeState {
    /// Where the facts go.
    pub(super) target: String,
    /// How they are written.
    pub(super) format: String,
    /// Bytes that are done.
    pub(super) bytes: u64,
    /// Lines that are done.
    pub(super) lines: u64,
    /// Facts that are done.
    pub(super) facts: u64,
    /// The SHA-256 of those bytes.
    pub(super) sha256: String,
}

impl ResumeState {
    /// Where the next fact begins.
    pub(super) fn place(&self) -> InputPosition {
        InputPosition { bytes: self.bytes, lines: self.lines }
    }

    /// Refuses to continue what began differently.
    pub(super) fn check(&self, target: &str, format: FactFormat, file: &Path) -> Result<(), CliError> {
        let other = |what: String| {
            let state = path(file);
            let again = format!("without --resume it begins anew, see `{}`", state.display());
            Err(CliError::Refused(format!("the import that was interrupted {what}: {again}")))
        };
        if self.target != target {
            return other(format!("went to {} and not to {target}", self.target));
        }
        if self.format != name(format) {
            return other(format!("was of {} and not of {}", self.format, name(format)));
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

/// The file beside an input.
fn path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".import");
    name.into()
}

/// What an interrupted import has left, if anything.
pub(super) fn read(file: &Path) -> Result<Option<ResumeState>, CliError> {
    let path = path(file);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CliError::file(&path, error)),
    };
    let state = serde_json::from_str(&text);
    state.map(Some).map_err(|error| {
        CliError::Refused(format!("`{}` does not say how far an import has come: {error}", path.display()))
    })
}

/// Notes how far it is; the note before stays in place until this one is complete.
pub(super) fn write(file: &Path, state: &ResumeState) -> Result<(), CliError> {
    let path = path(file);
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = serde_json::to_string(state).map_err(std::io::Error::from);
    let written =
        written.and_then(|text| fs::write(&part, text + "\n")).and_then(|()| fs::rename(&part, &path));
    written.map_err(|error| CliError::file(&path, error))
}

/// Forgets it: the import is complete.
pub(super) fn remove(file: &Path) -> Result<(), CliError> {
    let path = path(file);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(CliError::file(&path, error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
